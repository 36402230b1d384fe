"""Walk over the syntax tree that finds the structure of a text at its caret.

The walk visits only nodes that overlap the text, and ends at fixed limits, so that its time is bounded. Of the nodes
around the text it visits the children only where a call can be among them. Long texts are parsed only if the probe of a
process of its own parses them within its limits.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import tree_sitter

from caretbench.languages.node_kinds import node_kinds
from caretbench.metrics.error_kinds.answer_structure import COMMENT, AnswerStructure, Call, Statement, Token
from caretbench.metrics.error_kinds.node_table import kind_by_type, kind_of, node_table
from caretbench.syntax.parser import encode
from caretbench.syntax.spliced_tree import SplicedTree, spliced_tree

MAX_NODES: Final = 100_000
"""Maximum number of nodes that the walk visits."""
MAX_DEPTH: Final = 400
"""Maximum depth of the nodes that the walk visits."""

_LITERALS: Final = ("string", "heredoc", "regex")
_MAX_INDENTATION: Final = 1_000


def structure_of(
    prefix: str, text: str, suffix: str, language: str, near: SplicedTree | None = None
) -> AnswerStructure | None:
    """Return the structure of ``text`` between prefix and suffix; None if it cannot be parsed within the limits.

    ``near`` is the tree of another text in the same place, from which this one's is parsed incrementally.
    """
    tree = spliced_tree(prefix, text, suffix, language, near)
    if tree is None:
        return None
    walk = _Walk(tree)
    return walk.structure(prefix) if walk.run() else None


# Trees take a hundred times the memory of their text; answers come problem by problem.
@lru_cache(maxsize=16)
def reference_structure(prefix: str, reference: str, suffix: str, language: str) -> AnswerStructure | None:
    """Return the structure of a reference; cached, since every answer to a problem is compared with it."""
    return structure_of(prefix, reference, suffix, language)


class _Visit(NamedTuple):
    """Node to be visited, and what is around it."""

    node: tree_sitter.Node
    depth: int = 0
    in_statement: bool = False
    in_list: bool = False
    in_literal: bool = False


class _Walk:
    """Walk over the nodes that overlap a span."""

    def __init__(self, spliced: SplicedTree) -> None:
        self.spliced = spliced
        self.data = spliced.program
        self.start = spliced.start
        self.end = spliced.end
        self.table = node_table()
        self.kinds = node_kinds()
        self.tokens: list[Token] = []
        self.comments: list[int] = []
        self.statements: list[Statement] = []
        self.calls: list[tree_sitter.Node] = []
        self.bodies: list[tuple[int, int]] = []
        self.misaligned = 0

    def run(self) -> bool:
        """Visit the nodes; return False where there are too many, or too deep ones."""
        first = self._pass_around()
        stack = [first]
        visited = first.depth
        while stack:
            visit = stack.pop()
            visited += 1
            if visited > MAX_NODES or visit.depth > MAX_DEPTH:
                return False
            stack += reversed(self._visit(visit))
        return True

    def _pass_around(self) -> _Visit:
        """Record the nodes around the span, and return the visit of the innermost one.

        A node that begins before the span and ends after it is no statement of the span, and of its children only the
        next of these nodes overlaps the span or touches it.
        """
        around = self._around()
        in_literal = False
        for node in around[:-1]:
            if not in_literal and self._is_leaf(node):
                self._add_token(node)
                in_literal = True
            if node.type in self.kinds.functions:
                self._add_body(node)
        innermost = max((body[0] for body in self.bodies if body[0] < self.start and body[1] > self.end), default=0)
        for node in around[:-1]:
            # A call around the body that holds the span is left out, see `structure`: there its children do not count.
            if node.start_byte >= innermost and self._is_call(node, node.children):
                self.calls.append(node)
        in_list = len(around) > 1 and self._is_list(around[-2])
        return _Visit(around[-1], len(around) - 1, False, in_list, in_literal)

    def _around(self) -> list[tree_sitter.Node]:
        """Return the nodes that begin before the span and end after it, outermost first; at least the root."""
        root = self.spliced.tree.root_node
        node = root.descendant_for_byte_range(self.start, self.end)
        found = []
        while node is not None:
            if node.start_byte < self.start and node.end_byte > self.end:
                found.append(node)
            node = node.parent
        return found[::-1] or [root]

    def _visit(self, visit: _Visit) -> list[_Visit]:
        """Record a node, and return its children that overlap the span."""
        node, in_statement, in_literal = visit.node, visit.in_statement, visit.in_literal
        is_list = self._is_list(node)
        outermost = node.start_byte >= self.start and not (in_statement or in_literal or is_list)
        if outermost and (visit.in_list or node.type in kind_by_type()):
            self._add_statement(node)
            in_statement = True
        if not in_literal and self._is_leaf(node):
            self._add_token(node)
            in_literal = True  # a string may hold calls, but no tokens
        children = node.children
        if self._is_call(node, children):
            self.calls.append(node)
        if node.type in self.kinds.functions:
            self._add_body(node)
        if is_list and not node.is_error:
            self._align(children)
        overlapping = filter(self._overlaps, children)
        return [_Visit(child, visit.depth + 1, in_statement, is_list, in_literal) for child in overlapping]

    def _is_list(self, node: tree_sitter.Node) -> bool:
        return node.is_error or node.type in self.table.lists

    def _is_call(self, node: tree_sitter.Node, children: Sequence[tree_sitter.Node]) -> bool:
        return node.type in self.kinds.calls or any(child.type in self.kinds.argument_lists for child in children)

    def _add_body(self, node: tree_sitter.Node) -> None:
        if (body := node.child_by_field_name("body")) is not None:
            self.bodies.append((body.start_byte, body.end_byte))

    def _overlaps(self, node: tree_sitter.Node) -> bool:
        return node.start_byte < self.end and node.end_byte > self.start

    def _is_leaf(self, node: tree_sitter.Node) -> bool:
        return node.child_count == 0 or "comment" in node.type or self._is_literal(node)

    def _is_literal(self, node: tree_sitter.Node) -> bool:
        """Return whether a node is a literal that contains text of its own."""
        return any(word in node.type for word in _LITERALS) or node.type in self.kinds.literals["char"]

    def _add_statement(self, node: tree_sitter.Node) -> None:
        kind = kind_of(node)
        if kind == COMMENT or (not node.is_named and node.type not in kind_by_type()):
            return
        word = self._text(node.start_byte, node.end_byte).split(maxsplit=1)[:1]
        column = node.start_point.column
        self.statements.append(Statement(kind, node.type, node.start_byte, column, word[0] if word else ""))

    def _add_token(self, node: tree_sitter.Node) -> None:
        start, end = max(node.start_byte, self.start), min(node.end_byte, self.end)
        text = self._text(start, end)
        if not text.strip():
            return  # a newline, an indentation, or a missing token that the parser inserted
        if "comment" in node.type:
            self.comments.append(start)
            return
        starts_line = node.start_byte >= self.start and self._starts_line(node)
        literal = self._is_literal(node) and node.start_byte >= self.start
        runs_over = literal and node.end_byte > self.end
        self.tokens.append(Token(node.type, text, start, node.start_point.column, starts_line, runs_over))

    def _starts_line(self, node: tree_sitter.Node) -> bool:
        column = node.start_point.column
        return column <= _MAX_INDENTATION and not self.data[node.start_byte - column : node.start_byte].strip()

    def _align(self, children: Sequence[tree_sitter.Node]) -> None:
        """Count the statements of a list that begin in the span and in another column than their list's first."""
        first: int | None = None
        for child in children:
            if not child.is_named or child.type in self.table.unaligned or "comment" in child.type:
                continue
            if child.is_error or not self._starts_line(child):
                continue
            column = child.start_point.column
            if first is None:
                first = column
            elif column != first and (self.start <= child.start_byte < self.end or child.start_byte == self.end):
                self.misaligned += 1

    def _text(self, start: int, end: int) -> str:
        return self.data[start:end].decode("utf-8", "replace")

    def _own_text(self, start: int, end: int) -> str:
        """Return the text of a range without the bodies of functions in it, and without blanks."""
        parts = []
        place = start
        for body_start, body_end in self.bodies[bisect.bisect_right(self.bodies, (start, len(self.data))) :]:
            if body_start >= end:
                break
            if body_start >= place:
                parts.append(self._text(place, body_start))
                place = min(body_end, end)
        parts.append(self._text(place, end))
        return "".join("".join(parts).split())

    def _call(self, node: tree_sitter.Node) -> Call:
        arguments = node.child_by_field_name("arguments") or next(
            (child for child in node.children if child.type in self.kinds.argument_lists), None
        )
        start, end = (node.end_byte, node.end_byte) if arguments is None else (arguments.start_byte, arguments.end_byte)
        callee = self._own_text(node.start_byte, start) + self._own_text(end, node.end_byte)
        return Call(callee, self._own_text(start, end).replace(",)", ")"))

    def structure(self, prefix: str) -> AnswerStructure:
        """Return what was found."""
        self.bodies.sort(key=lambda body: (body[0], -body[1]))
        line = prefix.rpartition("\n")[2]
        margin = len(encode(line)) - len(encode(line.lstrip())) if line.strip() else None
        # A call around the span that holds it in a function's body is the same for answer and reference.
        around = [body for body in self.bodies if body[0] < self.start and body[1] > self.end]
        inner = max(around, default=(0, 0))[0]
        calls = tuple(self._call(node) for node in self.calls if node.start_byte >= inner)
        return AnswerStructure(
            self.spliced, tuple(self.tokens), self.comments, tuple(self.statements), calls, self.misaligned, margin
        )
