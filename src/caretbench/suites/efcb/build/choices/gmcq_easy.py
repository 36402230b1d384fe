"""GMCQ-Easy: four patches of one repository, one of which makes the described change.

Changes are put into sets of four, and each member of a set is the correct choice of one question. Four tiers:
``random`` draws sets, ``matched`` has similar changes, ``same_file`` has changes to one file, and ``adversarial`` has
changes whose texts resemble each other's patches.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import PurePosixPath
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from caretbench.build.sources.pull_request import PullRequest
from caretbench.files import sha256_text
from caretbench.grouping import grouped
from caretbench.problem import Label, Profile
from caretbench.suites.efcb.build.changes import (
    WIDE_WINDOW,
    WINDOW,
    EfcbOptions,
    Query,
    RejectedChange,
    render_patch,
    repository_templates,
)
from caretbench.suites.efcb.build.choices.choice_problems import (
    WRONG_CHOICE_COUNT,
    ChoiceItem,
    balanced_positions,
    change_queries,
    insert_choice,
)
from caretbench.suites.efcb.build.choices.sets_of_four import (
    ChangeReferences,
    ChoiceSet,
    Costs,
    Indices,
    Mask,
    PairFairness,
    SetRelations,
    build_sets_of_four,
)
from caretbench.suites.efcb.choices import CHOICE_SET_LABEL
from caretbench.suites.efcb.lexical_similarity import PatchCorpus, Scores
from caretbench.suites.efcb.problem_metadata import EasyTier, efcb_profile, main_language, seeded_random

# Costs of a block against its window of 2 × 1,250 changes are 5.6 MB; those of all pairs of tailscale's 11,116 would be
# 1 GB.
_BLOCK: Final = 256
# More than the 40 partners that a set is ever tried with, since others take some of them first.
_NEAREST_COUNT: Final = 64
# Cost if two changes share no folder, or have different languages; similarities are 0 to 1.
_MISMATCH_COST: Final = 0.25
_IMPOSSIBLE_COST: Final = np.inf


class ChangeCorpus(PatchCorpus):
    """Patches of a repository's changes, compared with each other and with the changes' texts."""

    def pairwise_scores(self, left: Indices, right: Indices, queries: csr_array | None = None) -> Scores:
        """Return the TF-IDF cosines of some patches, or of some ``queries`` (:meth:`query_vectors`), with patches."""
        texts = self._vectors if queries is None else queries
        scores: Scores = (texts[left] @ self._vectors[right].T).toarray()
        return scores

    def own_scores(self, queries: csr_array) -> Scores:
        """Return the TF-IDF cosine of each text with the patch of the same index."""
        return np.asarray(queries.multiply(self._vectors).sum(axis=1)).ravel()


class CandidatePool:
    """The changes of one repository, in the order of their merges."""

    def __init__(self, pulls: Sequence[PullRequest], profile: Profile) -> None:
        self.pulls = tuple(sorted(pulls, key=lambda pull: pull.merge_order))
        self.repo = self.pulls[0].repo
        self.rendered = [
            render_patch(pull, include_generated=efcb_profile(profile).shows_generated_files) for pull in self.pulls
        ]
        self.texts = tuple(patch.text for patch in self.rendered)

    @cached_property
    def corpus(self) -> ChangeCorpus:
        """All patches as a corpus."""
        return ChangeCorpus(self.texts)

    @cached_property
    def _firsts(self) -> Mapping[str, int]:
        return {text: index for index, text in reversed([*enumerate(self.texts)])}

    def draw_three(self, correct: int, generator: random.Random) -> tuple[int, ...]:
        """Return up to three random changes whose patches differ from ``correct`` and each other."""
        # Draws skip changes with the text of another: of two choices with one text neither would be wrong.
        own = self._firsts[self.texts[correct]]
        others = sorted(index for index in self._firsts.values() if index != own)
        return tuple(generator.sample(others, min(WRONG_CHOICE_COUNT, len(others))))

    def build_sets(
        self, texts: Sequence[str], tier: EasyTier, options: EfcbOptions
    ) -> tuple[list[ChoiceSet], list[str]]:
        """Return sets of four changes for a tier, and the reason for each change without a set.

        A change with an empty text is in no set.
        """
        has_query = np.array([bool(text.strip()) for text in texts], dtype=bool)
        search = _SetSearch(self, texts, has_query, tier, options)
        sets = build_sets_of_four(search.relations())
        held = {index for four in sets for index in four}
        reasons = [
            ""
            if index in held
            else "no_query"
            if not has_query[index]
            else "too_few_candidates"
            if len(search.partners(index)) < WRONG_CHOICE_COUNT
            else "no_set"
            for index in range(len(self.pulls))
        ]
        return sets, reasons

    @cached_property
    def references(self) -> list[ChangeReferences]:
        """References of each change."""
        return [ChangeReferences.from_pull_request(pull) for pull in self.pulls]

    @cached_property
    def folders(self) -> csr_array:
        """Matrix of changes and folders, 1 where a change touches a folder."""
        return _incidence([{str(PurePosixPath(file.path).parent) for file in patch.files} for patch in self.rendered])

    @cached_property
    def files(self) -> csr_array:
        """Matrix of changes and files, 1 where a change touches a file."""
        return _incidence([{file.path for file in patch.files} for patch in self.rendered])

    @cached_property
    def languages(self) -> npt.NDArray[np.int64]:
        """Number of each change's language."""
        names = [main_language(patch) for patch in self.rendered]
        order = sorted(set(names))
        return np.array([order.index(name) for name in names], dtype=np.int64)


