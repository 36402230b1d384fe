"""Inspect AI integration: our client on its providers, and our suites as its tasks. Only this package imports it.

Names are imported on first use, since importing Inspect takes seconds.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from caretbench.errors import MachineError

if TYPE_CHECKING:
    from caretbench.inspect.client.client import InspectClient
    from caretbench.inspect.client.client_factory import open_client

__all__ = ["InspectClient", "check_installed", "open_client"]

_MODULES = {"InspectClient": "client.client", "open_client": "client.client_factory"}


def check_installed(purpose: str) -> None:
    """Raise MachineError, with the package to install, if Inspect AI is not installed. It is not imported."""
    if find_spec("inspect_ai") is None:
        raise MachineError(f"{purpose} needs Inspect AI, which is not installed: pip install 'caretbench[models]'")


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
