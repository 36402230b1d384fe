"""Statements of a completed file near the answer: tables of node types, positions, kinds, parents.

Positions count characters. Tables of the languages' statements are ``languages/NAME/statements.toml``; statements,
nodes and lines of code are found by tree-sitter in all languages that have one.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

import tree_sitter

from caretbench.errors import UsageError
from caretbench.languages import get_language, language_of_grammar
from caretbench.languages.node_kinds import node_kinds
from caretbench.languages.table_reader import LanguageTable, read_table
from caretbench.syntax.parser import CharacterOffsets, encode, has_error, is_well_formed, parse, python_module, walk


class StatementTable(LanguageTable):
    """Node types of a grammar.

    ``opaque`` are tokens that contain other nodes: strings. The named children of ``lists`` are statements, except
    ``not_statements``. ``clauses`` follow a body (``else``, ``catch``); ``wrappers`` are statements whose kind is that
    of the declaration in them, ``bodies`` the fields with the body of a compound statement. ``kinds`` are statements by
    kind of block, ``blind`` the texts of ``blind-scale`` by that or by kind of specification (``statement`` is one
    line), ``nodes`` pairs of parent type and field (empty: any child) by class of node.
    """

    comments: tuple[str, ...]
    opaque: tuple[str, ...]
    lists: tuple[str, ...] = ()
    not_statements: tuple[str, ...] = ()
    clauses: tuple[str, ...] = ()
    wrappers: tuple[str, ...] = ()
    bodies: tuple[str, ...] = ()
    kinds: Mapping[str, tuple[str, ...]] = {}
    blind: Mapping[str, tuple[str, ...]] = {}
    nodes: Mapping[str, tuple[tuple[str, str], ...]] = {}

    def kind(self, node_type: str) -> str:
        """Return the kind of block of a statement's node type; ``simple`` if it is none."""
        return next((kind for kind, types in self.kinds.items() if node_type in types), "simple")


@cache
def statement_table(name: str) -> StatementTable:
    """Return the table of a language, by name, alias or dialect.

    Raises:
        UsageError: the language has no such table; there is no such language.
    """
    table = read_table(language_of_grammar(name).name, "statements", StatementTable)
    if table is None:
        raise UsageError(f"{get_language(name).title}: Scale-Control Completion is not verified in this language")
    return table


class CodeStatement(NamedTuple):
    """One statement.

    ``keyword`` is its position without decorators; ``kind`` a kind of block, ``elif`` or ``simple``; ``parent`` the
    index of the enclosing statement (-1: none), and ``branch`` the part of the parent that contains it: ``body``, or
    the name of a clause. ``header_end`` is the end of a compound statement's header, ``body`` the span of its first
    body: from the first to the last statement, or from brace to brace; both are None for simple statements. ``suite``
    is the start of the list of statements that contains it, in languages with braces.
    """

    start: int
    end: int
    keyword: int
    kind: str
    parent: int
    branch: str
    asynchronous: bool = False
    header_end: int | None = None
    body: tuple[int, int] | None = None
    suite: int = -1


class StatementView(NamedTuple):
    """Statements of a completed file that touch the answer, and their parents, in text order."""

    text: str
    parse_ok: bool
    statements: Sequence[CodeStatement]
    without_comments: Callable[[int, int], str]
    """Returns the text between two positions outside of strings, without its comments."""
    ends_line: Callable[[int], bool]
    """Returns whether no bracket, string or statement is open at a position at a line's end."""
    semicolon_ends_statement: bool
    """True if a semicolon after a statement belongs to it, without being in its span."""

    def roots(self, start: int, end: int) -> list[CodeStatement]:
        """Return the statements that begin in a span while their parents begin outside of it.

        Statements of a function that an expression in the span contains are none.
        """
        statements = self.statements

        def is_inside(statement: CodeStatement) -> bool:
            if statement.parent < 0:
                return False
            # A function within an expression, an arrow function for example, has statements whose parent is the simple
            # statement around it.
            parent = statements[statement.parent]
            return start <= parent.keyword < end or (parent.kind == "simple" and start <= statement.suite < end)

        return [statement for statement in statements if start <= statement.keyword < end and not is_inside(statement)]


def column_at(text: str, position: int) -> int:
    """Return the number of characters between a position and the start of its line, or a form feed in it."""
    # Python's own parser counts columns from a form feed, too.
    return position - max(text.rfind(mark, 0, position) for mark in "\n\r\f") - 1


def first_reason(*cases: tuple[object, str]) -> str:
    """Return the text of the first case that is true; empty if none is."""
    return next((text for holds, text in cases if holds), "")


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