def _incidence(names: Sequence[Collection[str]]) -> csr_array:
    """Return the matrix of changes and names, 1 where a change has a name."""
    numbers: dict[str, int] = {}
    pairs = [(row, numbers.setdefault(name, len(numbers))) for row, own in enumerate(names) for name in sorted(own)]
    rows, columns = zip(*pairs, strict=True) if pairs else ((), ())
    return csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(names), max(len(numbers), 1)))


class _SetSearch:
    """Search for the sets of one tier."""

    def __init__(
        self, pool: CandidatePool, texts: Sequence[str], has_query: Mask, tier: EasyTier, options: EfcbOptions
    ) -> None:
        self._pool, self._asked, self._tier = pool, has_query, tier
        self._window = WINDOW if tier in ("random", "matched") else WIDE_WINDOW
        self._fairness = PairFairness(pool.rendered, pool.references)
        self._draws = [
            seeded_random(options.seed, f"gmcq-easy {tier}", f"{pool.repo} {pull.merge_sha}").random()
            for pull in pool.pulls
        ]
        if tier == "adversarial":
            self._tfidf = pool.corpus.query_vectors(texts)
            # A text may share no word with its own patch; rivals are measured relative to this score.
            self._own = np.maximum(pool.corpus.own_scores(self._tfidf), 1e-9)
        self._near = self._nearest_partners()

    def relations(self) -> SetRelations:
        """Return the relations for building sets."""
        near = self._near.__getitem__
        # A partner must change the same file, and only the nearest ones do.
        partners = near if self._tier == "same_file" else self.partners
        return SetRelations(len(self._pool.pulls), near, partners, self._fair, self._set_costs, self._draws)

    def partners(self, index: int) -> Indices:
        """Return all changes that are fair to one."""
        if not self._asked[index]:
            return np.zeros(0, dtype=np.int64)
        around = np.arange(
            max(0, index - self._window), min(len(self._pool.pulls), index + self._window + 1), dtype=np.int64
        )
        fits = self._fairness.is_fair(np.array(index), around) & self._asked[around]
        return np.setdiff1d(around[fits], self._fairness.related_changes(index), assume_unique=True)

    def _fair(self, rows: Indices) -> Mask:
        fair = self._fairness.is_fair(rows[:, None], rows[None, :])
        fair &= np.abs(rows[:, None] - rows[None, :]) <= self._window
        for position, row in enumerate(rows):
            fair[position] &= ~np.isin(rows, self._fairness.related_changes(int(row)))
        return fair

    def _nearest_partners(self) -> list[Indices]:
        """Return the fair partners of each change, cheapest first."""
        nearest = []
        count = len(self._pool.pulls)
        for start in range(0, count, _BLOCK):
            block = np.arange(start, min(count, start + _BLOCK), dtype=np.int64)
            low, high = max(0, start - self._window), min(count, start + _BLOCK + self._window)
            around = np.arange(low, high, dtype=np.int64)
            costs = self._pair_costs(block, around)
            for index, row in zip(block, costs, strict=True):
                partners = self.partners(int(index))
                partners = partners[np.isfinite(row[partners - low])]
                # Rounded, because the last digits of products differ between machines, and with them the order of ties.
                order = np.argsort(np.round(row[partners - low], 9), kind="stable")
                nearest.append(partners[order[:_NEAREST_COUNT]])
        return nearest

    def _pair_costs(self, left: Indices, right: Indices) -> Scores:
        """Return the symmetric cost of each pair of changes."""
        if self._tier == "random":
            draws = np.array(self._draws)
            apart: Scores = np.abs(draws[left][:, None] - draws[right][None, :])
            return apart
        if self._tier == "matched":
            return self._matching_costs(left, right)
        if self._tier == "same_file":
            shared = (self._pool.files[left] @ self._pool.files[right].T).toarray() > 0
            return np.where(shared, self._matching_costs(left, right), _IMPOSSIBLE_COST)
        return self._adversarial_costs(left, right)

    def _matching_costs(self, left: Indices, right: Indices) -> Scores:
        together = (self._pool.folders[left] @ self._pool.folders[right].T).toarray() > 0
        languages = self._pool.languages
        same = languages[left][:, None] == languages[right][None, :]
        likeness = self._pool.corpus.pairwise_scores(left, right)
        costs: Scores = 1 - likeness + _MISMATCH_COST * ~together + _MISMATCH_COST * ~same
        return costs

    def _adversarial_costs(self, left: Indices, right: Indices) -> Scores:
        """Return minus the sum of both texts' scores of the other's patch, relative to their own."""
        corpus = self._pool.corpus
        forth = corpus.pairwise_scores(left, right, self._tfidf) / self._own[left][:, None]
        back = corpus.pairwise_scores(right, left, self._tfidf).T / self._own[right][None, :]
        # Bounded, since a single rival with ten times the score would decide the whole set against three moderate ones.
        costs: Scores = -np.minimum(forth, 2.0) - np.minimum(back, 2.0)
        return costs

    def _set_costs(self, rows: Indices, triples: Indices) -> Costs:
        pairs = self._pair_costs(rows, rows)
        one, two, three = triples.T
        costs: Costs = (
            pairs[0, one] + pairs[0, two] + pairs[0, three] + pairs[one, two] + pairs[one, three] + pairs[two, three]
        )
        if self._tier == "same_file":
            # Pairs that share a file may share different ones.
            touched = self._pool.files[rows].toarray() > 0
            touched = touched[:, touched[0]]
            costs[~(touched[one] & touched[two] & touched[three]).any(axis=1)] = _IMPOSSIBLE_COST
        return costs


