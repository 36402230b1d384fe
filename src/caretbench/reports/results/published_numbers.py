"""Published numbers of the papers' tables, and the names that a paper uses for models, metrics, labels and tables."""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

from caretbench.reports.estimates import ReportValue
from caretbench.suites import load_suite as find_suite
from caretbench.suites import suite_names

WHOLE = "all"
"""Label of a number over all problems."""


class PublishedNumber(ReportValue):
    """One number of a paper's table. ``printed`` is its text; ``scale`` is the divisor to our unit (percent: 100)."""

    table: str
    model: str
    stratum: str
    label: str
    metric: str
    printed: str
    scale: float
    low: float | None = None
    high: float | None = None
    """Bounds of the printed interval, in our unit."""

    @property
    def value(self) -> float:
        """Printed number in our unit: rates run from 0 to 1."""
        return float(self.printed) / self.scale

    @property
    def half_unit(self) -> float:
        """Half a unit of the last printed digit: the rounding error, in our unit."""
        return 0.5 * 10.0 ** -len(self.printed.partition(".")[2]) / self.scale


@cache
def published_names(suite: str) -> Mapping[str, Any]:
    """Return the names that a suite's paper uses for models, metrics and labels; empty without published numbers."""
    entry = tomllib.loads(_folder(suite).joinpath("names.toml").read_text("utf-8")).get(suite, {})
    return entry if isinstance(entry, Mapping) else {}


def printed_models(suite: str) -> Mapping[str, str]:
    """Return the printed names of models by our names in lower case."""
    return {name.lower(): printed for name, printed in published_names(suite).get("models", {}).items()}


def same_label(suite: str, stratum: str, ours: str, printed: str) -> bool:
    """Return whether a label of ours is the printed one."""
    names = published_names(suite).get("labels", {}).get(stratum, {})
    return bool(names.get(ours, ours).lower() == printed.lower())


def published_file(suite: str) -> Traversable:
    """Return the file with the published numbers of a suite; it may be missing."""
    return _folder(suite).joinpath(f"{suite}.csv")


@cache
def published_numbers(suite: str) -> tuple[PublishedNumber, ...]:
    """Return all published numbers of a suite that are for one model and at most one stratum, in printed order."""
    names = published_names(suite)
    metrics, captions = names.get("metrics", {}), names.get("tables", {})
    file = published_file(suite)
    if not metrics or not file.is_file():
        return ()
    cells = []
    for row in csv.DictReader(file.read_text("utf-8").splitlines()):
        if not row["model"] or row["metric"] not in metrics or row["suite"] != suite:
            continue
        stratum, _, label = row["subset"].partition("=")
        title = row["table"].replace("_", " ").capitalize()
        cells.append(
            PublishedNumber(
                table=": ".join(filter(None, (title, captions.get(row["table"])))),
                model=row["model"],
                stratum=stratum,
                label=label,
                metric=metrics[row["metric"]],
                printed=row["value"],
                scale=100.0 if row["unit"] == "percent" else 1.0,
                low=_bound(row, "ci_low"),
                high=_bound(row, "ci_high"),
            )
        )
    return tuple(cells)


def _bound(row: Mapping[str, str], name: str) -> float | None:
    scale = 100.0 if row["unit"] == "percent" else 1.0
    return float(row[name]) / scale if row[name] else None


def _folder(name: str) -> Traversable:
    own = find_suite(name).published_folder if name in suite_names() else None
    return own or resources.files("caretbench.reports").joinpath("published")
