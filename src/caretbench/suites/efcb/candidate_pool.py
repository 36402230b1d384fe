"""The changes of one repository as wrong choices for each other: which are fair, and which are looked at first."""

from __future__ import annotations

import random
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import PurePosixPath
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from caretbench.problem import Profile
from caretbench.sources.pull_request import PullRequest
from caretbench.suites.efcb.balancing import Vector
from caretbench.suites.efcb.candidate_sets import WrongChoices, sets_by_rank
from caretbench.suites.efcb.easy_options import EasyOptions, Tier
from caretbench.suites.efcb.lexical import Corpus, Scores, path_overlap, word_distances
from caretbench.suites.efcb.linking import Links, linked
from caretbench.suites.efcb.positions import CHOICES
from caretbench.suites.efcb.rendering import render
from caretbench.suites.efcb.seeding import rng

Indices = npt.NDArray[np.int64]

# A rival has so much more of a score than the right choice that other statistics of words do not turn it round.
_CLEARLY: Final = 1.05
_WRONG: Final = CHOICES - 1
_KEPT: Final = 32


class Candidates(NamedTuple):
    """Changes that sets of wrong choices are made of, what each costs, and what else to compare them with the gold by.

    ``shortage`` says why there are none.
    """

    indices: Indices
    costs: Scores
    compared: tuple[Scores, ...] = ()
    shortage: str | None = None


