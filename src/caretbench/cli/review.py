"""``caretbench review``: review of problems by people."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from caretbench.cli.command_help import HelpCommand, HelpGroup
from caretbench.cli.common import SELECTION, AsJson, Data, print_json, print_line, print_note, selection
from caretbench.cli.options import with_options

if TYPE_CHECKING:
    from caretbench.review.database import ReviewDatabase

app = typer.Typer(
    cls=HelpGroup,
    no_args_is_help=True,
    help="""Let people review problems in a browser.

Examples:
  caretbench review new reviews/mine --protocol devbench-instance
  caretbench review serve reviews/mine""",
)

Folder = Annotated[Path, typer.Argument(help="Folder of the review.", metavar="FOLDER")]
Host = Annotated[str, typer.Option(help="Address to listen on. Only this machine reaches 127.0.0.1.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on.")]

_PORT = 8765


@app.command("new", cls=HelpCommand)
@with_options(*SELECTION)
def new_review(
    folder: Folder,
    protocol: Annotated[
        str, typer.Option(help="Name of a protocol (`caretbench review protocols`), or a file that ends in .toml.")
    ] = "devbench-instance",
    suite: Annotated[
        str | None, typer.Option(help="Suite of the problems. Default: the protocol's, else devbench.")
    ] = None,
    data: Data = "starter",
    run: Annotated[Path | None, typer.Option(help="Folder of a run: people review its answers.")] = None,
    criterion: Annotated[
        str | None, typer.Option(help="Criterion of judges that people's ratings validate (with --run).")
    ] = None,
    texts: Annotated[int, typer.Option(min=1, help="Largest number of the run's texts.")] = 150,
    disputed: Annotated[
        bool, typer.Option("--disputed", help="Take the texts about which the run's judges differ most.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Random seed of the sample, and of the orders of people.")] = 0,
    **options: Any,
) -> None:
    """Make a review of the problems of a suite, or of the answers of a run.

    Examples:
      caretbench review new reviews/mine --protocol devbench-instance --data mine
      caretbench review new reviews/judges --protocol completion-quality --run runs/mine
    """
    from caretbench.review.database import ReviewDatabase
    from caretbench.review.problem_items import problem_items
    from caretbench.review.protocol import load_protocol
    from caretbench.review.run_items import run_items
    from caretbench.runs.run_folder import RunFolder
    from caretbench.suites import load_problems, load_suite

    chosen = load_protocol(protocol)
    if run is not None:
        found = run_items(
            RunFolder(run), chosen, criterion=criterion, selection=selection(options), texts=texts, seed=seed,
            disputed=disputed,
        )  # fmt: skip
        chosen, items = found.protocol, found.items
        print_note(f"{sum(item.kind == 'item' for item in items)} of {found.texts} distinct texts of {run}")
    else:
        if criterion is not None or disputed:
            raise ValueError("--criterion and --disputed are about the answers of a run; give one: --run RUN")
        of = load_suite(suite or next(iter(chosen.suites), "devbench"))
        items = problem_items(selection(options).apply(of, load_problems(of, data).problems), chosen)
    with ReviewDatabase.create(folder, chosen, items, seed, run=run) as database:
        count = sum(1 for _ in database.item_kinds())
    print_line(f"{folder}: {count} items by the protocol {chosen.key}. Next: caretbench review invite {folder} NAME …")


@app.command("invite", cls=HelpCommand)
def invite(
    folder: Folder,
    names: Annotated[list[str] | None, typer.Argument(help="Names of reviewers.", metavar="[NAME…]")] = None,
    adjudicator: Annotated[str | None, typer.Option(help="Name of the person who settles.")] = None,
    host: Host = "127.0.0.1",
    port: Port = _PORT,
) -> None:
    """Print a link for each person. It works once; a new one ends the old one and the person's cookie.

    Examples:
      caretbench review invite reviews/mine rater-1 rater-2 --adjudicator rater-3
    """
    if not names and adjudicator is None:
        raise ValueError("nobody to invite; give names, or --adjudicator")
    with _opened(folder) as database:
        for name in names or ():
            print_line(f"{name}: http://{host}:{port}/join/{database.invite(name, 'reviewer')}")
        if adjudicator is not None:
            print_line(f"{adjudicator}: http://{host}:{port}/join/{database.invite(adjudicator, 'adjudicator')}")
    print_note(f"next: caretbench review serve {folder}")


@app.command("serve", cls=HelpCommand)
def serve(folder: Folder, host: Host = "127.0.0.1", port: Port = _PORT) -> None:
    """Serve a review until it is stopped (Ctrl-C), and print the owner's link.

    Examples:
      caretbench review serve reviews/mine
    """
    from caretbench.review.server.installation import check_installed

    check_installed()
    from caretbench.review.server.application import LOOPBACK
    from caretbench.review.server.application import serve as serve_review

    if host not in LOOPBACK:
        print_note(f"{host}: others in the network can reach this server, without encryption")
    serve_review(folder, host, port, print_line)


@app.command("status", cls=HelpCommand)
def status(folder: Folder, as_json: AsJson = False) -> None:
    """Print the progress of people and the states of items.

    Examples:
      caretbench review status reviews/mine
    """
    from caretbench.review.state import ReviewState
    from caretbench.review.status import status_tables
    from caretbench.text_tables import align_columns

    with _opened(folder) as database:
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

    with _opened(folder) as database:
        for name, count in export_review(database, output or folder).items():
            print_line(f"{(output or folder) / name}: {count} rows")


def _opened(folder: Path) -> ReviewDatabase:
    from caretbench.review.database import DATABASE_NAME, ReviewDatabase

    return ReviewDatabase(folder / DATABASE_NAME)
