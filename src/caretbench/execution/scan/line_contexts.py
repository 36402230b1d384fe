"""Enclosing functions and earlier exits of the lines behind the caret, from a parsed program.

All are facts of the syntax tree: functions around a line and where each begins, text (strings, comments) around it,
conditions of the answer around it, and statements of the answer that leave the function or the loop before it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

import tree_sitter

from caretbench.execution.scan.exit_statements import (
    CHECKING_LINE,
    ExitCertainty,
    exits_before,
    has_condition,
    holds_members,
    is_always_false,
    is_always_true,
    node_text,
)
from caretbench.languages.node_kinds import NodeKinds, node_kinds
from caretbench.syntax.parser import encode, parse

MAX_LINES = 64
"""Maximum number of lines after the caret that are examined."""
# tree-sitter finds a node's parent from the root: without a bound 20,000 open brackets took minutes.
_MAX_DEPTH = 200
_MAX_NODES = 20_000
_CODE_LINE = re.compile(r"^[ \t]*(?=[\w@\"'(\[*&!+-])", re.MULTILINE)
_TEXT = re.compile(r"comment|string|template_|heredoc|char_literal")
_SUPPRESSED = re.compile(r"\A[^\n]*?\b(?:suppress|assertRaises|raises|warns)\w*\s*\([^\n]*")
_CODE_IN_TEXT = re.compile(r"interpolation|template_substitution")


class EnclosingFunction(NamedTuple):
    """Function around a line: it starts in ``part`` (``before``, ``answer`` or ``after``), at byte ``offset`` of it.

    ``is_lazy``: calling it does not run it. ``decorators`` contains their texts.
    """

    part: str
    offset: int
    name: str
    is_lazy: bool
    decorators: frozenset[str]


class LineSyntax(NamedTuple):
    """Syntactic context of a line: its ``text``, and the ``functions`` around it, the innermost first."""

    text: str
    in_string_or_comment: bool
    unreachable: bool
    functions: tuple[EnclosingFunction, ...]
    conditions: tuple[str, ...]
    exit_certainty: ExitCertainty
    throw_certainty: ExitCertainty
    in_try: bool
    in_generator: bool

    def answer_functions(self, *, named_only: bool = False) -> tuple[EnclosingFunction, ...]:
        """Return the functions around the line that begin in the answer."""
        return tuple(
            function for function in self.functions if function.part == "answer" and (function.name or not named_only)
        )

    def program_functions(self, *, named_only: bool = False) -> tuple[tuple[str, int], ...]:
        """Return part and offset of the functions around the line that begin outside the answer."""
        return tuple(
            (function.part, function.offset)
            for function in self.functions
            if function.part != "answer" and (function.name or not named_only)
        )


class _Program(NamedTuple):
    begin: int
    end: int
    language: str

    @property
    def kinds(self) -> NodeKinds:
        return node_kinds(self.language)


class LineContexts(NamedTuple):
    """Contexts of the first lines after the caret.

    ``answer_definitions`` counts the functions that the answer defines, by name; ``parsed`` is False if the program has
    a syntax error.
    """

    lines: tuple[LineSyntax, ...]
    answer_definitions: Mapping[str, int]
    parsed: bool


@lru_cache(maxsize=512)
def line_contexts(before: str, answer: str, after: str, language: str) -> LineContexts:
    """Return the contexts of the first lines of ``after`` in the whole program."""
    tree = parse(before + answer + after, language)
    begin = len(encode(before))
    program = _Program(begin, begin + len(encode(answer)), language)
    # What is left of the answer's own line belongs to it.
    rest = after.find("\n") + 1 if answer.rpartition("\n")[2].strip() else 0
    lines = (match.end() for match in _CODE_LINE.finditer(after, rest) if match.end() < len(after))
    exits: dict[int, tuple[ExitCertainty, ExitCertainty]] = {}
    contexts = []
    for place, _ in zip(lines, range(MAX_LINES), strict=False):
        # Where no line end follows, find gives -1, of which the remainder makes the end of the text.
        text = after[place : after.find("\n", place) % (len(after) + 1)]
        contexts.append(_place(tree, program, program.end + len(encode(after[:place])), text, exits))
    functions = _functions(tree.root_node, begin, program.end, program.kinds)
    defined = Counter(_named(function, program.kinds) for function in functions if function.start_byte >= begin)
    return LineContexts(tuple(contexts), defined, not tree.root_node.has_error)


@lru_cache(maxsize=512)
def checking_functions(text: str, language: str) -> frozenset[str]:
    """Return the names of a program's functions that contain a check."""
    root = parse(text, language).root_node
    kinds = node_kinds(language)
    functions = _functions(root, 0, root.end_byte, kinds)
    return frozenset(
        name
        for function in functions
        if CHECKING_LINE.search(node_text(function)) and (name := _named(function, kinds))
    )


