"""Texts of others in prompts and rows: diagnoses and justifications, bounded and without control characters."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

LONGEST_DIAGNOSIS: Final = 1000
"""Maximum number of characters of a diagnosis: compilers and reviewers write more than a model needs."""
_HIDDEN: Final = frozenset({"Cc", "Cf", "Co", "Cn", "Cs", "Zl", "Zp"})
"""Unicode categories of characters that a reader does not see: controls, marks of direction, tags."""


def bounded_diagnosis(text: str) -> str:
    """Return a diagnosis of at most :data:`LONGEST_DIAGNOSIS` characters; control characters are escaped."""
    shown = "".join(_escaped(one) if one not in "\n\t" else one for one in text[: LONGEST_DIAGNOSIS + 1])
    return shown if len(shown) <= LONGEST_DIAGNOSIS else f"{shown[: LONGEST_DIAGNOSIS - 1]}…"


def quoted_line(text: str, characters: int) -> str:
    """Return a text as one line in quotation marks, without control characters, backticks and quotation marks."""
    line = " ".join(text.split())
    plain = "".join(one for one in line if one not in '`"' and unicodedata.category(one) not in _HIDDEN)
    return f'"{plain[:characters]}"'


def _escaped(character: str) -> str:
    if unicodedata.category(character) not in _HIDDEN:
        return character
    return re.sub(r"^\\x", r"\\u00", character.encode("unicode_escape").decode("ascii"))
