"""GMCQ-Easy: which of four changes of one repository is the one that a text asks for.

Four tiers: ``random`` draws the wrong choices, ``matched`` takes the changes most like the right one, ``adversarial``
those most like the text, and ``resistant`` asks only about changes that have rivals with more words of the text than
they have themselves, so that no rank by words is the right one more often than another.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from caretbench.problem import Label, Problem
from caretbench.sources.descriptions import NO_FORM
from caretbench.sources.pull_request import PullRequest
from caretbench.suites.efcb.balancing import Vector, balance
from caretbench.suites.efcb.candidate_pool import CandidatePool, Candidates
from caretbench.suites.efcb.candidate_sets import WrongChoices
from caretbench.suites.efcb.choices import choice_problems
from caretbench.suites.efcb.easy_options import EasyOptions, Tier
from caretbench.suites.efcb.options import Query
from caretbench.suites.efcb.positions import CHOICES, balanced, placed
from caretbench.suites.efcb.queries import forms, query
from caretbench.suites.efcb.rejecting import Rejected
from caretbench.suites.efcb.seeding import rng

TASK: Final = "gmcq-easy"


class EasyItem(NamedTuple):
    """One question: ``choices`` in shown order, ``correct`` counted from 0.

    ``margin`` is how much more TF-IDF likeness to the text the right choice has than the best wrong one. The ranks
    count the wrong choices that have more of it, or of BM25.
    """

    pull: PullRequest
    tier: Tier
    choices: tuple[str, ...]
    correct: int
    queries: tuple[Query, ...]
    wrong: tuple[str, ...]
    margin: float
    tfidf_rank: int
    bm25_rank: int

    @property
    def key(self) -> tuple[str, str]:
        """The change that is asked for."""
        return self.pull.key


class _Drawn(NamedTuple):
    pool: CandidatePool
    gold: int
    queries: tuple[Query, ...]
    wrong: tuple[int, ...]


def easy_items(
    pulls: Sequence[PullRequest],
    options: EasyOptions,
    form: Mapping[str, frozenset[str]] | None = None,
) -> tuple[list[EasyItem], list[Rejected]]:
    """The questions of all tiers, and the changes that have none in a tier, with the reason.

    The same whatever the order of the changes.

    Args:
        pulls: Those that passed the filters of the profile.
        options: Seed, profile, tiers.
        form: The lines of each repository's form; told from ``pulls`` where it is not given.
    """
    form = forms(pulls) if form is None else form
    by_repository: dict[str, list[PullRequest]] = defaultdict(list)
    for pull in sorted(pulls, key=lambda pull: (pull.repo, pull.newest_first)):
        by_repository[pull.repo].append(pull)
    pools = [CandidatePool(members, options.profile) for members in by_repository.values()]
    asked = {
        pull.key: tuple(
            text
            for variant in options.variants
            if (text := query(pull, variant, options.profile, form.get(pull.repo, NO_FORM))).text.strip()
        )
        for pull in pulls
    }
    drawn: dict[Tier, list[_Drawn]] = {}
    rejected: list[Rejected] = []
    for tier in options.all_tiers:
        draw = _drawn_as_released if options.profile == "paper" else _drawn_in_balance
        drawn[tier], refused = draw(pools, asked, tier, options)
        rejected += refused
    places = balanced(
        {_name(one, tier): f"{tier} {one.pool.repo}" for tier, all_ in drawn.items() for one in all_},
        options.seed,
        f"{TASK} positions",
    )
    items = [
        _item(one, tier, places[_name(one, tier)], options) for tier, all_ in drawn.items() for one in all_
    ]
    return items, rejected


def problem(item: EasyItem, options: EasyOptions) -> Problem:
    """The problem of a question, asked by its first text, in its first order."""
    return next(problems(item, options))


def problems(item: EasyItem, options: EasyOptions) -> Iterator[Problem]:
    """The problems of a question: one for each text that asks for the change, and each order of its choices."""
    labels: dict[str, Label] = {
        "lexical_margin": round(item.margin, 6),
        "lexical_rank": float(item.tfidf_rank + 1),
        "bm25_rank": float(item.bm25_rank + 1),
    }
    for asked in item.queries:
        yield from choice_problems(
            item.pull, TASK, item.tier, asked, item.choices, item.correct, labels, options
        )


def _name(one: _Drawn, tier: Tier) -> str:
    return f"{tier} {one.pool.repo} {one.pool.pulls[one.gold].merge_sha}"


def _item(one: _Drawn, tier: Tier, place: int, options: EasyOptions) -> EasyItem:
    pool, pull = one.pool, one.pool.pulls[one.gold]
    wrong = list(one.wrong)
    rng(options.seed, f"{TASK} {tier} order", f"{pull.repo} {pull.merge_sha}").shuffle(wrong)
    text = one.queries[0].text
    tfidf, bm25 = pool.corpus.tfidf(text), pool.corpus.bm25(text)
    return EasyItem(
        pull=pull,
        tier=tier,
        choices=placed(pool.texts[one.gold], [pool.texts[index] for index in wrong], place),
        correct=place,
        queries=one.queries,
        wrong=tuple(pool.pulls[index].merge_sha for index in wrong),
        margin=float(tfidf[one.gold] - max(tfidf[index] for index in wrong)),
        tfidf_rank=sum(bool(tfidf[index] > tfidf[one.gold]) for index in wrong),
        bm25_rank=sum(bool(bm25[index] > bm25[one.gold]) for index in wrong),
    )


def _drawn_as_released(
    pools: Sequence[CandidatePool],
    asked: Mapping[tuple[str, str], tuple[Query, ...]],
    tier: Tier,
    options: EasyOptions,
) -> tuple[list[_Drawn], list[Rejected]]:
    """Any three others of the repository."""
    drawn: list[_Drawn] = []
    rejected: list[Rejected] = []
    for pool in pools:
        for gold, pull in enumerate(pool.pulls):
            wrong = pool.any_three(gold, rng(options.seed, f"{TASK} {tier}", f"{pull.repo} {pull.merge_sha}"))
            if asked[pull.key] and len(wrong) == CHOICES - 1:
                drawn.append(_Drawn(pool, gold, asked[pull.key], wrong))
            else:
                reason = "too_few_candidates" if asked[pull.key] else "no_query"
                rejected.append(Rejected.of(pull, TASK, reason, tier))
    return drawn, rejected


def _drawn_in_balance(
    pools: Sequence[CandidatePool],
    asked: Mapping[tuple[str, str], tuple[Query, ...]],
    tier: Tier,
    options: EasyOptions,
) -> tuple[list[_Drawn], list[Rejected]]:
    """Sets of wrong choices in which the right one is told neither by its length nor by its likeness to the others."""
    rejected: list[Rejected] = []
    ways: dict[str, Mapping[Vector, WrongChoices]] = {}
    found: dict[str, tuple[CandidatePool, int, Candidates]] = {}
    for pool in pools:
        for gold, pull in enumerate(pool.pulls):
            if not asked[pull.key]:
                rejected.append(Rejected.of(pull, TASK, "no_query", tier))
                continue
            order = pool.candidates(gold, asked[pull.key][0].text, tier, options)
            sets = pool.sets(gold, order)
            if not sets:
                rejected.append(Rejected.of(pull, TASK, order.shortage or "no_clear_set", tier))
                continue
            name = f"{pull.repo} {pull.merge_sha}"
            ways[name], found[name] = sets, (pool, gold, order)
    chosen = balance(
        {name: {vector: one.cost for vector, one in sets.items()} for name, sets in ways.items()},
        {name: found[name][0].repo for name in ways},
        options.seed,
        f"{TASK} {tier} balance",
    )
    drawn = []
    for name in sorted(ways):
        pool, gold, order = found[name]
        members = ways[name][chosen[name]].members
        drawn.append(
            _Drawn(
                pool, gold, asked[pool.pulls[gold].key], tuple(int(order.indices[index]) for index in members)
            )
        )
    return drawn, rejected
