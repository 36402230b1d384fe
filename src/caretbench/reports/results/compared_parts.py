"""Parts of the problems for which a paper has numbers, and how much of each a run has: like is compared with like."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping

from caretbench.problem import Problem
from caretbench.reports.estimates import ReportValue
from caretbench.reports.frame import LoadedRun
from caretbench.reports.results.published_numbers import (
    WHOLE,
    printed_models,
    published_names,
    published_numbers,
    same_label,
)


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
    keys = {(row.model, row.parameters) for row in run.completions if row.model.lower() in models}
    parts = dict.fromkeys((number.stratum, number.label) for number in published_numbers(suite))
    return tuple(
        part for key in sorted(keys) for part in _parts_of_model(run, suite, key, parts, samples_of(run, suite, key))
    )


def samples_of(run: LoadedRun, suite: str, key: tuple[str, str]) -> int:
    """Return the number of samples of a problem that the paper has; by default the largest one of this model."""
    stated = published_names(suite).get("samples")
    counts = Counter(row.problem_id for row in run.completions if (row.model, row.parameters) == key)
    return int(stated) if stated else max(counts.values())


def _parts_of_model(
    run: LoadedRun, suite: str, key: tuple[str, str], parts: Collection[tuple[str, str]], samples: int
) -> Iterator[ComparedPart]:
    rows = [row for row in run.completions if (row.model, row.parameters) == key]
    counts = Counter(row.problem_id for row in rows)
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
            expected=_expected(run, suite, stratum, label, len(held)),
            samples=samples,
        )


def _is_part(problem: Problem, suite: str, stratum: str, label: str) -> bool:
    value = problem.labels.get(stratum)
    values = value if isinstance(value, list) else [value]
    return label == WHOLE or any(same_label(suite, stratum, str(one), label) for one in values)


def _expected(run: LoadedRun, suite: str, stratum: str, label: str, held: int) -> int | None:
    """Return the size of a part in the paper's data; where it is not stated, the run must have all of its data."""
    sizes: Mapping[str, int] = published_names(suite).get("problems", {})
    if sizes:
        return sizes[WHOLE if label == WHOLE else stratum]
    data = run.manifest.get("data") or {}
    return held if data.get("selected") == data.get("problems") else None
