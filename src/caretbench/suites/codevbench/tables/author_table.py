"""Pass@1 by who wrote the tests that decide: the project, the user, or a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from caretbench.suites.codevbench.tables.result_rows import ScoredRun, few_source_notes, passed, percent
from caretbench.suites.suite_types import Table

AUTHORS: Final[Mapping[str, str]] = {"project": "The project", "user": "The user", "model": "A model"}
"""Titles by the label ``tests_by``."""


def author_tables(run: ScoredRun) -> Iterator[Table]:
    """Yield the table of a run in which a user or a model wrote tests that decide; else nothing."""
    rows, estimates = [], []
    others = False
    for model in run.models:
        parts = [model.select(tests_by=author) for author in AUTHORS]
        others |= any(part.rows for part in parts[1:])
        line = [part.mean(passed) for part in parts]
        estimates += line
        rows.append((model.title, *map(percent, line)))
    if others:
        yield Table(
            f"codevbench-tests-by-{run.suffix}",
            f"Pass@1 by who wrote the tests, {run.about}",
            ("Model", *AUTHORS.values()),
            tuple(rows),
            (
                "Percentages with 95% intervals, resampled by repository. Tests of a model are kept if they fail under "
                "masks and mutants of blocks that no other test reaches; they tell what the code does, not what it "
                "should do.",
                *few_source_notes(estimates),
            ),
        )
