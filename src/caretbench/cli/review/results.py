"""``caretbench review status``, ``export``, ``import``, ``reopen`` and ``assign``: what people decided."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from caretbench.cli.command_help import HelpCommand
from caretbench.cli.common import AsJson, print_json, print_line, print_note, print_table
from caretbench.cli.review.group import Folder, app, open_review
from caretbench.errors import UsageError
from caretbench.text_tables import counted


@app.command("status", cls=HelpCommand)
def status(
    folder: Folder,
    disputed: Annotated[int, typer.Option(min=0, help="Number of disputed items, the most disputed first.")] = 10,
    as_json: AsJson = False,
) -> None:
    """Print progress, agreement, disputes, and the reasons of rejections.

    Examples:
      caretbench review status reviews/mine
    """
    from caretbench.people.review.state import ReviewState
    from caretbench.people.review.status import status_tables

    with open_review(folder) as database:
        tables = status_tables(ReviewState(database), database, disputed)
    if as_json:
        print_json([table._asdict() for table in tables])
        return
    for table in tables:
        print_line(table.title)
        print_table(table.rows, table.columns)
        print_line("")


@app.command("export", cls=HelpCommand)
def export(
    folder: Folder,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder for the files. Default: the review's own.")
    ] = None,
    run: Annotated[
        Path | None, typer.Option(help="Run that gets the ratings of its answers. Default: that of the review.")
    ] = None,
) -> None:
    """Write every decision, the settled results and the rejections; of answers of a run also its human ratings.

    Examples:
      caretbench review export reviews/mine
    """
    from caretbench.people.review.exchange import export_review, write_human_ratings
    from caretbench.people.review.state import ReviewState
    from caretbench.runs.run_folder import RunFolder

    with open_review(folder) as database:
        for name, count in export_review(database, output or folder).items():
            print_line(f"{(output or folder) / name}: {counted(count, 'row')}")
        about = database.fact("run")
        target = run or (Path(about) if about else None)
        if target is None:
            return
        if run is None and not target.is_dir():
            print_note(f"{target}: the run is not there any more; name it for its ratings: --run RUN")
            return
        written = write_human_ratings(database, ReviewState(database), RunFolder(target))
        others = f", and {written.others} others that stay" if written.others else ""
        print_line(
            f"{written.path}: {written.ratings} ratings{others}; `caretbench report {target}` compares judges with them"
        )


@app.command("import", cls=HelpCommand)
def import_files(
    folder: Folder,
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="decisions.jsonl of an export, or a copy's review.sqlite.", metavar="[FILE…]"),
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(help="JSONL file of labels from elsewhere: id, person, answers, note.")
    ] = None,
) -> None:
    """Add the decisions of an export, of another copy of the review, or of a file of labels. What is known stays once.

    Examples:
      caretbench review import reviews/mine laptop/review.sqlite
      caretbench review import reviews/mine --labels earlier.jsonl
    """
    from caretbench.people.review.exchange import import_decisions, import_labels

    if not files and labels is None:
        raise UsageError("nothing to import; give files, or --labels")
    with open_review(folder) as database:
        results = [import_decisions(database, files)] if files else []
        if labels is not None:
            results.append(import_labels(database, labels))
    for added in results:
        print_line(f"{folder}: {added.new} new rows, {added.known} known")
        if added.people:
            print_note(f"new people, without a link: {', '.join(added.people)}; caretbench review invite {folder} NAME")


@app.command("reopen", cls=HelpCommand)
def reopen(
    folder: Folder,
    items: Annotated[
        list[str] | None, typer.Argument(help="Items, or beginnings of their ids.", metavar="[ITEM…]")
    ] = None,
    disputed: Annotated[bool, typer.Option("--disputed", help="All items about which people differ.")] = False,
    note: Annotated[str, typer.Option(help="Reason, which the export has.")] = "",
) -> None:
    """Let everybody decide items again. The earlier decisions stay in the export.

    Examples:
      caretbench review reopen reviews/mine 3f9a --note mended
    """
    from caretbench.people.review.exchange import reopen_items
    from caretbench.people.review.state import ReviewState

    with open_review(folder) as database:
        state = ReviewState(database)
        chosen = [item for item in state.kinds if disputed and state.is_disputed(item)]
        count = reopen_items(state, [*chosen, *(state.item_named(name) for name in items or ())], note)
    print_line(f"{folder}: open again: {counted(count, 'item')}")


@app.command("assign", cls=HelpCommand)
def assign(
    folder: Folder,
    person: Annotated[str, typer.Argument(help="Name of a reviewer.")],
    items: Annotated[list[str], typer.Argument(help="Items, or beginnings of their ids.", metavar="ITEM…")],
    release: Annotated[bool, typer.Option("--release", help="Take the items from the person instead.")] = False,
) -> None:
    """Give items to a reviewer, or take them away; somebody else then decides them.

    Examples:
      caretbench review assign reviews/mine rater-3 3f9a
    """
    from caretbench.people.review.exchange import assign_items
    from caretbench.people.review.state import ReviewState

    with open_review(folder) as database:
        state = ReviewState(database)
        count = assign_items(state, person, [state.item_named(name) for name in items], release=release)
    print_line(f"{folder}: {person} {'no longer decides' if release else 'decides'} {counted(count, 'item')}")
