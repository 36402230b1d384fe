"""GMCQ-Easy: which of four changes of one repository is the one that a text asks for.

Changes are put into sets of four, and each member of a set is asked for once, next to the other three. Four tiers:
``random`` draws the sets, ``matched`` puts changes together that are alike, ``adversarial`` those whose texts are like
each other's patches, and ``resistant`` keeps sets in which words find one of the four at most.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from caretbench.files import sha256_text
from caretbench.problem import Label, Problem
from caretbench.sources.changes.descriptions import NO_TEMPLATE
from caretbench.sources.pull_request import PullRequest
from caretbench.suites.efcb.choices.candidate_pool import CandidatePool
from caretbench.suites.efcb.choices.problem import CHOICE_SET, choice_problems
from caretbench.suites.efcb.choices.resistant_sets import evened_sets, lexical_ranks
from caretbench.suites.efcb.describing import Rejected
from caretbench.suites.efcb.options import EasyOptions, Query, Tier
from caretbench.suites.efcb.positions import CHOICES, balanced, placed
from caretbench.suites.efcb.queries import forms, query
from caretbench.suites.efcb.seeding import rng

TASK: Final = "gmcq-easy"
_GROUP_DIGITS: Final = 10


class EasyItem(NamedTuple):
    """One question: ``choices`` in shown order, ``correct`` counted from 0.

    ``margin`` is how much more TF-IDF likeness to the text the right choice has than the best wrong one. The ranks
    count the wrong choices that have more of it, or of BM25. ``group`` names the set, whose members are asked for in
    four questions of the tier; empty where the wrong choices are any three others.
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
    group: str = ""


class _Drawn(NamedTuple):
    pool: CandidatePool
    gold: int
    queries: tuple[Query, ...]
    wrong: tuple[int, ...]
    group: str = ""


def easy_items(
    pulls: Sequence[PullRequest], options: EasyOptions, form: Mapping[str, frozenset[str]] | None = None
) -> tuple[list[EasyItem], list[Rejected]]:
    """Return the questions of all tiers, and the changes that have none in a tier, with the reason.

    The same whatever the order of the changes, which passed the filters of the profile. Without ``form``, the lines of
    each repository's form are told from them.
    """
    form = forms(pulls) if form is None else form
    by_repository: dict[str, list[PullRequest]] = defaultdict(list)
    for pull in sorted(pulls, key=lambda pull: (pull.repo, pull.merge_order)):
        by_repository[pull.repo].append(pull)
    pools = [CandidatePool(members, options.profile) for members in by_repository.values()]
    asked = {
        pull.key: tuple(
            text
            for variant in options.variants
            if (text := query(pull, variant, options.profile, form.get(pull.repo, NO_TEMPLATE))).text.strip()
        )
        for pull in pulls
    }
    drawn: dict[Tier, list[_Drawn]] = {}
    rejected: list[Rejected] = []
    for tier in options.all_tiers:
        draw = _drawn_in_sets if options.rules.balanced_choices else _drawn_as_released
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


def problems(item: EasyItem, options: EasyOptions) -> Iterator[Problem]:
    """Yield the problems of a question: one for each text that asks for the change, and each order of its choices."""
    labels: dict[str, Label] = {
        "lexical_margin": round(item.margin, 6),
        "lexical_rank": float(item.tfidf_rank + 1),
        "bm25_rank": float(item.bm25_rank + 1),
    }
    if item.group:
        labels[CHOICE_SET] = item.group
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
        group=one.group,
    )


def _drawn_as_released(
    pools: Sequence[CandidatePool],
    asked: Mapping[tuple[str, str], tuple[Query, ...]],
    tier: Tier,
    options: EasyOptions,
) -> tuple[list[_Drawn], list[Rejected]]:
    """Return any three others of the repository."""
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


def _drawn_in_sets(
    pools: Sequence[CandidatePool],
    asked: Mapping[tuple[str, str], tuple[Query, ...]],
    tier: Tier,
    options: EasyOptions,
) -> tuple[list[_Drawn], list[Rejected]]:
    """Sets of four that are fair to each other; each member is asked for next to the others."""
    drawn: list[_Drawn] = []
    rejected: list[Rejected] = []
    for pool in pools:
        texts = [next((query.text for query in asked[pull.key]), "") for pull in pool.pulls]
        found, reasons = pool.sets(texts, tier, options)
        if tier == "resistant":
            kept = evened_sets(found, lambda four, pool=pool, texts=texts: lexical_ranks(pool, texts, four))  # type: ignore[misc]
            for index in {index for four in set(found) - set(kept) for index in four}:
                reasons[index] = "uneven_ranks"
            found = kept
        for four in found:
            name = "+".join(sorted(pool.pulls[index].merge_sha for index in four))
            group = f"{pool.repo} {tier} {sha256_text(name)[:_GROUP_DIGITS]}"
            drawn += [
                _Drawn(pool, index, asked[pool.pulls[index].key], tuple(sorted(set(four) - {index})), group)
                for index in sorted(four)
            ]
        rejected += [
            Rejected.of(pull, TASK, reason, tier)
            for pull, reason in zip(pool.pulls, reasons, strict=True)
            if reason
        ]
    return drawn, rejected
