"""Versions of the software that computes the numbers."""

from __future__ import annotations

import platform


def versions() -> dict[str, str]:
    """Return the versions of the software that computes the numbers."""
    # Imported late: `caretbench --help` needs no version, and has to take less than 0.3 s.
    from importlib.metadata import version

    return {"caretbench": version("caretbench"), "python": platform.python_version()}
