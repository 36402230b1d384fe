"""Inspect AI integration: our client on its providers, and our suites as its tasks. Only this package imports it.

Names are imported on first use, since importing Inspect takes seconds.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from caretbench.inspect.client.client import InspectClient
    from caretbench.inspect.client.client_factory import open_client
    from caretbench.inspect.registry import evaluate

__all__ = ["InspectClient", "evaluate", "open_client"]

_MODULES = {"InspectClient": "client.client", "evaluate": "registry", "open_client": "client.client_factory"}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
