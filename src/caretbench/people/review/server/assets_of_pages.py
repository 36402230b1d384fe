"""Files of the pages: style sheet, scripts, icon."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Final

_TYPES: Final = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


@cache
def asset(name: str) -> tuple[str, str] | None:
    """Return the text and the media type of a file of the pages, or None."""
    folder = resources.files("caretbench.people.review.server").joinpath("assets")
    known = {file.name: file for file in folder.iterdir()}
    kind = next((kind for suffix, kind in _TYPES.items() if name.endswith(suffix)), None)
    return (known[name].read_text("utf-8"), kind) if name in known and kind else None