TASK: Final = "gmcq-easy"
_GROUP_DIGITS: Final = 10


class _DrawnQuestion(NamedTuple):
    pool: CandidatePool
    correct: int
    queries: tuple[Query, ...]
    wrong: tuple[int, ...]
    choice_set: str = ""


def easy_questions(
    pulls: Sequence[PullRequest], options: EfcbOptions, templates: Mapping[str, frozenset[str]] | None = None
) -> tuple[list[ChoiceItem], list[RejectedChange]]:
    """Return the questions of all tiers, and changes without a question in a tier, with the reason.

    The order of the changes, which passed the profile's filters, does not matter. Without ``templates``, the template
    lines of each repository are found in the changes.
    """
    templates = repository_templates(pulls) if templates is None else templates
    ordered = sorted(pulls, key=lambda pull: (pull.repo, pull.merge_order))
    by_repository = grouped((pull.repo, pull) for pull in ordered)
    pools = [CandidatePool(members, options.profile) for members in by_repository.values()]
    queries_by_change = {pull.key: change_queries(pull, options, templates) for pull in pulls}
    drawn: dict[str, tuple[EasyTier, _DrawnQuestion]] = {}
    rejected: list[RejectedChange] = []
    for tier in options.rules.easy_tiers:
        # The release draws any three other changes of the repository, also parts of the same work.
        draw = _draw_in_sets if options.rules.balanced_choices else _draw_as_released
        for pool in pools:
            for question in draw(pool, queries_by_change, tier, options):
                if isinstance(question, RejectedChange):
                    rejected.append(question)
                else:
                    drawn[f"{tier} {pool.repo} {pool.pulls[question.correct].merge_sha}"] = (tier, question)
    groups = {key: f"{tier} {question.pool.repo}" for key, (tier, question) in drawn.items()}
    places = balanced_positions(groups, options.seed, f"{TASK} positions")
    return [_make_question(question, tier, places[key], options) for key, (tier, question) in drawn.items()], rejected


