"""Sets of four changes in which no rank by words is the right one more often than another."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from caretbench.suites.efcb.attacks.lexical import path_overlap
from caretbench.suites.efcb.choices.candidate_pool import CandidatePool
from caretbench.suites.efcb.choices.sets_of_four import Four
from caretbench.suites.efcb.positions import CHOICES

Ranks = tuple[tuple[int, ...], ...]
"""The rank of the right choice by each scorer, in each of the four questions of a set."""
# Scorers whose ranks are even: those of the whole text.
_COUNTED: Final = 2


def lexical_ranks(pool: CandidatePool, texts: Sequence[str], four: Four) -> Ranks:
    """Return how many choices are ahead of the right one, when each member of a set is asked for.

    By TF-IDF and BM25 of the whole text, by TF-IDF of its first line, and by words of that line among the paths.
    """
    found = []
    for index in four:
        title = texts[index].partition("\n")[0]
        scores = (pool.corpus.tfidf(texts[index]), pool.corpus.bm25(texts[index]), pool.corpus.tfidf(title))
        overlap = {
            other: path_overlap(title, [file.title for file in pool.shown[other].files]) for other in four
        }
        ahead = [sum(bool(values[other] > values[index]) for other in four) for values in (*scores, overlap)]
        found.append(tuple(ahead))
    return tuple(found)


def evened_sets(sets: Sequence[Four], ranks_of: Callable[[Four], Ranks]) -> list[Four]:
    """Return the sets without those that make a rank come up more often than its share, the worst first.

    The ranks by the whole text count, by TF-IDF and by BM25; a standard error more than a quarter is allowed.
    """
    kept = {four: ranks_of(four) for four in sorted(sets)}
    while kept:
        loads = Counter(
            entry for ranks in kept.values() for vector in ranks for entry in enumerate(vector[:_COUNTED])
        )
        share = float(len(kept))  # of four questions each, a quarter
        slack = math.sqrt(share * (1 - 1 / CHOICES))
        excess = {entry: load - share for entry, load in loads.items() if load > share + slack}
        if not excess:
            break
        worst = max(
            kept,
            key=lambda four: (
                sum(
                    excess.get(entry, 0.0) for vector in kept[four] for entry in enumerate(vector[:_COUNTED])
                ),
                four,
            ),
        )
        del kept[worst]
    return list(kept)
