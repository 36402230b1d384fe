"""Loading and summary of a run's folder, for reports, comparisons and the API."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from caretbench.errors import UsageError
from caretbench.files import write_atomically
from caretbench.problem import Problem
from caretbench.reports.frame import LoadedRun, load_run
from caretbench.reports.judged.judged_scores import control_failures, coverage_warnings
from caretbench.reports.report_source import ReportSource
from caretbench.reports.section_registry import SECTIONS, text_sections
from caretbench.reports.sections.rates import older_gate_warnings
from caretbench.reports.summary import Summary
from caretbench.runs.judging.ratings import REQUIRED_COVERAGE
from caretbench.runs.run_folder import RunFolder
from caretbench.suites import suite_of_run
from caretbench.suites.base import Suite
from caretbench.suites.suite_types import DEFAULT_STRATIFICATION, Stratification


def load_run_folder(folder: Path) -> LoadedRun:
    """Return the content of a run's folder, with its problems."""
    files = RunFolder(folder)
    files.manifest()
    return load_run(folder, files.problems())


def suite_stratification(name: str) -> Stratification:
    """Return the stratification of the named suite; the default one if the suite is not installed."""
    suite = suite_of_run(name)
    return suite.stratification if suite else DEFAULT_STRATIFICATION


def breakdown_labels(options: Sequence[str] | None, problems: Sequence[Problem]) -> list[tuple[str, ...]]:
    """Return the labels of the options ``--by``, one tuple for each option.

    Raises:
        UsageError: no problem has such a label.
    """
    known = {"language", *(label for problem in problems for label in problem.labels)}
    labels = [tuple(part.strip() for part in text.split(",")) for text in options or ()]
    for name in (name for names in labels for name in names):
        if name.removesuffix("@paper") not in known:
            raise UsageError(f"--by {name!r}: no problem has this label; labels: {', '.join(sorted(known))}")
    return labels


def summarise_run(run: LoadedRun, by: Sequence[tuple[str, ...]] = (), strengths: str | None = None) -> Summary:
    """Return the summary of a run; ``by`` names further labels for breakdowns, alone or crossed.

    ``strengths`` is the model whose strengths are requested.
    """
    suite = suite_of_run(run.manifest.get("suite"))
    return summarise(run, _extended(suite.stratification if suite else DEFAULT_STRATIFICATION, by), suite, strengths)


def summarise(
    run: LoadedRun,
    stratification: Stratification = DEFAULT_STRATIFICATION,
    suite: Suite | None = None,
    strengths: str | None = None,
) -> Summary:
    """Return the summary of a run; without ``suite`` it has no tables of the suite."""
    source = ReportSource(run, stratification, suite, strengths)
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
    sections = text_sections(published=False)
    return summary.model_copy(
        update={
            "warnings": tuple(text for section in sections for text in section.warnings(summary)),
            "notes": (*older_gate_warnings(run), *(text for section in sections for text in section.notes(summary))),
        }
    )


def _extended(stratification: Stratification, by: Sequence[tuple[str, ...]]) -> Stratification:
    several = tuple(names for names in by if len(names) > 1)
    return stratification._replace(
        labels=(*stratification.labels, *(names[0] for names in by if len(names) == 1)),
        crossed=(*stratification.crossed, *several),
        heat_maps=(*several, *stratification.heat_maps),
    )


def write_html(
    folder: Path,
    run: LoadedRun,
    summary: Summary,
    *,
    output: Path | None = None,
    published: bool = False,
    samples: int = 2000,
) -> Path:
    """Write the HTML page of a report; return its path."""
    from caretbench.reports.output.page import render_html  # Jinja takes long to import

    path = output or folder / "report.html"
    write_atomically(path, render_html(summary, run, published=published, samples=samples))
    return path


def failures(summary: Summary, fail_under: float | None) -> Iterator[str]:
    """Yield the reasons for which a run has failed: few verdicts, a withheld score, a rate below ``fail_under``."""
    yield from coverage_warnings(summary.judged)
    yield from control_failures(summary.judged)
    yield from dict.fromkeys(
        f"{reason}; this run has failed" for table in summary.suite_tables for reason in table.withheld
    )
    if not summary.columns:
        yield "no answer was scored, because no check could run; this run has failed"
    for column in summary.columns:
        if column.coverage is not None and column.coverage < REQUIRED_COVERAGE:
            absent = column.samples * summary.problems - column.completions
            why = f" ({absent} answers are missing; --select 'id=ONE|TWO' names the problems)" if absent > 0 else ""
            yield (
                f"{column.title}: coverage {column.coverage:.1%} is below {REQUIRED_COVERAGE:.0%}{why}; "
                "this run has failed"
            )
        rate = column.leading_of(column.overall).get(1)
        if fail_under is None or column.baseline:
            continue
        if rate is None:
            yield f"{column.title}: no verdict at all, so its {column.rate_title} is not known to reach {fail_under}"
        elif rate.value < fail_under:
            yield f"{column.title}: {column.rate_title} {rate.value:.3f} is below {fail_under}"
    if summary.manifest.get("executed") and all(column.coverage is None for column in summary.columns):
        yield "no problem can be scored on this machine; see the causes above"
