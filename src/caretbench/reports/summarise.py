"""The summary of a run: the fields that its sections compute, their warnings and notes."""

from __future__ import annotations

from typing import Any

from caretbench.reports.frame import Run
from caretbench.reports.notes import older_gate
from caretbench.reports.sections.registry import SECTIONS, in_text
from caretbench.reports.source import Source
from caretbench.reports.summary import Summary
from caretbench.suites.base import Suite
from caretbench.suites.values import ORDINARY, Stratification


def summarise(
    run: Run,
    stratification: Stratification = ORDINARY,
    suite: Suite | None = None,
) -> Summary:
    """Return the numbers of a run.

    Args:
        run: The run. Problems without any row lower the coverage; the manifest's ``seed`` seeds the bootstrap, its
            ``left_out`` names problems by cause.
        stratification: By which labels, and by which of them at once.
        suite: The run's suite, for its own tables and the text that judges saw; None where it is not here.
    """
    source = Source(run, stratification, suite)
    fields: dict[str, Any] = {}
    for section in SECTIONS:
        fields |= section.compute(source)
    name = run.manifest.get("suite") or (run.problems[0].suite if run.problems else "")
    summary = Summary(
        suite=str(name),
        run=run.name,
        seed=source.seed,
        problems=len(run.problems),
        manifest=dict(run.manifest),
        **fields,
    )
    sections = in_text(published=False)
    return summary.model_copy(
        update={
            "warnings": tuple(text for section in sections for text in section.warnings(summary)),
            "notes": (*older_gate(run), *(text for section in sections for text in section.notes(summary))),
        }
    )
