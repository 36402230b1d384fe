"""How the paper counts, as data: joining rules, constructs and bounds. The data stand in ``paper.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Literal

from pydantic import BaseModel, ConfigDict

Mode = Literal["infill", "suffix_hidden"]


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class LanguageRules(_Entry):
    """Where a language's released files lie, and which of its references count; ``*`` stands for all scopes."""

    spans: str
    labels: str
    sources: str
    suffix: str
    same_line: tuple[str, ...]
    ranged: tuple[str, ...]
    range_bounds: tuple[float, ...]


class Construct(_Entry):
    """A construct of Table 1: the scopes and the reasons that the released labels give it."""

    title: str
    scopes: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()


class ModeRules(_Entry):
    """A mode: the paper's word and the field of the released rows."""

    title: str
    field: str


class Comments(_Entry):
    """Where the distance to the last comment is cut, in lines."""

    bound: float


class Paper(_Entry):
    """All rules."""

    languages: Mapping[str, LanguageRules]
    constructs: Mapping[str, Construct]
    modes: Mapping[Mode, ModeRules]
    comments: Comments


@cache
def paper() -> Paper:
    """The rules by which the paper's tables come out."""
    text = resources.files("caretbench.suites.simcopilot.released").joinpath("paper.toml").read_text("utf-8")
    return Paper.model_validate(tomllib.loads(text))
