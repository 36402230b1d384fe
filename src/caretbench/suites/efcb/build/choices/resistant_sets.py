"""Sets of four changes in which all lexical ranks of the correct choice are equally frequent."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from caretbench.suites.efcb.build.choices.candidate_pool import CandidatePool
from caretbench.suites.efcb.build.choices.sets_of_four import ChoiceSet
from caretbench.suites.efcb.choice_positions import CHOICE_COUNT
from caretbench.suites.efcb.floors.lexical_similarity import title_path_overlap

SetRanks = tuple[tuple[int, ...], ...]
"""Rank of the correct choice by each scorer, in each of the four questions of a set."""
# Number of scorers that are balanced: those of the whole text.
_BALANCED_SCORERS: Final = 2


def lexical_ranks(pool: CandidatePool, texts: Sequence[str], choice_set: ChoiceSet) -> SetRanks:
    """Return the number of choices ahead of the correct one, for each member of a set and each scorer.

    Scorers are TF-IDF and BM25 of the whole text, TF-IDF of its first line, and words of that line among the paths.
    """
    found = []
    for index in choice_set:
        title = texts[index].partition("\n")[0]
        scores = (pool.corpus.tfidf(texts[index]), pool.corpus.bm25(texts[index]), pool.corpus.tfidf(title))
        overlap = {
            other: title_path_overlap(title, [file.title for file in pool.rendered[other].files])
            for other in choice_set
        }
        ahead = [sum(bool(values[other] > values[index]) for other in choice_set) for values in (*scores, overlap)]
        found.append(tuple(ahead))
    return tuple(found)


def balance_sets(sets: Sequence[ChoiceSet], ranks_of: Callable[[ChoiceSet], SetRanks]) -> list[ChoiceSet]:
    """Return the sets without those that make a rank too frequent, worst first.

    Ranks by TF-IDF and BM25 of the whole text count; a quarter plus one standard error is allowed.
    """
    kept = {choice_set: ranks_of(choice_set) for choice_set in sorted(sets)}
    while kept:
        loads = Counter(
            entry for ranks in kept.values() for vector in ranks for entry in enumerate(vector[:_BALANCED_SCORERS])
        )
        share = float(len(kept))  # a quarter of four questions each
        slack = math.sqrt(share * (1 - 1 / CHOICE_COUNT))
        excess = {entry: load - share for entry, load in loads.items() if load > share + slack}
        if not excess:
            break
        worst = max(
            kept,
            key=lambda choice_set: (
                sum(
                    excess.get(entry, 0.0)
                    for vector in kept[choice_set]
                    for entry in enumerate(vector[:_BALANCED_SCORERS])
                ),
                choice_set,
            ),
        )
        del kept[worst]
    return list(kept)
