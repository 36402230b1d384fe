"""Patches of many commits from one ``git log -p``, also where blobs are missing.

git stops at the first missing blob. Then the commits that need missing blobs are found from trees alone, and the others
are read in one command again. Commits with other failures are read one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from caretbench.build.sources.git.git_repository import GitError, GitRepository
from caretbench.build.sources.git.patch_stream import CommitDiff, PatchLimits, parse_log
from caretbench.problem import Row

SkipReason = Literal["root", "shallow_boundary", "unreadable", "no_changes"]
"""No parent; parent not in a shallow clone; not readable by git; no difference to the parent."""

_FORMAT = "%x00%H%x00%P%x00%ct%x00%at%x00%an%x00%ae%x00%B%x00"
_FIELDS = 7
_BATCH_SIZE = 2000
# After this number of consecutive unreadable commits the rest of the history is missing.
_MAX_FAILURES = 50
_MISSING = "absent: "
_NO_BLOB = (b"000000", b"160000")  # no file on this side; a submodule
GIT_SETTINGS = ("-c", "core.quotePath=false", "-c", "diff.renames=true", "-c", "core.bigFileThreshold=32m")
_LOG = (
    *GIT_SETTINGS, "log", "--no-walk=unsorted", "--stdin", "--diff-merges=first-parent", "--no-color", "--no-ext-diff",
    "--no-textconv", "--no-notes", "--encoding=UTF-8",
)  # fmt: skip
_PATCHES = (*_LOG, "-p", "-M", "--src-prefix=a/", "--dst-prefix=b/", f"--format={_FORMAT}")
_RAW = (*_LOG, "--raw", "--no-renames", "--no-abbrev", "--format=%x00%H")


class SkippedCommit(Row):
    """A commit without a record, and the reason."""

    sha: str
    reason: SkipReason
    detail: str = ""


def read_diffs(
    repository: GitRepository, shas: Sequence[str], limits: PatchLimits
) -> Iterator[CommitDiff | SkippedCommit]:
    """Yield each commit with its patch, or the reason why it cannot be read."""
    failed = 0
    for start in range(0, len(shas), _BATCH_SIZE):
        for diff in _read_batch(repository, shas[start : start + _BATCH_SIZE], limits):
            yield diff
            if not isinstance(diff, SkippedCommit) or diff.detail.startswith(_MISSING):
                failed = 0
                continue
            failed += 1
            if failed == _MAX_FAILURES:
                rest = shas[shas.index(diff.sha) + 1 :]
                detail = f"not tried: the {_MAX_FAILURES} commits before it cannot be read"
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
            for diff in _stream_diffs(repository, readable, limits):
                sha = diff.fields[0].decode("ascii")
                ahead = pending.index(sha, position)
                yield from (_unreadable_commit(other, absent) for other in pending[position:ahead])
                yield diff
                position = ahead + 1
        except GitError as error:
            complaint = error
        pending = pending[position:]
        if complaint is None:
            yield from (_unreadable_commit(other, absent) for other in pending)
            return
        if absent is None:
            absent = _commits_with_missing_blobs(repository, pending)
            if absent:
                continue
        # The trees name no missing blob: read the next commits one by one.
        while pending:
            sha = pending.pop(0)
            one = _read_one(repository, sha, limits) if sha not in absent else _unreadable_commit(sha, absent)
            yield one
            if isinstance(one, SkippedCommit) and sha not in absent:
                break


def _stream_diffs(repository: GitRepository, shas: Sequence[str], limits: PatchLimits) -> Iterator[CommitDiff]:
    if shas:
        yield from parse_log(repository.stream(*_PATCHES, stdin=object_names_input(shas)), _FIELDS, limits)


def _read_one(repository: GitRepository, sha: str, limits: PatchLimits) -> CommitDiff | SkippedCommit:
    try:
        return next(_stream_diffs(repository, [sha], limits))
    except GitError as error:
        return SkippedCommit(sha=sha, reason="unreadable", detail=str(error))
    except StopIteration:
        return SkippedCommit(sha=sha, reason="unreadable", detail="git shows nothing of it")


def _unreadable_commit(sha: str, missing: dict[str, str] | None) -> SkippedCommit:
    return SkippedCommit(sha=sha, reason="unreadable", detail=(missing or {}).get(sha, "git shows nothing of it"))


def _commits_with_missing_blobs(repository: GitRepository, shas: Sequence[str]) -> dict[str, str]:
    """Return commits whose blobs are missing, with the blob's name; reads trees, not contents."""
    touched: dict[str, list[str]] = {}
    current = ""
    try:
        for line in stream_lines(repository.stream(*_RAW, stdin=object_names_input(shas))):
            if line.startswith(b"\0"):
                current = line[1:].decode("ascii")
            elif line.startswith(b":"):
                old_mode, new_mode, old, new, _ = line[1:].split(b" ", 4)
                for mode, blob in ((old_mode, old), (new_mode, new)):
                    if mode not in _NO_BLOB:
                        touched.setdefault(blob.decode("ascii"), []).append(current)
    except GitError:
        pass  # a tree is missing, too: use the lines before it
    said = repository.run(
        "cat-file", "--batch-check=%(objectname)", "--buffer", stdin=object_names_input(list(touched))
    )
    missing = [line.split()[0].decode("ascii") for line in said.split(b"\n") if line.endswith(b" missing")]
    return {sha: f"{_MISSING}blob {blob}" for blob in missing for sha in touched.get(blob, ())}


def stream_lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield complete lines of a stream as they arrive."""
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        yield from lines


def object_names_input(names: Sequence[str]) -> bytes:
    """Return git object names, one per line, as standard input of a git command."""
    return "".join(f"{word}\n" for word in names).encode("ascii")
