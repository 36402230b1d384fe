"""Versions of the software that computes the numbers."""

from __future__ import annotations

import platform
from importlib.metadata import version


def versions() -> dict[str, str]:
    """Return the versions of the software that computes the numbers."""
    return {"caretbench": version("caretbench"), "python": platform.python_version()}
