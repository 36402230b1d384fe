"""Sampling presets by name, from ``sampling_presets.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import NamedTuple

from caretbench.errors import UsageError
from caretbench.models import Sampling


class SamplingPreset(NamedTuple):
    """Named sampling preset: number of samples per problem and sampling settings."""

    name: str
    about: str
    samples: int
    sampling: Sampling


@cache
def sampling_presets() -> Mapping[str, SamplingPreset]:
    """Return all presets by name."""
    text = resources.files("caretbench.runs.plans").joinpath("sampling_presets.toml").read_text("utf-8")
    found = {}
    for name, entry in tomllib.loads(text).items():
        about, samples = entry.pop("about"), entry.pop("samples")
        found[name] = SamplingPreset(name, about, samples, Sampling.model_validate(entry))
    return found


def sampling_preset(name: str) -> SamplingPreset:
    """Return the preset ``name``.

    Raises:
        UsageError: no such preset; the message lists the known ones.
    """
    known = sampling_presets()
    if name not in known:
        raise UsageError(f"unknown preset {name!r}; known: {', '.join(known)}")
    return known[name]
