"""Depth of the brackets of a program.

Where a parser gives up depends on its stack, and with it on how hot its compiler is and what ran before: the same text
would be refused at one try and pass, crash or exhaust memory at another. No person nests a thousand brackets, so beyond
that a program is refused here, before any compiler reads it. What counts as a string or a comment is the language's
own: text that only another language would skip is counted.
"""

from __future__ import annotations

import re
from functools import cache

from caretbench.languages import languages

DEEPEST = 1000
"""Maximum depth of brackets within brackets that a program may have."""

_BRACKETS = re.compile(r"[()\[\]{}]")
_OF_OTHERS = (r'"(?:[^"\\\n]|\\.)*+"?', r"'(?:[^'\\\n]|\\.)*+'?", r"/\*.*?(?:\*/|\Z)", r"//[^\n]*")
"""Default patterns of strings and comments, for languages whose table has none."""


@cache
def _skipped(language: str) -> re.Pattern[str]:
    entry = languages().get(language)
    named = entry.strings_and_comments if entry is not None else ()
    return re.compile("|".join(named or _OF_OTHERS), re.DOTALL)


def exceeds_bracket_depth(source: str, language: str) -> bool:
    """Return whether brackets nest deeper than ``DEEPEST``, not counting those of strings and comments."""
    if sum(map(source.count, "([{")) <= DEEPEST or _depth(source) <= DEEPEST:
        return False
    return _depth(_skipped(language).sub("", source)) > DEEPEST


def _depth(text: str) -> int:
    deepest = depth = 0
    for bracket in _BRACKETS.findall(text):
        depth = depth + 1 if bracket in "([{" else max(0, depth - 1)
        deepest = max(deepest, depth)
    return deepest
