"""``caretbench report``: a run's report on the terminal, as JSON, CSV, Markdown, or HTML."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from caretbench.cli.common import AsJson, check_file_is_writable, print_line
from caretbench.errors import UsageError

if TYPE_CHECKING:
    from caretbench.reports.frame import LoadedRun
    from caretbench.reports.summary import Summary
    from caretbench.runs.run_folder import RunFolder

_FORMATS = ("terminal", "json", "csv", "markdown")


# Long: a command is declared by its options.
def report(
    run: Annotated[Path, typer.Argument(help="Folder of the run, or of several suites: OUTPUT of a run file.")],
    form: Annotated[str, typer.Option("--format", help="Output format: terminal, json, csv or markdown.")] = "terminal",
    published: Annotated[bool, typer.Option(help="Also print the numbers of the paper.")] = False,
    html: Annotated[bool, typer.Option(help="Write the HTML page, or leave it out.")] = True,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Path of the HTML page. Default: report.html in the run's folder."),
    ] = None,
    samples: Annotated[
        int, typer.Option(min=0, help="Maximum number of samples in the page's sample browser; 0: no browser.")
    ] = 2000,
    by: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LABEL[,LABEL…]",
            help="Also break the rates down by this label, or by several at once: mode,block (a heat map in the page). "
            "May be repeated.",
        ),
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE", help="Also print pass@1 weighted by usage: even, usage, or a file of weights."
        ),
    ] = None,
    strengths: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Also print strengths and weaknesses of this model.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print the results of a run and write its HTML page. Only the statistics are computed again.

    Examples:
      caretbench report runs/devbench-starter-default
      caretbench report runs/devbench-starter-default --strengths my-model
    """
    from caretbench.people.strengths.report_sections import whole_summary
    from caretbench.reports.overview import run_folders
    from caretbench.reports.run_summary import breakdown_labels, load_run_folder, write_html

    if form not in _FORMATS:
        raise UsageError(f"--format {form!r}: expected one of {', '.join(_FORMATS)}")
    if html and output is not None:
        check_file_is_writable(output)
    form = "json" if as_json else form
    if folders := run_folders(run):
        _refuse_options(
            folders[0], {"--by": by, "--published": published, "--weights": weights, "--strengths": strengths}
        )
        _report_suites(run, folders, form=form, page=output, samples=samples if html else None)
        return
    loaded = load_run_folder(run)
    summary = whole_summary(loaded, breakdown_labels(by, loaded.problems), strengths)
    summary = _weighted(loaded, summary, weights)
    print_summary(summary, form=form, published=published)
    if html:
        path = write_html(run, loaded, summary, output=output, published=published, samples=samples)
        if form == "terminal":
            print_line(f"\nreport: {path}")


def _weighted(run: LoadedRun, summary: Summary, weights: str | None) -> Summary:
    """Return the summary with a table by usage, if weights are named."""
    if weights is None:
        return summary
    from caretbench.people.strengths.usage_weighted import with_usage_table
    from caretbench.suites.usage_weights import read_weights

    return with_usage_table(run, summary, read_weights(weights))


def _refuse_options(folder: Path, options: Mapping[str, object]) -> None:
    """Raise ValueError if an option is used that needs the folder of one suite."""
    for option, value in options.items():
        if value:
            raise UsageError(f"{option}: give it with the folder of one suite, {folder} for example")


def print_summary(summary: Summary, *, form: str, published: bool = False) -> None:
    """Print a summary in one of the formats."""
    from caretbench.reports.output import text_output

    if form == "json":
        sys.stdout.write(text_output.to_json(summary) + "\n")
    elif form == "csv":
        sys.stdout.write(text_output.to_csv(summary))
    elif form == "markdown":
        sys.stdout.write(text_output.to_markdown(summary, published=published) + "\n")
    else:
        text_output.print_summary(summary, published=published)


def _report_suites(root: Path, folders: list[Path], *, form: str, page: Path | None, samples: int | None) -> None:
    """Print the overview of several suites; write its page and those of the suites unless ``samples`` is None."""
    from caretbench.people.strengths.report_sections import whole_summary
    from caretbench.reports.run_summary import load_run_folder, write_html

    summaries = {}
    for folder in folders:
        loaded = load_run_folder(folder)
        summaries[folder] = whole_summary(loaded)
        if samples is not None:
            write_html(folder, loaded, summaries[folder], samples=samples)
    show_overview(root, summaries, form=form, page=page, html=samples is not None)


def show_overview(
    root: Path, summaries: Mapping[Path, Summary], *, form: str, page: Path | None = None, html: bool = True
) -> None:
    """Print the overview of several suites in one of the formats, and write its page."""
    from caretbench.reports import overview
    from caretbench.reports.output.text_output import to_csv

    contents = overview.overview_of(root, summaries, page)
    if form == "json":
        sys.stdout.write(contents.model_dump_json(indent=2) + "\n")
    elif form == "csv":
        sys.stdout.write(to_csv(*summaries.values()))
    elif form == "markdown":
        sys.stdout.write(overview.overview_to_markdown(contents) + "\n")
    elif form == "terminal":
        overview.print_overview(contents)
    if html:
        path = overview.write_overview(contents, root, page)
        if form == "terminal":
            print_line(f"\nreport: {path}")


def show(folder: RunFolder, *, html: bool, as_json: bool, of_several: bool = False) -> Summary:
    """Print the summary of a run and write its HTML page; return the summary.

    Of one of several runs only the head is printed, as JSON nothing: the caller prints one list.
    """
    from caretbench.people.strengths.report_sections import whole_summary
    from caretbench.reports.output.text_output import print_head
    from caretbench.reports.run_summary import load_run_folder, write_html

    run = load_run_folder(folder.path)
    summary = whole_summary(run)
    if not of_several:
        print_summary(summary, form="json" if as_json else "terminal")
    elif not as_json:
        # All tables of five suites were 1,146 lines, and the heads could not be found among them.
        print_head(summary)
        print_line(f"all tables: caretbench report {shlex.quote(str(folder.path))}")
    if html:
        path = write_html(folder.path, run, summary)
        if not as_json:
            print_line(f"report: {path}" if of_several else f"\nreport: {path}")
    return summary