class CandidatePool:
    """The changes of one repository, in the order in which they were merged."""

    def __init__(self, pulls: Sequence[PullRequest], profile: Profile) -> None:
        self.pulls = tuple(sorted(pulls, key=lambda pull: pull.newest_first))
        self.repo = self.pulls[0].repo
        shown = [render(pull, generated=profile == "paper") for pull in self.pulls]
        self.texts = tuple(patch.text for patch in shown)
        self._characters = np.array([patch.characters for patch in shown])
        self._lines = np.array([patch.lines for patch in shown])
        self._folders = [
            frozenset(str(PurePosixPath(file.path).parent) for file in patch.files) for patch in shown
        ]
        self._titles = [[file.title for file in patch.files] for patch in shown]
        self._links = [Links.of(pull) for pull in self.pulls]

    @cached_property
    def corpus(self) -> Corpus:
        """All patches, as words."""
        return Corpus(self.texts)

    @cached_property
    def _first_of(self) -> Mapping[str, int]:
        return {text: index for index, text in reversed(list(enumerate(self.texts)))}

    @cached_property
    def _firsts(self) -> tuple[int, ...]:
        return tuple(sorted(self._first_of.values()))

    def any_three(self, gold: int, draw: random.Random) -> tuple[int, ...]:
        """Three that show other patches than ``gold`` and each other; fewer where there are not so many."""
        own = bisect_left(self._firsts, self._first_of[self.texts[gold]])
        others = range(len(self._firsts) - 1)
        drawn = draw.sample(others, min(_WRONG, len(others)))
        return tuple(self._firsts[place + (place >= own)] for place in drawn)

    def candidates(self, gold: int, text: str, tier: Tier, options: EasyOptions) -> Candidates:
        """The changes that sets of wrong choices for ``gold`` are made of, asked for by ``text``."""
        fair = self._fair(gold, tier, options)
        if len(fair) < _WRONG:
            return Candidates(fair, np.zeros(len(fair)), shortage="too_few_candidates")
        return _SEARCHES[tier](self, gold, fair, text, options)

    def sets(self, gold: int, found: Candidates) -> Mapping[Vector, WrongChoices]:
        """Sets of three of the candidates, by the ranks that the right choice has in them; none where it lacks some."""
        if found.shortage:
            return {}
        rows = np.array([gold, *found.indices])
        compared = (self._characters, *found.compared)
        sizes = self._characters[rows].astype(float)
        alike = (
            self.corpus.likeness(rows),
            -word_distances([self.texts[row] for row in rows]),
            -((sizes[:, None] - sizes) ** 2),  # the nearest to the mean length
        )
        return sets_by_rank(alike, [values[rows] for values in compared], found.costs)

    def _fair(self, gold: int, tier: Tier, options: EasyOptions) -> Indices:
        """Others near in time and in size that do not belong to the same piece of work.

        Those that are longer in lines and shorter in characters are left out, so that both ways of measuring agree.
        """
        window = options.window if tier in ("random", "matched") else options.wide_window
        near = np.arange(max(0, gold - window), min(len(self.pulls), gold + window + 1))
        lines, characters = (
            self._lines[near] - self._lines[gold],
            self._characters[near] - self._characters[gold],
        )
        sized = (
            (self._lines[near] >= options.smallest * self._lines[gold])
            & (self._lines[near] <= options.largest * self._lines[gold])
            & (characters != 0)
            & (np.sign(lines) * np.sign(characters) >= 0)
        )
        return np.array(
            [index for index in near[sized] if not linked(self._links[gold], self._links[index])],
            dtype=np.int64,
        )

    def _best(self, gold: int, fair: Indices, order: Indices, options: EasyOptions) -> Candidates:
        """The first of ``order`` (places in ``fair``), shorter and longer ones alike; each costs its place."""
        ranked = fair[order]
        costs = np.arange(len(ranked), dtype=float)
        shorter = self._characters[ranked] < self._characters[gold]
        half = options.candidates // 2
        few, many = sorted((np.flatnonzero(shorter), np.flatnonzero(~shorter)), key=len)
        kept = np.sort(np.concatenate((few[:half], many[: options.candidates - len(few[:half])])))
        return Candidates(ranked[kept], costs[kept])

    def _random(self, gold: int, fair: Indices, _text: str, options: EasyOptions) -> Candidates:
        draw = rng(options.seed, "gmcq-easy random", f"{self.repo} {self.pulls[gold].merge_sha}")
        drawn = self._best(gold, fair, np.array(draw.sample(range(len(fair)), len(fair))), options)
        return drawn._replace(costs=np.zeros(len(drawn.costs)))

    def _matched(self, gold: int, fair: Indices, _text: str, options: EasyOptions) -> Candidates:
        """Those in the same folders first, and of these the most alike."""
        together = np.array([not self._folders[gold] & self._folders[index] for index in fair])
        return self._best(gold, fair, np.lexsort((fair, -self.corpus.alike(gold)[fair], together)), options)

    def _adversarial(self, gold: int, fair: Indices, text: str, options: EasyOptions) -> Candidates:
        """Those most like the text."""
        return self._best(gold, fair, np.lexsort((fair, -self.corpus.tfidf(text)[fair])), options)

    def _resistant(self, gold: int, fair: Indices, text: str, _options: EasyOptions) -> Candidates:
        """Rivals that are more like the text than the right choice, by TF-IDF and by BM25, and others that are less so.

        Whoever goes by the first line alone, by the rest, or by words among the paths, is to win nothing either: of
        each way to be ahead by some of these and behind by others, the candidates most like the text are kept.
        """
        whole, bm25 = self.corpus.tfidf(text), self.corpus.bm25(text)
        rivals = [np.count_nonzero(values[fair] > values[gold] * _CLEARLY) for values in (whole, bm25)]
        if not whole[gold] or min(rivals) < _WRONG:
            return Candidates(fair, np.zeros(len(fair)), shortage="few_rivals")
        scores = (whole, bm25, *self._parts(text, whole))
        ahead = np.stack([values[fair] > values[gold] for values in scores], axis=1)
        clear = np.ones(len(fair), dtype=bool)
        for values in (whole, bm25):
            high, low = np.maximum(values[fair], values[gold]), np.minimum(values[fair], values[gold])
            clear &= high > low * _CLEARLY
        kept: list[int] = []
        kinds: Counter[bytes] = Counter()
        for place in np.lexsort((fair, -whole[fair])):
            kind = ahead[place].tobytes()
            kinds[kind] += bool(clear[place])
            if clear[place] and kinds[kind] <= _WRONG and len(kept) < _KEPT:
                kept.append(int(place))
        # A part of the text that has no word of the right choice tells nothing of it.
        telling = tuple(values for values in scores if values[gold] > 0)
        return Candidates(fair[kept], np.arange(len(kept), dtype=float), compared=telling)

    def _parts(self, text: str, whole: Scores) -> tuple[Scores, ...]:
        """How like a part of a text all changes are: its first line and the rest by TF-IDF, words among the paths."""
        title, _, rest = text.partition("\n")
        overlap = np.array([path_overlap(title, titles) for titles in self._titles])
        paths: Scores = overlap + whole / 1e6  # equally many words: the more alike
        return self.corpus.tfidf(title), self.corpus.tfidf(rest), paths


_SEARCHES: Final[Mapping[Tier, Callable[[CandidatePool, int, Indices, str, EasyOptions], Candidates]]] = {
    "random": CandidatePool._random,
    "matched": CandidatePool._matched,
    "adversarial": CandidatePool._adversarial,
    "resistant": CandidatePool._resistant,
}
