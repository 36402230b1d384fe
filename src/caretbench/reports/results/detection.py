"""Number of problems that find a difference between two models, before a run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import combinations, islice
from pathlib import Path
from statistics import median
from typing import NamedTuple

from caretbench.errors import DataError
from caretbench.metrics.intervals import units_of
from caretbench.metrics.paired import is_decidable
from caretbench.metrics.power import SPREAD, planned_problems, power_of
from caretbench.reports.frame import LoadedRun, load_run
from caretbench.reports.results.paired_models import model_rates, paired_tests
from caretbench.reports.results.run_settings import IncomparableError
from caretbench.runs.plans.suite_settings import ResolvedSuite
from caretbench.runs.run_folder import RunFolder
from caretbench.runs.runner import group_sizes, stored_manifest
from caretbench.runs.verdict import has_verdicts
from caretbench.text_tables import counted

_MAX_PAIRS = 10
"""Number of pairs of a stored run whose power is computed: 0.3 s each over clusters."""


class Detection(NamedTuple):
    """Number of problems that find a difference in 8 of 10 comparisons, and what it was computed from.

    ``problems`` is None if all selected problems are too few.
    """

    problems: int | None
    basis: str


def detection_of(resolved: ResolvedSuite, difference: float, stored: Iterable[Path]) -> Detection:
    """Return the number of the selected problems that find a difference between two models.

    By the run in ``stored`` with the most problems of the same data under the same profile and at least two models, as
    the median over its pairs of models: each pair disagrees as it did, and differs by so much. Else by a standard
    deviation of .30 a problem and the data's own groups.

    Args:
        resolved: The selected problems.
        difference: Difference of two rates of passes, greater than 0 and at most 1.
        stored: Folders of runs.
    """
    available = len(resolved.problems)
    for run in sorted(_same_data(resolved, stored), key=lambda run: -len(run.problems)):
        if needed := list(islice(_needed(run, difference), _MAX_PAIRS)):
            problems = round(median(needed))
            basis = f"the rate of disagreement in {run.name}, {counted(len(needed), 'pair')} of models"
            return Detection(problems if problems <= available else None, basis)
    # What only a judge decides is drawn, too, and compared by no rate.
    decided = [problem for problem in resolved.problems if has_verdicts(problem)]
    if not decided:
        return Detection(None, "the checks: no problem has any")
    sizes = group_sizes(decided)
    groups = counted(len(sizes), "independent group")
    basis = f"a standard deviation of {SPREAD:.2f} and the data's {groups}: no run of two models on them is stored"
    planned = planned_problems(difference, sizes)
    return Detection(planned and math.ceil(planned * available / len(decided)), basis)


def _same_data(resolved: ResolvedSuite, stored: Iterable[Path]) -> Iterator[LoadedRun]:
    """Yield the readable runs of the same suite, data and profile; what cannot be read is another command's matter."""
    for folder in sorted(stored):
        if stored_manifest(resolved, folder) is None:
            continue
        try:
            run = load_run(folder, RunFolder(folder).problems())
        except DataError:
            continue
        if resolved.profile in run.frame["profile"].to_list():
            yield run


def _needed(run: LoadedRun, difference: float) -> Iterator[int]:
    """Yield for each pair of models the number of problems to draw for such a difference."""
    models = list(model_rates(run))
    # Of the drawn problems those count that need an answer: 2 of 3 where the others pass without one.
    counting = len(set[str]().union(*(model.rates["problem_id"] for model in models))) / len(run.problems)
    for first, second in combinations(models, 2):
        try:
            [test] = paired_tests(first, second)
        except IncomparableError:
            continue
        scores = test.scores
        if is_decidable(units_of(scores.first, scores.clusters, scores.overlap_groups).number):
            yield math.ceil(power_of(scores, difference, seed=0).needed / counting)
