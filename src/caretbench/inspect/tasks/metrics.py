"""Inspect metric that returns all numbers of an evaluation as one mapping, from the scores of all samples.

It is ``unreduced``, so that Inspect's reducers (pass_at_5 of a similarity means nothing) never touch it, and one
metric, since of two with one name Inspect silently keeps the first.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

from inspect_ai.scorer import Metric, SampleScore, Value, metric

from caretbench.metrics.passk import coverage, pass_rates
from caretbench.profiles import PROFILES, rules_of

PASSED = "passed"
VERDICT = "verdict"
"""1 with a verdict, 0 without one that should be there, NaN where the problem has no part."""


@metric(name="numbers", scores="unreduced")
def numbers() -> Metric:
    """Return pass@k for every k up to the number of samples, coverage, and mean similarities, over problems."""

    def compute(scores: list[SampleScore]) -> Value:
        by_problem: dict[str, list[Mapping[str, float]]] = defaultdict(list)
        rules, any_match = rules_of(PROFILES[-1]), False
        for entry in scores:
            value = entry.score.value
            if isinstance(value, Mapping):
                by_problem[str(entry.sample_id)].append({name: _number(part) for name, part in value.items()})
                said = entry.score.metadata or {}
                if said.get("profile") in PROFILES:
                    rules = rules_of(said["profile"])
                any_match = any_match or bool(said.get("first_lines"))
        rows = list(by_problem.values())
        rates = _pass_rates(rows, any_of_fewer=rules.any_of_fewer)
        return dict(rates) | dict(_coverage(rows)) | dict(_means(rows, any_match=any_match))

    return compute


def _number(part: object) -> float:
    return float(part) if isinstance(part, int | float) else math.nan


def _known(rows: Sequence[Mapping[str, float]], name: str) -> list[float]:
    return [row[name] for row in rows if not math.isnan(row.get(name, math.nan))]


def _pass_rates(
    problems: Sequence[Sequence[Mapping[str, float]]], *, any_of_fewer: bool
) -> Iterator[tuple[str, float]]:
    verdicts = [_known(rows, PASSED) for rows in problems]
    counts = [(len(known), int(sum(known))) for known in verdicts]
    for k, rates in pass_rates(counts, any_of_fewer=any_of_fewer).items():
        yield f"pass@{k}", _mean([rate for rate in rates if rate is not None])


def _coverage(problems: Sequence[Sequence[Mapping[str, float]]]) -> Iterator[tuple[str, float]]:
    there = [value for rows in problems for value in _known(rows, VERDICT)]
    if (share := coverage(int(sum(there)), len(there))) is not None:
        yield "coverage", share
    if problems:
        yield "left_out", float(sum(not _known(rows, VERDICT) for rows in problems))


def _means(problems: Sequence[Sequence[Mapping[str, float]]], *, any_match: bool) -> Iterator[tuple[str, float]]:
    """Return means over problems of the mean over samples; with ``any_match`` a line matches if any sample's does."""
    names = dict.fromkeys(name for rows in problems for row in rows for name in row)
    for name in names:
        if name in (PASSED, VERDICT):
            continue
        any_of = any_match and name.endswith("match")
        fold: Callable[[list[float]], float] = max if any_of else _mean
        folded = [fold(known) for rows in problems if (known := _known(rows, name))]
        if folded:
            yield f"{name}_any" if any_of else name, _mean(folded)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