def tree_statements(parsed: ParsedFile, *, parse_required: bool = True) -> StatementView:
    """Return the statements that touch the answer; none where the file does not parse, but must."""
    indented = language_of_grammar(parsed.language).indented
    if indented:
        # The grammar accepts wrong indentation and empty bodies: Python's own parser decides what parses.
        parse_ok = python_module(parsed.text.removeprefix("\ufeff")) is not None
    elif parse_required:
        parse_ok = is_well_formed(parsed.tree, parsed.language)
    else:
        parse_ok = not has_error(parsed.tree)
    # A file that does not parse and must is not walked: 20,000 open brackets make a tree of that depth.
    collector = _Collector(parsed, CharacterOffsets(parsed.text))
    if parse_ok or not parse_required:
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

    return StatementView(parsed.text, parse_ok, collector.found, without_comments, ends_line, indented)


class _Place(NamedTuple):
    """Place of a node that is visited: whether it is a statement, its enclosing statement, branch and list."""

    is_statement: bool
    parent: int
    branch: str
    suite: int


class _Collector:
    """Walk over the nodes that touch the answer: statements with their parents, and comments.

    A node's parent is never asked for: that takes time in proportion to its depth.
    """

    def __init__(self, parsed: ParsedFile, offsets: CharacterOffsets) -> None:
        self.parsed = parsed
        self.characters = offsets.characters
        self.found: list[CodeStatement] = []
        self.comments: list[tuple[int, int]] = []

    def walk(self) -> None:
        table = self.parsed.table
        waiting = [(self.parsed.tree.root_node, _Place(False, -1, "body", -1))]
        while waiting:
            node, place = waiting.pop()
            # Comments first: some grammars attach them to statements, and they are none.
            if node.type in table.comments:
                text = (node.text or b"").decode("utf-8", "surrogatepass")
                start = self.characters(node.start_byte)
                self.comments.append((start, start + len(text.rstrip("\r\n"))))
                continue
            # Statements far from the answer decide nothing; a file of 4,000 characters has one statement of interest.
            if _chain(node)[-1].end_byte < self.parsed.start or node.start_byte > self.parsed.end:
                continue
            if node.type in table.opaque:
                continue
            if place.is_statement:
                self.found.append(self._statement(node, place))
                place = place._replace(parent=len(self.found) - 1, branch="body")
            elif node.type in table.clauses:
                place = place._replace(branch=node.type)
            waiting.extend(reversed([(child, inner) for child, inner in self._children(node, place)]))

    def _children(self, node: tree_sitter.Node, place: _Place) -> Iterator[tuple[tree_sitter.Node, _Place]]:
        """Yield the children of a node with their places.

        An ``if`` of Java has its alternative without a clause around it.
        """
        table = self.parsed.table
        alternative = _field_id(node, "alternative")
        fields = (*table.bodies, "alternative") if table.kind(node.type) != "simple" else ()
        branches = {_field_id(node, name) for name in fields}
        parameter = _field_id(node, "parameter")
        elifs = node_kinds().elifs
        for child in _parts(node):
            usual = child.is_named and child.type not in (*table.not_statements, *table.comments)
            if node.type in table.lists or child.type in elifs:
                is_statement = usual
            elif child.type in (*table.lists, *table.clauses):
                is_statement = False
            elif node.type in table.clauses:  # a branch without braces
                is_statement = usual and child.id != parameter and child.type.endswith(("statement", "declaration"))
            else:
                is_statement = usual and child.id in branches
            is_other = child.id == alternative and child.type not in table.not_statements
            branch = "alternative" if is_other or child.type in elifs else place.branch
            yield child, _Place(is_statement, place.parent, branch, node.start_byte)

    def _statement(self, node: tree_sitter.Node, place: _Place) -> CodeStatement:
        at, table = self.characters, self.parsed.table
        inner = _wrapped(node, table)
        start, end, suite = at(node.start_byte), at(_end(_chain(node)[-1], table)), at(place.suite)
        keyword = at(inner.start_byte) if node.type in node_kinds().decorated else start
        elifs = node_kinds(self.parsed.language).elifs
        is_other = not elifs and (place.branch == "alternative" or place.branch in node_kinds().else_clauses)
        kind = table.kind(inner.type)
        if (kind == "if" and is_other) or inner.type in elifs:
            kind = "elif"
        body = _body(inner, table)
        if kind == "simple" or body is None:
            return CodeStatement(start, end, keyword, kind, place.parent, place.branch, suite=suite)
        colon = next(
            (child for child in inner.children if child.type == ":" and child.end_byte <= body.start_byte), body
        )
        first = body.named_children[0] if body.named_children else body
        # The first statement of the first case; a label is none.
        held = _body(first, table) if first.type in table.not_statements and colon is not body else None
        span = (at((held or body).start_byte), at(_end(body, table)))
        header_end = span[0] if colon is body else at(colon.end_byte)
        return CodeStatement(
            start, end, keyword, kind, place.parent, place.branch, _is_async(inner), header_end, span, suite
        )


