"""Multiple-choice problems: which of four patches makes a described change.

Shared by GMCQ-Easy and GMCQ-Hard. The problem's text is an instruction and the query; layout of the choices and
format of the answer belong to the prompt. Each letter is correct equally often, in an unpredictable order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeVar

from caretbench.build.sources.changes.descriptions import NO_TEMPLATE
from caretbench.build.sources.pull_request import PullRequest
from caretbench.grouping import grouped
from caretbench.problem import ChoiceCheck, Label, NoSplice, Problem, Question
from caretbench.suites.efcb.build.changes import change_provenance, change_query, cluster_id, render_patch
from caretbench.suites.efcb.build.options import ChoiceOptions, EfcbOptions, Query, problem_id
from caretbench.suites.efcb.choices import CHOICE_COUNT, CHOICE_SET_LABEL, INSTRUCTION, LETTERS
from caretbench.suites.efcb.problem_metadata import DEFAULT_VARIANT, SUITE_NAME, patch_labels, seeded_random


class ChoiceItem(NamedTuple):
    """One question: four patches in shown order, of which the one at ``correct``, counted from 0, is right.

    ``queries`` are the texts that ask for it, and ``labels`` are added to the common ones. ``version`` names the right
    one of several versions of a patch, ``wrong_commits`` the changes of the wrong choices.
    """

    pull: PullRequest
    task: str
    tier: str
    choices: tuple[str, ...]
    correct: int
    queries: tuple[Query, ...]
    labels: Mapping[str, Label]
    version: str = ""
    wrong_commits: tuple[str, ...] = ()


def change_queries(
    pull: PullRequest, options: ChoiceOptions, templates: Mapping[str, Collection[str]]
) -> tuple[Query, ...]:
    """Return the texts that describe a change, by the query variants of the options; without empty ones."""
    lines = templates.get(pull.repo, NO_TEMPLATE)
    queries = (change_query(pull, variant, options.profile, lines) for variant in options.query_variants)
    return tuple(query for query in queries if query.text.strip())


def choice_problems(item: ChoiceItem, options: EfcbOptions) -> Iterator[Problem]:
    """Yield the problems of a question: for each query, in ``options.rotations`` cyclic orders of its four patches.

    The given order is the first.
    """
    for query in item.queries:
        yield from _problems(item, query, options)


def _problems(item: ChoiceItem, query: Query, options: EfcbOptions) -> Iterator[Problem]:
    pull, task, tier, choices, correct, _, labels, version, _ = item
    if not query.text.strip():
        raise ValueError(f"{pull.repo} {pull.merge_sha}: its {query.variant} is empty")
    if len(choices) != CHOICE_COUNT or len(set(choices)) != CHOICE_COUNT or not 0 <= correct < CHOICE_COUNT:
        raise ValueError(f"{pull.repo} {pull.merge_sha}: {task} needs four different choices, one of them right")
    variant = version or ("" if query.variant == DEFAULT_VARIANT else query.variant)
    shared = patch_labels(
        pull.repo, render_patch(pull, include_generated=options.rules.shows_generated_files), task, tier
    )
    for turn, turned, position in rotate_choices(choices, correct, options.rotations):
        yield Problem(
            id=problem_id(
                task, tier, pull.repo, pull.merge_sha, options.configuration_hash, variant=variant, rotation=turn
            ),
            suite=SUITE_NAME,
            shown=Question(text=INSTRUCTION + query.text, choices=turned),
            splice=NoSplice(),
            reference=LETTERS[position],
            checks=(ChoiceCheck(correct=position),),
            overlap_group=None if CHOICE_SET_LABEL not in labels else str(labels[CHOICE_SET_LABEL]),
            labels={**shared, "query": query.variant, "rotation": float(turn), **labels},
            cluster=cluster_id(pull),
            provenance=change_provenance(pull),
        )


WRONG_CHOICE_COUNT: Final = CHOICE_COUNT - 1
"""Number of wrong choices of a question."""


T = TypeVar("T")


def balanced_positions(groups: Mapping[str, str], seed: int, purpose: str) -> dict[str, int]:
    """Return a value from 0 to 3 for each item, with balanced counts overall and by group.

    Counts differ by at most 1. Items of a group are taken in the order of their keys; each block of four
    items gets a permutation. Incomplete blocks of all groups share one cyclic permutation. Different purposes are
    independent.
    """
    members = grouped((groups[key], key) for key in sorted(groups))
    # A group of two questions has no full block. If each drew its own permutation, a letter could be right in as many
    # questions more than another as there are groups.
    around = seeded_random(seed, purpose, "left over").sample(range(CHOICE_COUNT), CHOICE_COUNT)
    taken = 0
    positions: dict[str, int] = {}
    for group in sorted(members):
        for start in range(0, len(members[group]), CHOICE_COUNT):
            block = members[group][start : start + CHOICE_COUNT]
            given = list(range(CHOICE_COUNT))
            if len(block) < CHOICE_COUNT:
                given = [around[(taken + index) % CHOICE_COUNT] for index in range(len(block))]
                taken += len(block)
            seeded_random(seed, purpose, f"{group} block {start // CHOICE_COUNT}").shuffle(given)
            positions.update(zip(block, given, strict=True))
    return positions


def insert_choice(right: T, others: Sequence[T], position: int) -> tuple[T, ...]:
    """Return all choices, with the correct one at ``position``."""
    return (*others[:position], right, *others[position:])


def rotate_choices(choices: Sequence[T], correct: int, count: int) -> Iterator[tuple[int, tuple[T, ...], int]]:
    """Yield the first ``count`` cyclic orders: number of steps, choices, and index of the correct one.

    All orders together show every choice once at every position.
    """
    for turn in range(count):
        first = len(choices) - turn
        yield turn, (*choices[first:], *choices[:first]), (correct + turn) % len(choices)
