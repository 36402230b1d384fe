"""``caretbench report``: a run's numbers on the terminal, as JSON, CSV, Markdown, and as one HTML file."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from caretbench.cli.common import AsJson, say

if TYPE_CHECKING:
    from caretbench.problem import Problem
    from caretbench.reports.frame import Run
    from caretbench.reports.summary import Summary
    from caretbench.runs.folder import RunFolder
    from caretbench.suites.base import Stratification

_FORMATS = ("terminal", "json", "csv", "markdown")


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run's folder.")],
    form: Annotated[str, typer.Option("--format", help="terminal, json, csv or markdown.")] = "terminal",
    published: Annotated[bool, typer.Option(help="The paper's printed numbers beside ours.")] = False,
    html: Annotated[bool, typer.Option(help="Write the HTML page too.")] = True,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The HTML page's path (report.html in the run's folder)."),
    ] = None,
    samples: Annotated[
        int, typer.Option(help="At most so many samples in the page's browser; 0: no browser.")
    ] = 2000,
    by: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LABEL[,LABEL…]",
            help="Break the rates down by this label too, or by several at once: mode,block. May be repeated; the page "
            "draws several as a heat map.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show a run. Nothing is computed again but the statistics."""
    if form not in _FORMATS:
        raise ValueError(f"--format {form!r}: expected one of {', '.join(_FORMATS)}")
    loaded = load(run)
    summary = summarised(loaded, labels_by(by, loaded.problems))
    print_summary(summary, form="json" if as_json else form, published=published)
    if html:
        path = write_html(run, loaded, summary, output=output, published=published, samples=samples)
        if form == "terminal" and not as_json:
            say(f"\nreport: {path}")


def load(folder: Path) -> Run:
    """The rows of a run with its problems.

    Raises:
        DataError: a file is missing or malformed.
    """
    from caretbench.reports.frame import load_run
    from caretbench.runs.folder import RunFolder

    files = RunFolder(folder)
    files.manifest()
    return load_run(folder, files.problems())


def summarised(run: Run, by: Sequence[tuple[str, ...]] = ()) -> Summary:
    """The numbers of a run; ``by`` names further labels to break them down by, alone or crossed."""
    from caretbench.problem import Question
    from caretbench.reports.judged.answers import answers_judged, run_answers
    from caretbench.reports.judged.carets import run_sections
    from caretbench.reports.judged.values import KEY, judged_values
    from caretbench.reports.own_tables import own_tables
    from caretbench.reports.sections.errors import error_columns
    from caretbench.reports.sections.usage import model_usage
    from caretbench.reports.summary import summarise
    from caretbench.suites import suite, suite_names
    from caretbench.suites.base import judged_text_of

    name = str(run.manifest.get("suite"))
    house = suite(name) if name in suite_names() else None
    answers = run_answers(run, judged_text_of(house, run.manifest.get("profile") or "default"))
    stratification = _extended(of_suite(name), by)
    # Programs fail in many ways; an answer to a question is right or not, and the suite's own tables say more.
    programs = any(not isinstance(problem.shown, Question) for problem in run.problems)
    usage = model_usage(run.completions, run.missing)
    return summarise(
        run.frame,
        run.problems,
        run.manifest,
        run=run.name,
        usage=usage,
        judged=run_sections(run),
        answers=answers_judged(answers, missing=run.judgements_missing, people=run.ratings),
        stratification=stratification,
        errors=error_columns(run.frame, run.completions) if programs else (),
        own=own_tables(
            house,
            run.frame.join(judged_values(answers), on=list(KEY), how="left"),
            run.problems,
            int(run.manifest.get("seed") or 0),
        ),
    )


def of_suite(name: str) -> Stratification:
    """The stratification of the suite of this name; the ordinary one where it is not here."""
    from caretbench.suites import suite, suite_names
    from caretbench.suites.base import ORDINARY, stratification_of

    return stratification_of(suite(name)) if name in suite_names() else ORDINARY


def labels_by(options: Sequence[str] | None, problems: Sequence[Problem]) -> list[tuple[str, ...]]:
    """The labels that the options ``--by`` name, those of one option together.

    Raises:
        ValueError: no problem has such a label.
    """
    known = {"language", *(label for problem in problems for label in problem.labels)}
    found = [tuple(part.strip() for part in text.split(",")) for text in options or ()]
    for name in (name for names in found for name in names):
        if name.removesuffix("@paper") not in known:
            raise ValueError(f"--by {name!r}: no problem has this label; labels: {', '.join(sorted(known))}")
    return found


def _extended(stratification: Stratification, by: Sequence[tuple[str, ...]]) -> Stratification:
    several = tuple(names for names in by if len(names) > 1)
    return stratification._replace(
        labels=(*stratification.labels, *(names[0] for names in by if len(names) == 1)),
        crossed=(*stratification.crossed, *several),
        heat_maps=(*several, *stratification.heat_maps),
    )


def print_summary(summary: Summary, *, form: str, published: bool = False) -> None:
    """Print the numbers in one of the forms."""
    from caretbench.reports import export, terminal

    if form == "json":
        sys.stdout.write(export.to_json(summary) + "\n")
    elif form == "csv":
        sys.stdout.write(export.to_csv(summary))
    elif form == "markdown":
        sys.stdout.write(export.to_markdown(summary, published=published) + "\n")
    else:
        terminal.print_summary(summary, published=published)


def write_html(
    folder: Path,
    run: Run,
    summary: Summary,
    *,
    output: Path | None = None,
    published: bool = False,
    samples: int = 2000,
) -> Path:
    """Write the page; gives its path."""
    from caretbench.files import write_atomically
    from caretbench.reports.html import render_html

    path = output or folder / "report.html"
    write_atomically(path, render_html(summary, run, published=published, samples=samples))
    return path


def show(folder: RunFolder, *, html: bool, as_json: bool, quiet: bool = False) -> Summary:
    """Print the run's numbers, unless ``quiet``, and write its page; gives the numbers."""
    run = load(folder.path)
    summary = summarised(run)
    if not quiet:
        print_summary(summary, form="json" if as_json else "terminal")
    if html:
        path = write_html(folder.path, run, summary)
        if not as_json:
            say(f"\nreport: {path}")
    return summary


def failures(summary: Summary, fail_under: float | None) -> Iterator[str]:
    """Why the run counts as failed: too few verdicts, a score that is withheld, or a model below the wanted rate."""
    from caretbench.reports.judged.answers import control_failures, coverage_warnings
    from caretbench.reports.summary import COVERAGE_WANTED

    yield from coverage_warnings(summary.answers)
    yield from control_failures(summary.answers)
    yield from dict.fromkeys(
        f"{reason}; this run has failed" for table in summary.own for reason in table.withheld
    )
    for column in summary.columns:
        if column.coverage is not None and column.coverage < COVERAGE_WANTED:
            absent = column.samples * summary.problems - column.completions
            why = f" ({absent} answers are not there; --select chooses problems)" if absent > 0 else ""
            yield (
                f"{column.title}: coverage {column.coverage:.1%} is below {COVERAGE_WANTED:.0%}{why}; "
                "this run has failed"
            )
        rate = column.overall.pass_at.get(1)
        if fail_under is None or column.baseline:
            continue
        if rate is None:
            yield f"{column.title}: no verdict at all, so its pass@1 is not known to reach {fail_under}"
        elif rate.value < fail_under:
            yield f"{column.title}: pass@1 {rate.value:.3f} is below {fail_under}"
    if summary.manifest.get("executed") and all(column.coverage is None for column in summary.columns):
        yield "no problem can be judged on this machine; the causes stand above"
