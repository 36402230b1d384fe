"""Versions of the software that computes the numbers, and names that earlier versions wrote.

Former names are read in stored files and in options, and never written.
"""

from __future__ import annotations

import platform
import re
from typing import Final

FORMER_REFERENCE: Final = "golden"
"""Former name of the baseline ``reference``, and of the reference in fields, reasons and causes."""

_FORMER_TEXT = re.compile(r"\Agolden(?: answer)?(?=[_: ]|\Z)|(?<=\Aextraction_changes_)golden\Z")


def versions() -> dict[str, str]:
    """Return the versions of the software that computes the numbers."""
    # Imported late: `caretbench --help` needs no version, and has to take less than 0.3 s.
    from importlib.metadata import version

    return {"caretbench": version("caretbench"), "python": platform.python_version()}


def current_model(name: str) -> str:
    """Return the name of a model or of a baseline as it is written today."""
    return "reference" if name == FORMER_REFERENCE else name


def current_text(text: str) -> str:
    """Return a field, a reason of the gate or a cause of exclusion as it is written today."""
    return _FORMER_TEXT.sub("reference", text)
