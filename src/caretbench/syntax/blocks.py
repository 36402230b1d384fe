"""Blocks: every construct of a file that may become a hole, with what is needed to cut it out.

The query ``blocks.scm`` names the kinds; tails of statement lists and single statements follow from the lists
of statements that it captures.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from typing import Final, NamedTuple, get_args

import tree_sitter

from caretbench.syntax.nesting import Nesting
from caretbench.syntax.queries import captures, matches
from caretbench.syntax.source import SourceFile
from caretbench.syntax.types import Block, BlockKind, Span

_KINDS: Final = {kind: rank for rank, kind in enumerate(get_args(BlockKind))}
_ENDS: Final = (".first", ".last", ".open", ".close")
_NO_STATEMENT: Final = frozenset(
    {"comment", "line_comment", "block_comment", "ERROR", "case", "default", "preproc_call", "switch_label"}
)
_BARE: Final = frozenset({"if_body", "elif_body", "else_body", "loop_body"})
_ELIF: Final[dict[str, BlockKind]] = {"if_condition": "elif_condition", "if_body": "elif_body"}


class StatementList(NamedTuple):
    """The statements of one list, without comments; ``span`` is the node's around them."""

    span: Span
    statements: tuple[Span, ...]


class Found(NamedTuple):
    """What one file's query gave."""

    kind: BlockKind
    span: Span
    node_type: str
    node: tree_sitter.Node | None


def statement_lists(root: tree_sitter.Node, language: str) -> list[StatementList]:
    """All lists of statements, in the order of the text."""
    found = captures(root, language, "blocks")
    skipped = {node.id for node in found.get("not_statement", [])}
    lists = []
    for node in found.get("statements", []):
        spans = [
            Span(child.start_byte, child.end_byte)
            for child in node.named_children
            if child.type not in _NO_STATEMENT
            and child.id not in skipped
            and child.end_byte > child.start_byte
        ]
        lists.append(StatementList(Span(node.start_byte, node.end_byte), tuple(spans)))
    return sorted(lists, key=lambda one: (one.span.start, -one.span.end))


def _constructs(root: tree_sitter.Node, source: SourceFile) -> Iterator[Found]:
    chosen: dict[tuple[int, int, str], Found] = {}
    found = captures(root, source.grammar, "blocks")
    elifs = {node.id for node in found.get("elif", [])}
    for name, nodes in found.items():
        if name not in _KINDS:
            continue
        for node in nodes:
            kind: BlockKind = name  # type: ignore[assignment]
            if kind == "else_body" and node.id in elifs:
                continue
            if kind in _ELIF and elifs and _is_elif(node, elifs):
                kind = _ELIF[kind]
            span = Span(node.start_byte, node.end_byte)
            chosen[(*span, kind)] = Found(kind, span, node.type, node)
    for match in matches(root, source.grammar, "blocks"):
        for name in match:
            kind_name, _, end = name.partition(".")
            if end in {"first", "open"}:
                one = _between(source, match, kind_name)
                if one is not None:
                    chosen[(*one.span, one.kind)] = one
    yield from chosen.values()


def _is_elif(node: tree_sitter.Node, elifs: set[int]) -> bool:
    around = node.parent
    while around is not None and around.type.startswith(("parenthesized", "condition")):
        around = around.parent
    return around is not None and around.id in elifs


def _between(source: SourceFile, match: dict[str, list[tree_sitter.Node]], name: str) -> Found | None:
    """A span from one node to another, or between two tokens, without the blanks at its ends."""
    kind: BlockKind = name  # type: ignore[assignment]
    if f"{name}.first" in match:
        first, last = match[f"{name}.first"][0], match[f"{name}.last"][-1]
        start, end = first.start_byte, last.end_byte
    else:
        first, last = match[f"{name}.open"][0], match[f"{name}.close"][-1]
        text = source.data[first.end_byte : last.start_byte]
        start = first.end_byte + len(text) - len(text.lstrip())
        end = last.start_byte - (len(text) - len(text.rstrip()))
    around = first.parent
    return Found(kind, Span(start, end), around.type if around else "", None) if start < end else None