def _make_question(drawn: _DrawnQuestion, tier: EasyTier, place: int, options: EfcbOptions) -> ChoiceItem:
    """Return a question; its label ``lexical_margin`` is the right choice's TF-IDF cosine minus the best other.

    Questions of a set of four have its name.
    """
    pool, pull = drawn.pool, drawn.pool.pulls[drawn.correct]
    wrong = list(drawn.wrong)
    # Sets are sorted by the time of the merges: in that order, the position of a wrong choice would tell its age.
    seeded_random(options.seed, f"{TASK} {tier} order", f"{pull.repo} {pull.merge_sha}").shuffle(wrong)
    text = drawn.queries[0].text
    tfidf = pool.corpus.tfidf(text)
    margin = round(float(tfidf[drawn.correct] - max(tfidf[index] for index in wrong)), 6)
    labels: dict[str, Label] = {"lexical_margin": margin}
    if drawn.choice_set:
        labels[CHOICE_SET_LABEL] = drawn.choice_set
    choices = insert_choice(pool.texts[drawn.correct], [pool.texts[index] for index in wrong], place)
    commits = tuple(pool.pulls[index].merge_sha for index in wrong)
    return ChoiceItem(pull, TASK, tier, choices, place, drawn.queries, labels, wrong_commits=commits)


_QueriesByChange = Mapping[tuple[str, str], tuple[Query, ...]]


def _draw_as_released(
    pool: CandidatePool, queries_by_change: _QueriesByChange, tier: EasyTier, options: EfcbOptions
) -> Iterator[_DrawnQuestion | RejectedChange]:
    """Draw any three other changes of the repository."""
    for gold, pull in enumerate(pool.pulls):
        queries = queries_by_change[pull.key]
        wrong = pool.draw_three(gold, seeded_random(options.seed, f"{TASK} {tier}", f"{pull.repo} {pull.merge_sha}"))
        if queries and len(wrong) == WRONG_CHOICE_COUNT:
            yield _DrawnQuestion(pool, gold, queries, wrong)
        else:
            reason = "too_few_candidates" if queries else "no_query"
            yield RejectedChange.from_pull_request(pull, TASK, reason, tier)


def _draw_in_sets(
    pool: CandidatePool, queries_by_change: _QueriesByChange, tier: EasyTier, options: EfcbOptions
) -> Iterator[_DrawnQuestion | RejectedChange]:
    """Draw sets of four fair changes; each member is the correct choice of one question."""
    queries = [queries_by_change[pull.key] for pull in pool.pulls]
    sets, reasons = pool.build_sets([own[0].text if own else "" for own in queries], tier, options)
    for four in sets:
        name = "+".join(sorted(pool.pulls[index].merge_sha for index in four))
        group = f"{pool.repo} {tier} {sha256_text(name)[:_GROUP_DIGITS]}"
        for index in sorted(four):
            yield _DrawnQuestion(pool, index, queries[index], tuple(sorted(set(four) - {index})), group)
    for pull, reason in zip(pool.pulls, reasons, strict=True):
        if reason:
            yield RejectedChange.from_pull_request(pull, TASK, reason, tier)