def _chain(node: tree_sitter.Node) -> list[tree_sitter.Node]:
    """Return a node; of an ``elif`` also the clauses that follow it, which are its own, as in Python's parser."""
    chain, after = [node], node.next_named_sibling if node.type in node_kinds().elifs else None
    clauses = node_kinds().elifs | node_kinds().else_clauses
    while after is not None and after.type in clauses | node_kinds().comments:
        if after.type in clauses:
            chain.append(after)
        after = after.next_named_sibling
    return chain


def _parts(node: tree_sitter.Node) -> list[tree_sitter.Node]:
    """Return the children of a node: of an ``if`` up to its first ``elif``, and with the next clause of an ``elif``."""
    elifs = node_kinds().elifs
    if node.type in elifs:
        return [*node.children, *_chain(node)[1:2]]
    children = node.children
    first = next((place for place, child in enumerate(children) if child.type in elifs), len(children))
    return children[: first + 1]


def _end(node: tree_sitter.Node, table: StatementTable) -> int:
    """Return the end of a node, in languages without braces that of its last statement: comments follow it."""
    compound = {*table.lists, *table.clauses, *table.not_statements, *table.wrappers}
    while node.type in compound or table.kind(node.type) != "simple":
        last = next((child for child in reversed(node.children) if child.type not in (*table.comments, ";")), None)
        if last is None or not last.is_named:
            break
        node = last
    return node.end_byte


def _field_id(node: tree_sitter.Node, field: str) -> int:
    child = node.child_by_field_name(field)
    return -1 if child is None else child.id


def _wrapped(node: tree_sitter.Node, table: StatementTable) -> tree_sitter.Node:
    """Return the statement with a kind in an exported or labelled one; the node itself if there is none."""
    while node.type in table.wrappers:
        kinds = (child for child in node.named_children if child.type not in table.comments)
        inner = [child for child in kinds if child.type in table.wrappers or table.kind(child.type) != "simple"]
        if not inner:
            break
        node = inner[0]
    return node


def _body(node: tree_sitter.Node, table: StatementTable) -> tree_sitter.Node | None:
    bodies = (node.child_by_field_name(name) for name in table.bodies)
    return next((body for body in bodies if body is not None), None)


def _is_async(node: tree_sitter.Node) -> bool:
    return any(child.text in (b"async", b"await") for child in node.children)


def _is_between_statements(parsed: ParsedFile, position: int) -> bool:
    """Return whether the innermost node around a position is a list of statements."""
    node: tree_sitter.Node = parsed.tree.root_node
    while True:
        inner = next((child for child in node.children if child.start_byte < position < child.end_byte), None)
        if inner is None:
            code = (child for child in reversed(node.children) if child.type not in parsed.table.comments)
            before = next((child for child in code if child.end_byte <= position), None)
            if before is not None and before.type in node_kinds().line_continuations:
                return False
            is_list = node.id == parsed.tree.root_node.id or node.type in parsed.table.lists
            return is_list or (before is not None and _ends_line(before, parsed))
        if inner.type in parsed.table.comments:
            return (
                inner.type not in node_kinds().block_comments
                and b"\n" not in (inner.text or b"")[: position - inner.start_byte]
            )
        node = inner


def _ends_line(node: tree_sitter.Node, parsed: ParsedFile) -> bool:
    """Return whether a node is the colon of a header, a decorator or a block: each ends a whole line in Python."""
    after, table = node.next_sibling, parsed.table
    while after is not None and after.type in table.comments:
        after = after.next_sibling
    is_colon = node.type == ":" and after is not None and after.type in table.lists
    ends = is_colon or node.type in {*node_kinds().attributes, *table.lists, *table.clauses}
    return ends and language_of_grammar(parsed.language).indented


def answer_nodes(parsed: ParsedFile) -> Iterator[tree_sitter.Node]:
    """Yield the nodes that touch the answer, but not those in comments and strings."""
    closed = {*parsed.table.comments, *parsed.table.opaque}
    return walk(parsed.tree.root_node, parsed.start, parsed.end, closed=lambda node: node.type in closed)


_LINE_END = re.compile(rb"\r\n|\r|\n")


def code_line_count(parsed: ParsedFile) -> int:
    """Return the number of the answer's lines that contain a token other than a comment.

    All lines inside a string count; lines inside brackets count like others.
    """
    answer = encode(parsed.text)[parsed.start : parsed.end]
    ends = [parsed.start + match.end() for match in _LINE_END.finditer(answer)]
    lines = [parsed.start, *ends]
    marked: set[int] = set()
    skipped = {*node_kinds().line_continuations, *parsed.table.comments}
    for token in answer_nodes(parsed):
        is_whole = token.type in parsed.table.opaque or not token.child_count
        if not is_whole or token.end_byte == token.start_byte or token.type in skipped:
            continue
        first, last = max(token.start_byte, parsed.start), min(token.end_byte, parsed.end) - 1
        while (
            last > first and (token.text or b"")[last - token.start_byte] in b"\r\n"
        ):  # a token that takes the line end
            last -= 1
        marked.update(range(bisect_right(lines, first), bisect_right(lines, last) + 1))
    return len(marked)
