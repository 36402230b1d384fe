"""The output of ``git log -p``, cut into commits and files while it arrives, in memory that does not grow with it.

Only git's own lines begin with ``diff --git`` or with a NUL: lines of files begin with a mark, and messages stand
between NULs. So cutting needs no reading of the lines between, and additions are counted, not collected.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

_FILE = b"diff --git "
_FILE_LINE = b"\n" + _FILE
_COMMIT_LINE = b"\n\0"
_OVERLAP = len(_FILE_LINE)
_HEAD = 1 << 16  # more than the lines that name a file ever take
_CONTINUATION = bytes(range(0x80, 0xC0))


@dataclass(frozen=True, slots=True)
class PatchLimits:
    """How much of one change is kept (bytes, files); the rest is counted and marked as cut."""

    patch: int = 128 * 1024
    change: int = 1024 * 1024
    files: int = 3000


@dataclass(slots=True)
class FileDiff:
    """One file's part: the lines that name it, its hunks as far as they are kept, and counts over all of them."""

    head: bytes
    body: bytes = b""
    additions: int = 0
    deletions: int = 0
    lines: int = 0
    characters: int = 0
    truncated: bool = False


@dataclass(slots=True)
class CommitDiff:
    """One commit: the fields of the format, its files, and how many files more there were than are kept."""

    fields: list[bytes]
    files: list[FileDiff] = field(default_factory=list)
    left_out: int = 0
    kept: int = 0

    def add(self, diff: FileDiff, limits: PatchLimits) -> None:
        """Take a file in, as far as the limits allow."""
        if len(self.files) == limits.files:
            self.left_out += 1
            return
        if self.kept + len(diff.body) > limits.change:
            diff.body, diff.truncated = b"", True
        self.kept += len(diff.body)
        self.files.append(diff)


def read_commits(chunks: Iterable[bytes], fields: int, limits: PatchLimits) -> Iterator[CommitDiff]:
    """Yield the commits of a stream whose format puts a NUL before the first and behind each of ``fields`` fields.

    The last commit is given only when the stream ends: where it breaks off, the last one stays away.
    """
    commit: CommitDiff | None = None
    for part in _parts(chunks, fields, limits):
        if isinstance(part, list):
            if commit is not None:
                yield commit
            commit = CommitDiff(part)
        elif commit is not None:
            commit.add(part, limits)
    if commit is not None:
        yield commit


def _parts(chunks: Iterable[bytes], fields: int, limits: PatchLimits) -> Iterator[list[bytes] | FileDiff]:
    """Fields of commits, and files, in the order of the stream."""
    data = b""
    large: _LargeFile | None = None
    for chunk in chunks:
        data += chunk
        cutter = _Cutter(data, fields)
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
        if data.startswith(_FILE) and len(data) > limits.patch + _HEAD:
            large = _LargeFile(limits.patch)
            large.take(data[:-_OVERLAP])
            data = data[-_OVERLAP:]
    if large is not None:
        large.take(data)
        yield large.finished()
    elif data.startswith(_FILE):
        yield _file(data, limits.patch)


class _Cutter:
    """Cuts whole parts off the front of what has arrived."""

    def __init__(self, data: bytes, fields: int) -> None:
        self.data = data
        self.position = 0
        self._fields = fields
        self._commit = 0  # where the next commit begins, once looked for

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
                yield _file(data[self.position : end], limits.patch)
                self.position = end
            else:
                end = data.find(b"\n", self.position) + 1
                if not end:
                    return
                self.position = end

    def end_of_file(self, start: int) -> int:
        """Where the file ends that begins or goes on at ``start``; -1 when its end has not arrived."""
        if 0 <= self._commit <= start:
            self._commit = self.data.find(_COMMIT_LINE, start)
        found = self.data.find(_FILE_LINE, start, self._commit if self._commit >= 0 else len(self.data))
        end = found if found >= 0 else self._commit
        return end + 1 if end >= 0 else -1


def _file(section: bytes, limit: int) -> FileDiff:
    start = section.find(b"\n@@ -")
    if start < 0:
        return FileDiff(section)
    head = section[: start + 1]
    diff = FileDiff(
        head,
        additions=section.count(b"\n+", start),
        deletions=section.count(b"\n-", start),
        lines=section.count(b"\n", start + 1),
        characters=_characters(section) - _characters(head) - 1,
    )
    diff.body, diff.truncated = _kept(section[start + 1 :], limit)
    return diff


def _kept(body: bytes, limit: int) -> tuple[bytes, bool]:
    """Return the hunks without the last newline, cut behind a line where they are too long."""
    if len(body) <= limit:
        return body.removesuffix(b"\n"), False
    return body[: max(0, body.rfind(b"\n", 0, limit))], True


def _characters(text: bytes) -> int:
    """Code points of UTF-8."""
    return len(text) if text.isascii() else len(text.translate(None, _CONTINUATION))


class _LargeFile:
    """A file too long to be held: its beginning is kept, the rest is counted as it passes."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._diff: FileDiff | None = None
        self._last = b""

    def take(self, piece: bytes) -> None:
        if self._diff is None:
            self._diff = _file(piece, self._limit)
        elif piece:
            seam = self._last + piece[:1]
            self._diff.additions += piece.count(b"\n+") + (seam == b"\n+")
            self._diff.deletions += piece.count(b"\n-") + (seam == b"\n-")
            self._diff.lines += piece.count(b"\n")
            self._diff.characters += _characters(piece)
        self._last = piece[-1:] or self._last

    def finished(self) -> FileDiff:
        assert self._diff is not None  # noqa: S101 - for the type: a large file begins with its first piece
        self._diff.truncated = True
        return self._diff
