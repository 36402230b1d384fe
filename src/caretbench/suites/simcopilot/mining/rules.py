"""Rules of mining, read from ``mining.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Literal

from pydantic import BaseModel, ConfigDict

Cut = Literal["header", "body", "run", "statement"]


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class BlockRules(_Entry):
    """How large a block is, how it is cut, and from how many tokens on a repetition gives it away."""

    fewest_tokens: int
    fewest_header_tokens: int
    most_lines: int
    repeated_tokens: int
    kinds: Mapping[str, Cut]


class ConstructRules(_Entry):
    """From bindings and blocks to labels."""

    bindings: Mapping[str, str]
    blocks: Mapping[str, str]
    structure: tuple[str, ...]


class MiningRules(_Entry):
    """All rules that hold for every language."""

    blocks: BlockRules
    constructs: ConstructRules


@cache
def mining_rules() -> MiningRules:
    """The rules."""
    text = resources.files("caretbench.suites.simcopilot.mining").joinpath("mining.toml").read_text("utf-8")
    return MiningRules.model_validate(tomllib.loads(text))
