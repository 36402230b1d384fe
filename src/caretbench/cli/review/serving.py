"""``caretbench review invite``, ``remove``, ``backup``, ``serve`` and ``demo``: people, their links, and the server."""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from caretbench.cli.command_help import HelpCommand
from caretbench.cli.common import print_line, print_note
from caretbench.cli.review.group import Folder, app, open_review
from caretbench.errors import UsageError

if TYPE_CHECKING:
    from caretbench.people.review.database import ReviewDatabase
    from caretbench.people.review.records import PersonRole

Host = Annotated[
    str, typer.Option(help="Address to listen on, or the path of a Unix socket. Only this machine reaches 127.0.0.1.")
]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on.")]

PublicUrl = Annotated[
    str | None,
    typer.Option("--public-url", help="Address that people open, if a proxy with TLS stands before the server."),
]

_PORT = 8765


@app.command("invite", cls=HelpCommand)
def invite(
    folder: Folder,
    names: Annotated[list[str] | None, typer.Argument(help="Names of reviewers.", metavar="[NAME…]")] = None,
    adjudicator: Annotated[str | None, typer.Option(help="Name of the person who settles.")] = None,
    change_role: Annotated[
        bool, typer.Option("--change-role", help="Give people who are known another role. Default: they keep theirs.")
    ] = False,
    host: Host = "127.0.0.1",
    port: Port = _PORT,
    public_url: PublicUrl = None,
) -> None:
    """Print a link for each person. It works once; a new one ends the old one and the person's cookie, not the role.

    Examples:
      caretbench review invite reviews/mine rater-1 rater-2 --adjudicator rater-3
    """
    if not names and adjudicator is None:
        raise UsageError("nobody to invite; give names, or --adjudicator")
    from caretbench.people.review.server.installation import public_origin

    address = f"http://{host}:{port}" if public_url is None else public_origin(public_url)
    with open_review(folder) as database:
        roles = {person.name: person.role for person in database.people()}
        if adjudicator is not None and roles.get(adjudicator, "adjudicator") != "adjudicator" and not change_role:
            raise UsageError(
                f"{adjudicator} is a {roles[adjudicator]} of this review; another role needs --change-role"
            )
        invited: list[tuple[str, PersonRole]] = [(name, "reviewer") for name in names or ()]
        if adjudicator is not None:
            invited.append((adjudicator, "adjudicator"))
        for name, role in invited:
            print_line(f"{name}: {address}/join/{database.invite(name, role, change_role=change_role)}")
            if roles.get(name, role) != role and not change_role:
                print_note(f"{name} stays {roles[name]}; another role needs --change-role")
    print_note(f"next: caretbench review serve {folder}")


@app.command("remove", cls=HelpCommand)
def remove(
    folder: Folder,
    name: Annotated[str, typer.Argument(help="Name of a person.")],
    erase: Annotated[
        bool,
        typer.Option(
            "--erase", help="Also replace the name, and the person's notes, by person-N in every event. For good."
        ),
    ] = False,
) -> None:
    """End a person's part in a review: others get the open items. The decisions stay.

    Examples:
      caretbench review remove reviews/mine rater-9
    """
    from caretbench.people.review.exchange import erase_person

    with open_review(folder) as database:
        if not erase or name in {person.name for person in database.people()}:
            database.remove(name)
            print_line(f"{folder}: {name} takes no further part")
        if erase:
            new, rows = erase_person(database, name)
            print_line(
                f"{folder}: {name} is {new} in every event{f' and in {rows} ratings of the run' if rows else ''}"
            )
            print_note("files that were exported or copied before keep the name; export again, and delete them")


@app.command("backup", cls=HelpCommand)
def backup(
    folder: Folder, file: Annotated[Path, typer.Argument(help="New file for the copy.", metavar="FILE")]
) -> None:
    """Write a whole copy of a review to a new file, also while it is served.

    Examples:
      caretbench review backup reviews/mine monday.sqlite
    """
    with open_review(folder) as database:
        database.backup(file)
    print_line(f"{file}: a copy of the review; as review.sqlite in a folder of its own it is a review again")


@app.command("serve", cls=HelpCommand)
def serve(
    folders: Annotated[list[Path], typer.Argument(help="Folders of reviews.", metavar="FOLDER…")],
    host: Host = "127.0.0.1",
    port: Port = _PORT,
    public_url: PublicUrl = None,
    user_header: Annotated[
        str | None, typer.Option(help="Header in which a proxy names the person's account; names must be invited.")
    ] = None,
    trusted_proxy: Annotated[
        list[str] | None,
        typer.Option(help="Address or network of the proxy; the header of any other is removed. Repeatable."),
    ] = None,
    owner: Annotated[str, typer.Option(help="Account of the owner. Default: a link.", show_default=False)] = "",
) -> None:
    """Serve reviews until they are stopped (Ctrl-C), and print the owner's link. Several get a list of them.

    Examples:
      caretbench review serve reviews/mine
      caretbench review serve reviews/* --public-url https://review.example --user-header X-User --trusted-proxy ::1
    """
    from caretbench.people.review.records import OWNER
    from caretbench.people.review.server.installation import check_installed

    check_installed()
    from caretbench.people.review.server.application import LOOPBACK, ReviewServerSettings
    from caretbench.people.review.server.application import serve as serve_reviews
    from caretbench.people.review.server.handlers import Accounts

    on_socket = "/" in host
    proxies = _networks(trusted_proxy or [])
    if user_header is None and (proxies or owner):
        raise UsageError("--trusted-proxy and --owner go with --user-header, which names the accounts")
    if user_header is not None and not (proxies or on_socket):
        raise UsageError("--user-header needs --trusted-proxy ADDRESS, or --host with the path of a Unix socket")

    def print_links(address: str, databases: list[ReviewDatabase]) -> None:
        if owner:
            print_line(f"owner: {address} as {owner}")
        else:
            for database in databases:
                print_line(f"owner: {address}/join/{database.invite(OWNER, 'owner')}")

    if not on_socket and host not in LOOPBACK:
        print_note(f"{host}: others in the network can reach this server, without encryption")
    accounts = Accounts(user_header, owner) if user_header is not None else None
    serve_reviews(folders, ReviewServerSettings(host, port, public_url, accounts, proxies), print_links)


def _networks(texts: list[str]) -> tuple[IPv4Network | IPv6Network, ...]:
    try:
        return tuple(ip_network(text, strict=False) for text in texts)
    except ValueError as error:
        raise UsageError(f"--trusted-proxy: {error}") from None


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
    from caretbench.people.review.server.application import ReviewServerSettings
    from caretbench.people.review.server.application import serve as serve_reviews

    def print_links(address: str, databases: list[ReviewDatabase]) -> None:
        (database,) = databases
        print_line(f"you:   {address}/join/{database.invite('you', 'reviewer')}")
        print_line(f"owner: {address}/join/{database.invite(OWNER, 'owner')}")
        print_note("open your link in a browser; Ctrl-C ends the demo")

    with tempfile.TemporaryDirectory(prefix="caretbench-review-") as temporary:
        chosen = folder or Path(temporary) / "demo"
        demo_review(chosen)
        serve_reviews([chosen], ReviewServerSettings(port=port), print_links)
