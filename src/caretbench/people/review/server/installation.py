"""Checks of a server before it starts: its packages, which the extra ``review`` brings, and its public address."""

from __future__ import annotations

from importlib.util import find_spec
from urllib.parse import urlsplit

from caretbench.errors import MachineError, UsageError

_PACKAGES = ("starlette", "uvicorn", "pygments", "markdown_it")


def check_installed() -> None:
    """Raise MachineError, with the packages to install, if one of them is missing. None is imported."""
    missing = [name for name in _PACKAGES if find_spec(name) is None]
    if missing:
        raise MachineError(
            f"the pages of a review need {', '.join(missing)}, not installed here: pip install 'caretbench[review]'"
        )


def public_origin(url: str) -> str:
    """Return the origin of a public address, ``https://review.example:8443``.

    Raises:
        UsageError: it is no address of a whole server.
    """
    try:
        parts = urlsplit(url)
        # A wrong port raises a ValueError when it is read.
        is_whole = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_whole = False
    if not is_whole or parts.path not in {"", "/"} or parts.query or parts.fragment or parts.username:
        raise UsageError(f"--public-url {url}: expected the address of a whole server, such as https://review.example")
    return f"{parts.scheme}://{parts.netloc}".lower()
