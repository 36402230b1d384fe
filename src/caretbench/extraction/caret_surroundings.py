"""Surroundings of a caret: the texts before and after it, and its position in the syntax tree."""

from __future__ import annotations

from typing import NamedTuple

import tree_sitter

from caretbench.languages import language as language_named
from caretbench.problem import Caret
from caretbench.syntax.faults import is_well_formed_text
from caretbench.syntax.parser import encode, parse, text_of

MAX_TEXT_CHARACTERS = 100_000
"""Maximum number of characters of a text that is inserted, without the reasoning that a policy removes."""

_LITERAL = ("comment", "string", "template_literal", "char", "text", "regex")


class Surroundings(NamedTuple):
    """Visible texts before and after the caret, and their language: the input of a policy."""

    before: str
    after: str
    language: str

    @classmethod
    def from_caret(cls, caret: Caret, after: str | None = None) -> Surroundings:
        """Return the surroundings of a caret; ``after`` replaces a suffix that is not shown in full."""
        name = language_named(caret.language).name
        return cls(caret.prefix, caret.suffix if after is None else after, name)

    def program(self, text: str) -> str:
        """Return the visible program with ``text`` at the caret."""
        return self.before + text + self.after

    def parses_with(self, text: str) -> bool:
        """Return whether the visible program with ``text`` at the caret is well formed."""
        return is_well_formed_text(self.program(text), self.language)

    @property
    def needs_newline(self) -> bool:
        """Return whether a text at the caret must end with a newline, because the suffix begins a new line."""
        at_line_start = not self.before or self.before.endswith("\n")
        return at_line_start and bool(self.after.strip()) and not self.after.startswith("\n")


def within_literal(tree: tree_sitter.Tree, position: int) -> bool:
    """Return whether byte ``position`` is inside a string or comment."""
    # From the byte before: at the end of a literal the smallest node after the position is the next token. Downwards:
    # the parent of a node is looked for from the root, 1 s in a tree of 14,000 levels.
    first = max(0, position - 1)
    cursor = tree.walk()
    while (node := cursor.node) is not None and node.start_byte <= first:
        # A line comment goes on until a newline, so the position at its end is inside of it too.
        ends_line = "comment" in node.type and node.end_byte == position
        inside = node.start_byte < position < node.end_byte or (node.start_byte < position and ends_line)
        is_literal = any(word in node.type for word in _LITERAL)
        if inside and is_literal and not (ends_line and text_of(node).endswith(("*/", "\n"))):
            return True
        if cursor.goto_first_child_for_byte(first) is None:
            return False
    return False


def caret_in_literal(surroundings: Surroundings, text: str) -> bool:
    """Return whether the caret is inside a string or comment, where prose and fences are valid content."""
    position = len(encode(surroundings.before))
    # The answer itself may close the literal, or break the parse: any of the three trees may show what the caret is in.
    trees = (parse(surroundings.program(middle), surroundings.language) for middle in (text, "\n", ""))
    return any(within_literal(tree, position) for tree in trees)
