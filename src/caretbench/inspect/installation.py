"""Check that Inspect AI, which the extra ``models`` brings, is installed."""

from __future__ import annotations

from importlib.util import find_spec

from caretbench.errors import MachineError


def check_installed(purpose: str) -> None:
    """Raise MachineError, with the package to install, if Inspect AI is not installed. It is not imported."""
    if find_spec("inspect_ai") is None:
        raise MachineError(f"{purpose} needs Inspect AI, which is not installed: pip install 'caretbench[models]'")
