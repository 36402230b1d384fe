"""Syntax tree of a program with a text in it, parsed from the tree of another text there where this is exact."""

from __future__ import annotations

from typing import Final, NamedTuple

import tree_sitter

from caretbench.errors import UsageError
from caretbench.languages import language_of_grammar
from caretbench.syntax.parser import LONG_RUN, LONG_TEXT, encode, grammar_name, has_error, parse, unparsed

MAX_PROGRAM_CHARACTERS: Final = 500_000
"""Length from which a program with the text in it is not parsed."""


class SplicedTree(NamedTuple):
    """Tree of a program, the program's bytes, and the range of the text in it."""

    tree: tree_sitter.Tree
    program: bytes
    start: int
    end: int
    grammar: str

    @property
    def language(self) -> str:
        """Name of the language."""
        return language_of_grammar(self.grammar).name

    def with_text(self, program: bytes, end: int) -> tree_sitter.Tree | None:
        """Return the tree of a program with another text up to ``end``, parsed incrementally; None if it may differ.

        Recovery from errors depends on the tree before, and long runs of comments are parsed as if they were blank.
        """
        if has_error(self.tree) or max(program.count(b"#"), self.program.count(b"#")) >= LONG_RUN:
            return None
        # Trees are shared by callers; an edit would move the positions of theirs.
        edited = self.tree.copy()
        points = _point(self.program, self.start), _point(self.program, self.end), _point(program, end)
        edited.edit(self.start, self.end, end, *points)
        tree = parse(program, self.grammar, old=edited)
        return None if has_error(tree) else tree


def _point(program: bytes, position: int) -> tuple[int, int]:
    """Return row and column of a position."""
    return program.count(b"\n", 0, position), position - (program.rfind(b"\n", 0, position) + 1)


def spliced_tree(
    prefix: str, text: str, suffix: str, language: str, near: SplicedTree | None = None
) -> SplicedTree | None:
    """Return the tree of a program with ``text`` between prefix and suffix; None if it is not parsed within the limits.

    ``near`` is the tree of another text between the same prefix and suffix.
    """
    try:
        name = grammar_name(language)
    except UsageError:
        return None
    joined = prefix + text + suffix
    if len(joined) > MAX_PROGRAM_CHARACTERS or (len(text) >= LONG_TEXT and unparsed((joined,), name)):
        return None
    program = encode(joined)
    start = len(encode(prefix))
    end = start + len(encode(text))
    tree = None if near is None else near.with_text(program, end)
    return SplicedTree(parse(program, name) if tree is None else tree, program, start, end, name)
