"""How deep the brackets of a program nest.

Where a parser gives up depends on its stack, and with it on how hot its compiler is and what ran before: the same text
would be refused at one try and pass, crash or exhaust memory at another. No person nests a thousand brackets, so beyond
that a program is refused here, in every language and before any compiler reads it.
"""

from __future__ import annotations

import re

DEEPEST = 1000
"""Brackets within brackets that a program may have."""

_BRACKETS = re.compile(r"[()\[\]{}]")
_LITERALS = re.compile(
    r'"""(?:[^\\]|\\.)*?(?:"""|\Z)'
    r"|'''(?:[^\\]|\\.)*?(?:'''|\Z)"
    r'|"(?:[^"\\\n]|\\.)*+"?'
    r"|'(?:[^'\\\n]|\\.)*+'?"
    r"|`(?:[^`\\]|\\.)*+`?"
    r"|/\*.*?(?:\*/|\Z)"
    r"|(?://|#)[^\n]*",
    re.DOTALL,
)
"""Strings and comments, whatever the language. What is not closed ends with the text."""


def nests_too_deep(source: str) -> bool:
    """Return whether brackets nest deeper than ``DEEPEST``, not counting those of strings and comments."""
    if sum(map(source.count, "([{")) <= DEEPEST or _depth(source) <= DEEPEST:
        return False
    return _depth(_LITERALS.sub("", source)) > DEEPEST


def _depth(text: str) -> int:
    deepest = depth = 0
    for bracket in _BRACKETS.findall(text):
        depth = depth + 1 if bracket in "([{" else max(0, depth - 1)
        deepest = max(deepest, depth)
    return deepest
