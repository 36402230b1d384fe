"""GMCQ-Easy: four patches of one repository, one of which makes the described change.

Changes are put into sets of four, and each member of a set is the correct choice of one question. Five tiers:
``random`` draws sets, ``matched`` has similar changes, ``same_file`` has changes to one file, ``adversarial`` has
changes whose texts resemble each other's patches, and ``resistant`` keeps sets in which word scores find at most one of
the four.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from caretbench.build.sources.pull_request import PullRequest
from caretbench.files import sha256_text
from caretbench.problem import Label
from caretbench.suites.efcb.build.changes import RejectedChange, repository_templates
from caretbench.suites.efcb.build.choices.candidate_pool import CandidatePool
from caretbench.suites.efcb.build.choices.choice_problems import ChoiceItem, change_queries
from caretbench.suites.efcb.build.choices.sets_of_four import ChoiceSet
from caretbench.suites.efcb.build.options import EasyOptions, Query
from caretbench.suites.efcb.choices import CHOICE_COUNT, CHOICE_SET_LABEL, balanced_positions, insert_choice
from caretbench.suites.efcb.lexical_similarity import title_path_overlap
from caretbench.suites.efcb.options import EasyTier
from caretbench.suites.efcb.problem_metadata import seeded_random

SetRanks = tuple[tuple[int, ...], ...]
"""Rank of the correct choice by each scorer, in each of the four questions of a set."""
# Number of scorers that are balanced: those of the whole text.
_BALANCED_SCORERS: Final = 2


def lexical_ranks(pool: CandidatePool, texts: Sequence[str], choice_set: ChoiceSet) -> SetRanks:
    """Return the number of choices ahead of the correct one, for each member of a set and each scorer.

    Scorers are TF-IDF and BM25 of the whole text, TF-IDF of its first line, and words of that line among the paths.
    """
    ranks = []
    for index in choice_set:
        title = texts[index].partition("\n")[0]
        scores = (pool.corpus.tfidf(texts[index]), pool.corpus.bm25(texts[index]), pool.corpus.tfidf(title))
        overlap = {
            other: title_path_overlap(title, [file.title for file in pool.rendered[other].files])
            for other in choice_set
        }
        ahead = [sum(bool(values[other] > values[index]) for other in choice_set) for values in (*scores, overlap)]
        ranks.append(tuple(ahead))
    return tuple(ranks)


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
        # Exactly equal ranks would cost most of a small tier; one standard error is a third of what the leak report
        # allows.
        slack = math.sqrt(share * (1 - 1 / CHOICE_COUNT))
        excess = {entry: load - share for entry, load in loads.items() if load > share + slack}
        if not excess:
            break
        # By the sum of its excesses, and by its members among equals: the order of the sets must not decide.
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


TASK: Final = "gmcq-easy"
_GROUP_DIGITS: Final = 10


class _DrawnQuestion(NamedTuple):
    pool: CandidatePool
    correct: int
    queries: tuple[Query, ...]
    wrong: tuple[int, ...]
    choice_set: str = ""


def easy_questions(
    pulls: Sequence[PullRequest], options: EasyOptions, templates: Mapping[str, frozenset[str]] | None = None
) -> tuple[list[ChoiceItem], list[RejectedChange]]:
    """Return the questions of all tiers, and changes without a question in a tier, with the reason.

    The order of the changes, which passed the profile's filters, does not matter. Without ``templates``, the template
    lines of each repository are found in the changes.
    """
    templates = repository_templates(pulls) if templates is None else templates
    by_repository: dict[str, list[PullRequest]] = defaultdict(list)
    for pull in sorted(pulls, key=lambda pull: (pull.repo, pull.merge_order)):
        by_repository[pull.repo].append(pull)
    pools = [CandidatePool(members, options.profile) for members in by_repository.values()]
    queries_by_change = {pull.key: change_queries(pull, options, templates) for pull in pulls}
    drawn: dict[EasyTier, list[_DrawnQuestion]] = {}
    rejected: list[RejectedChange] = []
    for tier in options.selected_tiers:
        # The release draws any three other changes of the repository, also parts of the same work.
        draw = _draw_in_sets if options.rules.balanced_choices else _draw_as_released
        drawn[tier], refused = draw(pools, queries_by_change, tier, options)
        rejected += refused
    places = balanced_positions(
        {_question_key(one, tier): f"{tier} {one.pool.repo}" for tier, all_ in drawn.items() for one in all_},
        options.seed,
        f"{TASK} positions",
    )
    items = [
        _make_question(one, tier, places[_question_key(one, tier)], options)
        for tier, all_ in drawn.items()
        for one in all_
    ]
    return items, rejected


def _question_key(one: _DrawnQuestion, tier: EasyTier) -> str:
    return f"{tier} {one.pool.repo} {one.pool.pulls[one.correct].merge_sha}"


def _make_question(one: _DrawnQuestion, tier: EasyTier, place: int, options: EasyOptions) -> ChoiceItem:
    """Return a question; its labels are lexical scores of the correct choice next to the wrong ones.

    ``lexical_margin`` is its TF-IDF cosine with the text minus that of the best wrong one; the ranks, from 1, are those
    by TF-IDF and BM25. Questions of a set of four have its name.
    """
    pool, pull = one.pool, one.pool.pulls[one.correct]
    wrong = list(one.wrong)
    # Sets are sorted by the time of the merges: in that order, the position of a wrong choice would tell its age.
    seeded_random(options.seed, f"{TASK} {tier} order", f"{pull.repo} {pull.merge_sha}").shuffle(wrong)
    text = one.queries[0].text
    tfidf, bm25 = pool.corpus.tfidf(text), pool.corpus.bm25(text)
    labels: dict[str, Label] = {
        "lexical_margin": round(float(tfidf[one.correct] - max(tfidf[index] for index in wrong)), 6),
        "lexical_rank": float(sum(bool(tfidf[index] > tfidf[one.correct]) for index in wrong) + 1),
        "bm25_rank": float(sum(bool(bm25[index] > bm25[one.correct]) for index in wrong) + 1),
    }
    if one.choice_set:
        labels[CHOICE_SET_LABEL] = one.choice_set
    choices = insert_choice(pool.texts[one.correct], [pool.texts[index] for index in wrong], place)
    commits = tuple(pool.pulls[index].merge_sha for index in wrong)
    return ChoiceItem(pull, TASK, tier, choices, place, one.queries, labels, wrong_commits=commits)


def _draw_as_released(
    pools: Sequence[CandidatePool],
    queries_by_change: Mapping[tuple[str, str], tuple[Query, ...]],
    tier: EasyTier,
    options: EasyOptions,
) -> tuple[list[_DrawnQuestion], list[RejectedChange]]:
    """Draw any three other changes of the repository."""
    drawn: list[_DrawnQuestion] = []
    rejected: list[RejectedChange] = []
    for pool in pools:
        for gold, pull in enumerate(pool.pulls):
            wrong = pool.draw_three(
                gold, seeded_random(options.seed, f"{TASK} {tier}", f"{pull.repo} {pull.merge_sha}")
            )
            if queries_by_change[pull.key] and len(wrong) == CHOICE_COUNT - 1:
                drawn.append(_DrawnQuestion(pool, gold, queries_by_change[pull.key], wrong))
            else:
                reason = "too_few_candidates" if queries_by_change[pull.key] else "no_query"
                rejected.append(RejectedChange.from_pull_request(pull, TASK, reason, tier))
    return drawn, rejected


def _draw_in_sets(
    pools: Sequence[CandidatePool],
    queries_by_change: Mapping[tuple[str, str], tuple[Query, ...]],
    tier: EasyTier,
    options: EasyOptions,
) -> tuple[list[_DrawnQuestion], list[RejectedChange]]:
    """Draw sets of four fair changes; each member is the correct choice of one question."""
    drawn: list[_DrawnQuestion] = []
    rejected: list[RejectedChange] = []
    for pool in pools:
        texts = [next((query.text for query in queries_by_change[pull.key]), "") for pull in pool.pulls]
        sets, reasons = pool.build_sets(texts, tier, options)
        if tier == "resistant":
            kept = balance_sets(sets, lambda four, pool=pool, texts=texts: lexical_ranks(pool, texts, four))  # type: ignore[misc]
            for index in {index for four in set(sets) - set(kept) for index in four}:
                reasons[index] = "uneven_ranks"
            sets = kept
        for four in sets:
            name = "+".join(sorted(pool.pulls[index].merge_sha for index in four))
            group = f"{pool.repo} {tier} {sha256_text(name)[:_GROUP_DIGITS]}"
            drawn += [
                _DrawnQuestion(
                    pool, index, queries_by_change[pool.pulls[index].key], tuple(sorted(set(four) - {index})), group
                )
                for index in sorted(four)
            ]
        rejected += [
            RejectedChange.from_pull_request(pull, TASK, reason, tier)
            for pull, reason in zip(pool.pulls, reasons, strict=True)
            if reason
        ]
    return drawn, rejected
