"""The new side of each hunk of a patch, parsed as the fragment it is, with its identifiers mapped back to the patch."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

from caretbench.sources.git.unified_diff import Hunk, parse_hunks
from caretbench.suites.efcb.rendering import Rendered
from caretbench.syntax.parser import Offsets
from caretbench.syntax.source import grammar_of
from caretbench.syntax.uses.identifiers import Identifiers, identifiers


class Occurrence(NamedTuple):
    r"""One identifier: the file's number in the rendered patch, the line of its hunks, its columns with the mark.

    Columns count characters: ``hunks.split("\n")[line][start:end] == name``.
    """

    file: int
    line: int
    start: int
    end: int
    name: str


class Fragment(NamedTuple):
    """One hunk: the lines of its new side by their numbers in the file's hunks, and what stands in them.

    ``occurrences`` go with ``read.names``. ``added`` are the numbers of the added lines; ``removed`` the removed lines
    and ``old`` the whole old side, both with blanks made even.
    """

    file: int
    grammar: str
    text: str
    lines: tuple[int, ...]
    added: frozenset[int]
    removed: frozenset[str]
    old: str
    read: Identifiers
    occurrences: tuple[Occurrence, ...]


def even(text: str) -> str:
    """The text with every run of blanks made one."""
    return " ".join(text.split())


def fragments(rendered: Rendered) -> Iterator[Fragment]:
    """The hunks with an added line, of all files whose suffix stands for a known grammar.

    Raises:
        DataError: what a file shows is no patch.
    """
    for number, file in enumerate(rendered.files):
        grammar = grammar_of(file.path)
        if grammar is None:
            continue
        line = 0
        for hunk in parse_hunks(file.hunks, cut=True):
            if any(entry.mark == "+" for entry in hunk.lines):
                yield _fragment(number, grammar, line + 1, hunk)
            line += 1 + len(hunk.lines)


def _fragment(file: int, grammar: str, first: int, hunk: Hunk) -> Fragment:
    numbered = [(first + index, line) for index, line in enumerate(hunk.lines)]
    new = [(number, line) for number, line in numbered if line.mark in "+ "]
    text = "\n".join(line.text for _, line in new)
    lines = tuple(number for number, _ in new)
    read = identifiers(text, grammar)
    starts = [0, *accumulate(len(line.text) + 1 for _, line in new)]
    offsets = Offsets(text)
    occurrences = []
    for name in read.names:
        column = offsets.characters(name.start) - starts[name.row] + 1
        occurrences.append(Occurrence(file, lines[name.row], column, column + len(name.name), name.name))
    return Fragment(
        file,
        grammar,
        text,
        lines,
        frozenset(number for number, line in new if line.mark == "+"),
        frozenset(even(line.text) for line in hunk.lines if line.mark == "-"),
        even("\n".join(hunk.old_lines)),
        read,
        tuple(occurrences),
    )
