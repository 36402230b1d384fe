"""Statements, nodes and lines of code by tree-sitter, for all languages with a table of statements."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import tree_sitter

from caretbench.suites.c3bench.scale.parsing.statement_table import StatementTable, statement_table
from caretbench.suites.c3bench.scale.parsing.statements import CodeStatement, StatementView
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
        parsed.text, is_well_formed(parsed.tree, parsed.language), collector.found, without_comments, ends_line, False
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
            if node.type in table.comments:
                text = (node.text or b"").decode("utf-8", "surrogatepass")
                start = self.characters(node.start_byte)
                self.comments.append((start, start + len(text.rstrip("\r\n"))))
                continue
            if node.end_byte < self.parsed.start or node.start_byte > self.parsed.end or node.type in table.opaque:
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
        suite = at(node.parent.start_byte) if node.parent is not None else -1
        inner = node
        if node.type in self.parsed.table.wrappers:
            inner = _wrapped(node, self.parsed.table)
        kind = self.parsed.table.kind(inner.type)
        if kind == "if" and branch in {"else_clause", "alternative"}:
            kind = "elif"
        body = _body(inner, self.parsed.table)
        if kind == "simple" or body is None:
            return CodeStatement(start, end, start, kind, parent, branch, suite=suite)
        span = (at(body.start_byte), at(body.end_byte))
        return CodeStatement(start, end, start, kind, parent, branch, _is_async(inner), span[0], span, suite)


def _wrapped(node: tree_sitter.Node, table: StatementTable) -> tree_sitter.Node:
    """Return the statement with a kind in an exported or labelled one; the node itself if there is none."""
    while node.type in table.wrappers:
        found = [
            child for child in node.named_children if child.type in table.wrappers or table.kind(child.type) != "simple"
        ]
        if not found:
            break
        node = found[0]
    return node


def _branch(node: tree_sitter.Node, child: tree_sitter.Node, branch: str) -> str:
    """Return the branch of a child; an ``if`` of Java has its alternative without a clause around it."""
    alternative = node.child_by_field_name("alternative")
    return "alternative" if alternative is not None and alternative.id == child.id else branch


def _is_statement(node: tree_sitter.Node, table: StatementTable) -> bool:
    parent = node.parent
    if parent is None or not node.is_named or node.type in table.not_statements or node.type in table.comments:
        return False
    if parent.type in table.lists:
        return True
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


def comments_in(parsed: ParsedFile) -> list[tuple[int, int]]:
    """Return the character spans of the comments that touch the answer."""
    offsets = CharacterOffsets(parsed.text)
    found = []
    waiting = [parsed.tree.root_node]
    while waiting:
        node = waiting.pop()
        if node.end_byte <= parsed.start or node.start_byte >= parsed.end:
            continue
        if node.type in parsed.table.comments:
            found.append((offsets.characters(node.start_byte), offsets.characters(node.end_byte)))
        elif node.type not in parsed.table.opaque:
            waiting.extend(reversed(node.children))
    return found


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
