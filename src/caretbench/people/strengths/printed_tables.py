"""Printed tables of a paper as numbers by model, part and metric, with places and unpaired tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from caretbench.errors import DataError
from caretbench.metrics.paired import Comparison
from caretbench.people.study_statistics.unpaired import KnownRate, against_mean, unpaired
from caretbench.reports.results.published_numbers import (
    WHOLE,
    PublishedNumber,
    printed_models,
    published_names,
    published_numbers,
)

SUITE = "devbench"
PASSES = "pass@1"
COSINE = "cosine_first_line"
FIRST_LINE = "line0_any"

RATES = (PASSES, FIRST_LINE)
"""Metrics that are shares of problems, whose spread follows from the number of problems."""

Part = tuple[str, str]
"""Label and its printed value."""

ALL: Part = ("category", WHOLE)


class PrintedTables:
    """Printed numbers of a suite's paper."""

    def __init__(self, suite: str = SUITE) -> None:
        self.suite = suite
        self._cells: dict[tuple[str, str, str], dict[str, PublishedNumber]] = {}
        for number in published_numbers(suite):
            self._cells.setdefault((number.metric, number.stratum, number.label), {})[number.model] = number

    def cells(self, metric: str, part: Part) -> Mapping[str, PublishedNumber]:
        """Return the printed numbers of a part by model."""
        return self._cells.get((metric, *part), {})

    def parts(self, metric: str = PASSES) -> Iterator[Part]:
        """Yield the parts with printed numbers, without the whole."""
        return ((stratum, label) for name, stratum, label in self._cells if name == metric and label != WHOLE)

    def models(self) -> list[str]:
        """Return the printed names of the models."""
        return list(self.cells(PASSES, ALL))

    def model(self, name: str) -> str:
        """Return the printed name of a model, by that name or by ours.

        Raises:
            DataError: the tables have no such model.
        """
        known = {model.lower(): model for model in self.models()} | dict(printed_models(self.suite))
        if name.lower() not in known:
            raise DataError(f"--strengths {name!r}: the printed tables have no such model; {', '.join(self.models())}")
        return known[name.lower()]

    def place(self, model: str, metric: str, part: Part) -> int:
        """Return the place of a model: one more than the number of models with a greater printed number."""
        cells = self.cells(metric, part)
        return 1 + sum(cell.value > cells[model].value for cell in cells.values())

    def level(self, model: str, metric: str, part: Part) -> tuple[str, ...]:
        """Return the other models with the same printed number."""
        cells = self.cells(metric, part)
        return tuple(other for other, cell in cells.items() if other != model and cell.value == cells[model].value)

    def known_rate(self, model: str, metric: str, part: Part) -> KnownRate:
        """Return a printed rate with the number of problems that it is over."""
        cell = self.cells(metric, part)[model]
        problems = published_names(self.suite)["problems"]
        number = problems[WHOLE] if part[1] == WHOLE else problems[part[0]]
        return KnownRate(cell.value, int(number), cell.half_unit)

    def pair_test(self, first: str, second: str, metric: str, part: Part) -> Comparison | None:
        """Return the second model's rate minus the first's; None for metrics without a known spread."""
        if metric not in RATES:
            return None
        return unpaired(self.known_rate(first, metric, part), self.known_rate(second, metric, part))

    def field_test(self, model: str, metric: str, part: Part) -> Comparison | None:
        """Return a model's rate minus the mean of all others; None for metrics without a known spread."""
        if metric not in RATES:
            return None
        others = [self.known_rate(other, metric, part) for other in self.cells(metric, part) if other != model]
        return against_mean(self.known_rate(model, metric, part), others)

    def means(self, metric: str, label: str) -> dict[Part, float]:
        """Return the mean over models of the parts of a label, the greatest first."""
        parts = [part for part in self.parts(metric) if part[0] == label]
        found = {
            part: sum(cell.value for cell in cells.values()) / len(cells)
            for part in parts
            if (cells := self.cells(metric, part))
        }
        return dict(sorted(found.items(), key=lambda entry: -entry[1]))

    def below_others(self, part: Part, metric: str = PASSES) -> dict[str, float]:
        """Return for each model the share by which a part is below the mean of the other parts of its label."""
        others = [other for other in self.parts(metric) if other[0] == part[0] and other != part]
        found = {}
        for model, cell in self.cells(metric, part).items():
            mean = sum(self.cells(metric, other)[model].value for other in others) / len(others)
            found[model] = 1 - cell.value / mean
        return found


@cache
def printed_tables(suite: str = SUITE) -> PrintedTables:
    """Return the printed tables of a suite's paper."""
    return PrintedTables(suite)
