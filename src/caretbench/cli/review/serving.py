"""``caretbench review invite``, ``serve`` and ``demo``: people, their links, and the server."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from caretbench.cli.command_help import HelpCommand
from caretbench.cli.common import print_line, print_note
from caretbench.cli.review.group import Folder, app, open_review
from caretbench.errors import UsageError

if TYPE_CHECKING:
    from caretbench.people.review.database import ReviewDatabase

Host = Annotated[str, typer.Option(help="Address to listen on. Only this machine reaches 127.0.0.1.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on.")]

_PORT = 8765


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
        raise UsageError("nobody to invite; give names, or --adjudicator")
    with open_review(folder) as database:
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
    from caretbench.people.review.records import OWNER
    from caretbench.people.review.server.installation import check_installed

    check_installed()
    from caretbench.people.review.server.application import LOOPBACK
    from caretbench.people.review.server.application import serve as serve_review

    def print_link(address: str, database: ReviewDatabase) -> None:
        print_line(f"owner: {address}/join/{database.invite(OWNER, 'owner')}")

    if host not in LOOPBACK:
        print_note(f"{host}: others in the network can reach this server, without encryption")
    serve_review(folder, host, port, print_link)


@app.command("demo", cls=HelpCommand)
def demo(
    folder: Annotated[
        Path | None, typer.Argument(help="Folder to keep the review in. Default: a temporary one.", metavar="[FOLDER]")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on. Default: a free one.")] = 0,
) -> None:
    """Serve a review of twelve starter problems, and print your link and the owner's.

    Examples:
      caretbench review demo
    """
    import tempfile

    from caretbench.people.review.server.installation import check_installed

    check_installed()
    from caretbench.people.review.records import OWNER
    from caretbench.people.review.review_items import demo_review
    from caretbench.people.review.server.application import serve as serve_review

    def print_links(address: str, database: ReviewDatabase) -> None:
        print_line(f"you:   {address}/join/{database.invite('you', 'reviewer')}")
        print_line(f"owner: {address}/join/{database.invite(OWNER, 'owner')}")
        print_note("open your link in a browser; Ctrl-C ends the demo")

    with tempfile.TemporaryDirectory(prefix="caretbench-review-") as temporary:
        chosen = folder or Path(temporary) / "demo"
        demo_review(chosen)
        serve_review(chosen, "127.0.0.1", port, print_links)
