"""``caretbench report``: a run's report on the terminal, as JSON, CSV, Markdown, or HTML."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from caretbench.cli.common import AsJson, print_line

if TYPE_CHECKING:
    from caretbench.reports.summary import Summary
    from caretbench.runs.run_folder import RunFolder

_FORMATS = ("terminal", "json", "csv", "markdown")


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of the run.")],
    form: Annotated[str, typer.Option("--format", help="Output format: terminal, json, csv or markdown.")] = "terminal",
    published: Annotated[bool, typer.Option(help="Also print the numbers of the paper.")] = False,
    html: Annotated[bool, typer.Option(help="Write the HTML page, or leave it out.")] = True,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Path of the HTML page. Default: report.html in the run's folder."),
    ] = None,
    samples: Annotated[
        int, typer.Option(help="Maximum number of samples in the page's sample browser; 0: no browser.")
    ] = 2000,
    by: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LABEL[,LABEL…]",
            help="Also break the rates down by this label, or by several at once: mode,block (a heat map in the page). "
            "May be repeated.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print the results of a run and write its HTML page. Only the statistics are computed again.

    Examples:
      caretbench report runs/devbench-starter-default
      caretbench report runs/mine --format csv --no-html
    """
    from caretbench.reports.run_summary import breakdown_labels, load_run_folder, summarise_run, write_html

    if form not in _FORMATS:
        raise ValueError(f"--format {form!r}: expected one of {', '.join(_FORMATS)}")
    loaded = load_run_folder(run)
    summary = summarise_run(loaded, breakdown_labels(by, loaded.problems))
    print_summary(summary, form="json" if as_json else form, published=published)
    if html:
        path = write_html(run, loaded, summary, output=output, published=published, samples=samples)
        if form == "terminal" and not as_json:
            print_line(f"\nreport: {path}")


def print_summary(summary: Summary, *, form: str, published: bool = False) -> None:
    """Print a summary in one of the formats."""
    from caretbench.reports.output import export, terminal

    if form == "json":
        sys.stdout.write(export.to_json(summary) + "\n")
    elif form == "csv":
        sys.stdout.write(export.to_csv(summary))
    elif form == "markdown":
        sys.stdout.write(export.to_markdown(summary, published=published) + "\n")
    else:
        terminal.print_summary(summary, published=published)


def show(folder: RunFolder, *, html: bool, as_json: bool, quiet: bool = False) -> Summary:
    """Print the summary of a run (not with ``quiet``) and write its HTML page; return the summary."""
    from caretbench.reports.run_summary import load_run_folder, summarise_run, write_html

    run = load_run_folder(folder.path)
    summary = summarise_run(run)
    if not quiet:
        print_summary(summary, form="json" if as_json else "terminal")
    if html:
        path = write_html(folder.path, run, summary)
        if not as_json:
            print_line(f"\nreport: {path}")
    return summary
