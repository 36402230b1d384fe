"""Streaming parser of ``git log -p``, in bounded memory: commits, files, hunks; also where blobs are missing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from caretbench.build.sources.changes.generated_files import has_generated_marker, is_generated
from caretbench.build.sources.git.git_repository import GitError, GitRepository
from caretbench.build.sources.pull_request import FileChange, FileStatus
from caretbench.problem import Row

# Lines of a patch begin with a blank, `+`, `-` or `\`, so a line with this start opens a file.
_FILE = b"diff --git "
_FILE_LINE = b"\n" + _FILE
_COMMIT_LINE = b"\n\0"
# A mark may be cut in two by the end of a chunk.
_OVERLAP = len(_FILE_LINE)
_HEAD = 1 << 16  # more than the header lines of any file
# Bytes 10xxxxxx of UTF-8: a text that is cut before one of them would end within a character.
_CONTINUATION = bytes(range(0x80, 0xC0))


@dataclass(frozen=True, slots=True)
class PatchLimits:
    """Maximum size of a stored change; the rest is counted, and marked as truncated.

    ``max_file_bytes``: patch of one file; ``max_change_bytes``: all patches of a change;
    ``max_files``: files of a change.
    """

    # Longer patches are generated or vendored code mostly; they count, and are not stored.
    max_file_bytes: int = 128 * 1024
    max_change_bytes: int = 1024 * 1024
    # As many as GitHub lists of a pull request, so that both sources exclude the same changes.
    max_files: int = 3000


@dataclass(slots=True)
class FileDiff:
    """Raw diff of one file: header lines, stored hunks (up to the limit), and counts over all hunks."""

    header: bytes
    hunks: bytes = b""
    additions: int = 0
    deletions: int = 0
    lines: int = 0
    characters: int = 0
    truncated: bool = False


@dataclass(slots=True)
class CommitDiff:
    """One commit: fields of the ``git log`` format, file diffs, and the number of files beyond the limit."""

    fields: list[bytes]
    files: list[FileDiff] = field(default_factory=list)
    excluded_file_count: int = 0
    stored_bytes: int = 0

    def add_file(self, diff: FileDiff, limits: PatchLimits) -> None:
        """Add a file within the limits."""
        if len(self.files) == limits.max_files:
            self.excluded_file_count += 1
            return
        if self.stored_bytes + len(diff.hunks) > limits.max_change_bytes:
            diff.hunks, diff.truncated = b"", True
        self.stored_bytes += len(diff.hunks)
        self.files.append(diff)


def parse_log(chunks: Iterable[bytes], field_count: int, limits: PatchLimits) -> Iterator[CommitDiff]:
    """Yield the commits of a stream with a NUL before the first and after each of ``field_count`` fields.

    The last commit is yielded at the end of the stream, and not if the stream breaks off.
    """
    commit: CommitDiff | None = None
    for entry in _parse_parts(chunks, field_count, limits):
        if isinstance(entry, list):
            if commit is not None:
                yield commit
            commit = CommitDiff(entry)
        elif commit is not None:
            commit.add_file(entry, limits)
    if commit is not None:
        yield commit


def _parse_parts(chunks: Iterable[bytes], fields: int, limits: PatchLimits) -> Iterator[list[bytes] | FileDiff]:
    """Yield fields of commits, and files, in the order of the stream."""
    data = b""
    large: _LargeFile | None = None
    for chunk in chunks:
        data += chunk
        cutter = _StreamCutter(data, fields)
        if large is not None:
            end = cutter.end_of_file(0)
            large.take(data[: end if end >= 0 else max(0, len(data) - _OVERLAP)])
            if end < 0:
                data = data[max(0, len(data) - _OVERLAP) :]
                continue
            yield large.finished()
            large, cutter.position = None, end
        yield from cutter.parts(limits)
        data = data[cutter.position :]
        # Bounded memory: a commit that adds a file of a gigabyte would be held whole otherwise.
        if data.startswith(_FILE) and len(data) > limits.max_file_bytes + _HEAD:
            large = _LargeFile(limits.max_file_bytes)
            large.take(data[:-_OVERLAP])
            data = data[-_OVERLAP:]
    if large is not None:
        large.take(data)
        yield large.finished()
    elif data.startswith(_FILE):
        yield _parse_file(data, limits.max_file_bytes)


class _StreamCutter:
    """Cuts complete parts off the start of the received data."""

    def __init__(self, data: bytes, fields: int) -> None:
        self.data = data
        self.position = 0
        self._fields = fields
        self._commit = 0  # start of the next commit, once searched

    def parts(self, limits: PatchLimits) -> Iterator[list[bytes] | FileDiff]:
        data = self.data
        while self.position < len(data):
            if data[self.position] == 0:
                end = self.position
                for _ in range(self._fields):
                    end = data.find(b"\0", end + 1)
                    if end < 0:
                        return
                yield data[self.position + 1 : end].split(b"\0")
                self.position = end + 1
            elif data.startswith(_FILE, self.position):
                end = self.end_of_file(self.position)
                if end < 0:
                    return
                yield _parse_file(data[self.position : end], limits.max_file_bytes)
                self.position = end
            else:
                end = data.find(b"\n", self.position) + 1
                if not end:
                    return
                self.position = end

    def end_of_file(self, start: int) -> int:
        """Return the end of the file part at ``start``; -1 if it has not arrived."""
        if 0 <= self._commit <= start:
            self._commit = self.data.find(_COMMIT_LINE, start)
        next_file = self.data.find(_FILE_LINE, start, self._commit if self._commit >= 0 else len(self.data))
        end = next_file if next_file >= 0 else self._commit
        return end + 1 if end >= 0 else -1


def _parse_file(section: bytes, limit: int) -> FileDiff:
    start = section.find(b"\n@@ -")
    if start < 0:
        return FileDiff(section)
    head = section[: start + 1]
    diff = FileDiff(
        head,
        additions=section.count(b"\n+", start),
        deletions=section.count(b"\n-", start),
        lines=section.count(b"\n", start + 1),
        characters=_count_characters(section) - _count_characters(head) - 1,
    )
    diff.hunks, diff.truncated = _truncate(section[start + 1 :], limit)
    return diff


def _truncate(body: bytes, limit: int) -> tuple[bytes, bool]:
    """Return the hunks without the last newline, cut after a line if they are too long."""
    if len(body) <= limit:
        return body.removesuffix(b"\n"), False
    return body[: max(0, body.rfind(b"\n", 0, limit))], True


def _count_characters(text: bytes) -> int:
    """Return the number of code points in UTF-8 data."""
    # Without decoding, which would fail on files that are not UTF-8.
    return len(text) if text.isascii() else len(text.translate(None, _CONTINUATION))


class _LargeFile:
    """A file beyond the limit: the start is stored, the rest is only counted."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._diff: FileDiff | None = None
        self._last = b""

    def take(self, piece: bytes) -> None:
        if self._diff is None:
            self._diff = _parse_file(piece, self._limit)
        elif piece:
            # The line break and the sign after it may lie in two pieces.
            seam = self._last + piece[:1]
            self._diff.additions += piece.count(b"\n+") + (seam == b"\n+")
            self._diff.deletions += piece.count(b"\n-") + (seam == b"\n-")
            self._diff.lines += piece.count(b"\n")
            self._diff.characters += _count_characters(piece)
        self._last = piece[-1:] or self._last

    def finished(self) -> FileDiff:
        assert self._diff is not None  # noqa: S101 - for the type: a large file begins with its first piece
        self._diff.truncated = True
        return self._diff


