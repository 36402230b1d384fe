"""Rules as data: the paper's counting rules and bounds (``paper.toml``), rules for mining (``mining.toml``)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Literal

from caretbench.files import read_packaged_toml
from caretbench.problem import Row

Mode = Literal["infill", "suffix_hidden"]


class ReleasedLanguage(Row):
    """Paths of a language's released files, and the scopes of references that count; ``*`` means all scopes."""

    spans: tuple[str, ...]
    labels: tuple[str, ...]
    sources: str
    suffix: str
    same_line_scopes: tuple[str, ...]
    ranged_scopes: tuple[str, ...]
    range_bounds: tuple[float, ...]


class PaperConstruct(Row):
    """A construct of the paper's Table 1, with the scopes and reasons of the released labels that belong to it."""

    title: str
    scopes: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()


class ModeRules(Row):
    """A mode: its title in the paper, and its field in the released rows."""

    title: str
    field: str


class CommentRules(Row):
    """Bin edge of the distance to the nearest comment, in lines, and the marks of the released scanner."""

    bound: float
    line: tuple[str, ...]
    opening: tuple[str, ...]
    closing: tuple[str, ...]


class PaperRules(Row):
    """All counting rules of the paper."""

    languages: Mapping[str, ReleasedLanguage]
    constructs: Mapping[str, PaperConstruct]
    modes: Mapping[Mode, ModeRules]
    comments: CommentRules


@cache
def paper_rules() -> PaperRules:
    """Return the counting rules that reproduce the paper's tables."""
    return PaperRules.model_validate(read_packaged_toml("caretbench.suites.simcopilot.released", "paper.toml"))


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