class _Maker:
    """Makes blocks of spans; knows the file's lists of statements and its scopes."""

    def __init__(self, source: SourceFile, lists: list[StatementList], scopes: Nesting) -> None:
        self.source = source
        self.lists = lists
        self.scopes = scopes
        self.by_span: dict[tuple[int, int], StatementList] = {one.span: one for one in lists}
        self.nesting = Nesting([one.span for one in lists])
        self.edges = [
            (
                {span.start: n for n, span in enumerate(one.statements)},
                {s.end: n for n, s in enumerate(one.statements)},
            )
            for one in lists
        ]

    def run_of(self, span: Span) -> tuple[int, int, int] | None:
        """The list whose statements a span covers exactly, with the numbers of the first and the last."""
        for index in self.nesting.around(*span):
            starts, ends = self.edges[index]
            first, last = starts.get(span.start), ends.get(span.end)
            if first is not None and last is not None:
                return index, first, last
        return None

    def content(self, span: Span) -> tuple[Span, int]:
        """The statements in a body (or in the body within a clause), and how many they are."""
        one = self.by_span.get(span)
        if one is None:
            inside = [other for other in self.lists_in(span) if other.statements]
            one = min(inside, key=lambda other: (other.span.start, -other.span.end), default=None)
        if one is None or not one.statements:
            return span, 0
        return Span(one.statements[0].start, one.statements[-1].end), len(one.statements)

    def lists_in(self, span: Span) -> Iterator[StatementList]:
        """The lists inside a span that no other of these holds come first."""
        at = bisect.bisect_left(self.lists, span.start, key=lambda one: one.span.start)
        for one in self.lists[at : at + 4]:
            if span.holds(one.span):
                yield one

    def make(self, found: Found) -> Block:
        content, count = self.content(found.span)
        run = self.run_of(found.span)
        if count == 0 and run is None and found.kind in _BARE:  # a body of one statement without braces
            return self._block(found.kind, found.span, content, found.node_type, 1, True)
        return self._block(found.kind, found.span, content, found.node_type, count, run is not None)

    def _block(
        self, kind: BlockKind, span: Span, content: Span, node_type: str, count: int, aligned: bool
    ) -> Block:
        closing, closed = self._closing(span, content)
        data = self.source
        lines = (data.line_at(span.start), data.line_at(max(span.end - 1, span.start)))
        enclosing = tuple(self.scopes.around(*span))[::-1]
        return Block(kind, span, content, closing, closed, node_type, lines, aligned, count, enclosing)

    def _closing(self, span: Span, content: Span) -> tuple[str, int]:
        """What closes the list of statements that the content ends."""
        for index in self.nesting.around(*content):
            one = self.lists[index]
            if one.statements and one.statements[-1].end == content.end:
                rest = self.source.data[content.end : one.span.end]
                if rest.endswith(b"}"):
                    return "}", one.span.end
                return "", content.end
            return "", content.end
        return "", span.end

    def runs(self, one: StatementList, is_function: bool) -> Iterator[Block]:
        """Every statement, and every tail of two or more statements, or of a function."""
        spans = one.statements
        end = spans[-1].end if spans else 0
        for number, span in enumerate(spans):
            yield self._block("statement", span, span, "", 1, True)
            count = len(spans) - number
            if number and (count > 1 or is_function):
                tail = Span(span.start, end)
                yield self._block(
                    "function_tail" if is_function else "statement_run", tail, tail, "", count, True
                )


def blocks_of(root: tree_sitter.Node, source: SourceFile, scopes: Nesting) -> tuple[Block, ...]:
    """All blocks of a file in the order of the text, larger ones first."""
    lists = statement_lists(root, source.grammar)
    maker = _Maker(source, lists, scopes)
    made = [maker.make(found) for found in _constructs(root, source)]
    functions = {block.span for block in made if block.kind == "function_body"}
    for one in lists:
        made.extend(maker.runs(one, one.span in functions))
    return tuple(sorted(made, key=lambda block: (block.span.start, -block.span.end, _KINDS[block.kind])))
