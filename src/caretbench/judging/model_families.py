"""Families of models, by parts of their names. The table is ``model_families.toml``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from caretbench.files import read_packaged_toml


@cache
def _families() -> Mapping[str, Sequence[str]]:
    return read_packaged_toml("caretbench.judging", "model_families.toml")


def model_family(name: str) -> str | None:
    """Return the family of a model, by its name without the provider; None for an unknown one."""
    model_name = name.lower().rpartition("/")[2]
    return next((family for family, parts in _families().items() if any(part in model_name for part in parts)), None)
