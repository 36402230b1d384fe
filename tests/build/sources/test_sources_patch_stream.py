from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caretbench.build.sources.git.patches import CommitDiff, PatchLimits, parse_log

HUNKS = [
    b"@@ -1,2 +1,2 @@ def f():\n -- x\n--- y\n+++ z\n",
    b"@@ -0,0 +1,3 @@\n+a\n+\n+\xc3\xa4\n\\ No newline at end of file\n",
    b"@@ -1 +0,0 @@\n-\0 far behind\n@@ -9 +8 @@\n-" + b"x" * 300 + b"\n+" + b"y" * 500 + b"\n",
]
FILES = st.tuples(st.sampled_from(["a", "b c"]), st.lists(st.sampled_from(HUNKS), max_size=3))
COMMITS = st.lists(
    st.tuples(
        st.sampled_from([b"", b"title\n\ndiff --git a/x b/x\n@@ -1 +1 @@\n-a\n+b\n", b"\n\n"]),
        st.lists(FILES, max_size=3),
    ),
    max_size=4,
)
Given = list[tuple[bytes, list[tuple[str, list[bytes]]]]]


def stream(commits: Given) -> bytes:
    parts: list[bytes] = []
    for number, (message, files) in enumerate(commits):
        parts.append(b"\0%d\0%s\0\n" % (number, message))
        parts.extend([b"\n"] if files else [])
        for name, hunks in files:
            parts.append(f"diff --git a/{name} b/{name}\nindex 1..2\n".encode())
            parts.extend([f"--- a/{name}\n+++ b/{name}\n".encode(), *hunks] if hunks else [])
    return b"".join(parts)


def pieces(data: bytes, size: int) -> Iterator[bytes]:
    return (data[start : start + size] for start in range(0, len(data), size))


@given(commits=COMMITS, size=st.integers(1, 400))
def test_however_the_stream_arrives_the_parts_are_the_same(commits: Given, size: int) -> None:
    found = list(parse_log(pieces(stream(commits), size), 2, PatchLimits()))
    assert [commit.fields for commit in found] == [[b"%d" % n, text] for n, (text, _) in enumerate(commits)]
    for commit, (_, files) in zip(found, commits, strict=True):
        assert [file.hunks for file in commit.files] == [b"".join(hunks).removesuffix(b"\n") for _, hunks in files]
        for file, (name, hunks) in zip(commit.files, files, strict=True):
            text = b"".join(hunks)
            lines = text.split(b"\n")[:-1]
            assert file.header.startswith(f"diff --git a/{name} ".encode())
            assert file.additions == sum(line.startswith(b"+") for line in lines)
            assert file.deletions == sum(line.startswith(b"-") for line in lines)
            assert file.lines == len(lines)
            assert file.characters == max(0, len(text.decode()) - 1)
            assert not file.truncated


@given(commits=COMMITS, size=st.integers(1, 400), limit=st.integers(1, 300))
def test_what_is_cut_is_counted_all_the_same(commits: Given, size: int, limit: int) -> None:
    data = stream(commits)
    whole = list(parse_log([data], 2, PatchLimits()))
    cut = list(parse_log(pieces(data, size), 2, PatchLimits(max_file_bytes=limit)))
    for before, after in zip(whole, cut, strict=True):
        for one, other in zip(before.files, after.files, strict=True):
            assert (one.additions, one.deletions, one.lines, one.characters) == (
                other.additions,
                other.deletions,
                other.lines,
                other.characters,
            )
            assert one.hunks.startswith(other.hunks)
            assert len(other.hunks) <= limit
            assert other.truncated == (other.hunks != one.hunks)


@pytest.mark.parametrize("size", [1000, 65536, 5_000_000])
@pytest.mark.parametrize("line", [b"+x\n", b"+" + b"y" * 99_999 + b"\n", b"+" + b"z" * 2_999_990 + b"\n"])
def test_a_large_file_is_counted_while_it_passes(size: int, line: bytes) -> None:
    count = 3_000_000 // len(line)
    body = b"@@ -0,0 +1,%d @@\n" % count + line * count
    data = (
        b"\0\0\0\n\ndiff --git a/a b/a\n--- /dev/null\n+++ b/a\n" + body + b"diff --git a/b b/b\nold mode 1\n\0\0\0\n"
    )
    large, second = parse_log(pieces(data, size), 2, PatchLimits())
    assert second.files == []
    first, other = large.files
    assert (first.additions, first.lines, first.characters) == (count, count + 1, len(body) - 1)
    assert first.truncated
    assert len(first.hunks) <= PatchLimits().max_file_bytes
    assert other.header == b"diff --git a/b b/b\nold mode 1\n"


def test_of_a_stream_that_breaks_off_the_last_commit_stays_away() -> None:
    def broken() -> Iterator[bytes]:
        yield stream([(b"one", [("a", HUNKS[:1])]), (b"two", [("a", HUNKS[:1])])])
        raise OSError("gone")

    found: list[CommitDiff] = []
    with pytest.raises(OSError, match="gone"):  # noqa: PT012
        for commit in parse_log(broken(), 2, PatchLimits()):
            found.append(commit)  # noqa: PERF402
    assert [commit.fields for commit in found] == [[b"0", b"one"]]
