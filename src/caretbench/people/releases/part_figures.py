"""Figures of the problems of one part of a set: cells, labels, scenarios, sizes and checks."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from statistics import fmean
from typing import Final

from caretbench.metrics.code_statistics import problem_statistics
from caretbench.metrics.complexity import paper_statistics
from caretbench.people.releases.built_set import BuiltSet, cell_of, sorted_counts
from caretbench.problem import Caret, Problem, Row
from caretbench.suites.devbench.build.instance_rules.instance_checks import PASSED
from caretbench.suites.devbench.built_instances import BuiltInstance
from caretbench.syntax.caret_boundary import caret_boundary

ALL: Final = "all"
FAULT: Final = "fault"
_COMPOSITION: Final = ("mode", "direction", "kind", "band", "origin")
_REQUESTED: Final = ("kind", "domain", "language_construct", "band", "documentation", "mode", "boundary")
_MOST_VALUES: Final = 60
"""Number of distinct values above which a field of scenarios is not broken down."""


class SizeFigures(Row):
    """Means over problems, as the paper's Table 4: lines, tokens, and cyclomatic complexity."""

    problems: int
    prefix_lines: float
    completion_lines: float
    total_lines: float
    prefix_tokens: float
    completion_tokens: float
    cyclomatic: float


class PartFigures(Row):
    """Figures of the problems of one part.

    ``sizes`` counts by the syntax of the language, ``sizes_paper`` as the script behind the paper's Table 4; both by
    language, with ``all``. ``composition`` counts labels of the problems, ``requested`` what their scenarios asked for.
    ``checks`` counts results by check, ``private_texts`` the problems with a name or an address of a person, ``marked``
    the source files with the canary (None: problems are rows). ``created`` are the first and the last date of the rows.
    """

    problems: int
    without_row: int
    cells: Mapping[str, int]
    composition: Mapping[str, Mapping[str, int]]
    requested: Mapping[str, Mapping[str, int]]
    siblings: int
    sizes: Mapping[str, SizeFigures]
    sizes_paper: Mapping[str, SizeFigures]
    checks: Mapping[str, Mapping[str, int]]
    private_texts: int
    marked: int | None
    created: tuple[str, str] | None


def part_figures(
    built: BuiltSet, problems: Sequence[Problem], marked: int | None, private: Collection[str]
) -> PartFigures:
    """Return the figures of some problems of a set; ``private`` are the ids of those with private texts."""
    rows = [row for one in problems if (row := built.row(one)) is not None]
    known = {row.id for row in rows}
    dates = sorted(row.created for row in rows)
    checks: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        for name, result in row.checks.items():
            checks[name][PASSED if result == PASSED else FAULT] += 1
    return PartFigures(
        problems=len(problems),
        without_row=len(problems) - len(rows),
        cells=sorted_counts(map(cell_of, problems)),
        composition=_composition(problems),
        requested=_requested(rows),
        siblings=sum(row.sibling in known for row in rows if row.sibling),
        sizes=_sizes(problems, as_released=False),
        sizes_paper=_sizes(problems, as_released=True),
        checks={name: dict(sorted(counts.items())) for name, counts in sorted(checks.items())},
        private_texts=sum(one.id in private for one in problems),
        marked=marked,
        created=(dates[0], dates[-1]) if dates else None,
    )


def _composition(problems: Sequence[Problem]) -> dict[str, dict[str, int]]:
    """Return the counts of the labels of problems, and of the boundaries of their carets."""
    found = {name: [one.label(name) for one in problems if name in one.labels] for name in _COMPOSITION}
    found["boundary"] = [
        caret_boundary(caret.prefix, one.reference, caret.suffix)
        for one in problems
        if isinstance(caret := one.shown, Caret)
    ]
    return {name: sorted_counts(values) for name, values in found.items() if values}


def _requested(rows: Sequence[BuiltInstance]) -> dict[str, dict[str, int]]:
    """Return the counts of the fields of scenarios with few distinct values."""
    counted = {name: sorted_counts(str(getattr(row.scenario, name)) for row in rows) for name in _REQUESTED}
    return {name: counts for name, counts in counted.items() if 0 < len(counts) <= _MOST_VALUES}


def _sizes(problems: Sequence[Problem], *, as_released: bool) -> dict[str, SizeFigures]:
    """Return mean sizes by language, and of all problems; empty if the problems have no caret."""
    count = paper_statistics if as_released else problem_statistics
    counted = [
        (caret.language, count(caret.prefix, one.reference, caret.suffix, one.hidden_tests, caret.language))
        for one in problems
        if isinstance(caret := one.shown, Caret)
    ]
    names = sorted({name for name, _ in counted})
    parts = {name: [found for language, found in counted if language == name] for name in names}
    if counted:
        parts[ALL] = [found for _, found in counted]
    return {
        name: SizeFigures(
            problems=len(found),
            **{field: fmean(getattr(one, field) for one in found) for field in [*SizeFigures.model_fields][1:]},
        )
        for name, found in parts.items()
    }
