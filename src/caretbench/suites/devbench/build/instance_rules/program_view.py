"""Program of an instance with its syntax tree: the positions of prefix, reference and suffix in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import tree_sitter

from caretbench.problem import Problem
from caretbench.syntax.documentation import Comment, comments_in
from caretbench.syntax.parser import encode, parse, walk
from caretbench.syntax.uses.declarations import Declaration, DeclarationIndex
from caretbench.syntax.uses.identifiers import Identifier, identifiers

_STRING: Final = re.compile(r"string|char_literal|character_literal|rune_literal|regex")
_CODE_IN_STRING: Final = re.compile(r"interpolation$|substitution$")


@dataclass(frozen=True)
class ProgramView:
    """The texts of an instance, and what its syntax tree says about them. Positions count bytes of the program."""

    language: str
    prefix: str
    reference: str
    suffix: str
    hidden: str = ""
    """Assertions that are not shown."""

    @classmethod
    def of(cls, problem: Problem) -> ProgramView:
        """Return the view of a problem's program with the reference in its place."""
        caret = problem.caret
        return cls(caret.language, caret.prefix, problem.reference, caret.suffix, problem.hidden_tests)

    @property
    def shown(self) -> str:
        """Prefix, reference and suffix."""
        return self.prefix + self.reference + self.suffix

    @cached_property
    def program(self) -> str:
        """The whole program."""
        return self.shown + self.hidden

    @cached_property
    def start(self) -> int:
        """Position of the first character of the reference that is not blank."""
        return self.prefix_end + len(encode(self.reference)) - len(encode(self.reference.lstrip()))

    @cached_property
    def end(self) -> int:
        """Position behind the last character of the reference that is not blank; at least :attr:`start`."""
        return max(self.start, len(encode(self.prefix + self.reference.rstrip())))

    @cached_property
    def prefix_end(self) -> int:
        """Position of the caret."""
        return len(encode(self.prefix))

    @cached_property
    def tree(self) -> tree_sitter.Tree:
        """Syntax tree of the program."""
        return parse(self.program, self.language)

    @cached_property
    def declarations(self) -> tuple[Declaration, ...]:
        """Declared names, in text order."""
        return DeclarationIndex(self.tree.root_node, self.language).all

    @cached_property
    def names(self) -> tuple[Identifier, ...]:
        """Identifiers, in text order."""
        return identifiers(self.program, self.language, self.tree).names

    @cached_property
    def comments(self) -> list[Comment]:
        """Comments and docstrings, in text order."""
        return comments_in(self.tree, self.language)

    @cached_property
    def code(self) -> bytes:
        """The program with blanks in the place of comments and of the text of strings; positions stay."""
        masked = bytearray(encode(self.program))
        # A word of a comment or a text is no use of an import, and no call of a handler.
        texts = [node.byte_range for node in walk(self.tree.root_node, closed=_is_text) if _is_text(node)]
        texts += [(comment.start, comment.end) for comment in self.comments]  # docstrings too
        for start, end in texts:
            masked[start:end] = bytes(byte if byte in b"\r\n" else 32 for byte in masked[start:end])
        return bytes(masked)

    def nodes(self) -> Iterator[tree_sitter.Node]:
        """Yield the nodes that begin in the reference, in text order."""
        return (node for node in walk(self.tree.root_node, self.start, self.end) if node.start_byte >= self.start)


def _is_text(node: tree_sitter.Node) -> bool:
    """Return whether a node is a comment, or a string without a part that is code."""
    if node.type.endswith("comment"):
        return True
    holds_code = any(_CODE_IN_STRING.search(child.type) for child in node.children)
    return _STRING.search(node.type) is not None and not holds_code


def filled_lines(text: str) -> int:
    """Return the number of lines that are not blank."""
    return sum(bool(line.strip()) for line in text.split("\n"))


def nesting_depth(program: str, language: str) -> int:
    """Return the depth of the syntax tree of a program: 1 for its root alone."""
    deepest, waiting = 0, [(parse(program, language).root_node, 1)]
    while waiting:
        node, depth = waiting.pop()
        deepest = max(deepest, depth)
        waiting.extend((child, depth + 1) for child in node.children)
    return deepest
