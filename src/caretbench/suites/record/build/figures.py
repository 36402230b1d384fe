"""Figures of an edition: yields of its projects, and the smallest difference between models that it can show."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from statistics import NormalDist
from typing import Final

from caretbench.suites.record.edition import Edition, RecordTask
from caretbench.suites.suite_types import Table

_POWER, _LEVEL = 0.8, 0.05
_MODELS: Final = 9
_SPREADS: Final = (0.30, 0.40)
"""Standard deviations of a paired difference between near models: .23 to .37 in DevBench, .40 in SWE-bench."""
_CLUSTER_CORRELATION: Final = 0.02
"""Of paired differences within a project; .017 to .019 were measured on four models of SWE-bench."""


def smallest_difference(tasks: Sequence[RecordTask], spread: float, pairs: int) -> float:
    """Return the smallest difference of pass rates that is shown with a power of 80 % at 5 % over all pairs.

    Problems of one overlap group count as one. The level is shared out over the pairs (Bonferroni), a little more than
    the test of a comparison needs.
    """
    groups = Counter(task.project for task in {task.group: task for task in tasks}.values())
    number = groups.total()
    inflation = 1 + (sum(size * size for size in groups.values()) / number - 1) * _CLUSTER_CORRELATION
    normal = NormalDist()
    quantiles = normal.inv_cdf(1 - _LEVEL / (2 * pairs)) + normal.inv_cdf(_POWER)
    return quantiles * spread * math.sqrt(inflation / number)


def edition_tables(edition: Edition) -> tuple[Table, Table]:
    """Return the yield of each project, and the power of the edition."""
    tasks = [task for task in edition.tasks if not task.renamed and not task.scale]
    counts = Counter(task.project for task in tasks)
    renamed = Counter(task.project for task in edition.tasks if task.renamed)
    instructed = Counter(task.project for task in edition.tasks if task.scale)
    groups = Counter(project for project, _ in {(task.project, task.group) for task in tasks})
    rows = tuple(
        (
            name, project.language, project.licence, project.date, str(counts[name]), str(groups[name]),
            str(renamed[name]), str(instructed[name]),
            ", ".join(f"{count} {verdict}" for verdict, count in project.verdicts.items()) or project.reason,
        )
        for name, project in edition.projects.items()
    )  # fmt: skip
    heads = (
        "project", "language", "licence", "release", "problems", "groups", "renamed", "instructed",
        "spans, or the reason",
    )  # fmt: skip
    others = f"{renamed.total()} siblings, {instructed.total()} with an instruction"
    title = f"{edition.name}: {len(tasks)} problems in {groups.total()} overlap groups, {others}"
    return Table("projects", title, heads, rows), _power(tasks)


def _power(tasks: Sequence[RecordTask]) -> Table:
    pairs = _MODELS * (_MODELS - 1) // 2
    rows = tuple(
        (f"{spread:.2f}", *(f"{100 * smallest_difference(tasks, spread, number):.1f}" for number in (1, pairs)))
        for spread in _SPREADS
    )
    return Table(
        "power",
        "Smallest difference that is shown, in points of the pass rate (power 80 %, level 5 %)",
        ("standard deviation of a difference", "one pair", f"among {_MODELS} models"),
        rows,
        ("Problems of one overlap group count as one.",),
    )
