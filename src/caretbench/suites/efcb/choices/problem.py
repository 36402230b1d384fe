"""A multiple-choice problem: which of four patches is the change that a text asks for.

What GMCQ-Easy and GMCQ-Hard share. The problem's text says what is asked, then the query; how the choices are set
out, and in what form the answer is wanted, belongs to the prompt.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from caretbench.problem import ChoiceCheck, Label, NoSplice, Problem, Question
from caretbench.sources.pull_request import PullRequest
from caretbench.suites.efcb.describing import SUITE, cluster, common_labels, provenance
from caretbench.suites.efcb.options import DEFAULT_VARIANT, EfcbOptions, Query
from caretbench.suites.efcb.positions import CHOICES, LETTERS, rotations
from caretbench.suites.efcb.rendering import render
from caretbench.suites.efcb.seeding import item_id

ASKED: Final = "Which of these patches makes the change that the following text describes?\n\n"
CHOICE_SET: Final = "choice_set"
"""The label of questions that show the same four choices: they are one unit of a tier's intervals."""


def query_text(problem: Problem) -> str:
    """Return the query of a choice problem, without what is asked.

    Raises:
        TypeError: the problem is no question.
    """
    if not isinstance(problem.shown, Question):
        raise TypeError(f"{problem.id} is no question")
    return problem.shown.text.removeprefix(ASKED)


def choice_problems(
    pull: PullRequest,
    task: str,
    tier: str,
    query: Query,
    choices: Sequence[str],
    correct: int,
    labels: Mapping[str, Label],
    options: EfcbOptions,
) -> Iterator[Problem]:
    """The problem in as many cyclic orders of its four patches as ``options.rotations`` says, the first as given.

    ``labels`` go next to those that all tasks share; ``correct`` is counted from 0.

    Raises:
        ValueError: There are not four choices, two are alike, none is ``correct``, or the query says nothing.
    """
    if not query.text.strip():
        raise ValueError(f"{pull.repo} {pull.merge_sha}: its {query.variant} is empty")
    if len(choices) != CHOICES or len(set(choices)) != CHOICES or not 0 <= correct < CHOICES:
        raise ValueError(
            f"{pull.repo} {pull.merge_sha}: {task} needs four different choices, one of them right"
        )
    variant = "" if query.variant == DEFAULT_VARIANT else query.variant
    shared = common_labels(pull, render(pull, generated=options.rules.generated_shown), task, tier)
    for turn, turned, place in rotations(choices, correct, options.rotations):
        yield Problem(
            id=item_id(
                task, tier, pull.repo, pull.merge_sha, options.configuration, variant=variant, rotation=turn
            ),
            suite=SUITE,
            shown=Question(text=ASKED + query.text, choices=turned),
            splice=NoSplice(),
            reference=LETTERS[place],
            checks=(ChoiceCheck(correct=place),),
            overlap_group=None if CHOICE_SET not in labels else str(labels[CHOICE_SET]),
            labels={**shared, "query": query.variant, "rotation": float(turn), **labels},
            cluster=cluster(pull),
            provenance=provenance(pull),
        )
