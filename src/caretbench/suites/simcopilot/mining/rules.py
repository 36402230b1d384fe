"""Rules of mining, read from ``mining.toml``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Literal

from caretbench.files import read_packaged_toml
from caretbench.problem import Row

Cut = Literal["header", "body", "run", "statement"]


class BlockRules(Row):
    """How large a block is, how it is cut, and from how many tokens on a repetition gives it away."""

    fewest_tokens: int
    fewest_header_tokens: int
    most_lines: int
    repeated_tokens: int
    kinds: Mapping[str, Cut]


class ConstructRules(Row):
    """From bindings and blocks to labels."""

    bindings: Mapping[str, str]
    blocks: Mapping[str, str]
    structure: tuple[str, ...]


class MiningRules(Row):
    """All rules that hold for every language."""

    blocks: BlockRules
    constructs: ConstructRules


@cache
def mining_rules() -> MiningRules:
    """Return the rules."""
    return MiningRules.model_validate(
        read_packaged_toml("caretbench.suites.simcopilot.mining", "mining.toml")
    )
