"""Walk over the syntax tree that finds the structure of a text at its caret.

The walk visits only nodes that overlap the text, and ends at fixed limits, so that its time is bounded. Long texts are
parsed only if the probe of a process of its own parses them within its limits.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import tree_sitter

from caretbench.languages import language_of_grammar
from caretbench.metrics.error_kinds.answer_structure import COMMENT, AnswerStructure, Call, Statement, Token
from caretbench.metrics.error_kinds.node_table import kind_by_type, kind_of, node_table
from caretbench.syntax.faults import layout_faults
from caretbench.syntax.parse_probe import takes_too_much
from caretbench.syntax.parser import encode, error_count, grammar_name, parse
from caretbench.syntax.uses.expression_contexts import ARGUMENT_LIST_NODES, CALL_NODES, FUNCTION_NODES

MAX_PROGRAM_CHARACTERS: Final = 500_000
"""Length from which a program with the text in it is not parsed."""
MAX_NODES: Final = 100_000
"""Maximum number of nodes that the walk visits."""
MAX_DEPTH: Final = 400
"""Maximum depth of the nodes that the walk visits."""

_LITERALS: Final = ("string", "heredoc", "regex", "char_literal", "character_literal")
_MAX_INDENTATION: Final = 1_000


def structure_of(prefix: str, text: str, suffix: str, language: str) -> AnswerStructure | None:
    """Return the structure of ``text`` between prefix and suffix; None if it cannot be parsed within the limits."""
    try:
        name = grammar_name(language)
    except KeyError:
        return None
    program = prefix + text + suffix
    if len(program) > MAX_PROGRAM_CHARACTERS or takes_too_much(text, (program,), name):
        return None
    start = len(encode(prefix))
    walk = _Walk(parse(program, name), encode(program), start, start + len(encode(text)))
    return walk.structure(language_of_grammar(name).name, prefix) if walk.run() else None


@lru_cache(maxsize=1_024)
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

    def __init__(self, tree: tree_sitter.Tree, data: bytes, start: int, end: int) -> None:
        self.tree = tree
        self.data = data
        self.start = start
        self.end = end
        self.table = node_table()
        self.tokens: list[Token] = []
        self.comments: list[int] = []
        self.statements: list[Statement] = []
        self.calls: list[tree_sitter.Node] = []
        self.bodies: list[tuple[int, int]] = []
        self.misaligned = 0

    def run(self) -> bool:
        """Visit the nodes; return False where there are too many, or too deep ones."""
        stack = [_Visit(self.tree.root_node)]
        visited = 0
        while stack:
            visit = stack.pop()
            visited += 1
            if visited > MAX_NODES or visit.depth > MAX_DEPTH:
                return False
            stack += reversed(self._visit(visit))
        return True

    def _visit(self, visit: _Visit) -> list[_Visit]:
        """Record a node, and return its children that overlap the span."""
        node, in_statement, in_literal = visit.node, visit.in_statement, visit.in_literal
        is_list = node.type in self.table.lists or node.is_error
        outermost = node.start_byte >= self.start and not (in_statement or in_literal or is_list)
        if outermost and (visit.in_list or node.type in kind_by_type()):
            self._add_statement(node)
            in_statement = True
        if not in_literal and self._is_leaf(node):
            self._add_token(node)
            in_literal = True  # a string may hold calls, but no tokens
        children = node.children
        self._add_call_or_body(node, children)
        if is_list and not node.is_error:
            self._align(children)
        overlapping = filter(self._overlaps, children)
        return [_Visit(child, visit.depth + 1, in_statement, is_list, in_literal) for child in overlapping]

    def _add_call_or_body(self, node: tree_sitter.Node, children: Sequence[tree_sitter.Node]) -> None:
        if node.type in CALL_NODES or any(child.type in ARGUMENT_LIST_NODES for child in children):
            self.calls.append(node)
        if node.type in FUNCTION_NODES and (body := node.child_by_field_name("body")) is not None:
            self.bodies.append((body.start_byte, body.end_byte))

    def _overlaps(self, node: tree_sitter.Node) -> bool:
        return node.start_byte < self.end and node.end_byte > self.start

    @staticmethod
    def _is_leaf(node: tree_sitter.Node) -> bool:
        return node.child_count == 0 or "comment" in node.type or any(word in node.type for word in _LITERALS)

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
        literal = any(word in node.type for word in _LITERALS) and node.start_byte >= self.start
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
            (child for child in node.children if child.type in ARGUMENT_LIST_NODES), None
        )
        start, end = (node.end_byte, node.end_byte) if arguments is None else (arguments.start_byte, arguments.end_byte)
        callee = self._own_text(node.start_byte, start) + self._own_text(end, node.end_byte)
        return Call(callee, self._own_text(start, end).replace(",)", ")"))

    def structure(self, language: str, prefix: str) -> AnswerStructure:
        """Return what was found."""
        self.bodies.sort(key=lambda body: (body[0], -body[1]))
        line = prefix.rpartition("\n")[2]
        margin = len(encode(line)) - len(encode(line.lstrip())) if line.strip() else None
        # A call around the span that holds it in a function's body is the same for answer and reference.
        around = [body for body in self.bodies if body[0] < self.start and body[1] > self.end]
        inner = max(around, default=(0, 0))[0]
        calls = tuple(self._call(node) for node in self.calls if node.start_byte >= inner)
        return AnswerStructure(
            language,
            error_count(self.tree),
            layout_faults(self.tree, language),
            tuple(self.tokens),
            self.comments,
            tuple(self.statements),
            calls,
            self.misaligned,
            margin,
        )
