"""Section of recordings: completions that are there, and those that are missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from caretbench.reports.report_source import ReportSource
from caretbench.reports.results.recordings import (
    blank_warnings,
    incomplete_warnings,
    recordings,
    refusals,
    refused_warnings,
)
from caretbench.reports.section import Line, PagePart, Section, SectionPositions
from caretbench.reports.summary import Summary
from caretbench.reports.tables import ReportTable, share_field, table_of, title_field


class RecordingsSection(Section):
    """Section of the completions of each model; a table only if some are missing."""

    positions = SectionPositions(text=5, page=5, lines=25)
    part = PagePart("recordings", "Recordings", "Incomplete recordings")

    def compute(self, source: ReportSource) -> Mapping[str, Any]:
        """Return the numbers of completions by model; baselines answer only the problems that they fit."""
        run = source.run
        sampled = (row for row in run.completions if row.model not in run.baselines)
        problems = (problem.id for problem in run.problems)
        nothing_due = {problem.id for problem in run.problems if not problem.reference}
        return {"recordings": recordings(sampled, run.missing, problems, refusals(run.frame), nothing_due)}

    def warnings(self, summary: Summary) -> Iterable[str]:
        """Return a warning for each incomplete recording, and for each with null, empty or refused completions."""
        kinds = (incomplete_warnings, blank_warnings, refused_warnings)
        return chain.from_iterable(kind(summary.recordings) for kind in kinds)

    def tables(self, summary: Summary) -> Iterator[ReportTable]:
        """Yield the numbers of completions by model if a recording is incomplete."""
        found = summary.recordings
        if all(entry.complete for entry in found):
            return
        rows = [
            (
                title_field(entry.title, baseline=False),
                entry.problems,
                entry.all_problems,
                entry.samples,
                entry.with_fewer_samples,
                entry.completions,
                entry.expected,
                share_field(entry.completions / entry.expected),
            )
            for entry in found
        ]
        heads = (
            "Model", "Problems", "of", "Samples per problem", "Problems with fewer", "Completions", "Expected",
            "Complete",
        )  # fmt: skip
        yield table_of("Completions by model", heads, rows, "Expected: every sample of the model for every problem.")

    def lines(self, summary: Summary) -> Iterator[Line]:
        """Yield the completions and the expected ones by model."""
        for entry in summary.recordings:
            common = {
                "scope": "recording",
                "model": entry.model,
                "parameters": entry.parameters,
                "problems": entry.problems,
            }
            yield common | {"metric": "completions", "value": entry.completions}
            yield common | {"metric": "expected_completions", "value": entry.expected}
            if entry.refused:
                yield common | {"metric": "refused_completions", "value": entry.refused}
