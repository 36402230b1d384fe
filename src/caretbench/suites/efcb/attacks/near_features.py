"""Numbers that an attacker counts on a line by the lines around it: the neighbours, the hunk, lines of one template.

A template is a line without its names and numbers: ``a.b(1)`` and ``c.d(2)`` have one.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain, pairwise
from typing import Final

from caretbench.suites.efcb.attacks.line_context import Known, Read, parts, template

NEAR_FEATURES: Final = (
    "same_as_above", "same_as_below", "shared_above", "shared_below",
    "hunk_removed", "hunk_added", "hunk_kept", "hunk_tokens", "hunk_pairs", "pairs_removed", "pairs_added",
    "threes_removed", "threes_added", "template", "template_same", "template_distance", "template_parts",
    "rare_tokens", "once", "most_frequent", "parts_near", "parts_near_rare", "parts_after", "parts_header",
    "parts_comment", "parts_repeated", "parts_in_strings", "token_share", "enclosing", "enclosing_parts", "used_before",
    "used_after", "argument_like_name", "doubled",
)  # fmt: skip
"""The names of the numbers, in their order."""
_NEAR: Final = 4
_WINDOW: Final = 3
_WORD: Final = re.compile(r"[^\W\d]\w*|\d+")
_STRING: Final = re.compile(r"\"[^\"]*\"|'[^']*'|`[^`]*`")
_COMMENT: Final = re.compile(r"//(.*)|#(.*)|^\s*\*(.*)")
_DOUBLED: Final = re.compile(r"([\w.\[\]()]+)\s*(?:&&|\|\||[=!]=|<<|,|:|\b(?:and|or)\b)\s*\1(?!\w)")


@lru_cache(maxsize=60_000)
def line_parts(text: str) -> frozenset[str]:
    """Return the words of all names of a text, in lower case."""
    return frozenset(chain.from_iterable(parts(name) for name in _WORD.findall(text)))


@lru_cache(maxsize=60_000)
def _comment(text: str) -> str:
    found = _COMMENT.search(text)
    return next(filter(None, found.groups()), "") if found else ""


@lru_cache(maxsize=60_000)
def _bag(tokens: tuple[str, ...]) -> Counter[str]:
    return Counter(tokens)


# Long: one entry for each feature, in the order of their names.
def near_numbers(one: Read, place: int, known: Known) -> list[float]:
    """Return the numbers of one line at a place, as :data:`NEAR_FEATURES` names them."""
    context = known.context
    own = frozenset(one.tokens)
    names = [name for _, name in one.names]
    words = [word for name in names for word in sorted(parts(name))]
    above, below = known.at(place - 1), known.at(place + 1)
    before, after = (
        [found for step in range(1, _NEAR + 1) if (found := known.at(place + sign * step))]
        for sign in (-1, 1)
    )
    steps = (step for step in range(-_WINDOW, _WINDOW + 1) if step)
    window = Counter(
        chain.from_iterable(line_parts(found.text) for step in steps if (found := known.at(place + step)))
    )
    counts = [known.count("token", token) for token in one.tokens]
    header = line_parts(context.header(place))
    comments = frozenset(chain.from_iterable(line_parts(_comment(found.text)) for found in (*before, *after)))
    strings = line_parts(" ".join(_STRING.findall(one.text)))
    enclosing = _enclosing(one, known.before_in_hunk(place))
    enclosing_tokens = frozenset(chain.from_iterable(found.tokens for found in enclosing))
    enclosing_parts = frozenset(chain.from_iterable(line_parts(found.text) for found in enclosing))
    used = [frozenset(chain.from_iterable(found.tokens for found in side)) for side in (before, after)]
    after_parts = frozenset(chain.from_iterable(line_parts(found.text) for found in after))
    return [
        float(above is not None and above.tokens == one.tokens),
        float(below is not None and below.tokens == one.tokens),
        float(len(own.intersection(above.tokens))) if above else 0.0,
        float(len(own.intersection(below.tokens))) if below else 0.0,
        *_in_hunk(one, place, known),
        *_by_template(one, place, known),
        sum(1 / (1 + count) for count in counts),
        float(counts.count(1)),
        max((math.log1p(known.count("token", name)) for name in names), default=0.0),
        float(sum(window[word] > 0 for word in words)),
        sum(1 / math.log(2 + window[word]) for word in set(words) if window[word]),
        float(sum(word in after_parts for word in words)),
        float(sum(word in header for word in words)),
        float(sum(word in comments for word in words)),
        float(len(words) - len(set(words))),
        float(len(strings & frozenset(words))),
        len(own) / max(len(one.tokens), 1),
        float(sum(name in enclosing_tokens for name in names)),
        float(sum(word in enclosing_parts for word in words)),
        float(sum(name in used[0] for name in names)),
        float(sum(name in used[1] for name in names)),
        _named_alike(one),
        float(len(_DOUBLED.findall(one.text))),
    ]


def _in_hunk(one: Read, place: int, known: Known) -> list[float]:
    """Likeness to lines of the hunk by mark, and what the hunk and its sides have of the line."""
    bag = _bag(one.tokens)
    best = {"-": 0.0, "+": 0.0, " ": 0.0}
    tokens: set[str] = set()
    pairs: set[tuple[str, str]] = set()
    for mark, other in known.in_hunk(place):
        tokens.update(other.tokens)
        pairs.update(pairwise(other.tokens))
        shared = 2 * sum((bag & _bag(other.tokens)).values()) / max(len(one.tokens) + len(other.tokens), 1)
        best[mark] = max(best[mark], shared)
    own_pairs = list(pairwise(one.tokens))
    own_threes = list(zip(one.tokens, one.tokens[1:], one.tokens[2:], strict=False))
    return [
        best["-"],
        best["+"],
        best[" "],
        float(sum(token in tokens for token in one.tokens)),
        float(sum(pair in pairs for pair in own_pairs)),
        *(
            sum(math.log1p(known.count(f"{kind} {mark}", gram)) for gram in grams)
            for kind, grams in (("pair", own_pairs), ("three", own_threes))
            for mark in "-+"
        ),
    ]


def _by_template(one: Read, place: int, known: Known) -> list[float]:
    """Whether known lines have the line's template, one of them is the line, the least distance, and alike names."""
    lines = known.of_template(template(one.text), place)
    if not lines:
        return [0.0, 0.0, 0.0, 0.0]
    distances = [
        sum(left != right for left, right in zip(one.tokens, other.tokens, strict=False)) for other in lines
    ]
    alike = sum(
        not parts(left).isdisjoint(parts(right))
        for other in lines
        for left, right in zip(one.tokens, other.tokens, strict=False)
        if left != right
    )
    return [1.0, float(min(distances) == 0), float(-min(distances)), alike / len(lines)]


def _enclosing(one: Read, before: Sequence[Read]) -> Iterable[Read]:
    """Return the lines before, from the nearest, that are less indented than all between."""
    found = []
    indent = _indent(one.text)
    for other in before:
        if other.text.strip() and _indent(other.text) < indent:
            found.append(other)
            indent = _indent(other.text)
    return found


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def _named_alike(one: Read) -> float:
    """Return how many names follow ``name=`` or ``name:`` and share a word with it."""
    found = 0.0
    for (index, name), (later, other) in pairwise(one.names):
        if later == index + 2 and one.tokens[index + 1] in "=:":
            found += not parts(name).isdisjoint(parts(other))
    return found
