"""Intervals and table layouts of papers, for comparison with their printed numbers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import numpy as np

from caretbench.metrics.intervals import Interval, bootstrap_mean, parametric_bootstrap, wilson
from caretbench.reports.estimates import ReportedNumber, ReportValue
from caretbench.reports.strata import PRESET, stratum_name
from caretbench.suites.suite_types import PaperTable

PARAMETRIC, WILSON, BOOTSTRAP = "parametric", "wilson", "percentile"
"""Methods of intervals: the paper's, Wilson's and the seeded bootstrap's. All three assume independent problems."""


class PrintedRate(ReportValue):
    """A rate and its ±, in percent as a paper prints them, of one model in one of its tables; ``labels`` are ours."""

    table: str
    model: str
    labels: Mapping[str, str]
    value: float
    margin: float | None = None

    @property
    def text(self) -> str:
        """The printed cell."""
        return f"{self.value:.1f}" + ("" if self.margin is None else f" ± {self.margin:.1f}")


class PaperTableLayout(ReportValue):
    """Layout of one table of a paper: title, stratum, whether models are columns, and the printed cells to show."""

    title: str
    stratum: str
    models_as_columns: bool = False
    printed: tuple[PrintedRate, ...] = ()


def paper_table_layouts(
    tables: Sequence[PaperTable],
    strata: Collection[str],
    printed: Callable[[PaperTable], tuple[PrintedRate, ...]] = lambda _table: (),
) -> Iterator[PaperTableLayout]:
    """Yield the layouts of the tables whose stratum a run has, by its name with or without ``@paper``.

    ``printed`` returns the printed cells of a table.
    """
    for table in tables:
        cut = tuple(name.removesuffix(PRESET) for name in table.labels)
        for labels in dict.fromkeys((table.labels, cut)):
            if stratum_name(labels) in strata:
                yield PaperTableLayout(
                    title=table.title,
                    stratum=stratum_name(labels),
                    models_as_columns=table.models_as_columns,
                    printed=printed(table),
                )
                break


def paper_interval_estimates(rate: ReportedNumber, seed: int, *, all_three: bool) -> Mapping[str, ReportedNumber]:
    """Return pass@1 with the intervals of papers, by method: the parametric one, or all three."""
    passes, problems = round(rate.value * rate.problems), rate.problems
    intervals: dict[str, Interval] = {PARAMETRIC: parametric_bootstrap(passes, problems, seed=seed)}
    if all_three:
        intervals[WILSON] = wilson(passes, problems)
        values = np.arange(problems) < passes
        intervals[BOOTSTRAP] = bootstrap_mean(values.astype(np.float64), seed=seed, method="percentile")
    return {
        name: ReportedNumber(value=rate.value, low=interval.low, high=interval.high, problems=problems, method=name)
        for name, interval in intervals.items()
    }
