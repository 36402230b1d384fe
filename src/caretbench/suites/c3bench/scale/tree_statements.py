"""Statements, nodes and lines of code by tree-sitter, for all languages with a table of statements."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import tree_sitter

from caretbench.suites.c3bench.scale.statement_table import StatementTable, statement_table
from caretbench.suites.c3bench.scale.statements import CodeStatement, StatementView
from caretbench.syntax.faults import is_well_formed
from caretbench.syntax.parser import CharacterOffsets, encode, parse


class ParsedFile(NamedTuple):
    """Tree of a completed file, and the byte span of the answer."""

    tree: tree_sitter.Tree
    text: str
    language: str
    table: StatementTable
    start: int
    end: int

    @classmethod
    def of(cls, prefix: str, middle: str, suffix: str, language: str) -> ParsedFile:
        """Return the parsed file; raise as :func:`statement_table`."""
        text = prefix + middle + suffix
        start = len(encode(prefix))
        tree = parse(text, language)
        return cls(tree, text, language, statement_table(language), start, start + len(encode(middle)))


def tree_statements(parsed: ParsedFile) -> StatementView:
    """Return the statements that touch the answer."""
    offsets = CharacterOffsets(parsed.text)
    collector = _Collector(parsed, offsets)
    collector.walk()
    comments = collector.comments

    def without_comments(first: int, last: int) -> str:
        kept = []
        for start, end in comments:
            if first < end and start < last:
                kept.append(parsed.text[first : max(start, first)])
                first = min(end, last)
        return "".join(kept) + parsed.text[first:last]

    def ends_line(position: int) -> bool:
        return _is_between_statements(parsed, len(encode(parsed.text[:position])))

    return StatementView(
        parsed.text, is_well_formed(parsed.tree, parsed.language), collector.found, without_comments, ends_line
    )


class _Collector:
    """Walk over the nodes that touch the answer: statements with their parents, and comments."""

    def __init__(self, parsed: ParsedFile, offsets: CharacterOffsets) -> None:
        self.parsed = parsed
        self.characters = offsets.characters
        self.found: list[CodeStatement] = []
        self.comments: list[tuple[int, int]] = []

    def walk(self) -> None:
        table = self.parsed.table
        waiting: list[tuple[tree_sitter.Node, int, str]] = [(self.parsed.tree.root_node, -1, "body")]
        while waiting:
            node, parent, branch = waiting.pop()
            if node.end_byte < self.parsed.start or node.start_byte > self.parsed.end or node.type in table.opaque:
                continue
            if node.type in table.comments:
                text = (node.text or b"").decode("utf-8", "surrogatepass")
                start = self.characters(node.start_byte)
                self.comments.append((start, start + len(text.rstrip("\r\n"))))
                continue
            if _is_statement(node, table):
                self.found.append(self._statement(node, parent, branch))
                parent, branch = len(self.found) - 1, "body"
            elif node.type in table.clauses:
                branch = node.type
            waiting.extend((child, parent, _branch(node, child, branch)) for child in reversed(node.children))

    def _statement(self, node: tree_sitter.Node, parent: int, branch: str) -> CodeStatement:
        at = self.characters
        start, end = at(node.start_byte), at(node.end_byte)
        inner = node
        if node.type in self.parsed.table.wrappers:
            inner = node.child_by_field_name("declaration") or node
        kind = self.parsed.table.kind(inner.type)
        if kind == "if" and branch in {"else_clause", "alternative"}:
            kind = "elif"
        body = _body(inner, self.parsed.table)
        if kind == "simple" or body is None:
            return CodeStatement(start, end, start, kind, parent, branch)
        span = (at(body.start_byte), at(body.end_byte))
        return CodeStatement(start, end, start, kind, parent, branch, _is_async(inner), span[0], span)


def _branch(node: tree_sitter.Node, child: tree_sitter.Node, branch: str) -> str:
    """Return the branch of a child; an ``if`` of Java has its alternative without a clause around it."""
    alternative = node.child_by_field_name("alternative")
    return "alternative" if alternative is not None and alternative.id == child.id else branch


def _is_statement(node: tree_sitter.Node, table: StatementTable) -> bool:
    parent = node.parent
    if parent is None or not node.is_named or node.type in table.not_statements or node.type in table.comments:
        return False
    if parent.type in table.lists:
        return node.type not in table.lists or node.type not in {"switch_case", "switch_default"}
    if node.type in table.lists or node.type in table.clauses:
        return False
    owner = parent.type if parent.type in table.clauses else ""
    if owner:  # a branch without braces
        return parent.child_by_field_name("parameter") is not node and node.type.endswith(("statement", "declaration"))
    fields = (*table.bodies, "alternative")
    is_branch = any(_is_same(parent.child_by_field_name(name), node) for name in fields)
    return is_branch and table.kind(parent.type) != "simple"


def _is_same(first: tree_sitter.Node | None, second: tree_sitter.Node) -> bool:
    return first is not None and first.id == second.id


def _body(node: tree_sitter.Node, table: StatementTable) -> tree_sitter.Node | None:
    found = (node.child_by_field_name(name) for name in table.bodies)
    return next((one for one in found if one is not None), None)


def _is_async(node: tree_sitter.Node) -> bool:
    return any(child.type in {"async", "await"} for child in node.children)


def _is_between_statements(parsed: ParsedFile, position: int) -> bool:
    """Return whether the innermost node around a position is a list of statements."""
    node: tree_sitter.Node = parsed.tree.root_node
    while True:
        inner = next((one for one in node.children if one.start_byte < position < one.end_byte), None)
        if inner is None:
            return node.parent is None or node.type in parsed.table.lists
        if inner.type in parsed.table.comments:
            return inner.type != "block_comment" and b"\n" not in (inner.text or b"")[: position - inner.start_byte]
        node = inner


def tokens_in(parsed: ParsedFile) -> Iterator[tree_sitter.Node]:
    """Yield the tokens of the answer, without comments; a string is one token."""
    table = parsed.table
    waiting = [parsed.tree.root_node]
    while waiting:
        node = waiting.pop()
        if node.end_byte <= parsed.start or node.start_byte >= parsed.end or node.type in table.comments:
            continue
        if node.child_count and node.type not in table.opaque:
            waiting.extend(reversed(node.children))
        elif node.end_byte > node.start_byte and node.type != "line_continuation":
            yield node


_LINE_END = re.compile(rb"\r\n|\r|\n")


def code_line_count(parsed: ParsedFile) -> int:
    """Return the number of the answer's lines that contain a token other than a comment.

    All lines inside a string count; lines inside brackets count like others.
    """
    answer = encode(parsed.text)[parsed.start : parsed.end]
    ends = [parsed.start + match.end() for match in _LINE_END.finditer(answer)]
    lines = [parsed.start, *ends]
    marked: set[int] = set()
    for token in tokens_in(parsed):
        first, last = max(token.start_byte, parsed.start), min(token.end_byte, parsed.end) - 1
        while (
            last > first and (token.text or b"")[last - token.start_byte] in b"\r\n"
        ):  # a token that takes the line end
            last -= 1
        marked.update(range(_line(lines, first), _line(lines, last) + 1))
    return len(marked)


def _line(starts: list[int], position: int) -> int:
    low, high = 0, len(starts)
    while low < high:
        middle = (low + high) // 2
        if starts[middle] <= position:
            low = middle + 1
        else:
            high = middle
    return low


def is_one_node(parsed: ParsedFile, node_class: str) -> bool:
    """Return whether the answer, without spaces and tabs around it, is a node of a class; arguments: one or several."""
    answer = encode(parsed.text)[parsed.start : parsed.end]
    start = parsed.start + len(answer) - len(answer.lstrip(b" \t"))
    end = parsed.end - (len(answer) - len(answer.rstrip(b" \t")))
    node = parsed.tree.root_node.descendant_for_byte_range(start, end) if start < end else None
    places = parsed.table.nodes.get(node_class, ())
    while node is not None and (node.start_byte, node.end_byte) == (start, end):
        if _is_at(node, places):
            return True
        node = node.parent
    if node is None or node_class != "argument" or all(node.type != parent for parent, _field in places):
        return False
    named = [child for child in node.named_children if child.start_byte >= start and child.end_byte <= end]
    return bool(named) and (named[0].start_byte, named[-1].end_byte) == (start, end)


def _is_at(node: tree_sitter.Node, places: tuple[tuple[str, str], ...]) -> bool:
    parent = node.parent
    brackets = parent if parent is not None and parent.type == "parenthesized_expression" else None
    if brackets is not None and _is_at(brackets, places):
        return True
    if parent is None or not node.is_named:
        return False
    return any(
        parent.type == parent_type and (not field or _is_same(parent.child_by_field_name(field), node))
        for parent_type, field in places
    )


def node_spans(parsed: ParsedFile, node_class: str) -> list[tuple[int, int]]:
    """Return the spans of all nodes of a class, in characters and in text order."""
    offsets = CharacterOffsets(parsed.text)
    places = parsed.table.nodes.get(node_class, ())
    found = []
    waiting = [parsed.tree.root_node]
    while waiting:
        node = waiting.pop()
        if _is_at(node, places) and node.type not in parsed.table.comments and node.type != "parenthesized_expression":
            found.append((offsets.characters(node.start_byte), offsets.characters(node.end_byte)))
        waiting.extend(reversed(node.children))
    return sorted(set(found))
