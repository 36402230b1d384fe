"""Immutable types of an analysis. Positions count bytes of the file; lines count from 1."""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence
from typing import Final, Literal, NamedTuple

BlockKind = Literal[
    "function_body", "function_tail", "if_condition", "elif_condition", "if_body", "elif_body", "else_body",
    "switch_case", "loop_header", "loop_body", "try_body", "handler", "finally_body", "with_body", "comprehension",
    "lambda", "class_body", "statement", "statement_run", "return", "call_expression", "stream_pipeline",
]  # fmt: skip

ScopeKind = Literal["file", "namespace", "class", "interface", "function", "method", "lambda", "comprehension", "block"]

Binding = Literal[
    "local", "parameter", "loop_variable", "comprehension", "field", "global", "function", "method", "class",
    "interface", "module", "builtin", "unresolved",
]  # fmt: skip

Origin = Literal[
    "same_block", "same_function", "same_class", "same_file", "same_project", "stdlib", "third_party", "builtin",
    "unknown",
]  # fmt: skip


FUNCTION_SCOPES: Final = frozenset({"function", "method", "lambda"})
NAMED_FUNCTION_SCOPES: Final = frozenset({"function", "method"})
CLASS_SCOPES: Final = frozenset({"class", "interface"})
"""Kinds of scopes."""


class Span(NamedTuple):
    """Range of bytes from ``start`` up to, but not including, ``end``."""

    start: int
    end: int

    def contains(self, other: tuple[int, int]) -> bool:
        """Return whether the other span is inside this one or equal to it."""
        return self.start <= other[0] and other[1] <= self.end


class Scope(NamedTuple):
    """Scope of names, such as a class or function, with its whole declaration; ``name`` may be empty."""

    kind: ScopeKind
    name: str
    span: Span
    is_test: bool = False


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


class Definition(NamedTuple):
    """Definition of a name: its declaration, or an assignment; ``span`` is the span of the name."""

    path: str
    name: str
    binding: Binding
    span: Span
    line: int


class Reference(NamedTuple):
    """Use of a name.

    ``reaching`` are the definitions whose value can reach the use (all definitions for names of an enclosing function,
    fields and other files, for which the flow is not computed). ``library`` is the full name in a library
    (``os.path.join``). ``is_member``: the name is after a dot. ``files_crossed`` is the number of imports between use
    and declaration.
    """

    path: str
    name: str
    span: Span
    line: int
    binding: Binding
    origin: Origin
    declaration: Definition | None = None
    reaching: tuple[Definition, ...] = ()
    library: str | None = None
    is_member: bool = False
    is_call: bool = False
    files_crossed: int = 0

    @property
    def declaration_lines(self) -> int | None:
        """Number of lines between use and declaration; None for other files, libraries and unknown names."""
        target = self.declaration
        return abs(self.line - target.line) if target and target.path == self.path and not self.library else None

    @property
    def reaching_lines(self) -> int | None:
        """Number of lines between the use and the nearest reaching definition; None as for the declaration."""
        if self.library:
            return None
        same_file = [site for site in self.reaching if site.path == self.path]
        # `r += 1` defines what it uses: its own definition would be at distance 0.
        others = [site for site in same_file if site.span != self.span] or same_file
        return min((abs(self.line - site.line) for site in others), default=None)


class ParseFault(NamedTuple):
    """Part of a file that does not fit the grammar, or (with an empty span) a missing token."""

    span: Span
    line: int


class SpanIndex:
    """Index of spans that are nested or disjoint. Results are indices of the sequence of spans."""

    def __init__(self, spans: Sequence[tuple[int, int]]) -> None:
        # Of spans with one start the longer first, so that it becomes the parent.
        self._order = sorted(range(len(spans)), key=lambda index: (spans[index][0], -spans[index][1], index))
        self._starts = [spans[index][0] for index in self._order]
        self._ends = [spans[index][1] for index in self._order]
        self._parents: list[int] = []
        stack: list[int] = []
        for number, end in enumerate(self._ends):
            # Spans are nested or disjoint: what ends before this one ends contains nothing that follows.
            while stack and self._ends[stack[-1]] < end:
                stack.pop()
            self._parents.append(stack[-1] if stack else -1)
            stack.append(number)

    def enclosing(self, start: int, end: int) -> Iterator[int]:
        """Yield the spans that contain bytes ``start`` to ``end``, innermost first."""
        number = bisect.bisect_right(self._starts, start) - 1
        while number >= 0:
            if self._ends[number] >= end:
                yield self._order[number]
            number = self._parents[number]

    def innermost(self, start: int, end: int) -> int | None:
        """Return the smallest span that contains bytes ``start`` to ``end``, or None."""
        return next(self.enclosing(start, end), None)