def _functions(root: tree_sitter.Node, begin: int, end: int, kinds: NodeKinds) -> Iterator[tree_sitter.Node]:
    """Yield functions that reach into a part of a program, as far as it is not too large."""
    open_nodes = [root]
    for _ in range(_MAX_NODES):
        if not open_nodes:
            return
        node = open_nodes.pop()
        if node.end_byte <= begin or node.start_byte >= end:
            continue
        if node.type in kinds.functions:
            yield node
        open_nodes.extend(node.named_children)


def _place(
    tree: tree_sitter.Tree, program: _Program, at: int, line: str, exits: dict[int, tuple[ExitCertainty, ExitCertainty]]
) -> LineSyntax:
    climb = _Climb(program, at, exits)
    inner: tree_sitter.Node | None = None
    for node in _upwards(tree.root_node.descendant_for_byte_range(at, at + 1)):
        if not climb.passes(node, inner):
            break
        inner = node
    return LineSyntax(
        line,
        climb.in_string_or_comment,
        climb.unreachable,
        tuple(climb.functions),
        tuple(climb.conditions),
        climb.exit_certainty,
        climb.throw_certainty,
        climb.in_try,
        climb.in_generator,
    )


class _Climb:
    """Path from a line up to the root of the tree, with the passed nodes."""

    def __init__(self, program: _Program, at: int, exits: dict[int, tuple[ExitCertainty, ExitCertainty]]) -> None:
        self._program = program
        self._at = at
        self._exits = exits
        self._left_function = False
        self.in_string_or_comment = self.unreachable = self.in_generator = self.in_try = False
        self.functions: list[EnclosingFunction] = []
        self.conditions: list[str] = []
        self.exit_certainty = self.throw_certainty = ExitCertainty.NO

    def passes(self, node: tree_sitter.Node, inner: tree_sitter.Node | None) -> bool:
        """Process a node above ``inner``; return whether the path goes on."""
        program, kind = self._program, node.type
        started = program.begin <= node.start_byte < program.end
        if _CODE_IN_TEXT.search(kind) and not started:
            return False
        if started and node.is_named and _TEXT.search(kind):
            self.in_string_or_comment = True
        if not self._left_function:
            self._pass_exits(node)
        if started:
            self._pass_condition(node, inner)
        if kind in program.kinds.functions and node.start_byte < self._at:
            self._pass_function(node, started=started)
        return True

    def _pass_exits(self, node: tree_sitter.Node) -> None:
        program = self._program
        if node.start_byte >= program.begin:
            left, thrown = exits_before(node, program.begin, program.end, program.kinds, self._exits)
            self.exit_certainty, self.throw_certainty = (
                max(self.exit_certainty, left),
                max(self.throw_certainty, thrown),
            )
        elif node.type in program.kinds.tries:
            self.in_try = True

    def _pass_condition(self, node: tree_sitter.Node, inner: tree_sitter.Node | None) -> None:
        kind, kinds = node.type, self._program.kinds
        if kind not in kinds.tries and (has_condition(kind, kinds) or kind in kinds.conditional):
            self.conditions.append(_condition(node))
            self.unreachable = self.unreachable or _never_runs(node, inner, kinds)
        elif kind in kinds.resources and (caught := _SUPPRESSED.search(node_text(node)[:200])):
            self.conditions.append(caught[0])

    def _pass_function(self, node: tree_sitter.Node, *, started: bool) -> None:
        self.functions.append(_function(node, self._program))
        if not (self._left_function or started) and _suspends(node, self._program):
            self.in_generator = True
        self._left_function = self._left_function or node.start_byte < self._program.end


