"""Patches of many commits from one ``git log -p``, past what git cannot read.

git stops at the first blob that is absent. Then a look at the trees alone tells which commits need absent blobs, and
the rest is read in one go again; what no tree explains is tried commit by commit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from caretbench.problem import Row
from caretbench.sources.git.access import GitError, GitRepository
from caretbench.sources.git.patch_stream import CommitDiff, PatchLimits, read_commits

SkipReason = Literal["root", "shallow_boundary", "unreadable", "no_changes"]
"""No parent; the parent is left out of a shallow clone; git cannot read it; nothing differs from the parent."""

_FORMAT = "%x00%H%x00%P%x00%ct%x00%at%x00%an%x00%ae%x00%B%x00"
_FIELDS = 7
_BATCH = 2000
# So many commits in a row that cannot be read: the history beyond is not there.
_HOPELESS = 50
_ABSENT = "absent: "
_NO_BLOB = (b"000000", b"160000")  # no file on this side; a linked repository
SETTINGS = ("-c", "core.quotePath=false", "-c", "diff.renames=true", "-c", "core.bigFileThreshold=32m")
_LOG = (
    *SETTINGS, "log", "--no-walk=unsorted", "--stdin", "--diff-merges=first-parent", "--no-color", "--no-ext-diff",
    "--no-textconv", "--no-notes", "--encoding=UTF-8",
)  # fmt: skip
_PATCHES = (*_LOG, "-p", "-M", "--src-prefix=a/", "--dst-prefix=b/", f"--format={_FORMAT}")
_RAW = (*_LOG, "--raw", "--no-renames", "--no-abbrev", "--format=%x00%H")


class SkippedCommit(Row):
    """A commit that gave no record."""

    sha: str
    reason: SkipReason
    detail: str = ""


def read_diffs(
    repository: GitRepository, shas: Sequence[str], limits: PatchLimits
) -> Iterator[CommitDiff | SkippedCommit]:
    """Yield each commit with its patch as git gives it, or why it cannot be read."""
    failed = 0
    for start in range(0, len(shas), _BATCH):
        for diff in _read_batch(repository, shas[start : start + _BATCH], limits):
            yield diff
            if not isinstance(diff, SkippedCommit) or diff.detail.startswith(_ABSENT):
                failed = 0
                continue
            failed += 1
            if failed == _HOPELESS:
                rest = shas[shas.index(diff.sha) + 1 :]
                detail = f"not tried: the {_HOPELESS} commits before it cannot be read"
                yield from (SkippedCommit(sha=sha, reason="unreadable", detail=detail) for sha in rest)
                return


def _read_batch(
    repository: GitRepository, shas: Sequence[str], limits: PatchLimits
) -> Iterator[CommitDiff | SkippedCommit]:
    pending = list(shas)
    absent: dict[str, str] | None = None
    while pending:
        readable = [sha for sha in pending if sha not in (absent or {})]
        position = 0
        complaint: GitError | None = None
        try:
            for diff in _stream(repository, readable, limits):
                sha = diff.fields[0].decode("ascii")
                ahead = pending.index(sha, position)
                yield from (_unreadable(other, absent) for other in pending[position:ahead])
                yield diff
                position = ahead + 1
        except GitError as error:
            complaint = error
        pending = pending[position:]
        if complaint is None:
            yield from (_unreadable(other, absent) for other in pending)
            return
        if absent is None:
            absent = _absent(repository, pending)
            if absent:
                continue
        # No object is missing that a look at the trees could tell: try the next ones one by one.
        while pending:
            sha = pending.pop(0)
            one = _single(repository, sha, limits) if sha not in absent else _unreadable(sha, absent)
            yield one
            if isinstance(one, SkippedCommit) and sha not in absent:
                break


def _stream(repository: GitRepository, shas: Sequence[str], limits: PatchLimits) -> Iterator[CommitDiff]:
    if shas:
        yield from read_commits(repository.stream(*_PATCHES, stdin=as_lines(shas)), _FIELDS, limits)


def _single(repository: GitRepository, sha: str, limits: PatchLimits) -> CommitDiff | SkippedCommit:
    try:
        return next(_stream(repository, [sha], limits))
    except GitError as error:
        return SkippedCommit(sha=sha, reason="unreadable", detail=str(error))
    except StopIteration:
        return SkippedCommit(sha=sha, reason="unreadable", detail="git shows nothing of it")


def _unreadable(sha: str, absent: dict[str, str] | None) -> SkippedCommit:
    return SkippedCommit(
        sha=sha, reason="unreadable", detail=(absent or {}).get(sha, "git shows nothing of it")
    )


def _absent(repository: GitRepository, shas: Sequence[str]) -> dict[str, str]:
    """Return the commits that touch a blob that is not there, with its name: a look at trees, not at contents."""
    touched: dict[str, list[str]] = {}
    current = ""
    try:
        for line in split_lines(repository.stream(*_RAW, stdin=as_lines(shas))):
            if line.startswith(b"\0"):
                current = line[1:].decode("ascii")
            elif line.startswith(b":"):
                old_mode, new_mode, old, new, _ = line[1:].split(b" ", 4)
                for mode, blob in ((old_mode, old), (new_mode, new)):
                    if mode not in _NO_BLOB:
                        touched.setdefault(blob.decode("ascii"), []).append(current)
    except GitError:
        pass  # a tree is missing too: what was seen until then is of use
    said = repository.run(
        "cat-file", "--batch-check=%(objectname)", "--buffer", stdin=as_lines(list(touched))
    )
    missing = [line.split()[0].decode("ascii") for line in said.split(b"\n") if line.endswith(b" missing")]
    return {sha: f"{_ABSENT}blob {blob}" for blob in missing for sha in touched.get(blob, ())}


def split_lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the whole lines of what git writes, while it writes."""
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        yield from lines


def as_lines(words: Sequence[str]) -> bytes:
    """Names of objects, as git's ``--stdin`` and ``--batch`` take them."""
    return "".join(f"{word}\n" for word in words).encode("ascii")
