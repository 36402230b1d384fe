"""Edits of a rendered patch: a few replacements in its added lines that make another program of it."""

from __future__ import annotations

from typing import NamedTuple

from caretbench.suites.efcb.edits.fragments import Occurrence


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
