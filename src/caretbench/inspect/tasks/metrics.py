"""The metric: one mapping of all numbers, from the scores of every sample as they are.

It is ``unreduced``, so that Inspect's reducers (pass_at_5 of a similarity means nothing) never touch it, and one
metric, since of two with one name Inspect silently keeps the first.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

from inspect_ai.scorer import Metric, SampleScore, Value, metric

from caretbench.metrics.passk import pass_at_k

PASSED = "passed"
VERDICT = "verdict"
"""1 with a verdict, 0 without one that should be there, NaN where the problem has no part."""


@metric(name="numbers", scores="unreduced")
def numbers() -> Metric:
    """pass@k for every k up to the number of samples, coverage, and the mean of every similarity, over problems."""

    def compute(scores: list[SampleScore]) -> Value:
        by_problem: dict[str, list[Mapping[str, float]]] = defaultdict(list)
        paper = False
        for entry in scores:
            value = entry.score.value
            if isinstance(value, Mapping):
                by_problem[str(entry.sample_id)].append({name: _number(part) for name, part in value.items()})
                paper = paper or (entry.score.metadata or {}).get("profile") == "paper"
        rows = list(by_problem.values())
        return dict(_pass_rates(rows, paper=paper)) | dict(_coverage(rows)) | dict(_means(rows, paper=paper))

    return compute


def _number(part: object) -> float:
    return float(part) if isinstance(part, int | float) else math.nan


def _known(rows: Sequence[Mapping[str, float]], name: str) -> list[float]:
    return [row[name] for row in rows if not math.isnan(row.get(name, math.nan))]


def _pass_rates(
    problems: Sequence[Sequence[Mapping[str, float]]], *, paper: bool
) -> Iterator[tuple[str, float]]:
    """As the report takes them: over the problems with k verdicts; under ``paper`` over all with any."""
    verdicts = [known for rows in problems if (known := _known(rows, PASSED))]
    for k in range(1, max(map(len, verdicts), default=0) + 1):
        enough = [known for known in verdicts if paper or len(known) >= k]
        rates = [pass_at_k(len(known), int(sum(known)), k, any_of_fewer=paper) for known in enough]
        yield f"pass@{k}", math.fsum(rates) / len(rates)


def _coverage(problems: Sequence[Sequence[Mapping[str, float]]]) -> Iterator[tuple[str, float]]:
    there = [value for rows in problems for value in _known(rows, VERDICT)]
    if there:
        yield "coverage", math.fsum(there) / len(there)
    if problems:
        yield "left_out", float(sum(not _known(rows, VERDICT) for rows in problems))


def _means(problems: Sequence[Sequence[Mapping[str, float]]], *, paper: bool) -> Iterator[tuple[str, float]]:
    """Means over problems of the mean over samples; under ``paper`` a line matches if any sample's does."""
    names = dict.fromkeys(name for rows in problems for row in rows for name in row)
    for name in names:
        if name in (PASSED, VERDICT):
            continue
        any_of = paper and name.endswith("match")
        fold: Callable[[list[float]], float] = max if any_of else _mean
        folded = [fold(known) for rows in problems if (known := _known(rows, name))]
        if folded:
            yield f"{name}_any" if any_of else name, _mean(folded)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
