"""Multiple-choice problems: which of four patches makes a described change.

Shared by GMCQ-Easy and GMCQ-Hard. The problem's text is an instruction and the query; layout of the choices and
format of the answer belong to the prompt.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from caretbench.build.sources.pull_request import PullRequest
from caretbench.problem import ChoiceCheck, Label, NoSplice, Problem, Question
from caretbench.suites.efcb.build.changes import change_provenance, cluster_id, common_labels, render_patch
from caretbench.suites.efcb.build.options import EfcbOptions, Query
from caretbench.suites.efcb.choices import CHOICE_COUNT, CHOICE_SET_LABEL, INSTRUCTION, LETTERS, rotate_choices
from caretbench.suites.efcb.options import DEFAULT_VARIANT
from caretbench.suites.efcb.problem_metadata import SUITE_NAME, problem_id


class ChoiceItem(NamedTuple):
    """Four patches, of which the one at ``correct``, counted from 0, is right.

    ``labels`` are added to the common ones. ``version`` names the right one of several versions of a patch.
    """

    pull: PullRequest
    task: str
    tier: str
    choices: Sequence[str]
    correct: int
    labels: Mapping[str, Label]
    version: str = ""


def choice_problems(item: ChoiceItem, query: Query, options: EfcbOptions) -> Iterator[Problem]:
    """Yield the problem in ``options.rotations`` cyclic orders of its four patches, the given order first.

    Raises:
        ValueError: the choices are not four different ones, ``correct`` is out of range, or the query is empty.
    """
    pull, task, tier, choices, correct, labels, version = item
    if not query.text.strip():
        raise ValueError(f"{pull.repo} {pull.merge_sha}: its {query.variant} is empty")
    if len(choices) != CHOICE_COUNT or len(set(choices)) != CHOICE_COUNT or not 0 <= correct < CHOICE_COUNT:
        raise ValueError(f"{pull.repo} {pull.merge_sha}: {task} needs four different choices, one of them right")
    variant = version or ("" if query.variant == DEFAULT_VARIANT else query.variant)
    shared = common_labels(pull, render_patch(pull, include_generated=options.rules.shows_generated_files), task, tier)
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