_ESCAPE = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_PLAIN = {b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r"}
# Header lines that give the status; without them it is "modified".
_STATUS: dict[bytes, FileStatus] = {
    b"new file mode ": "added",
    b"deleted file mode ": "removed",
    b"rename from ": "renamed",
    b"copy from ": "copied",
}
_MODES = (b"old mode ", b"new mode ", b"new file mode ", b"deleted file mode ", b"index ")
_LINKED_REPOSITORY = b"160000"


class _FileHeader:
    """Parsed lines above the hunks of one file."""

    def __init__(self, lines: list[bytes]) -> None:
        self.status: FileStatus = "modified"
        self.named: dict[bytes, bytes] = {}
        self.binary = self.linked = self.moded = False
        for line in lines[1:]:
            self._read(line)
        named = self.named
        self.path = named.get(b"to") or named.get(b"+++") or named.get(b"---") or _path_from_first_line(lines[0])

    def _read(self, line: bytes) -> None:
        for beginning, meaning in _STATUS.items():
            if line.startswith(beginning):
                self.status = meaning
        if line.startswith((b"rename ", b"copy ")):
            _, end, side = line.split(b" ", 2)
            self.named[end] = _unquote_path(side)
        elif line.startswith((b"--- ", b"+++ ")):
            # git ends a path that contains blanks with a tab.
            side = _unquote_path(line[4:].removesuffix(b"\t"))
            if side != b"/dev/null":
                self.named[line[:3]] = side[2:]
        elif line.startswith((b"Binary files ", b"GIT binary patch")):
            self.binary = True
        elif line.startswith(_MODES):
            self.linked = self.linked or line.endswith(_LINKED_REPOSITORY)
            self.moded = self.moded or line.startswith(b"old mode ")


def parse_file_diff(diff: FileDiff) -> FileChange:
    """Return the record of one file."""
    head = _FileHeader(diff.header.split(b"\n"))
    status = head.status
    # GitHub's word for a file of which only the mode differs.
    if head.moded and status == "modified" and not diff.lines and not head.binary:
        status = "changed"
    path = head.path.decode("utf-8", "replace")
    old = head.named.get(b"from")
    patch = diff.hunks.decode("utf-8", "replace")
    return FileChange(
        path=path,
        old_path=old.decode("utf-8", "replace") if old else None,
        status=status,
        binary=head.binary,
        # A submodule's "content" is a commit hash that a tool writes.
        generated=head.linked or is_generated(path) or has_generated_marker(patch),
        truncated=diff.truncated,
        additions=diff.additions,
        deletions=diff.deletions,
        patch=patch,
    )


def merge_type_changes(files: Sequence[FileChange]) -> tuple[FileChange, ...]:
    """Return the files with each path once: git lists a file that became a link as removed and as added."""
    merged: list[FileChange] = []
    for file in files:
        before = merged[-1] if merged else None
        if before is None or before.path != file.path:
            merged.append(file)
            continue
        merged[-1] = before.model_copy(
            update={
                "status": "changed",
                "binary": before.binary or file.binary,
                "generated": before.generated or file.generated,
                "truncated": before.truncated or file.truncated,
                "additions": before.additions + file.additions,
                "deletions": before.deletions + file.deletions,
                "patch": "\n".join(patch for patch in (before.patch, file.patch) if patch),
            }
        )
    return tuple(merged)


def _unquote_path(text: bytes) -> bytes:
    """Return a path without git's quotes and escapes, which it has for control characters and quotes."""
    # `core.quotePath=false` keeps other characters as they are.
    if len(text) < 2 or not text.startswith(b'"') or not text.endswith(b'"'):
        return text
    return _ESCAPE.sub(lambda escape: _unescape(escape[1]), text[1:-1])


def _unescape(code: bytes) -> bytes:
    return bytes([int(code, 8) & 255]) if len(code) == 3 else _PLAIN.get(code, code)


def _path_from_first_line(line: bytes) -> bytes:
    """Return the path of ``diff --git a/PATH b/PATH``; used where both paths are the same."""
    # Paths may contain ` b/`: only equal halves can be told apart, and equal they are without a rename.
    both = line.removeprefix(b"diff --git ")
    return _unquote_path(both[: (len(both) - 1) // 2])[2:]


SkipReason = Literal["root", "shallow_boundary", "unreadable", "no_changes"]
"""No parent; parent not in a shallow clone; not readable by git; no difference to the parent."""

_FORMAT = "%x00%H%x00%P%x00%ct%x00%at%x00%an%x00%ae%x00%B%x00"
_FIELDS = 7
# One git process for many commits, and at most so many to read again after a damaged one.
_BATCH_SIZE = 2000
# After this number of consecutive unreadable commits the rest of the history is missing.
_MAX_FAILURES = 50
_MISSING = "absent: "
_NO_BLOB = (b"000000", b"160000")  # no file on this side; a submodule
# git holds a file below this threshold in memory to compare it; larger ones count as binary.
GIT_SETTINGS = ("-c", "core.quotePath=false", "-c", "diff.renames=true", "-c", "core.bigFileThreshold=32m")
_LOG = (
    # All spelled out, as settings of a user (colours, external tools, notes) would change the format.
    *GIT_SETTINGS, "log", "--no-walk=unsorted", "--stdin", "--diff-merges=first-parent", "--no-color", "--no-ext-diff",
    "--no-textconv", "--no-notes", "--encoding=UTF-8",
)  # fmt: skip
_PATCHES = (*_LOG, "-p", "-M", "--src-prefix=a/", "--dst-prefix=b/", f"--format={_FORMAT}")
# Without renames: finding them reads contents, and these are missing here.
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
            # Missing blobs are normal in a partial clone, so they do not count as damage.
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
            commit = _read_one(repository, sha, limits) if sha not in absent else _unreadable_commit(sha, absent)
            yield commit
            if isinstance(commit, SkippedCommit) and sha not in absent:
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
    said = repository.run("cat-file", "--batch-check=%(objectname)", "--buffer", stdin=object_names_input(touched))
    missing = [line.split()[0].decode("ascii") for line in said.split(b"\n") if line.endswith(b" missing")]
    return {sha: f"{_MISSING}blob {blob}" for blob in missing for sha in touched.get(blob, ())}


def stream_lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield complete lines of a stream as they arrive."""
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        yield from lines


def object_names_input(names: Iterable[str]) -> bytes:
    """Return git object names, one per line, as standard input of a git command."""
    return "".join(f"{name}\n" for name in names).encode("ascii")
