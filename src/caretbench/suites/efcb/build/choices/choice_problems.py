"""Multiple-choice problems: which of four patches makes a described change.

Shared by GMCQ-Easy and GMCQ-Hard. The problem's text is an instruction and the query; layout of the choices and
format of the answer belong to the prompt. Each letter is correct equally often, in an unpredictable order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import product
from typing import Final, NamedTuple, TypeVar

from caretbench.build.sources.changes.descriptions import NO_TEMPLATE
from caretbench.build.sources.pull_request import PullRequest
from caretbench.grouping import grouped
from caretbench.problem import ChoiceCheck, Label, Problem, Question
from caretbench.suites.efcb.build.changes import EfcbOptions, Query, change_problem, change_query, render_patch
from caretbench.suites.efcb.choices import CHOICE_COUNT, CHOICE_SET_LABEL, INSTRUCTION, LETTERS
from caretbench.suites.efcb.problem_metadata import DEFAULT_VARIANT, seeded_random


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
    pull: PullRequest, options: EfcbOptions, templates: Mapping[str, Collection[str]]
) -> tuple[Query, ...]:
    """Return the texts that describe a change, by the query variants of the options; without empty ones."""
    lines = templates.get(pull.repo, NO_TEMPLATE)
    queries = (change_query(pull, variant, options.profile, lines) for variant in options.rules.choice_queries)
    return tuple(query for query in queries if query.text.strip())


def choice_problems(item: ChoiceItem, options: EfcbOptions) -> Iterator[Problem]:
    """Yield the problems of a question: for each query, in ``options.rotations`` cyclic orders of its four patches.

    The given order is the first.
    """
    pull, task, tier, choices, correct, queries, labels, version, _ = item
    if len(choices) != CHOICE_COUNT or len(set(choices)) != CHOICE_COUNT or not 0 <= correct < CHOICE_COUNT:
        raise ValueError(f"{pull.repo} {pull.merge_sha}: {task} needs four different choices, one of them right")
    rendered = render_patch(pull, include_generated=options.rules.shows_generated_files)
    for query, (turn, turned, position) in product(queries, [*rotate_choices(choices, correct, options.rotations)]):
        yield change_problem(
            pull, rendered, (task, tier), options,
            variant=version or ("" if query.variant == DEFAULT_VARIANT else query.variant),
            rotation=turn,
            labels={"query": query.variant, "rotation": float(turn), **labels},
            shown=Question(text=INSTRUCTION + query.text, choices=turned),
            reference=LETTERS[position],
            checks=(ChoiceCheck(correct=position),),
            overlap_group=str(labels[CHOICE_SET_LABEL]) if CHOICE_SET_LABEL in labels else None,
        )  # fmt: skip


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
