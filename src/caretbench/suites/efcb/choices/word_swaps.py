"""Patches with two words exchanged, as the paper describes its wrong choices: kept for comparison, not for use.

A word is what stands between blanks. Whether it is a variable, a piece of a comment or half an expression, and whether
the line is added, removed or kept, makes no difference. The patch itself is the one most like the others.
"""

from __future__ import annotations

import random
import re
from itertools import accumulate

from caretbench.suites.efcb.rendering import Rendered

_WORD = re.compile(r"\S*[^\W\d]\S*")
_TRIES = 200


def word_swaps(rendered: Rendered, generator: random.Random, count: int) -> list[str]:
    """At most ``count`` texts of the patch, each with two words exchanged, all different and none the patch itself.

    Paths, headers of hunks and marks of lines stay as they are.
    """
    text = rendered.text
    spans = _words(rendered)
    found: dict[str, None] = {}
    for _ in range(_TRIES if len(spans) > 1 else 0):
        (start, end), (later, last) = sorted(generator.sample(spans, 2))
        first, second = text[start:end], text[later:last]
        changed = f"{text[:start]}{second}{text[end:later]}{first}{text[last:]}"
        if changed != text:
            found[changed] = None
        if len(found) == count:
            break
    return list(found)


def _words(rendered: Rendered) -> list[tuple[int, int]]:
    """Where the words of the hunks stand in the rendered text."""
    spans: list[tuple[int, int]] = []
    begin = 0
    for file in rendered.files:
        lines = f"{file.title}\n{file.hunks}".split("\n")
        starts = accumulate((len(line) + 1 for line in lines), initial=begin)
        for number, (line, start) in enumerate(zip(lines, starts, strict=False)):
            if number and not line.startswith("@@"):
                spans += [(start + word.start(), start + word.end()) for word in _WORD.finditer(line, 1)]
        begin += len(file.text)
    return spans
