"""Patches with two words exchanged, the paper's wrong choices; only for comparison.

Words are separated by white space. They may be variables, parts of a comment or of an expression, in added, removed or
kept lines. The original patch is the most similar to the others.
"""

from __future__ import annotations

import random
import re
from itertools import accumulate

from caretbench.suites.efcb.patch_rendering import RenderedPatch

_WORD = re.compile(r"\S*[^\W\d]\S*")
_TRIES = 200


def word_swaps(rendered: RenderedPatch, generator: random.Random, count: int) -> list[str]:
    """Return up to ``count`` different texts of the patch with two words exchanged, without the patch itself.

    Paths, hunk headers and diff marks are kept.
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


def _words(rendered: RenderedPatch) -> list[tuple[int, int]]:
    """Return the spans of the hunks' words in the rendered text."""
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
