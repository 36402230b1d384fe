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
from caretbench.runs.judging.judge_requests import Wanted
from caretbench.runs.judging.texts_to_judge import DistinctText

AFTER: Final = "after"
"""Field of a second step's settings that contains the parameters of the first."""

NOTHING: Final = answer_key("")
"""Empty answer: it makes no statements, and no judge is asked for them."""


def requested_judgements(
    criterion: Criterion, texts: Sequence[DistinctText], repeats: int | None
) -> list[Wanted]:
    """Return the judgements of texts to request first; ``repeats`` None: as the criterion defines.

    Nobody is asked which statements the empty answer makes.
    """
    count = criterion.repeats if repeats is None else repeats
    return [(text, range(count)) for text in texts if criterion.then is None or text.answer != NOTHING]


def second_step_judgements(
    first: Iterable[Judgement], wanted: Sequence[Wanted], problems: Mapping[str, Problem]
) -> list[Wanted]:
    """Return the distinct statements that a judge extracted, with the repeats that contain them.

    Args:
        first: The grader's judgements by the criterion of the first step.
        wanted: Texts of the first step: statements of other texts do not count.
        problems: By id.
    """
    asked = {(subject.problem.id, subject.answer): set(repeats) for subject, repeats in wanted}
    found: dict[tuple[str, str], tuple[DistinctText, set[int]]] = {}
    for row in first:
        if row.repeat not in asked.get((row.problem_id, row.answer), ()):
            continue
        for claim in claims_in(row.text) if row.values else ():
            key = (row.problem_id, answer_key(claim))
            subject = DistinctText(problems[row.problem_id], claim, key[1])
            found.setdefault(key, (subject, set()))[1].add(row.repeat)
    return [(subject, sorted(repeats)) for subject, repeats in found.values()]
