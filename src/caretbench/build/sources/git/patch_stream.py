"""Streaming parser of ``git log -p``: commits and files, in bounded memory.

Only git's own lines begin with ``diff --git`` or NUL: lines of files have a mark in front, and messages are between
NULs. So the stream can be cut without parsing the lines between, and additions are counted without collecting them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

_FILE = b"diff --git "
_FILE_LINE = b"\n" + _FILE
_COMMIT_LINE = b"\n\0"
_OVERLAP = len(_FILE_LINE)
_HEAD = 1 << 16  # more than the header lines of any file
_CONTINUATION = bytes(range(0x80, 0xC0))


@dataclass(frozen=True, slots=True)
class PatchLimits:
    """Maximum size of a stored change; the rest is counted, and marked as truncated.

    ``max_file_bytes``: patch of one file; ``max_change_bytes``: all patches of a change;
    ``max_files``: files of a change.
    """

    max_file_bytes: int = 128 * 1024
    max_change_bytes: int = 1024 * 1024
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
    for part in _parse_parts(chunks, field_count, limits):
        if isinstance(part, list):
            if commit is not None:
                yield commit
            commit = CommitDiff(part)
        elif commit is not None:
            commit.add_file(part, limits)
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
        found = self.data.find(_FILE_LINE, start, self._commit if self._commit >= 0 else len(self.data))
        end = found if found >= 0 else self._commit
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
