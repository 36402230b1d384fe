"""Blocks: all constructs of a file that can be cut out as a completion task, and their sizes.

The query ``blocks.scm`` captures the kinds. Single statements and tails of statement lists are derived from the
statement lists that it captures.
"""

from __future__ import annotations

import bisect
from array import array
from collections.abc import Iterator
from functools import cache, cached_property
from typing import Final, Literal, NamedTuple, get_args

import tree_sitter

from caretbench.languages.node_kinds import node_kinds
from caretbench.syntax.analysis_types import Span, SpanIndex
from caretbench.syntax.parser import captures, matches, upwards
from caretbench.syntax.source import SourceFile

BlockKind = Literal[
    "function_body", "function_tail", "if_condition", "elif_condition", "if_body", "elif_body", "else_body",
    "switch_case", "loop_header", "loop_body", "try_body", "handler", "finally_body", "with_body", "comprehension",
    "lambda", "class_body", "statement", "statement_run", "return", "call_expression", "stream_pipeline",
]  # fmt: skip


class Block(NamedTuple):
    """Construct that can be cut out as a completion task, or that encloses one.

    ``span`` is the span of the grammar node. ``content`` are the statements inside it (the span itself if there are
    none). ``closing_token`` is the token that closes the construct after the content (``}``, or nothing in Python), and
    ``closing_token_end`` the byte after it. ``lines`` are the first and last line. ``whole_statements``: the span
    consists of whole statements. ``enclosing`` are indices of :attr:`FileAnalysis.scopes`, outermost first.
    """

    kind: BlockKind
    span: Span
    content: Span
    closing_token: str
    closing_token_end: int
    lines: tuple[int, int]
    whole_statements: bool
    statements: int
    enclosing: tuple[int, ...]


_KINDS: Final = {kind: rank for rank, kind in enumerate(get_args(BlockKind))}
_ENDS: Final = (".first", ".last", ".open", ".close")
_BARE: Final = frozenset({"if_body", "elif_body", "else_body", "loop_body"})
_ELIF: Final[dict[str, BlockKind]] = {"if_condition": "elif_condition", "if_body": "elif_body"}


class StatementList(NamedTuple):
    """Statements of one list, without comments. ``span`` is the span of the enclosing node."""

    span: Span
    statements: tuple[Span, ...]


def statement_lists(root: tree_sitter.Node, language: str) -> list[StatementList]:
    """Return all statement lists, in text order."""
    captured = captures(root, language, "blocks")
    kinds = node_kinds(language)
    # A comment is no statement: as a block, `# x` would pass in place of each.
    no_statements = kinds.comments | kinds.directives | kinds.case_labels | {"ERROR"}
    skipped = {node.id for node in captured.get("not_statement", [])}
    inner = {node.id for node in captured.get("inner", [])}
    lists = []
    for node in captured.get("statements", []):
        spans = [
            Span(child.start_byte, child.end_byte)
            for child in node.named_children
            if child.type not in no_statements and child.id not in skipped and child.end_byte > child.start_byte
        ]
        around = node.parent if node.id in inner and node.parent is not None else node
        lists.append(StatementList(Span(around.start_byte, around.end_byte), tuple(spans)))
    return sorted(lists, key=lambda statements: (statements.span.start, -statements.span.end))


def _constructs(root: tree_sitter.Node, source: SourceFile) -> Iterator[tuple[BlockKind, Span]]:
    chosen: dict[tuple[BlockKind, Span], None] = {}
    captured = captures(root, source.grammar, "blocks")
    elifs = {node.id for node in captured.get("elif", [])}
    for name, nodes in captured.items():
        if name not in _KINDS:
            continue
        for node in nodes:
            kind: BlockKind = name  # type: ignore[assignment]
            # `else if` is an `else` with an `if` in it for some grammars; it counts as one branch.
            if kind == "else_body" and node.id in elifs:
                continue
            if kind in _ELIF and elifs and _is_elif(node, elifs):
                kind = _ELIF[kind]
            # Two patterns of a query may capture one node: a dictionary keeps it once, in order.
            chosen[kind, Span(node.start_byte, node.end_byte)] = None
    for match in matches(root, source.grammar, "blocks"):
        for name in match:
            kind_name, _, end = name.partition(".")
            if end in {"first", "open"}:
                span = _between(source, match, kind_name)
                if span.start < span.end:
                    chosen[kind_name, span] = None  # type: ignore[index]
    return iter(chosen)


