"""Hunks of a unified diff, read by the lengths that their headers give.

A removed line ``-- x`` stands in a patch as ``--- x``, an added ``++ y`` as ``+++ y``: only counting tells them from
the lines that name a file. Lines end at a newline and nowhere else, so that carriage returns, form feeds and
U+2028 stay what they are, part of a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, cast

from caretbench.errors import DataError

Mark = Literal[" ", "+", "-", "\\"]
"""Kept, added, removed; ``\\``: a remark of the diff itself (no newline at the end of the file)."""

_HEADER = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(?: ?(.*))?", re.DOTALL)
_OLD = {" ": 1, "-": 1, "+": 0, "\\": 0}
_NEW = {" ": 1, "-": 0, "+": 1, "\\": 0}


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a hunk: ``text`` without its mark and without its newline."""

    mark: Mark
    text: str


@dataclass(frozen=True, slots=True)
class Hunk:
    """One hunk: where it stands in the old and in the new file (lines from 1), and its lines.

    ``section`` is what stands behind the second ``@@``, the function around the hunk for instance.
    """

    old_start: int
    old_count: int
    new_start: int
    new_count: int
    section: str
    lines: tuple[Line, ...]

    @property
    def old_lines(self) -> tuple[str, ...]:
        """The lines before the change."""
        return tuple(line.text for line in self.lines if _OLD[line.mark])

    @property
    def new_lines(self) -> tuple[str, ...]:
        """The lines after the change."""
        return tuple(line.text for line in self.lines if _NEW[line.mark])

    @property
    def header(self) -> str:
        """The hunk's first line, always with both lengths."""
        places = f"@@ -{self.old_start},{self.old_count} +{self.new_start},{self.new_count} @@"
        return f"{places} {self.section}" if self.section else places


def parse_hunks(patch: str, *, cut: bool = False) -> tuple[Hunk, ...]:
    """Return the hunks of one file's patch, which begins with the first ``@@`` (an empty one has none).

    Of a patch that was ``cut`` off, a last hunk that is shorter than its header says is left out.

    Raises:
        DataError: it is no patch; the message says which line and why.
    """
    if not patch:
        return ()
    lines = (patch[:-1] if patch.endswith("\n") else patch).split("\n")
    hunks: list[Hunk] = []
    index = 0
    while index < len(lines):
        header = _HEADER.fullmatch(lines[index])
        if header is None:
            if cut and hunks and index == len(lines) - 1:
                break
            raise DataError(f"line {index + 1} of the patch: expected a hunk, found {lines[index][:80]!r}")
        end = _end(lines, index, header)
        if end is None:
            if cut:
                break
            raise DataError(
                f"line {index + 1} of the patch: the hunk is shorter than {lines[index][:80]!r} says"
            )
        hunks.append(_hunk(header, lines[index + 1 : end]))
        index = end
    return tuple(hunks)


def _count(text: str | None) -> int:
    return 1 if text is None else int(text)


def _end(lines: Sequence[str], start: int, header: re.Match[str]) -> int | None:
    """Return the index behind the hunk's last line; none when the patch ends before the hunk does."""
    old, new = _count(header[2]), _count(header[4])
    index = start + 1
    while old > 0 or new > 0:
        if index == len(lines):
            return None
        mark = lines[index][:1] or " "  # mail programs and editors take the blank off an empty kept line
        if mark not in _OLD:
            raise DataError(
                f"line {index + 1} of the patch: a line begins with ' ', '+', '-' or '\\', found {mark!r}"
            )
        old -= _OLD[mark]
        new -= _NEW[mark]
        if old < 0 or new < 0:
            raise DataError(f"line {index + 1} of the patch: the hunk is longer than its header says")
        index += 1
    if index < len(lines) and lines[index].startswith("\\"):
        index += 1
    return index


def _hunk(header: re.Match[str], lines: Iterable[str]) -> Hunk:
    return Hunk(
        old_start=int(header[1]),
        old_count=_count(header[2]),
        new_start=int(header[3]),
        new_count=_count(header[4]),
        section=header[5] or "",
        lines=tuple(Line(cast("Mark", line[:1] or " "), line[1:]) for line in lines),
    )


def render_hunks(hunks: Iterable[Hunk]) -> str:
    """Return the patch again, without a newline at its end; lengths of 1 are written out."""
    return "\n".join(
        text for hunk in hunks for text in (hunk.header, *(line.mark + line.text for line in hunk.lines))
    )
