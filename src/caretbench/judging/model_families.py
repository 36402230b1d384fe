"""Families of models, by parts of their names. The table is ``model_families.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources


@cache
def _families() -> Mapping[str, Sequence[str]]:
    text = resources.files("caretbench.judging").joinpath("model_families.toml").read_text("utf-8")
    found: Mapping[str, Sequence[str]] = tomllib.loads(text)
    return found


def model_family(name: str) -> str | None:
    """Return the family of a model, by its name without the provider; None for an unknown one."""
    own = name.lower().rpartition("/")[2]
    return next((family for family, parts in _families().items() if any(part in own for part in parts)), None)
