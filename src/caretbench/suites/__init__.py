"""The suites by name. Each stands in its own package, and none knows another."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from caretbench.suites.base import Suite

_PACKAGES = {
    "devbench": "caretbench.suites.devbench",
    "simcopilot": "caretbench.suites.simcopilot",
    "efcb": "caretbench.suites.efcb",
}


def suite_names() -> tuple[str, ...]:
    """All suites."""
    return tuple(_PACKAGES)


@cache
def suite(name: str) -> Suite:
    """The suite with this name.

    Raises:
        KeyError: no such suite; the message lists the known ones.
    """
    try:
        package = _PACKAGES[name]
    except KeyError:
        raise KeyError(f"unknown suite {name!r}; known: {', '.join(_PACKAGES)}") from None
    made: Suite = import_module(package).SUITE
    return made