def _is_elif(node: tree_sitter.Node, elifs: set[int]) -> bool:
    wrappers = ("parenthesized", "condition")
    around = next((around for around in upwards(node.parent) if not around.type.startswith(wrappers)), None)
    return around is not None and around.id in elifs


def _between(source: SourceFile, match: dict[str, list[tree_sitter.Node]], name: str) -> Span:
    """Return the span from one node to another, or between two tokens, without leading and trailing blanks."""
    if f"{name}.first" in match:
        return Span(match[f"{name}.first"][0].start_byte, match[f"{name}.last"][-1].end_byte)
    first, last = match[f"{name}.open"][0].end_byte, match[f"{name}.close"][-1].start_byte
    text = source.data[first:last]
    return Span(first + len(text) - len(text.lstrip()), last - (len(text) - len(text.rstrip())))


class _BlockBuilder:
    """Builder of blocks from spans, with the statement lists and scopes of the file."""

    def __init__(self, source: SourceFile, lists: list[StatementList], scopes: SpanIndex) -> None:
        self.source = source
        self.lists = lists
        self.scopes = scopes
        self.by_span: dict[tuple[int, int], StatementList] = {block.span: block for block in lists}
        self.nesting = SpanIndex([block.span for block in lists])
        self.edges = [({s.start for s in block.statements}, {s.end for s in block.statements}) for block in lists]

    def covers_statements(self, span: Span) -> bool:
        """Return whether a span consists of whole statements of one list."""
        around = (self.edges[index] for index in self.nesting.enclosing(*span))
        return any(span.start in starts and span.end in ends for starts, ends in around)

    def content(self, span: Span) -> tuple[Span, int]:
        """Return the span of the statements in a body (or in the body within a clause), and their number."""
        block = self.by_span.get(span)
        if block is None:
            at = bisect.bisect_left(self.lists, span.start, key=lambda other: other.span.start)
            # The list of a body begins with it or right behind its opening token; four candidates spare a search of the
            # file.
            near = self.lists[at : at + 4]
            block = next((other for other in near if other.statements and span.contains(other.span)), None)
        if block is None or not block.statements:
            return span, 0
        return Span(block.statements[0].start, block.statements[-1].end), len(block.statements)

    def make(self, kind: BlockKind, span: Span) -> Block:
        content, count = self.content(span)
        whole_statements = self.covers_statements(span)
        # `if (a) b();`: the body of one statement without braces is no statement list of the grammar.
        if count == 0 and not whole_statements and kind in _BARE:
            count, whole_statements = 1, True
        return self._block(kind, span, content, count, whole_statements)

    def _block(self, kind: BlockKind, span: Span, content: Span, count: int, whole_statements: bool) -> Block:
        closing_token, closing_token_end = self._closing(span, content)
        data = self.source
        lines = (data.line_at(span.start), data.line_at(max(span.end - 1, span.start)))
        enclosing = tuple(self.scopes.enclosing(*span))[::-1]
        return Block(kind, span, content, closing_token, closing_token_end, lines, whole_statements, count, enclosing)

    def _closing(self, span: Span, content: Span) -> tuple[str, int]:
        """Return the closing token of the statement list that the content ends, and the byte after that token."""
        index = self.nesting.innermost(*content)
        if index is None:
            return "", span.end
        block = self.lists[index]
        ends_list = bool(block.statements) and block.statements[-1].end == content.end
        if ends_list and self.source.data[content.end : block.span.end].endswith(b"}"):
            return "}", block.span.end
        return "", content.end

    def statement_blocks(self, statements: StatementList, is_function: bool) -> Iterator[Block]:
        """Yield a block for every statement, and for every tail of two or more statements (functions: one or more)."""
        spans = statements.statements
        end = spans[-1].end if spans else 0
        for number, span in enumerate(spans):
            yield self._block("statement", span, span, 1, True)
            count = len(spans) - number
            # The last statement alone is a block of its own already; in a function its tail is a task of another kind.
            if number and (count > 1 or is_function):
                tail = Span(span.start, end)
                kind: BlockKind = "function_tail" if is_function else "statement_run"
                yield self._block(kind, tail, tail, count, True)


