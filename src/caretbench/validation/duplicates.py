"""Near-duplicates among problems: the same program twice measures one thing twice."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from caretbench.problem import Caret, Problem

_TOKEN = re.compile(r"\w+|[^\w\s]")
_SHINGLE = 5
THRESHOLD = 0.85
# A shingle in so many problems is boilerplate of the language: it finds no candidates (it still counts).
_COMMON = 60


def shingles(text: str) -> frozenset[int]:
    """Hashes of all runs of five tokens."""
    tokens = _TOKEN.findall(text)
    if len(tokens) < _SHINGLE:
        return frozenset((hash(tuple(tokens)),))
    return frozenset(
        hash(tuple(tokens[index : index + _SHINGLE])) for index in range(len(tokens) - _SHINGLE + 1)
    )


def near_duplicates(problems: Sequence[Problem], threshold: float = THRESHOLD) -> dict[str, str]:
    """Problems that repeat an earlier one of the same language: id -> id of the earlier one.

    Two problems are near-duplicates when the Jaccard index of their token 5-grams (prefix, reference and suffix
    together) is at least ``threshold``.
    """
    groups: dict[str, list[Problem]] = defaultdict(list)
    for problem in problems:
        if isinstance(problem.shown, Caret):
            groups[problem.shown.language].append(problem)
    found: dict[str, str] = {}
    for group in groups.values():
        found.update(_within(group, threshold))
    return found


def _within(group: Iterable[Problem], threshold: float) -> dict[str, str]:
    found: dict[str, str] = {}
    earlier: list[tuple[str, frozenset[int]]] = []
    holders: dict[int, list[int]] = defaultdict(list)
    for problem in group:
        caret = problem.caret
        grams = shingles(f"{caret.prefix}{problem.reference}{caret.suffix}")
        shared = Counter(index for gram in grams if len(holders[gram]) < _COMMON for index in holders[gram])
        for index, _ in shared.most_common(5):
            identity, other = earlier[index]
            if len(grams & other) >= threshold * len(grams | other):
                found[problem.id] = found.get(identity, identity)
                break
        for gram in grams:
            holders[gram].append(len(earlier))
        earlier.append((problem.id, grams))
    return found
