from __future__ import annotations

import difflib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caretbench.files import DataError
from caretbench.suites.efcb.build.edits.patch_parts import DiffLine, Hunk, parse_hunks

TRICKY = """@@ -1,4 +1,4 @@ -- SQL
 -- first
--- x
++++ y
 @@ -1 +1 @@
\\ No newline at end of file
@@ -10 +10,0 @@ func main() {
-diff --git a/x b/x"""


def side(hunk: Hunk, marks: str) -> list[str]:
    return [line.text for _, line in hunk.numbered(marks)]


def test_content_that_looks_like_a_header_is_content() -> None:
    # Three lines before and after, then the header's fourth is the one that looks like a hunk.
    text = TRICKY.replace("-1,4 +1,4", "-1,3 +1,3")
    first, second = parse_hunks(text)
    assert first == Hunk(
        1,
        1,
        (
            DiffLine(" ", "-- first"),
            DiffLine("-", "-- x"),
            DiffLine("+", "+++ y"),
            DiffLine(" ", "@@ -1 +1 @@"),
            DiffLine("\\", " No newline at end of file"),
        ),
    )
    assert second == Hunk(7, 10, (DiffLine("-", "diff --git a/x b/x"),))
    assert side(first, "- ") == ["-- first", "-- x", "@@ -1 +1 @@"]
    assert side(first, "+ ") == ["-- first", "+++ y", "@@ -1 +1 @@"]


def test_only_a_newline_ends_a_line() -> None:
    patch = "@@ -1,2 +1,2 @@\n-a\r\x0cb\u2028c\n+d\r\n \x85\x1c"
    (hunk,) = parse_hunks(patch)
    assert [line.text for line in hunk.lines] == ["a\r\x0cb\u2028c", "d\r", "\x85\x1c"]


def test_a_final_newline_and_a_bare_empty_line_are_forgiven() -> None:
    (hunk,) = parse_hunks("@@ -1,2 +1,3 @@\n a\n\n+b\n")
    assert hunk.lines == (DiffLine(" ", "a"), DiffLine(" ", ""), DiffLine("+", "b"))


def test_an_empty_patch_has_no_hunks() -> None:
    assert parse_hunks("") == ()


@pytest.mark.parametrize(
    ("patch", "complaint"),
    [
        ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b", "line 1 of the patch: expected a hunk, found '--- a/x'"),
        ("@@ -1,2 +1 @@\n-a\n+b", "line 1 of the patch: the hunk is shorter"),
        ("@@ -1 +1 @@\n-a\n+b\n+c", "line 4 of the patch: expected a hunk, found '\\+c'"),
        ("@@ -1 +1 @@\n-a\n-b\n+c", "line 3 of the patch: the hunk is longer"),
        ("@@ -1 +1 @@\n-a\nb", "line 3 of the patch: a line begins with"),
        ("@@ -1,x +1 @@\n-a\n+b", "expected a hunk"),
    ],
)
def test_what_is_no_patch_is_refused_with_its_line(patch: str, complaint: str) -> None:
    with pytest.raises(DataError, match=complaint):
        parse_hunks(patch)


def test_of_a_cut_patch_the_whole_hunks_are_kept() -> None:
    patch = "@@ -1 +1 @@\n-a\n+b\n@@ -9,2 +9,2 @@\n c\n-d"
    with pytest.raises(DataError, match=r"line 4 .*shorter"):
        parse_hunks(patch)
    assert [hunk.first for hunk in parse_hunks(patch, truncated=True)] == [1]
    assert len(parse_hunks("@@ -1 +1 @@\n-a\n+b\n@@ -9,", truncated=True)) == 1


LINES = st.lists(st.sampled_from(["", "-- x", "++ y", "@@ -1 +1 @@", "a", "\\ b", "c\r", "\x0c"]), max_size=12)


@given(old=LINES, new=LINES, context=st.integers(0, 3))
def test_a_diff_gives_both_sides_back(old: list[str], new: list[str], context: int) -> None:
    lines = list(difflib.unified_diff(old, new, lineterm="", n=context))[2:]
    hunks = parse_hunks("\n".join(lines))
    assert [line for hunk in hunks for line in lines[hunk.first - 1 : hunk.first + len(hunk.lines)]] == lines
    for hunk in hunks:
        own = side(hunk, "+ ")
        begin = hunk.new_start - 1 if own else hunk.new_start
        assert own == new[begin : begin + len(own)]
