"""Hidden spans: whole blocks, cuts of inner blocks, their weights from a file, and a weighted sample of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Final, Literal, NamedTuple

from caretbench.files import sha256_text
from caretbench.projects.file_spans import visible_text
from caretbench.suites.codevbench.build.code_blocks import BlockFinder, BlockKind, CodeBlock
from caretbench.suites.codevbench.scenario_names import FULL_BLOCK, INCOMPLETE_SUFFIX, RAG
from caretbench.suites.usage_weights import Weights
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
    place: str = ""
    """Name of the block's place, ``PATH:Class.function``, once all spans of the file are known."""

    @property
    def key(self) -> str:
        """Name of the span in its file."""
        return f"{self.place or tuple(self.span)}:{self.block.kind}.{self.cut}"

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
    text = visible_text(finder.data[block.span.start : block.span.end])
    if block.kind == "partial_line":
        cuts = _inner_positions(block.span, [span.end for span, _ in finder.tokens(block.span)])
        yield from _rest(block, "block", cuts, text)
        return
    yield HiddenSpan(block, "block", block.span)
    if block.kind in _PARTIAL_KINDS:
        return
    tokens = finder.tokens(block.span)
    yield from _rest(block, "statement", [span.start for span in block.statements[1:]], text)
    yield from _rest(block, "token", _inner_positions(block.span, [span.end for span, op in tokens if not op]), text)
    yield from _rest(block, "operator", _inner_positions(block.span, [span.end for span, op in tokens if op]), text)
    if not block.leaves:
        yield HiddenSpan(block, "empty", Span(block.span.end, block.span.end))


def _inner_positions(span: Span, ends: Sequence[int]) -> list[int]:
    return [end for end in ends if span.start < end < span.end]


def _rest(block: CodeBlock, cut: Cut, positions: Sequence[int], text: str) -> Iterator[HiddenSpan]:
    """Yield the rest of a block with this text after one of some positions, which follows from the text."""
    if positions:
        number = int(sha256_text(block.path, text, block.kind, cut)[:12], 16)
        yield HiddenSpan(block, cut, Span(positions[number % len(positions)], block.span.end))


_SUFFIX_CUTS: Final = 2
"""Maximum number of problems of scenario 3 from one block: the file emptied, and the function emptied."""


def span_weight(weights: Weights, hidden: HiddenSpan) -> float:
    """Return the weight of a span; 0: no such problem."""
    share: float = weights.block.model_dump(by_alias=True)[hidden.block.kind]
    if hidden.cut == "block":
        share *= max(_blocks(weights).values())
    else:
        cuts: dict[str, float] = weights.cut.model_dump()
        share *= weights.scenario.inner_block * cuts[hidden.cut] / sum(cuts.values())
    return share * (weights.line.partial if hidden.is_partial_line else weights.line.whole)


def becomes_problem(weights: Weights, scenario: str, draw: float) -> bool:
    """Return whether a block becomes a problem of a scenario of whole blocks, for a number from 0 to 1."""
    blocks = _blocks(weights)
    return draw * max(blocks.values()) < blocks[scenario]


def _blocks(weights: Weights) -> dict[str, float]:
    """Return the number of blocks that each scenario of whole blocks needs, in the unit of the shares."""
    shares = weights.scenario
    return {FULL_BLOCK: shares.full_block, INCOMPLETE_SUFFIX: shares.incomplete_suffix / _SUFFIX_CUTS, RAG: shares.rag}


def _by_cell(
    spans: Sequence[HiddenSpan], weights: Weights
) -> tuple[dict[tuple[str, str], dict[str, list[HiddenSpan]]], dict[tuple[str, str], float]]:
    """Return the spans of a positive weight by cell and file, and the weights of the cells."""
    cells: dict[tuple[str, str], dict[str, list[HiddenSpan]]] = defaultdict(lambda: defaultdict(list))
    shares: dict[tuple[str, str], float] = {}
    for span in spans:
        weight = span_weight(weights, span)
        if weight > 0:
            cells[span.block.kind, span.cut][span.block.path].append(span)
            shares[span.block.kind, span.cut] = weight
    return cells, shares


def weighted_sample(
    spans: Sequence[HiddenSpan],
    weights: Weights,
    *,
    limit: int | None,
    per_file: int | None = None,
    seed: int = 0,
    first: Sequence[HiddenSpan] = (),
    fault: Callable[[HiddenSpan], str | None] = lambda _span: None,
) -> tuple[list[HiddenSpan], Counter[str]]:
    """Return a sample of spans, in the order of sampling, and the number of rejected spans by fault.

    Each step takes from the cell (kind of block and cut) that is furthest behind its share, and there from the file
    with the fewest spans; the rest follows from a hash. The seed says how early in its turn each cell comes: 25 small
    cells of control flow, due 8 of 120 spans together, had none while all came at the end of their turns. Spans of
    weight 0 are not taken. A cell that runs out leaves its share to the others. ``fault`` says why a span is rejected;
    it is asked only when the span's turn comes. The sample begins with ``first``, whatever the limits are.
    """
    cells, shares = _by_cell(spans, weights)
    rank = {(one.block.path, one.key): sha256_text(str(seed), one.block.path, one.key) for one in spans}
    for files in cells.values():
        for waiting in files.values():
            waiting.sort(key=lambda one: rank[one.block.path, one.key], reverse=True)
    offset = {cell: int(sha256_text(str(seed), *cell)[:12], 16) / 16**12 for cell in cells}
    chosen: list[HiddenSpan] = []
    rejected: Counter[str] = Counter()
    taken: Counter[tuple[str, str]] = Counter()
    in_file: Counter[str] = Counter()

    def take(span: HiddenSpan) -> None:
        if (reason := fault(span)) is not None:
            rejected[reason] += 1
            return
        chosen.append(span)
        taken[span.block.kind, span.cut] += 1
        in_file[span.block.path] += 1

    for span in first:
        take(span)
    already = {(one.block.path, one.key) for one in first}
    while cells and (limit is None or len(chosen) < limit):
        cell = min(cells, key=lambda one: ((taken[one] + offset[one]) / shares[one], one))
        open_files = [path for path in cells[cell] if per_file is None or in_file[path] < per_file]
        if not open_files:
            del cells[cell]
            continue
        path = min(open_files, key=lambda one: (in_file[one], rank[one, cells[cell][one][-1].key]))
        span = cells[cell][path].pop()
        if not cells[cell][path]:
            del cells[cell][path]
        if (path, span.key) not in already:
            take(span)
    return chosen, rejected
