"""Edits of a rendered patch: a few replacements in its added lines that give another program."""

from __future__ import annotations

from typing import NamedTuple


class Occurrence(NamedTuple):
    r"""A text in a patch: number of the file, line of its hunks, columns with the diff mark, and the text.

    Columns count characters: ``hunks.split("\n")[line][start:end] == text``.
    """

    file: int
    line: int
    start: int
    end: int
    text: str


def collapse_whitespace(text: str) -> str:
    """Return the text with every run of white space as one space."""
    return " ".join(text.split())


class Replacement(NamedTuple):
    """New text for some columns of a line, counted as in :class:`Occurrence`."""

    file: int
    line: int
    start: int
    end: int
    text: str


class PatchEdit(NamedTuple):
    """Replacements that are made together.

    ``kind`` is the kind of edit (``swap-variable``, ``boundary``). ``direction`` is the text before and after for
    operators and numbers (``<=→<``, ``3→4``), and empty if names or literals of the patch are exchanged.
    """

    kind: str
    direction: str
    replacements: tuple[Replacement, ...]

    @property
    def lines(self) -> frozenset[tuple[int, int]]:
        """The changed lines, by file and line."""
        return frozenset((one.file, one.line) for one in self.replacements)


def swap_edit(kind: str, one: Occurrence, other: Occurrence) -> PatchEdit:
    """Return the exchange of two texts."""
    positions = sorted(((one, other.text), (other, one.text)))
    return PatchEdit(kind, "", tuple(Replacement(*position[:4], name) for position, name in positions))
