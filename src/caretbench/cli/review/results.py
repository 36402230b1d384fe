"""``caretbench review status`` and ``export``: how far people are, and what they decided."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from caretbench.cli.command_help import HelpCommand
from caretbench.cli.common import AsJson, print_json, print_line
from caretbench.cli.review.group import Folder, app, open_review


@app.command("status", cls=HelpCommand)
def status(folder: Folder, as_json: AsJson = False) -> None:
    """Print the progress of people and the states of items.

    Examples:
      caretbench review status reviews/mine
    """
    from caretbench.review.state import ReviewState
    from caretbench.review.status import status_tables
    from caretbench.text_tables import align_columns

    with open_review(folder) as database:
        tables = status_tables(ReviewState(database), database)
    if as_json:
        print_json([table._asdict() for table in tables])
        return
    for table in tables:
        print_line(table.title)
        for line in align_columns(table.rows, table.columns):
            print_line(line)
        print_line("")


@app.command("export", cls=HelpCommand)
def export(
    folder: Folder,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder for the files. Default: the review's own.")
    ] = None,
) -> None:
    """Write every decision, the settled results and the rejections as JSONL.

    Examples:
      caretbench review export reviews/mine
    """
    from caretbench.review.export import export_review

    with open_review(folder) as database:
        for name, count in export_review(database, output or folder).items():
            print_line(f"{(output or folder) / name}: {count} rows")
