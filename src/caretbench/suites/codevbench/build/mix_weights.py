"""Weight of a hidden span, and scenarios of a whole block, from a file of weights."""

from __future__ import annotations

from typing import Final

from caretbench.suites.codevbench.build.cuts import HiddenSpan
from caretbench.suites.codevbench.scenario_names import FULL_BLOCK, INCOMPLETE_SUFFIX, RAG
from caretbench.suites.usage_weights import Weights

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
