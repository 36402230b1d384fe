"""Conventional completion benchmarks as data: descriptions, pinned files and rows."""

from __future__ import annotations

from functools import cache
from pathlib import Path


@cache
def conventional_names() -> tuple[str, ...]:
    """Return the names of all described benchmarks."""
    return tuple(sorted(path.stem for path in (Path(__file__).parent / "benchmarks").glob("*.toml")))
