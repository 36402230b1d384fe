"""The paper's counting rules as data (``paper.toml``): joining rules, constructs and bounds."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Literal

from caretbench.files import read_packaged_toml
from caretbench.problem import Row

Mode = Literal["infill", "suffix_hidden"]


class LanguageRules(Row):
    """Where a language's released files lie, and which of its references count; ``*`` stands for all scopes."""

    spans: str
    labels: str
    sources: str
    suffix: str
    same_line: tuple[str, ...]
    ranged: tuple[str, ...]
    range_bounds: tuple[float, ...]


class Construct(Row):
    """A construct of Table 1: the scopes and the reasons that the released labels give it."""

    title: str
    scopes: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()


class ModeRules(Row):
    """A mode: the paper's word and the field of the released rows."""

    title: str
    field: str


class Comments(Row):
    """Where the distance to the last comment is cut, in lines."""

    bound: float


class Paper(Row):
    """All rules."""

    languages: Mapping[str, LanguageRules]
    constructs: Mapping[str, Construct]
    modes: Mapping[Mode, ModeRules]
    comments: Comments


@cache
def paper() -> Paper:
    """Return the rules by which the paper's tables come out."""
    return Paper.model_validate(read_packaged_toml("caretbench.suites.simcopilot.released", "paper.toml"))
