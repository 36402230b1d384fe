"""Published numbers of the papers' tables with the names that papers use, and how much of each part a run has.

Like is compared with like: a number is compared only if the run has all problems and samples that it is about.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

from caretbench.files import read_toml
from caretbench.grouping import grouped
from caretbench.problem import AnyCompletion, Problem
from caretbench.reports.estimates import ReportedNumber, ReportValue
from caretbench.reports.frame import LoadedRun
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
    def estimate(self) -> ReportedNumber:
        """Printed number with its interval."""
        return ReportedNumber(value=self.value, low=self.low, high=self.high, problems=0, method="printed")

    @property
    def half_unit(self) -> float:
        """Half a unit of the last printed digit: the rounding error, in our unit."""
        return 0.5 * 10.0 ** -len(self.printed.partition(".")[2]) / self.scale


@cache
def published_names(suite: str) -> Mapping[str, Any]:
    """Return the names that a suite's paper uses for models, metrics and labels; empty without published numbers."""
    entry = read_toml(_folder(suite) / "names.toml").get(suite, {})
    return entry if isinstance(entry, Mapping) else {}


def printed_models(suite: str) -> Mapping[str, str]:
    """Return the printed names of models by our names in lower case; without a list both are the same."""
    models = published_names(suite).get("models") or {number.model: number.model for number in published_numbers(suite)}
    return {name.lower(): printed for name, printed in models.items()}


def printed_label(suite: str, stratum: str, ours: str) -> str:
    """Return the printed name of a label of ours, in lower case."""
    return str(published_names(suite).get("labels", {}).get(stratum, {}).get(ours, ours)).lower()


def published_rows(suite: str) -> list[dict[str, str]]:
    """Return the rows of the file with the published numbers of a suite; none if it is missing."""
    file = _folder(suite).joinpath(published_names(suite).get("file", f"{suite}.csv"))
    return list(csv.DictReader(file.read_text("utf-8").splitlines())) if file.is_file() else []


@cache
def published_numbers(suite: str) -> tuple[PublishedNumber, ...]:
    """Return all published numbers of a suite that are for one model and at most one stratum, in printed order."""
    names = published_names(suite)
    metrics, captions = names.get("metrics", {}), names.get("tables", {})
    cells = []
    for row in published_rows(suite) if metrics else ():
        if not row["model"] or row["metric"] not in metrics or row["suite"] != names.get("suite", suite):
            continue
        stratum, _, label = row["subset"].partition("=")
        if label in names.get("means_of_parts", ()):
            continue
        stratum = names.get("strata", {}).get(stratum, stratum)
        title = row["table"].replace("_", " ").capitalize()
        scale = 100.0 if row["unit"] == "percent" else 1.0
        low, high = (float(row[name]) / scale if row[name] else None for name in ("ci_low", "ci_high"))
        cells.append(
            PublishedNumber(
                table=": ".join(filter(None, (title, captions.get(row["table"])))),
                model=row["model"],
                stratum=stratum,
                label=label,
                metric=metrics[row["metric"]],
                printed=row["value"],
                scale=scale,
                low=low,
                high=high,
            )
        )
    return tuple(cells)


def _folder(name: str) -> Traversable:
    folder = find_suite(name).published_folder if name in suite_names() else None
    return folder or resources.files("caretbench.reports").joinpath("published")


class ComparedPart(ReportValue):
    """Part of a paper's problems, and the number of ``problems`` that a run has all samples of one model for.

    ``stratum`` and ``label`` are as printed; ``expected`` is the number of problems in the paper's data, None if the
    run is about a selection of other data.
    """

    model: str
    parameters: str
    stratum: str
    label: str
    problems: int
    expected: int | None
    samples: int
    """Number of samples of a problem that the paper has, else the largest in the run."""

    @property
    def is_complete(self) -> bool:
        """Return whether the run has what the paper's number is about."""
        return self.problems == self.expected


def compared_parts(run: LoadedRun, suite: str) -> tuple[ComparedPart, ...]:
    """Return the parts of every model of the run that the paper has numbers for; none without published numbers."""
    models = printed_models(suite)
    by_model = grouped(((row.model, row.parameters), row) for row in run.completions if row.model.lower() in models)
    parts = dict.fromkeys((number.stratum, number.label) for number in published_numbers(suite))
    return tuple(part for key in sorted(by_model) for part in _parts_of_model(run, suite, key, parts, by_model[key]))


def _parts_of_model(
    run: LoadedRun, suite: str, key: tuple[str, str], parts: Collection[tuple[str, str]], rows: Sequence[AnyCompletion]
) -> Iterator[ComparedPart]:
    counts = Counter(row.problem_id for row in rows)
    samples = int(published_names(suite).get("samples") or max(counts.values()))
    # A stored error message stands for all samples of its request.
    complete = {row.problem_id for row in rows if row.error or counts[row.problem_id] == samples}
    for stratum, label in parts:
        held = {problem.id for problem in run.problems if _is_part(problem, suite, stratum, label)}
        yield ComparedPart(
            model=key[0],
            parameters=key[1],
            stratum=stratum,
            label=label,
            problems=len(held & complete),
            expected=_expected_problems(run, suite, stratum, label, len(held)),
            samples=samples,
        )


def _is_part(problem: Problem, suite: str, stratum: str, label: str) -> bool:
    stored = problem.labels.get(stratum)
    values = stored if isinstance(stored, list) else [stored]
    return label == WHOLE or label.lower() in [printed_label(suite, stratum, str(value)) for value in values]


def _expected_problems(run: LoadedRun, suite: str, stratum: str, label: str, held: int) -> int | None:
    """Return the size of a part in the paper's data; where it is not stated, the run must have all of its data."""
    sizes: Mapping[str, int] = published_names(suite).get("problems", {})
    if sizes:
        return sizes[WHOLE if label == WHOLE else stratum]
    data = run.manifest.get("data") or {}
    return held if data.get("selected") == data.get("problems") else None
