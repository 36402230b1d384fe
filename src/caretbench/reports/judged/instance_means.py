"""Means of judge scores over instances, counts of judgements, and agreement of judges with people."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from caretbench.judging.aggregation import JudgeKey, TextKey, TextScores, controls_in_order, repeat_spread, separation
from caretbench.judging.answers import answer_key
from caretbench.judging.controls import CONTROLS, EMPTY, OTHER, REFERENCE, control_totals
from caretbench.metrics.agreement import MINIMUM_ITEMS, alpha_of_people, item_estimate, replacement_test
from caretbench.metrics.correlation import mean_difference_statistic, pearson_statistic, spearman_statistic
from caretbench.metrics.intervals import RESAMPLES, bootstrap_mean
from caretbench.problem import Judgement, Problem
from caretbench.reports.estimates import ReportedNumber
from caretbench.reports.judged.scores import ControlNumbers, JudgeHumanAgreement, JudgeNumbers
from caretbench.reports.judged.trust import Acceptance, Calibration, ControlRating, acceptance_of, is_control_correct
from caretbench.runs.judging.ratings import HumanRating

_DECIDING = (REFERENCE, OTHER, EMPTY)

MissingCounts = Mapping[tuple[str, str, str], int]
"""Numbers of missing judgements by judge, parameters and criterion."""


@dataclass(frozen=True)
class Instances:
    """Problems of a run, over which scores are averaged.

    With ``released`` they count as independent, as in DevBench's released code; else they are resampled by cluster.
    """

    problems: Mapping[str, Problem]
    seed: int
    released: bool = False

    def estimate(self, scores: Mapping[str, float], maximum: float, resamples: int = RESAMPLES) -> ReportedNumber:
        """Return the mean over instances with its interval; the bootstrap uses scores divided by ``maximum``."""
        order = sorted(scores)
        problems = [self.problems[identity] for identity in order]
        interval = bootstrap_mean(
            [scores[identity] / maximum for identity in order],
            seed=self.seed,
            clusters=None if self.released else [problem.cluster for problem in problems],
            overlap_groups=None if self.released else [problem.overlap_group for problem in problems],
            method="percentile" if self.released else "bca",
            resamples=resamples,
        )
        return ReportedNumber.from_interval(interval, math.fsum(scores.values()) / len(scores), len(scores), maximum)

    def parts(
        self, scores: Mapping[str, float], names: Sequence[str]
    ) -> list[tuple[tuple[str, ...], dict[str, float]]]:
        """Return the scores by the values of some labels, sorted; problems without one of them are skipped."""
        parts: dict[tuple[str, ...], dict[str, float]] = defaultdict(dict)
        for identity, score in scores.items():
            problem = self.problems[identity]
            if all(name in problem.labels for name in names):
                parts[tuple(problem.label(name) for name in names)][identity] = score
        return sorted(parts.items())

    def by_label(self, scores: Mapping[str, float], name: str, maximum: float) -> dict[str, ReportedNumber]:
        """Return the mean over the instances with each value of a label."""
        parts = self.parts(scores, (name,))
        return {label: self.estimate(part, maximum) for (label,), part in parts}


def judge_counts(rows: Sequence[Judgement]) -> dict[str, Any]:
    """Return the numbers of a judge's judgements (all, unreadable, retried), and their cost."""
    costs = [row.cost for row in rows if row.cost is not None]
    return {
        "judgements": len(rows),
        "unreadable": sum(not row.values for row in rows),
        "tried_again": sum(row.attempts > 1 for row in rows),
        "cost": math.fsum(costs) if costs else None,
    }


def judge_human_agreement(
    rows: Sequence[HumanRating], judges: Mapping[str, Mapping[TextKey, float]]
) -> Iterator[JudgeHumanAgreement]:
    """Yield the agreement of each judge with people; judges with fewer than three common texts are skipped."""
    for title, judged in judges.items():
        by_text: dict[TextKey, dict[str, float]] = defaultdict(dict)
        by_person: dict[str, dict[TextKey, float]] = defaultdict(dict)
        for row in rows:
            text = (row.problem_id, row.answer)
            if row.total is not None and text in judged:
                by_text[text][row.rater] = by_person[row.rater][text] = row.total
        if len(by_text) < MINIMUM_ITEMS:
            continue
        texts = sorted(by_text)
        people = [math.fsum(by_text[text].values()) / len(by_text[text]) for text in texts]
        judge = [judged[text] for text in texts]
        spearman = item_estimate(spearman_statistic(judge, people))
        replacement = replacement_test({text: judged[text] for text in texts}, by_person)
        yield JudgeHumanAgreement(
            judge=title, texts=len(texts), raters=len(by_person), pearson=pearson_statistic(judge, people).estimate,
            spearman=spearman.value, mean_difference=mean_difference_statistic(judge, people).estimate or 0.0,
            alpha=alpha_of_people(by_text),
            spearman_interval=None if spearman.low is None or spearman.high is None else (spearman.low, spearman.high),
            simulated=any(row.simulated for row in rows), winning_rate=replacement.winning_rate,
            passes=replacement.passes, reason=replacement.reason,
        )  # fmt: skip


def judge_numbers(
    key: JudgeKey,
    title: str,
    judgements: Sequence[Judgement],
    texts: Mapping[TextKey, TextScores],
    controls: Mapping[str, Mapping[str, str]],
    missing: int,
    maximum: float,
) -> JudgeNumbers:
    """Return the numbers of one judge of texts at carets, with its ratings of ``controls``, by problem and name."""
    rows = [row for row in judgements if (row.judge, row.parameters) == key]
    answers = {problem: {name: answer_key(text) for name, text in named.items()} for problem, named in controls.items()}
    totals = control_totals(answers, {text: scores.total for text, scores in texts.items()})
    reference = totals["reference"]
    verdict = _acceptance(totals, maximum) if controls else None
    numbers = {
        name: ControlNumbers(
            mean=math.fsum(values) / len(values),
            separation=separation(reference, values) if name != "reference" else None,
            reference_above=_above(reference, values) if name != "reference" else None,
        )
        for name, values in totals.items()
        if values
    }
    return JudgeNumbers(
        judge=key[0],
        parameters=key[1],
        title=title,
        texts=len(texts),
        **judge_counts(rows),
        missing=missing,
        repeat_deviation=repeat_spread(texts),
        control_problems=len(reference),
        controls=numbers,
        in_order=controls_in_order({name: numbers[name].mean for name in CONTROLS}) if numbers else None,
        state=verdict.state if verdict else None,
        reason=verdict.reason if verdict else "",
    )


def _acceptance(totals: Mapping[str, Sequence[float]], maximum: float) -> Acceptance:
    """Return the verdict on a judge by the rule for answers; the doubled reference is neither right nor wrong."""
    ratings = {
        name: ControlRating(
            mean=math.fsum(totals[name]) / len(totals[name]),
            problems=len(totals[name]),
            right=sum(is_control_correct(name, total, maximum, bad=False) for total in totals[name])
            / len(totals[name]),
        )
        for name in _DECIDING
        if totals[name]
    }
    return acceptance_of(Calibration(ratings, unjudged=0), _DECIDING)


def _above(reference: Sequence[float], control: Sequence[float]) -> float:
    wins = [(a > b) + (a == b) / 2 for a, b in zip(reference, control, strict=True)]
    return math.fsum(wins) / len(wins)
