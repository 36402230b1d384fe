"""Two-step judging: extraction of an answer's statements, then a judgement of each.

Both steps leave rows of their own in ``judgements.jsonl``. The second one's ``answer`` is the hash of a statement, so
that equal statements about one problem are judged once, whoever made them, and its ``parameters`` cover those of the
first step. A repeat is a whole pass: the statements found in repeat 1 are judged in repeat 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from caretbench.judging.answers import answer_key
from caretbench.judging.criteria import Criterion
from caretbench.judging.parsing import claims_in
from caretbench.problem import Judgement, Problem
from caretbench.runs.judging.judge_requests import RequestedJudgements
from caretbench.runs.judging.texts_to_judge import DistinctText

FIRST_STEP_FIELD: Final = "after"
"""Field of a second step's settings that contains the parameters of the first."""

EMPTY_ANSWER: Final = answer_key("")
"""Hash of the empty answer, which has no statements and is not sent to judges."""


def requested_judgements(
    criterion: Criterion, texts: Sequence[DistinctText], repeats: int | None
) -> list[RequestedJudgements]:
    """Return the judgements of texts to request first; ``repeats`` None: as the criterion defines.

    Nobody is asked which statements the empty answer makes.
    """
    count = criterion.repeats if repeats is None else repeats
    return [(text, range(count)) for text in texts if criterion.then is None or text.answer != EMPTY_ANSWER]


def second_step_judgements(
    first: Iterable[Judgement], requested: Sequence[RequestedJudgements], problems: Mapping[str, Problem]
) -> list[RequestedJudgements]:
    """Return the distinct statements that a judge extracted, with the repeats that contain them.

    Args:
        first: The grader's judgements by the criterion of the first step.
        requested: Texts of the first step: statements of other texts do not count.
        problems: By id.
    """
    repeats_by_text = {(subject.problem.id, subject.answer): set(repeats) for subject, repeats in requested}
    found: dict[tuple[str, str], tuple[DistinctText, set[int]]] = {}
    for row in first:
        if row.repeat not in repeats_by_text.get((row.problem_id, row.answer), ()):
            continue
        for claim in claims_in(row.text) if row.values else ():
            key = (row.problem_id, answer_key(claim))
            subject = DistinctText(problems[row.problem_id], claim, key[1])
            found.setdefault(key, (subject, set()))[1].add(row.repeat)
    return [(subject, sorted(repeats)) for subject, repeats in found.values()]
