"""Hidden spans of blocks: whole blocks, and inner blocks cut at a statement, a token, an operator, or at the end.

One position is taken for each block and cut, by a hash of both, so that it depends on nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Literal, NamedTuple

from caretbench.files import sha256_text
from caretbench.suites.codevbench.code_blocks import BlockFinder, BlockKind, CodeBlock
from caretbench.syntax import Span

Cut = Literal["block", "statement", "token", "operator", "empty"]
_RANK: Final[tuple[BlockKind, ...]] = (
    "while", "try", "catch", "for", "method", "if", "argument_list", "statement", "partial_line", "comment"
)  # fmt: skip
_PARTIAL_KINDS: Final = frozenset({"argument_list", "partial_line", "comment"})


class HiddenSpan(NamedTuple):
    """A span of a block that a problem hides: the whole block, or the rest of it after a cut."""

    block: CodeBlock
    cut: Cut
    span: Span

    @property
    def key(self) -> str:
        """Name of the span in its file."""
        return f"{self.span.start}-{self.span.end}:{self.block.kind}.{self.cut}"

    @property
    def rank(self) -> tuple[bool, int]:
        """Rank among equal spans, of which the first is taken: whole blocks, then the rarer kinds."""
        return (self.cut != "block", _RANK.index(self.block.kind))

    @property
    def is_partial_line(self) -> bool:
        """True if text of the caret's own line is before the caret, and the answer goes on in it."""
        return self.cut in ("token", "operator") or self.block.kind in _PARTIAL_KINDS


def hidden_spans(block: CodeBlock, finder: BlockFinder) -> Iterator[HiddenSpan]:
    """Yield the spans of a block that problems can hide."""
    if block.kind == "partial_line":
        cuts = _inner_positions(block.span, [span.end for span, _ in finder.tokens(block.span)])
        yield from _rest(block, "block", cuts)
        return
    yield HiddenSpan(block, "block", block.span)
    if block.kind in _PARTIAL_KINDS:
        return
    tokens = finder.tokens(block.span)
    yield from _rest(block, "statement", [span.start for span in block.statements[1:]])
    yield from _rest(block, "token", _inner_positions(block.span, [span.end for span, op in tokens if not op]))
    yield from _rest(block, "operator", _inner_positions(block.span, [span.end for span, op in tokens if op]))
    if not block.leaves:
        yield HiddenSpan(block, "empty", Span(block.span.end, block.span.end))


def _inner_positions(span: Span, ends: Sequence[int]) -> list[int]:
    return [end for end in ends if span.start < end < span.end]


def _rest(block: CodeBlock, cut: Cut, positions: Sequence[int]) -> Iterator[HiddenSpan]:
    """Yield the rest of a block after one of some positions."""
    if positions:
        number = int(sha256_text(block.path, repr(tuple(block.span)), block.kind, cut)[:12], 16)
        yield HiddenSpan(block, cut, Span(positions[number % len(positions)], block.span.end))
