"""Edits of a rendered patch: a few replacements in its added lines that make another program of it."""

from __future__ import annotations

from typing import NamedTuple


class Occurrence(NamedTuple):
    r"""One text of a patch: the file's number in the rendered patch, the line of its hunks, its columns with the mark.

    Columns count characters: ``hunks.split("\n")[line][start:end] == name``.
    """

    file: int
    line: int
    start: int
    end: int
    name: str


def even(text: str) -> str:
    """Return the text with every run of blanks made one."""
    return " ".join(text.split())


class Replacement(NamedTuple):
    """Columns of one line, and the text that comes there: as :class:`Occurrence` counts them."""

    file: int
    line: int
    start: int
    end: int
    text: str


class Edit(NamedTuple):
    """Replacements that are made together.

    ``kind`` is the sort of edit (``swap-variable``, ``boundary``). ``direction`` is the text before and after
    of operators, places and steps (``<=→<``, ``3→4``), and empty where names or literals of the patch are exchanged.
    """

    kind: str
    direction: str
    replacements: tuple[Replacement, ...]

    @property
    def lines(self) -> frozenset[tuple[int, int]]:
        """The lines it changes, by file and line."""
        return frozenset((one.file, one.line) for one in self.replacements)


def swap(kind: str, one: Occurrence, other: Occurrence) -> Edit:
    """Return the exchange of two names."""
    places = sorted(((one, other.name), (other, one.name)))
    return Edit(kind, "", tuple(Replacement(*place[:4], name) for place, name in places))