def _condition(node: tree_sitter.Node) -> str:
    condition = node.child_by_field_name("condition")
    return " ".join(node_text(condition).split())[:500] if condition is not None else node.type


def _never_runs(node: tree_sitter.Node, inner: tree_sitter.Node | None, kinds: NodeKinds) -> bool:
    """Return whether the branch of a statement that holds ``inner`` is chosen by a constant never to run."""
    if not has_condition(node.type, kinds):
        return False
    condition = node.child_by_field_name("condition")
    if condition is None:
        right = node.child_by_field_name("right") or node.child_by_field_name("value")
        return (
            right is not None
            and re.fullmatch(r"\[\]|\(\)|\{\}|range\(0\)|\"\"|''", node_text(right).strip()) is not None
        )
    alternative = node.child_by_field_name("alternative")
    in_alternative = inner is not None and alternative is not None and inner.start_byte >= alternative.start_byte
    return is_always_true(node_text(condition)) if in_alternative else is_always_false(node_text(condition))


def _function(node: tree_sitter.Node, program: _Program) -> EnclosingFunction:
    start = node.start_byte
    if start < program.begin:
        part, at = "before", start
    elif start < program.end:
        part, at = "answer", start - program.begin
    else:
        part, at = "after", start - program.end
    kinds = program.kinds
    decorators = node.parent.children if node.parent is not None and node.parent.type in kinds.decorated else ()
    texts = frozenset(node_text(child) for child in decorators if child.type in kinds.attributes)
    return EnclosingFunction(part, at, _named(node, kinds), _is_lazy(node, program), texts)


def _named(node: tree_sitter.Node, kinds: NodeKinds) -> str:
    """Return a function's name, or that of the variable it is assigned to; empty if it is an argument."""
    name = node.child_by_field_name("name")
    if name is None and node.type not in kinds.anonymous_functions:
        name = node.child_by_field_name("declarator")
        while name is not None and (deeper := name.child_by_field_name("declarator")) is not None:
            name = deeper
    if name is None and node.parent is not None:
        parent = node.parent.parent if node.parent.type in kinds.expression_lists else node.parent
        for field in ("name", "left", "key", "declarator"):
            name = name or (parent.child_by_field_name(field) if parent is not None else None)
    return node_text(name).strip()[:200] if name is not None else ""


def _is_lazy(node: tree_sitter.Node, program: _Program) -> bool:
    """Return whether calling it does not run it: a generator, and in Python a coroutine."""
    if node.type in program.kinds.generators or any(child.type == "*" for child in node.children):
        return True
    # In other languages an async function runs up to its first await when it is called.
    return program.language == "python" and (
        any(child.type == "async" for child in node.children)
        or _yields(node, node.start_byte, node.end_byte, program.kinds)
    )


def _suspends(function: tree_sitter.Node, program: _Program) -> bool:
    """Return whether the answer makes a generator of a function of the program."""
    return program.language == "python" and _yields(function, program.begin, program.end, program.kinds)


def _yields(function: tree_sitter.Node, begin: int, end: int, kinds: NodeKinds) -> bool:
    open_nodes = list(function.named_children)
    for _ in range(_MAX_NODES):
        if not open_nodes:
            return False
        node = open_nodes.pop()
        if node.end_byte <= begin or node.start_byte >= end:
            continue
        if node.type in kinds.functions or holds_members(node.type, kinds):
            continue
        if node.type in kinds.yields:
            return node.start_byte >= begin
        open_nodes.extend(node.named_children)
    return False


def _upwards(node: tree_sitter.Node | None) -> Iterator[tree_sitter.Node]:
    for _ in range(_MAX_DEPTH):
        if node is None:
            return
        yield node
        node = node.parent
