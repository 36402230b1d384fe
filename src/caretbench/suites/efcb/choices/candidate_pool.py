"""Changes of one repository as choices for each other: pairs that are fair, and costs of sets by tier."""

from __future__ import annotations

import random
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import PurePosixPath
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from caretbench.problem import Profile
from caretbench.sources.pull_request import PullRequest
from caretbench.suites.efcb.attacks.lexical import Corpus, Scorer, Scores
from caretbench.suites.efcb.choices.pair_fairness import Fairness, Indices, Links, Mask
from caretbench.suites.efcb.choices.sets_of_four import Costs, Four, Relations, sets_of_four
from caretbench.suites.efcb.describing import main_language
from caretbench.suites.efcb.options import EasyOptions, Tier, efcb_rules
from caretbench.suites.efcb.positions import CHOICES, WRONG
from caretbench.suites.efcb.rendering import render
from caretbench.suites.efcb.seeding import rng

_BLOCK: Final = 256
_NEAREST: Final = 64
# Of likeness from 0 to 1: what it costs that two changes share no folder, or are of other languages.
_APART: Final = 0.25
# A choice is ahead of another where other statistics of words do not turn it round.
_CLEARLY: Final = 1.05
_UNWANTED: Final = np.inf
# More than any likeness costs.
_BEHIND: Final = 10.0


class CandidatePool:
    """The changes of one repository, in the order in which they were merged."""

    def __init__(self, pulls: Sequence[PullRequest], profile: Profile) -> None:
        self.pulls = tuple(sorted(pulls, key=lambda pull: pull.merge_order))
        self.repo = self.pulls[0].repo
        self.shown = [render(pull, generated=efcb_rules(profile).generated_shown) for pull in self.pulls]
        self.texts = tuple(patch.text for patch in self.shown)

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
        drawn = draw.sample(others, min(WRONG, len(others)))
        return tuple(self._firsts[place + (place >= own)] for place in drawn)

    def sets(self, texts: Sequence[str], tier: Tier, options: EasyOptions) -> tuple[list[Four], list[str]]:
        """Sets of four changes that are asked for next to each other, and why others are in none.

        A change whose text is empty is in no set; ``tier`` says what makes a set cheap.
        """
        asked = np.array([bool(text.strip()) for text in texts], dtype=bool)
        search = _Search(self, texts, asked, tier, options)
        found = sets_of_four(search.relations())
        held = {index for four in found for index in four}
        reasons = [
            ""
            if index in held
            else "no_query"
            if not asked[index]
            else "too_few_candidates"
            if len(search.partners(index)) < WRONG
            else "few_rivals"
            if tier == "resistant"
            else "no_set"
            for index in range(len(self.pulls))
        ]
        return found, reasons

    @cached_property
    def links(self) -> list[Links]:
        """The links of each change."""
        return [Links.of(pull) for pull in self.pulls]

    @cached_property
    def folders(self) -> csr_array:
        """A row for each change, with a one for each folder that it touches."""
        rows, columns = [], []
        numbers: dict[str, int] = {}
        for row, patch in enumerate(self.shown):
            for folder in sorted({str(PurePosixPath(file.path).parent) for file in patch.files}):
                rows.append(row)
                columns.append(numbers.setdefault(folder, len(numbers)))
        shape = (len(self.shown), max(len(numbers), 1))
        return csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)

    @cached_property
    def languages(self) -> npt.NDArray[np.int64]:
        """A number for the language of each change."""
        names = [main_language(patch) for patch in self.shown]
        order = sorted(set(names))
        return np.array([order.index(name) for name in names], dtype=np.int64)


