"""Parser of the hunks of unified diffs.

It relies on the line counts of headers: a removed line ``-- x`` is ``--- x`` in a patch, and an added line ``++ y`` is
``+++ y``, so that only counting separates them from header lines of a file. Only a newline ends a line: carriage
returns, form feeds and U+2028 are part of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, cast

from caretbench.errors import DataError

LineMark = Literal[" ", "+", "-", "\\"]
"""Kept, added, removed; ``\\``: a note of the diff (no newline at the end of the file)."""


_HEADER = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(?: ?(.*))?", re.DOTALL)


_OLD = {" ": 1, "-": 1, "+": 0, "\\": 0}


_NEW = {" ": 1, "-": 0, "+": 1, "\\": 0}


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line of a hunk: ``text`` has neither mark nor newline."""

    mark: LineMark
    text: str


@dataclass(frozen=True, slots=True)
class Hunk:
    """One hunk: line numbers (from 1) and line counts in the old and the new file, and its lines.

    ``section`` is the text after the second ``@@``, the function around the hunk for example.
    """

    old_start: int
    old_count: int
    new_start: int
    new_count: int
    section: str
    lines: tuple[DiffLine, ...]

    @property
    def old_lines(self) -> tuple[str, ...]:
        """Lines before the change."""
        return tuple(line.text for line in self.lines if _OLD[line.mark])

    @property
    def new_lines(self) -> tuple[str, ...]:
        """Lines after the change."""
        return tuple(line.text for line in self.lines if _NEW[line.mark])

    @property
    def header(self) -> str:
        """The first line of the hunk, always with both counts."""
        places = f"@@ -{self.old_start},{self.old_count} +{self.new_start},{self.new_count} @@"
        return f"{places} {self.section}" if self.section else places


def parse_hunks(patch: str, *, truncated: bool = False) -> tuple[Hunk, ...]:
    """Return the hunks of one file's patch, which begins with the first ``@@``; none if it is empty.

    If the patch is ``truncated``, an incomplete last hunk is dropped.

    Raises:
        DataError: the text is no patch; the message has the line and the cause.
    """
    if not patch:
        return ()
    # ``splitlines`` would also end lines at form feeds and U+2028, which occur within lines of real files.
    lines = (patch[:-1] if patch.endswith("\n") else patch).split("\n")
    hunks: list[Hunk] = []
    index = 0
    while index < len(lines):
        header = _HEADER.fullmatch(lines[index])
        if header is None:
            # Records of other tools may be cut in mid-line: what is left of a header is no hunk.
            if truncated and hunks and index == len(lines) - 1:
                break
            raise DataError(f"line {index + 1} of the patch: expected a hunk, found {lines[index][:80]!r}")
        end = _find_end(lines, index, header)
        if end is None:
            if truncated:
                break
            raise DataError(f"line {index + 1} of the patch: the hunk is shorter than {lines[index][:80]!r} states")
        hunks.append(_make_hunk(header, lines[index + 1 : end]))
        index = end
    return tuple(hunks)


def _count(text: str | None) -> int:
    return 1 if text is None else int(text)


def _find_end(lines: Sequence[str], start: int, header: re.Match[str]) -> int | None:
    """Return the index after the hunk's last line; None if the patch ends before the hunk does."""
    old, new = _count(header[2]), _count(header[4])
    index = start + 1
    while old > 0 or new > 0:
        if index == len(lines):
            return None
        mark = lines[index][:1] or " "  # mail programs and editors strip the space of an empty kept line
        if mark not in _OLD:
            raise DataError(f"line {index + 1} of the patch: a line begins with ' ', '+', '-' or '\\', found {mark!r}")
        old -= _OLD[mark]
        new -= _NEW[mark]
        if old < 0 or new < 0:
            raise DataError(f"line {index + 1} of the patch: the hunk is longer than its header states")
        index += 1
    # Git's note about a missing line feed at the end of a file follows the last line, and no header counts it.
    if index < len(lines) and lines[index].startswith("\\"):
        index += 1
    return index


def _make_hunk(header: re.Match[str], lines: Iterable[str]) -> Hunk:
    return Hunk(
        old_start=int(header[1]),
        old_count=_count(header[2]),
        new_start=int(header[3]),
        new_count=_count(header[4]),
        section=header[5] or "",
        lines=tuple(DiffLine(cast("LineMark", line[:1] or " "), line[1:]) for line in lines),
    )
