"""Scripts that pages of several rooms use."""

from __future__ import annotations

from importlib import resources


def token_diff_script() -> str:
    """Return the script that shows the difference of two texts by tokens."""
    return resources.files("caretbench.page_scripts").joinpath("token_diff.js").read_text("utf-8")
