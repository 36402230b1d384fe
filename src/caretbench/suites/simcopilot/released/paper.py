"""The paper's counting rules as data (``paper.toml``): joining rules, constructs and bounds."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Literal

from caretbench.files import packaged_table
from caretbench.problem import Row

Mode = Literal["infill", "suffix_hidden"]


class ReleasedLanguage(Row):
    """Where a language's released files lie, and which of its references count; ``*`` stands for all scopes."""

    spans: str
    labels: str
    sources: str
    suffix: str
    same_line: tuple[str, ...]
    ranged: tuple[str, ...]
    range_bounds: tuple[float, ...]


class PaperConstruct(Row):
    """A construct of Table 1: the scopes and the reasons that the released labels give it."""

    title: str
    scopes: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()


class ModeRules(Row):
    """A mode: the paper's word and the field of the released rows."""

    title: str
    field: str


class CommentRules(Row):
    """Where the distance to the last comment is cut, in lines."""

    bound: float


class PaperRules(Row):
    """All rules."""

    languages: Mapping[str, ReleasedLanguage]
    constructs: Mapping[str, PaperConstruct]
    modes: Mapping[Mode, ModeRules]
    comments: CommentRules


@cache
def paper_rules() -> PaperRules:
    """Return the rules by which the paper's tables come out."""
    return PaperRules.model_validate(packaged_table("caretbench.suites.simcopilot.released", "paper.toml"))
