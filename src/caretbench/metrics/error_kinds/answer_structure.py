"""Structure of a text at a caret: its tokens, statements, calls and brackets."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

from caretbench.syntax.bounded_parsing import SplicedTree
from caretbench.syntax.parser import error_count, layout_faults

STATEMENT: Final = "statement"
COMMENT: Final = "comment"

_OPENING: Final = frozenset({"(", "[", "{", "${"})
CLOSING: Final = frozenset({")", "]", "}"})
_ENDING: Final = CLOSING | {";", ","}


class Token(NamedTuple):
    """Token, clipped to the text: its type, text and position. ``runs_over``: a literal that ends after the text."""

    type: str
    text: str
    start: int
    column: int
    starts_line: bool
    runs_over: bool


class Statement(NamedTuple):
    """Outermost statement that begins in the text, or a clause such as ``else``: its kind, node type and place."""

    kind: str
    type: str
    start: int
    column: int
    first_word: str
    target: str
    """Name that it assigns or calls, as far as its beginning shows it."""

    @property
    def is_block(self) -> bool:
        """True for a function, class, condition, loop and the like."""
        return self.kind not in (STATEMENT, COMMENT, "import")


class Call(NamedTuple):
    """Call that overlaps the text, by its meaning: what is called, and its arguments, without bodies of functions.

    A bound name is followed by NUL and its level.
    """

    callee: str
    arguments: str


@dataclass(frozen=True, eq=False)
class AnswerStructure:
    """Structure of a text at its caret."""

    spliced: SplicedTree
    """Tree of the whole program; its faults are counted only where a rule asks for them."""
    tokens: Sequence[Token]
    comments: Sequence[int]
    """Places of the comments."""
    statements: Sequence[Statement]
    calls: Sequence[Call]
    bound_names: Set[str]
    """Names that loops, comprehensions and functions of the text bind for themselves."""
    misaligned: int
    """Number of statements that begin a line in another column than the first of their list."""
    caret_column: int | None
    """Column of the caret's line; None if the line has no text before the caret."""

    @property
    def language(self) -> str:
        """Name of the language."""
        return self.spliced.language

    @property
    def errors(self) -> int:
        """Number of parse errors of the whole program."""
        return error_count(self.spliced.tree)

    @property
    def layout_faults(self) -> int:
        """Number of layout faults of the whole program."""
        return layout_faults(self.spliced.tree, self.spliced.language)

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Texts of the tokens, without comments."""
        return tuple(token.text for token in self.tokens)

    @cached_property
    def depths(self) -> list[int]:
        """Depth of brackets after each token, relative to the caret."""
        depth = 0
        depths = []
        for token in self.tokens:
            depth += (token.type in _OPENING) - (token.type in CLOSING)
            depths.append(depth)
        return depths

    def statements_at(self, depth: int) -> Sequence[Statement]:
        """Return the statements that begin where the brackets are open to a depth or less."""
        before = dict(zip((token.start for token in self.tokens), [0, *self.depths], strict=False))
        return [statement for statement in self.statements if before.get(statement.start, 0) <= depth]

    @property
    def lowest_depth(self) -> int:
        """Lowest depth of brackets; below zero, the text closes brackets that it did not open."""
        return min(self.depths, default=0) if self.tokens else 0

    @property
    def final_depth(self) -> int:
        """Depth of brackets at the end."""
        return self.depths[-1] if self.tokens else 0

    def goes_on_below(self, depth: int) -> bool:
        """Return whether more than closing tokens follow after brackets are closed to less than a depth."""
        left: int | None = None
        for token, after in zip(self.tokens, self.depths, strict=True):
            if left is not None and token.type not in _ENDING:
                return True
            if left is None and after < depth:
                left = token.start
        return left is not None and any(comment > left for comment in self.comments)

    @property
    def line_columns(self) -> list[int]:
        """Columns of the lines that begin outside brackets, that of the caret's line first."""
        columns = [] if self.caret_column is None else [self.caret_column]
        for token, depth in zip(self.tokens, [0, *self.depths], strict=False):
            if token.starts_line and depth <= 0:
                columns.append(token.column)
        return columns

    @property
    def begins_statement(self) -> bool:
        """True if the first token begins a statement, and does not continue one of the prefix."""
        return bool(self.tokens and self.statements) and self.statements[0].start <= self.tokens[0].start
