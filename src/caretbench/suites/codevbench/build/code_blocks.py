"""Blocks of a file by the paper's kinds, from the tree-sitter blocks of ``syntax/``.

A method and a handler (``except``, ``catch``) are their bodies, since the header stands before the caret; every other
block is a whole statement. Only code in functions is taken: what runs at import decides about all tests at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

import tree_sitter

from caretbench.build.projects.language_tables import project_tables
from caretbench.languages.node_kinds import node_kinds
from caretbench.projects.code_search import TokenSearch, split_tokens
from caretbench.projects.file_spans import dominant_newline, round_trips, visible_text
from caretbench.suites.codevbench.similar_functions import block_rules
from caretbench.syntax import Span
from caretbench.syntax.analysis import FileAnalysis
from caretbench.syntax.analysis_types import FUNCTION_SCOPES, SpanIndex
from caretbench.syntax.blocks import Block
from caretbench.syntax.parser import walk
from caretbench.syntax.source import parse_file

BlockKind = Literal[
    "method", "if", "for", "while", "try", "catch", "statement", "argument_list", "partial_line", "comment"
]

_BODIES: Final[dict[str, BlockKind]] = {"if_body": "if", "loop_body": "for", "try_body": "try"}
_OTHER_BODIES: Final = frozenset({"function_body", "class_body", "with_body", "switch_case"})
_WHILE: Final = (b"while", b"do")


class CodeBlock(NamedTuple):
    """One block: its kind, its bytes in the file at ``path``, and the spans of its own statements.

    ``statements`` are those directly in the body of a compound block, in text order; empty for others. ``leaves`` is
    True if no further statement runs after it, as after ``return``.
    """

    path: str
    kind: BlockKind
    span: Span
    statements: tuple[Span, ...] = ()
    leaves: bool = False


def always_leaves(node: tree_sitter.Node) -> bool:
    """Return whether no statement after this one can run: it returns or throws, or each of its branches does."""
    rules, kinds = block_rules(), node_kinds()
    if node.type in kinds.expression_statements and node.named_children:
        node = node.named_children[0]
    if node.type in rules.leaving_statements:
        return True
    if node.type in rules.branches:
        others = node.children_by_field_name("alternative")
        bodies = [node.child_by_field_name("consequence"), *map(_body_of, others)]
        return bool(others) and others[-1].type not in kinds.elifs and all(map(_body_leaves, bodies))
    if node.type in rules.guards:
        return _body_leaves(node.child_by_field_name("body"))
    if node.type in rules.tries:
        handlers = [child for child in node.named_children if child.type in rules.handlers]
        bodies = [node.child_by_field_name("body"), *map(_body_of, handlers)]
        return all(map(_body_leaves, bodies))
    return False


def _body_of(clause: tree_sitter.Node) -> tree_sitter.Node | None:
    """Return the body of a clause, such as `else`; a statement without a clause is its own body."""
    if not clause.type.endswith("_clause"):
        return clause
    named = clause.child_by_field_name("body") or clause.child_by_field_name("consequence")
    return named or (clause.named_children[-1] if clause.named_children else None)


def _body_leaves(body: tree_sitter.Node | None) -> bool:
    if body is None:
        return False
    if body.type not in block_rules().bodies:
        return always_leaves(body)
    statements = [child for child in body.named_children if "comment" not in child.type]
    return bool(statements) and always_leaves(statements[-1])


class BlockFinder:
    """Finder of the blocks of one file."""

    def __init__(self, analysis: FileAnalysis) -> None:
        self.analysis = analysis
        self.data = analysis.source.data
        self.path = analysis.source.path
        self.newline = dominant_newline(self.data)
        self._import = project_tables()[analysis.source.language].mining.import_statement
        self._statements = [block for block in analysis.blocks if block.kind == "statement"]
        self._nesting = SpanIndex([block.span for block in self._statements])
        self._docstrings = {comment.start for comment in analysis.comments if comment.kind == "docstring"}
        self._haystack = TokenSearch(self.data.decode("utf-8"))
        self._tree = parse_file(analysis.source)

    def blocks(self) -> Iterator[CodeBlock]:
        """Yield all blocks, in no particular order."""
        compound: dict[Span, tuple[BlockKind, Block]] = {}
        other: set[Span] = set()
        for block in self.analysis.blocks:
            if block.kind == "function_body":
                yield from self._body("method", block)
            elif block.kind == "handler":
                yield from self._body("catch", block)
            if block.kind not in _BODIES and block.kind not in _OTHER_BODIES:
                continue
            around = self._statement_around(block.span)
            if around is None:
                continue
            if block.kind in _BODIES and around not in compound:
                compound[around] = (_BODIES[block.kind], block)
            elif block.kind in _OTHER_BODIES:
                other.add(around)
        for statement in self._statements:
            if statement.span in compound:
                kind, body = compound[statement.span]
                yield from self._whole(kind, statement.span, body)
            elif statement.span not in other and self._is_plain(statement.span):
                yield from self._simple(statement.span)

    def _statement_around(self, body: Span) -> Span | None:
        """Return the statement that a body belongs to: the innermost one that begins before it."""
        for index in self._nesting.enclosing(*body):
            span = self._statements[index].span
            if span.start < body.start:
                return span
        return None

    def _body(self, kind: BlockKind, block: Block) -> Iterator[CodeBlock]:
        statements = self._own_statements(block.content)
        if statements and statements[0].start in self._docstrings:
            statements = statements[1:]
        if statements:
            span = Span(statements[0].start, statements[-1].end)
            yield CodeBlock(self.path, kind, span, statements, self._leaves(statements[-1]))

    def _whole(self, kind: BlockKind, span: Span, body: Block) -> Iterator[CodeBlock]:
        if kind == "for" and self.data[span.start : span.end].startswith(_WHILE):
            kind = "while"
        yield CodeBlock(self.path, kind, span, self._own_statements(body.content), self._leaves(span))

    def _simple(self, span: Span) -> Iterator[CodeBlock]:
        yield CodeBlock(self.path, "statement", span, leaves=self._leaves(span))
        if b"\n" not in self.data[span.start : span.end]:
            yield CodeBlock(self.path, "partial_line", span)
        for inner in walk(self._node(span)):
            if inner.type in block_rules().argument_lists and inner.named_children:
                first, last = inner.named_children[0], inner.named_children[-1]
                yield CodeBlock(self.path, "argument_list", Span(first.start_byte, last.end_byte))

    def _own_statements(self, content: Span) -> tuple[Span, ...]:
        """Return the statements of a body that lie in no other statement of it."""
        statements: list[Span] = []
        for block in self.analysis.blocks_in(content):
            if block.kind == "statement" and (not statements or block.span.start >= statements[-1].end):
                statements.append(block.span)
        return tuple(statements)

    def _node(self, span: Span) -> tree_sitter.Node:
        """Return the largest node with the bytes of a statement."""
        node = self._tree.root_node.descendant_for_byte_range(span.start, max(span.start, span.end - 1))
        assert node is not None  # noqa: S101  a span of this tree
        while node.parent is not None and node.parent.start_byte == span.start and node.parent.end_byte <= span.end:
            node = node.parent
        while node.type in block_rules().bodies and node.start_byte == span.start and node.named_children:
            node = node.named_children[0]  # the list of a single statement has the same bytes
        return node

    def _types(self, span: Span) -> set[str]:
        """Return the type of a statement's node, and of the expression that it consists of."""
        node = self._node(span)
        inner = node.named_children[:1] if node.type in node_kinds().expression_statements else []
        return {node.type, *(child.type for child in inner)}

    def _leaves(self, span: Span) -> bool:
        return always_leaves(self._node(span))

    def _is_plain(self, span: Span) -> bool:
        if span.start in self._docstrings or self._types(span) & block_rules().idle_statements:
            return False
        return self._import.match(visible_text(self.data[span.start : span.end])) is None

    def tokens(self, span: Span) -> list[tuple[Span, bool]]:
        """Return the tokens of a span, each with True if it is an operator; strings and comments are one token each."""
        tokens: list[tuple[Span, bool]] = []
        around = self._tree.root_node.descendant_for_byte_range(span.start, span.end)
        for node in walk(around or self._tree.root_node, span.start, span.end, closed=_is_token):
            within = span.start <= node.start_byte < node.end_byte <= span.end
            if within and _is_token(node):
                text = self.data[node.start_byte : node.end_byte]
                operator = not node.is_named and not any(chr(byte).isalnum() or byte in b"()[]{},;:" for byte in text)
                tokens.append((Span(node.start_byte, node.end_byte), operator))
        return tokens

    def fault(self, span: Span) -> str:
        """Return the rule that refuses a span as the hidden text of a problem; empty if none does."""
        rules, source = block_rules(), self.analysis.source
        scopes = self.analysis.enclosing_scopes(span)
        function = next((scope for scope in reversed(scopes) if scope.kind in FUNCTION_SCOPES), None)
        if function is None:
            return "outside_functions"
        if self.analysis.is_test(span):
            return "test_code"
        if source.line_at(span.end - 1) - source.line_at(span.start) + 1 > rules.max_lines:
            return "too_long"
        if not round_trips(self.path, span, self.data, self.newline):
            return "does_not_round_trip"
        tokens = split_tokens(visible_text(self.data[span.start : span.end]))
        if len(tokens) < rules.min_tokens:
            return "too_short"
        faults = (fault.span for fault in self.analysis.faults)
        if any(fault.start < function.span.end and function.span.start < fault.end for fault in faults):
            return "does_not_parse"
        if len(tokens) >= rules.min_repeated_tokens and self._is_repeated(span, tokens):
            return "shown_elsewhere"
        return ""

    def _is_repeated(self, span: Span, tokens: list[str]) -> bool:
        start, end = (self.analysis.source.characters_before(position) for position in span)
        return any(last <= start or first >= end for first, last in self._haystack.find(tokens))


def _is_token(node: tree_sitter.Node) -> bool:
    return not node.children or "string" in node.type or "comment" in node.type
