"""Numbers of a report in the form of a paper: its intervals, and the layouts of its tables."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np

from caretbench.metrics.intervals import Interval, bootstrap_mean, parametric_bootstrap, wilson
from caretbench.reports.estimates import ReportedNumber, ReportValue
from caretbench.reports.strata import PRESET, stratum_name
from caretbench.suites.values import PaperTable

PARAMETRIC, WILSON, BOOTSTRAP = "parametric", "wilson", "percentile"
"""The paper's interval, Wilson's and the seeded bootstrap's: all three take every problem for independent."""


class PaperTableLayout(ReportValue):
    """Form of one table of a paper: its stratum and layout."""

    title: str
    stratum: str
    models_across: bool = False


def paper_table_layouts(wanted: Sequence[PaperTable], there: Collection[str]) -> Iterator[PaperTableLayout]:
    """Yield the forms whose stratum a run has; one already cut for the profile has no ``@paper`` in its name."""
    for table in wanted:
        cut = tuple(name.removesuffix(PRESET) for name in table.labels)
        for labels in dict.fromkeys((table.labels, cut)):
            if stratum_name(labels) in there:
                yield PaperTableLayout(
                    title=table.title, stratum=stratum_name(labels), models_across=table.models_across
                )
                break


def paper_interval_estimates(
    rate: ReportedNumber, seed: int, *, all_three: bool
) -> Mapping[str, ReportedNumber]:
    """Return pass@1 with the intervals that papers print, by method; only the paper's unless all three are wanted."""
    passes, problems = round(rate.value * rate.problems), rate.problems
    found: dict[str, Interval] = {PARAMETRIC: parametric_bootstrap(passes, problems, seed=seed)}
    if all_three:
        found[WILSON] = wilson(passes, problems)
        values = np.arange(problems) < passes
        found[BOOTSTRAP] = bootstrap_mean(values.astype(np.float64), seed=seed, method="percentile")
    return {
        name: ReportedNumber(
            value=rate.value, low=interval.low, high=interval.high, problems=problems, method=name
        )
        for name, interval in found.items()
    }
