"""Depth of the brackets of a program.

Where a parser gives up depends on its stack, and with it on how hot its compiler is and what ran before: the same text
would be refused at one try and pass, crash or exhaust memory at another. No person nests a thousand brackets, so beyond
that a program is refused here, before any compiler reads it. What counts as a string or a comment is the language's
own: text that only another language would skip is counted.
"""

from __future__ import annotations

import re
from functools import cache

DEEPEST = 1000
"""Maximum depth of brackets within brackets that a program may have."""

_BRACKETS = re.compile(r"[()\[\]{}]")
_DOUBLE = r'"(?:[^"\\\n]|\\.)*+"?'
_SINGLE = r"'(?:[^'\\\n]|\\.)*+'?"
_TRIPLE_DOUBLE = r'"""(?:[^\\]|\\.)*?(?:"""|\Z)'
_TRIPLE_SINGLE = r"'''(?:[^\\]|\\.)*?(?:'''|\Z)"
_TEMPLATE = r"`(?:[^`\\]|\\.)*+`?"
_RAW = r"`[^`]*+`?"
_VERBATIM = r'(?:@\$?|\$@)"(?:[^"]|"")*+"?'
_DELIMITED = r'R"(?P<mark>[^\s()\\]{0,16})\(.*?(?:\)(?P=mark)"|\Z)'
_NUMBER = r"(?<!\w)\d(?:'?\w)*+"
"""A number of C++, whose digits an apostrophe may part."""
_BLOCK = r"/\*.*?(?:\*/|\Z)"
_SLASHES = r"//[^\n]*"
_HASH = r"#[^\n]*"

_SKIPPED = {
    "python": (_TRIPLE_DOUBLE, _TRIPLE_SINGLE, _DOUBLE, _SINGLE, _HASH),
    "javascript": (_DOUBLE, _SINGLE, _TEMPLATE, _BLOCK, _SLASHES),
    "typescript": (_DOUBLE, _SINGLE, _TEMPLATE, _BLOCK, _SLASHES),
    "java": (_TRIPLE_DOUBLE, _DOUBLE, _SINGLE, _BLOCK, _SLASHES),
    "cpp": (_NUMBER, _DELIMITED, _DOUBLE, _SINGLE, _BLOCK, _SLASHES),
    "csharp": (_TRIPLE_DOUBLE, _VERBATIM, _DOUBLE, _SINGLE, _BLOCK, _SLASHES),
    "go": (_DOUBLE, _SINGLE, _RAW, _BLOCK, _SLASHES),
}
"""Strings and comments by language. What is not closed ends with the text, or with its line."""
_OF_OTHERS = (_DOUBLE, _SINGLE, _BLOCK, _SLASHES)


@cache
def _skipped(language: str) -> re.Pattern[str]:
    return re.compile("|".join(_SKIPPED.get(language, _OF_OTHERS)), re.DOTALL)


def nests_too_deep(source: str, language: str) -> bool:
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
