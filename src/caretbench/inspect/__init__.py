"""Inspect AI integration: our client on its providers, and our suites as its tasks. Only this package imports it.

Names are imported when they are asked for: Inspect itself takes seconds.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from caretbench.inspect.client.client import InspectClient
    from caretbench.inspect.client.open import open_client

__all__ = ["InspectClient", "open_client"]

_PLACES = {"InspectClient": "client.client", "open_client": "client.open"}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
