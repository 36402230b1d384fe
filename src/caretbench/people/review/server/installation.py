"""Check that the packages of the review's pages, which the extra ``review`` brings, are installed."""

from __future__ import annotations

from importlib.util import find_spec

from caretbench.errors import MachineError

_PACKAGES = ("starlette", "uvicorn", "pygments", "markdown_it")


def check_installed() -> None:
    """Raise MachineError, with the packages to install, if one of them is missing. None is imported."""
    missing = [name for name in _PACKAGES if find_spec(name) is None]
    if missing:
        raise MachineError(
            f"the pages of a review need {', '.join(missing)}, not installed here: pip install 'caretbench[review]'"
        )
