"""Numbers of the graders of texts at carets: counts of judgements, and calibration by controls."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from caretbench.judging.aggregation import GraderKey, TextKey, TextScores
from caretbench.judging.agreement import in_order, repeat_spread, separation
from caretbench.judging.answers import answer_key
from caretbench.judging.controls import CONTROLS, completely_judged, controls
from caretbench.problem import Judgement, Problem
from caretbench.reports.judged.common import grader_counts
from caretbench.reports.judged.scores import ControlNumbers, GraderNumbers


def grader_numbers(
    key: GraderKey,
    title: str,
    judgements: Sequence[Judgement],
    texts: Mapping[TextKey, TextScores],
    problems: Mapping[str, Problem],
    missing: int,
) -> GraderNumbers:
    """Return the numbers of one grader.

    Args:
        key: Its name and parameters.
        title: Its title.
        judgements: The judgements by one criterion, of all graders.
        texts: The grader's scores.
        problems: The run's problems, of which the controls are made.
        missing: Number of judgements that did not come.
    """
    rows = [row for row in judgements if (row.grader, row.parameters) == key]
    answers = {
        problem: {name: answer_key(text) for name, text in named.items()}
        for problem, named in controls(list(problems.values())).items()
    }
    totals = completely_judged(answers, {text: scores.total for text, scores in texts.items()})
    golden = totals["golden"]
    numbers = {
        name: ControlNumbers(
            mean=math.fsum(values) / len(values),
            separation=separation(golden, values) if name != "golden" else None,
            golden_above=_above(golden, values) if name != "golden" else None,
        )
        for name, values in totals.items()
        if values
    }
    return GraderNumbers(
        grader=key[0],
        parameters=key[1],
        title=title,
        texts=len(texts),
        **grader_counts(rows),
        missing=missing,
        repeat_deviation=repeat_spread(texts),
        control_problems=len(golden),
        controls=numbers,
        in_order=in_order({name: numbers[name].mean for name in CONTROLS}) if numbers else None,
    )


def _above(golden: Sequence[float], control: Sequence[float]) -> float:
    wins = [(a > b) + (a == b) / 2 for a, b in zip(golden, control, strict=True)]
    return math.fsum(wins) / len(wins)
