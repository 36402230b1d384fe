"""Mining rules for all languages, read from ``mining.toml``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Literal

from caretbench.files import read_packaged_toml
from caretbench.problem import Row

CutKind = Literal["header", "body", "run", "statement"]


class BlockRules(Row):
    """Bounds on the size of a block, and the kind of cut by kind of block.

    A condition needs ``min_words`` tokens without ``separators``, any other block ``min_tokens`` tokens too. A block of
    at least ``min_repeated_tokens`` tokens is rejected if the shown text repeats it.
    """

    min_tokens: int
    min_words: int
    separators: str
    assignment: re.Pattern[str]
    max_lines: int
    min_repeated_tokens: int
    cut_by_kind: Mapping[str, CutKind]


class ConstructRules(Row):
    """Constructs by kind of name binding and by kind of block, and the further constructs of ``structure``."""

    bindings: Mapping[str, str]
    blocks: Mapping[str, str]
    structure: tuple[str, ...]


class MiningRules(Row):
    """All mining rules."""

    blocks: BlockRules
    constructs: ConstructRules


@cache
def mining_rules() -> MiningRules:
    """Return the mining rules."""
    return MiningRules.model_validate(read_packaged_toml("caretbench.suites.simcopilot", "mining.toml"))