def find_blocks(root: tree_sitter.Node, source: SourceFile, scopes: SpanIndex) -> tuple[Block, ...]:
    """Return all blocks of a file in text order, larger ones first."""
    lists = statement_lists(root, source.grammar)
    maker = _BlockBuilder(source, lists, scopes)
    blocks = [maker.make(*construct) for construct in _constructs(root, source)]
    functions = {block.span for block in blocks if block.kind == "function_body"}
    for statements in lists:
        blocks.extend(maker.statement_blocks(statements, statements.span in functions))
    return tuple(sorted(blocks, key=lambda block: (block.span.start, -block.span.end, _KINDS[block.kind])))


class BlockSize(NamedTuple):
    """Lines that a span touches, leaves of the tree without comments, and 1 + decisions (McCabe 1976)."""

    lines: int
    tokens: int
    cyclomatic: int


@cache
def _is_comment(kind: str) -> bool:
    return kind.endswith("comment")


class FileSizes:
    """Sizes of all spans of a parsed file.

    A token belongs to the span in which it begins. Decisions are branches, loops (comprehensions included), cases,
    handlers, conditional expressions and short-circuit operators, as ``decisions.scm`` captures them; not ``else``,
    ``default`` and ``finally``. The semicolon after a single expression is not counted, as in stored labels.
    """

    def __init__(self, source: SourceFile, tree: tree_sitter.Tree) -> None:
        self._source = source
        self._tree = tree

    @cached_property
    def _tokens(self) -> array[int]:
        """Start bytes of the tokens, in text order."""
        starts = array("Q")
        waiting = [self._tree.root_node]
        while waiting:
            node = waiting.pop()
            if _is_comment(node.type):
                continue
            if not node.child_count and node.end_byte > node.start_byte:
                starts.append(node.start_byte)
            waiting.extend(reversed(node.children))
        return starts

    @cached_property
    def _decisions(self) -> tuple[array[int], array[int]]:
        """Start bytes of the decisions, in text order, and the end byte of each."""
        nodes = captures(self._tree.root_node, self._source.grammar, "decisions").get("decision", [])
        spans = sorted((node.start_byte, node.end_byte) for node in nodes)
        return array("Q", (start for start, _ in spans)), array("Q", (end for _, end in spans))

    def cyclomatic(self, span: tuple[int, int]) -> int:
        """Return 1 + the number of decisions in a span."""
        starts, ends = self._decisions
        # A decision that begins in the span may end behind it: only whole ones count.
        inside = range(bisect.bisect_left(starts, span[0]), bisect.bisect_left(starts, span[1]))
        return 1 + sum(ends[n] <= span[1] for n in inside)

    def size(self, span: tuple[int, int]) -> BlockSize:
        """Return the size of a span."""
        start, end = span
        if end <= start:
            return BlockSize(0, 0, 1)
        lines = self._source.line_at(end - 1) - self._source.line_at(start) + 1
        node = self._tree.root_node.descendant_for_byte_range(start, end - 1)
        # Without the semicolon after a single expression, as in stored labels.
        last = min(end, node.end_byte) if node is not None else end
        tokens = bisect.bisect_left(self._tokens, last) - bisect.bisect_left(self._tokens, start)
        return BlockSize(lines, max(0, tokens), self.cyclomatic(span))
