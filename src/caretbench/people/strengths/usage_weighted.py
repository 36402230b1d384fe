"""Usage-weighted means of a run: pass@1 by the shares of a file of weights."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl

from caretbench.errors import DataError, UsageError
from caretbench.languages import get_language
from caretbench.metrics.intervals import mean_interval
from caretbench.metrics.weighted import weighted_mean
from caretbench.problem import Problem
from caretbench.reports.frame import LoadedRun
from caretbench.reports.results.problem_lists import lead_note, leading_in
from caretbench.reports.summary import ModelResults, SuiteTable, Summary
from caretbench.suites.usage_weights import Weights

_TABLES: Final = ("block", "scenario", "language", "category")
"""Tables of weights that are named like a label of problems. Cuts divide one scenario, and lines are factors."""

# NUL is in no label.
_BETWEEN: Final = "\0"
"""Text between the labels of a group."""


def with_usage_table(run: LoadedRun, summary: Summary, weights: Weights) -> Summary:
    """Return the summary with a table of pass@1 by usage, next to the suite's own tables.

    Raises:
        DataError: the problems have no label that the weights have shares of.
    """
    shares = _shares(run.problems, weights)
    groups = {problem.id: _group(problem, shares) for problem in run.problems}
    cells = {group: _weight(group, shares) for group in groups.values() if group is not None}
    rows = [
        _row(run, summary, column, groups, cells) for column in summary.columns if column.leading_of(column.overall)
    ]
    rules = dict.fromkeys(lead_note(column.needed_rule) for column in summary.columns if column.needed_lead)
    notes = (
        f"Weights {weights.name}: {weights.source}. Used: {', '.join(shares)}; shares of several are multiplied. "
        f"Groups without problems are omitted: {_omitted(run.problems, _tables(weights), shares)}.",
        *rules,
    )
    table = SuiteTable(
        name="usage_weights",
        title=f"Pass@1 by usage ({weights.name})",
        columns=("Model", "By usage", "All problems alike", "Problems with a weight", "Policy", "Profile"),
        rows=tuple(rows),
        notes=notes,
    )
    return summary.model_copy(update={"suite_tables": (*summary.suite_tables, table)})


def _shares(problems: Sequence[Problem], weights: Weights) -> dict[str, Mapping[str, float]]:
    """Return the tables of weights, by label, that the problems have labels for."""
    tables = _tables(weights)
    labels = [_labels(problem) for problem in problems]
    shares = {
        name: tables[name]
        # A table whose shares are all of values that no problem has would give every problem the weight 0.
        for name in _TABLES
        if any(tables[name].get(of_problem[name], 0.0) > 0 for of_problem in labels if name in of_problem)
    }
    if not any(_weight(group, shares) for problem in problems if (group := _group(problem, shares))):
        names = ", ".join(sorted({name for of_problem in labels for name in of_problem})) or "none"
        raise DataError(
            f"--weights {weights.name}: no problem of this run has labels with a share of these weights (labels: "
            f"{names}); they need a table of one of them"
        )
    return shares


def _tables(weights: Weights) -> dict[str, Mapping[str, float]]:
    """Return the tables of shares by label; those of several names of one language are added."""
    tables: dict[str, Mapping[str, float]] = weights.model_dump(by_alias=True, include={*_TABLES})
    languages: dict[str, float] = {}
    for name, share in weights.language.items():
        # Editors name one language in several ways: the shares of its aliases add up.
        languages[_language(name)] = languages.get(_language(name), 0.0) + share
    return tables | {"language": languages}


def _labels(problem: Problem) -> dict[str, str]:
    labels = {name: problem.label(name) for name in problem.labels if not isinstance(problem.labels[name], float)}
    if "language" in labels:
        labels["language"] = _language(labels["language"])
    return labels


def _language(name: str) -> str:
    """Return a language's own name; a name that is not known stays."""
    try:
        return get_language(name).name
    except UsageError:
        return name


def _group(problem: Problem, shares: Mapping[str, Mapping[str, float]]) -> str | None:
    labels = _labels(problem)
    # A problem without one of the labels has no share, and must not get that of another group.
    if not shares or any(name not in labels for name in shares):
        return None
    return _BETWEEN.join(labels[name] for name in shares)


def _weight(group: str, shares: Mapping[str, Mapping[str, float]]) -> float:
    values = zip(group.split(_BETWEEN), shares.values(), strict=True)
    # Tables are marginal: without their joint counts, shares multiply as if they were independent.
    return math.prod(of_label.get(value, 0.0) / math.fsum(of_label.values()) for value, of_label in values)


def _omitted(
    problems: Sequence[Problem], tables: Mapping[str, Mapping[str, float]], used: Mapping[str, Mapping[str, float]]
) -> str:
    """Return the share of usage in each table that no problem has, with its names, the greatest first.

    A table without any of them is not used; it is named if the problems have its label.
    """
    parts = []
    for name, of_label in tables.items():
        there = {label for problem in problems if (label := _labels(problem).get(name)) is not None}
        missing = {key: value for key, value in of_label.items() if value and key not in there}
        # Usage without a problem is named, since the mean is not about it.
        if missing and (name in used or there):
            share = math.fsum(missing.values()) / math.fsum(of_label.values())
            parts.append(f"{share:.1%} of {name} ({', '.join(sorted(missing, key=lambda key: -missing[key]))})")
    return ", ".join(parts) or "none"


def _row(
    run: LoadedRun, summary: Summary, column: ModelResults, groups: Mapping[str, str | None], cells: Mapping[str, float]
) -> tuple[str, ...]:
    # The same problems as in the column's leading rate, so that both numbers can be compared.
    leading = leading_in(run, column.profile).problems
    mine = run.frame.filter(
        pl.col("passed").is_not_null(),
        model=column.model, parameters=column.parameters, policy=column.policy, profile=column.profile,
    )  # fmt: skip
    means = mine.group_by("problem_id", maintain_order=True).agg(pl.col("passed").cast(pl.Float64).mean())
    values = {name: value for name, value in means.iter_rows() if name in leading}
    by_id = {problem.id: problem for problem in run.problems}
    chosen = [name for name in values if name in by_id]
    numbers = [values[name] for name in chosen]
    clusters = [by_id[name].cluster for name in chosen]
    overlaps = [by_id[name].overlap_group for name in chosen]
    weighted = weighted_mean(
        numbers, [groups[name] for name in chosen], cells, seed=summary.seed, clusters=clusters, overlap_groups=overlaps
    )
    plain = mean_interval(numbers, seed=summary.seed, clusters=clusters, overlap_groups=overlaps)
    return (
        column.title,
        "–" if weighted is None else _percent(weighted.value, weighted.interval.low, weighted.interval.high),
        _percent(math.fsum(numbers) / len(numbers), plain.low, plain.high),
        "0" if weighted is None else str(weighted.problems),
        column.policy,
        column.profile,
    )


def _percent(value: float, low: float, high: float) -> str:
    # NaN and constant samples have no interval.
    note = f"\n{100 * low:.1f} to {100 * high:.1f}" if math.isfinite(low) and low < high else ""
    return f"{100 * value:.1f}{note}"
