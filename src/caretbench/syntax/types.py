"""Types of an analysis: small and frozen. Every position counts bytes of the file; lines count from 1."""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence
from typing import Final, Literal, NamedTuple

BlockKind = Literal[
    "function_body", "function_tail", "if_condition", "elif_condition", "if_body", "elif_body", "else_body",
    "switch_case", "loop_header", "loop_body", "try_body", "handler", "finally_body", "with_body", "comprehension",
    "lambda", "class_body", "statement", "statement_run", "return", "call_expression", "stream_pipeline",
]  # fmt: skip

ScopeKind = Literal[
    "file", "namespace", "class", "interface", "function", "method", "lambda", "comprehension", "block"
]

Binding = Literal[
    "local", "parameter", "loop_variable", "comprehension", "field", "global", "function", "method", "class",
    "interface", "module", "builtin", "unresolved",
]  # fmt: skip

Origin = Literal[
    "same_block", "same_function", "same_class", "same_file", "same_project", "stdlib", "third_party", "builtin",
    "unknown",
]  # fmt: skip


FUNCTIONS: Final = frozenset({"function", "method", "lambda"})
CLASSES: Final = frozenset({"class", "interface"})
"""Kinds of scopes."""


class Span(NamedTuple):
    """Bytes ``start`` up to, not including, ``end``."""

    start: int
    end: int

    def contains(self, other: tuple[int, int]) -> bool:
        """Return whether the other span lies inside this one, or is the same."""
        return self.start <= other[0] and other[1] <= self.end


class Scope(NamedTuple):
    """A part of a file in which names live, with its whole declaration; ``name`` is empty where it has none."""

    kind: ScopeKind
    name: str
    span: Span
    is_test: bool = False


class Block(NamedTuple):
    """A candidate for a hole, or a construct around one.

    ``span`` is the grammar node's; ``content`` the statements inside it, from the first's begin to the last's
    end (the span itself where it holds none). ``closing`` is what closes the construct behind the content
    (``}``, or nothing in Python) and ``closed`` the byte behind it. ``lines`` are the span's first and last.
    ``enclosing`` are indices of :attr:`FileAnalysis.scopes`, outermost first.
    """

    kind: BlockKind
    span: Span
    content: Span
    closing: str
    closing_end: int
    lines: tuple[int, int]
    aligned: bool
    statements: int
    enclosing: tuple[int, ...]


class Definition(NamedTuple):
    """A place that gives a name its meaning or its value; ``span`` is the name's."""

    path: str
    name: str
    binding: Binding
    span: Span
    line: int


class Reference(NamedTuple):
    """The use of a name.

    ``declaration`` is where the name was introduced, ``reaching`` the definitions whose value can arrive here
    (all of them where the flow is not followed: names of an enclosing function, fields, other files).
    ``library`` is the full name of what a library gives (``os.path.join``). ``is_member`` marks the name after
    a dot, ``is_call`` a name that is called. ``files_crossed`` counts the files between use and declaration.
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
        """Lines between the use and the declaration; None for other files, libraries and unknown names."""
        found = self.declaration
        return abs(self.line - found.line) if found and found.path == self.path and not self.library else None

    @property
    def reaching_lines(self) -> int | None:
        """Lines between the use and the nearest definition that reaches it; None as for the declaration."""
        if self.library:
            return None
        own = [found for found in self.reaching if found.path == self.path]
        others = [found for found in own if found.span != self.span] or own  # `r += 1` defines what it uses
        return min((abs(self.line - found.line) for found in others), default=None)


class ParseFault(NamedTuple):
    """A part of a file that does not fit the grammar, or (an empty span) a token that is missing there."""

    span: Span
    line: int


class Nesting:
    """Spans that nest or are disjoint. Indices are those of the sequence that was given."""

    def __init__(self, spans: Sequence[tuple[int, int]]) -> None:
        self._order = sorted(range(len(spans)), key=lambda index: (spans[index][0], -spans[index][1], index))
        self._starts = [spans[index][0] for index in self._order]
        self._ends = [spans[index][1] for index in self._order]
        self._parents: list[int] = []
        stack: list[int] = []
        for number, end in enumerate(self._ends):
            while stack and self._ends[stack[-1]] < end:
                stack.pop()
            self._parents.append(stack[-1] if stack else -1)
            stack.append(number)

    def enclosing(self, start: int, end: int) -> Iterator[int]:
        """Yield the spans that hold bytes ``start`` to ``end``, innermost first."""
        number = bisect.bisect_right(self._starts, start) - 1
        while number >= 0:
            if self._ends[number] >= end:
                yield self._order[number]
            number = self._parents[number]

    def innermost(self, start: int, end: int) -> int | None:
        """Return the smallest span that holds bytes ``start`` to ``end``, or None."""
        return next(self.enclosing(start, end), None)