class _Search:
    """Sets of one tier."""

    def __init__(
        self, pool: CandidatePool, texts: Sequence[str], asked: Mask, tier: Tier, options: EasyOptions
    ) -> None:
        self._pool, self._asked, self._tier = pool, asked, tier
        self._window = options.window if tier in ("random", "matched") else options.wide_window
        self._fairness = Fairness(pool.shown, pool.links, options.smallest, options.largest)
        self._draws = [
            rng(options.seed, f"gmcq-easy {tier}", f"{pool.repo} {pull.merge_sha}").random()
            for pull in pool.pulls
        ]
        if tier in ("adversarial", "resistant"):
            self._tfidf = pool.corpus.asked_by(texts, "tfidf")
            self._bm25 = pool.corpus.asked_by(texts, "bm25")
            self._own = np.maximum(pool.corpus.scores_of_own(self._tfidf, "tfidf"), 1e-9)
        self._near = self._nearest()

    def relations(self) -> Relations:
        """Return the relations that sets are made by."""
        near = self._near.__getitem__
        partners = near if self._tier == "resistant" else self.partners
        return Relations(len(self._pool.pulls), near, partners, self._fair, self._costs, self._draws)

    def partners(self, index: int) -> Indices:
        """Return all changes that are fair to one."""
        if not self._asked[index]:
            return np.zeros(0, dtype=np.int64)
        around = np.arange(
            max(0, index - self._window), min(len(self._pool.pulls), index + self._window + 1), dtype=np.int64
        )
        fits = self._fairness.between(np.array(index), around) & self._asked[around]
        return np.setdiff1d(around[fits], self._fairness.related(index), assume_unique=True)

    def _fair(self, rows: Indices) -> Mask:
        found = self._fairness.between(rows[:, None], rows[None, :])
        found &= np.abs(rows[:, None] - rows[None, :]) <= self._window
        for place, row in enumerate(rows):
            found[place] &= ~np.isin(rows, self._fairness.related(int(row)))
        return found

    def _nearest(self) -> list[Indices]:
        """Return the fair partners of each change, the cheapest first."""
        found = []
        count = len(self._pool.pulls)
        for start in range(0, count, _BLOCK):
            block = np.arange(start, min(count, start + _BLOCK), dtype=np.int64)
            low, high = max(0, start - self._window), min(count, start + _BLOCK + self._window)
            around = np.arange(low, high, dtype=np.int64)
            costs = self._pairs(block, around)
            if self._tier == "resistant":
                costs += self._rivalry(block, around)
            for index, row in zip(block, costs, strict=True):
                partners = self.partners(int(index))
                partners = partners[np.isfinite(row[partners - low])]
                order = np.argsort(np.round(row[partners - low], 9), kind="stable")
                found.append(partners[order[:_NEAREST]])
        return found

    def _pairs(self, left: Indices, right: Indices) -> Scores:
        """Return the cost of each two changes; the same both ways."""
        if self._tier == "random":
            draws = np.array(self._draws)
            apart: Scores = np.abs(draws[left][:, None] - draws[right][None, :])
            return apart
        if self._tier == "matched":
            return self._unlike(left, right)
        return self._unmistakable(left, right)

    def _unlike(self, left: Indices, right: Indices) -> Scores:
        together = (self._pool.folders[left] @ self._pool.folders[right].T).toarray() > 0
        languages = self._pool.languages
        same = languages[left][:, None] == languages[right][None, :]
        likeness = self._pool.corpus.likeness_between(left, right)
        costs: Scores = 1 - likeness + _APART * ~together + _APART * ~same
        return costs

    def _unmistakable(self, left: Indices, right: Indices) -> Scores:
        """Return the negative sum of both texts' scores of the other's patch, as shares of their own."""
        corpus = self._pool.corpus
        forth = corpus.scores_between(self._tfidf, left, right, "tfidf") / self._own[left][:, None]
        back = corpus.scores_between(self._tfidf, right, left, "tfidf").T / self._own[right][None, :]
        costs: Scores = -np.minimum(forth, 2.0) - np.minimum(back, 2.0)
        return costs

    def _rivalry(self, left: Indices, right: Indices) -> Scores:
        """Return the rivalry cost.

        0 if left outscores right's own patch in right's question, 10 if only the reverse holds, infinity if neither.
        """
        ahead, behind = np.ones((2, len(left), len(right)), dtype=bool)
        for asked, own, scorer in self._scorers:
            forth = self._pool.corpus.scores_between(asked, left, right, scorer)
            back = self._pool.corpus.scores_between(asked, right, left, scorer).T
            behind &= forth > own[left][:, None] * _CLEARLY
            ahead &= back > own[right][None, :] * _CLEARLY
        return np.where(ahead, 0.0, np.where(behind, _BEHIND, _UNWANTED))

    @cached_property
    def _scorers(self) -> tuple[tuple[csr_array, Scores, Scorer], ...]:
        """The weights of each text's words, the score of its own patch, and by what."""
        return (
            (self._tfidf, self._own, "tfidf"),
            (self._bm25, self._pool.corpus.scores_of_own(self._bm25, "bm25"), "bm25"),
        )

    def _costs(self, rows: Indices, triples: Indices) -> Costs:
        pairs = self._pairs(rows, rows)
        one, two, three = triples.T
        costs: Costs = (
            pairs[0, one] + pairs[0, two] + pairs[0, three]
            + pairs[one, two] + pairs[one, three] + pairs[two, three]
        )  # fmt: skip
        return costs + self._found(rows, triples) if self._tier == "resistant" else costs

    def _found(self, rows: Indices, triples: Indices) -> Costs:
        """Return infinity for each set whose right patches words find in more than one question, else 0.

        They are found where TF-IDF or BM25 ranks the right patch first.
        """
        members = np.concatenate((np.zeros((len(triples), 1), dtype=np.int64), triples), axis=1)
        costs = np.zeros(len(triples))
        for asked, _, scorer in self._scorers:
            scores = self._pool.corpus.scores_between(asked, rows, rows, scorer)
            square = scores[members[:, :, None], members[:, None, :]]
            own = np.einsum("nii->ni", square)
            best = np.where(np.eye(CHOICES, dtype=bool), -np.inf, square).max(axis=2)
            hits = (best <= own * _CLEARLY).sum(axis=1)
            costs[hits > 1] = _UNWANTED
        return costs
