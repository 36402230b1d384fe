"""The review server: addresses and their handlers, and the process that serves them."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote, urlsplit

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from caretbench.errors import MachineError, UsageError
from caretbench.people.review.database import DATABASE_NAME, ReviewDatabase
from caretbench.people.review.server.handlers import Accounts, ReviewHandlers, ReviewList
from caretbench.people.review.server.installation import public_origin

HEADERS: Final = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",  # with "no-referrer" a browser hides the origin of forms, too
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
"""Headers of every response: only files of this server are loaded, and nothing is stored."""

LARGEST_BODY: Final = 4_000_000
"""Maximum size of a request in bytes: the queue of a browser that was offline for a long time."""


class Protection:
    """ASGI application around another one: refuses foreign hosts and origins and large bodies, and adds headers.

    A page of another site must not act for a reviewer: a request that changes something needs the origin of this
    server, or none, as programs send it. The host must be one of ``hosts``, so that a foreign name that leads to this
    machine gets nothing; None allows all names of a server that listens on all addresses. The header of accounts is
    taken out of every request that no trusted proxy sent.
    """

    def __init__(self, app: ASGIApp, hosts: Collection[str] | None, settings: ReviewServerSettings) -> None:
        self._app = app
        self._origin = settings.origin
        self._account_header = settings.accounts.header.lower().encode() if settings.accounts else b""
        self._proxies = settings.proxies
        self._hosts = None if hosts is None else frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        refusal = self._refusal(scope["method"], Headers(scope=scope))
        if refusal is not None:
            status, text = refusal
            await PlainTextResponse(text, status)(scope, receive, send_with_headers)
            return
        if self._account_header and not self._is_trusted(scope["client"]):
            kept = [header for header in scope["headers"] if header[0] != self._account_header]
            scope = {**scope, "headers": kept}
        await self._app(scope, receive, send_with_headers)

    def _is_trusted(self, client: tuple[str, int] | None) -> bool:
        # A Unix socket has no address: who may connect is decided by its file.
        if client is None or not client[0]:
            return True
        address = ip_address(client[0].partition("%")[0])
        mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
        return any((mapped or address) in network for network in self._proxies)

    def _refusal(self, method: str, headers: Headers) -> tuple[int, str] | None:
        host, origin = headers.get("host", ""), headers.get("origin")
        try:
            name, origin_host = urlsplit(f"//{host}").hostname, urlsplit(origin or "").netloc
        except ValueError:  # "[", a bracket of IPv6 that nothing closes
            return 400, "the header Host or Origin is malformed"
        if self._hosts is not None and name not in self._hosts:
            return 421, "this server has another name; start it with --host"
        if self._account_header and len(headers.getlist(self._account_header.decode())) > 1:
            return 400, "two headers name an account"
        if method in {"GET", "HEAD"}:
            return None
        if not headers.get("content-length", "").isdecimal():
            return 411, "a request needs its length"
        if int(headers["content-length"]) > LARGEST_BODY:
            return 413, f"a request has at most {LARGEST_BODY} bytes"
        # What the browser itself says holds: a proxy may pass another host on, or drop its port (nginx's $host does).
        site = headers.get("sec-fetch-site")
        is_foreign = origin is not None and origin_host.lower() != host.lower() and origin.lower() != self._origin
        if site not in {"same-origin", "none"} if site else is_foreign:
            return 403, "requests of other sites are refused"
        return None


LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""Hosts that only this machine reaches."""


class ReviewServerSettings(NamedTuple):
    """Addresses of a server and the accounts of the proxy before it."""

    host: str = "127.0.0.1"
    """Address to listen on, or the path of a Unix socket."""
    port: int = 0
    public_url: str | None = None
    """Address that browsers see, if a proxy stands before the server. With HTTPS, cookies are secure."""
    accounts: Accounts | None = None
    proxies: tuple[IPv4Network | IPv6Network, ...] = ()
    """Addresses from which the header of accounts is believed; a Unix socket always is."""

    @property
    def origin(self) -> str:
        """Origin of the public address; empty without one. Raises UsageError where it is none."""
        return public_origin(self.public_url) if self.public_url is not None else ""


def review_application(
    reviews: Mapping[str, ReviewDatabase],
    hosts: Collection[str] | None = LOOPBACK,
    settings: ReviewServerSettings | None = None,
) -> ASGIApp:
    """Return the application that serves reviews: one at the root, several each below its name, with a list.

    Args:
        reviews: The reviews by name.
        hosts: Names under which people reach the server; None: any.
        settings: Public address and accounts.
    """
    settings = settings or ReviewServerSettings()
    if hosts is not None and settings.origin:
        hosts = {*hosts, urlsplit(settings.origin).hostname or ""}
    handlers = [
        ReviewHandlers(
            database,
            root=f"/{quote(name)}" if len(reviews) > 1 else "",
            secure=settings.origin.startswith("https:"),
            accounts=settings.accounts,
        )
        for name, database in reviews.items()
    ]
    if len(handlers) == 1:
        routes: list[BaseRoute] = list(_routes(handlers[0]))
    else:
        listed = ReviewList(handlers)
        routes = [
            Route("/", listed.reviews),
            Route("/join/{secret}", listed.find_link),
            Route("/assets/{name}", handlers[0].asset),
            *(Mount(f"/{name}", routes=_routes(on)) for name, on in zip(reviews, handlers, strict=True)),
        ]
    return Protection(Starlette(routes=routes), hosts, settings)


def _routes(on: ReviewHandlers) -> list[Route]:
    return [
        Route("/", on.review),
        Route("/join/{secret}", on.show_link),
        Route("/join/{secret}", on.use_link, methods=["POST"]),
        Route("/decide", on.decide, methods=["POST"]),
        Route("/decisions", on.own_decisions),
        Route("/guidelines", on.guidelines),
        Route("/owner", on.owner),
        Route("/item/{item}/text", on.plain_text),
        Route("/assets/{name}", on.asset),
        Route("/api/queue", on.for_person(on.queue)),
        Route("/api/entry/{item}", on.for_person(on.entry)),
        Route("/api/events", on.for_person(on.events), methods=["POST"]),
        Route("/api/last", on.for_person(on.last)),
    ]


def serve(
    folders: Sequence[Path], settings: ReviewServerSettings, listening: Callable[[str, list[ReviewDatabase]], None]
) -> None:
    """Serve reviews until the process is stopped.

    Args:
        folders: Folders of the reviews; several are told apart by their names.
        settings: Addresses and accounts.
        listening: Called with the server's address and the databases before the first request.

    Raises:
        DataError: there is no review in a folder.
        MachineError: the address is in use, or not of this machine.
        UsageError: the public address is none, or a folder's name cannot be an address here.
    """
    names = [folder.resolve().name for folder in folders]
    reserved = {"assets", "join"} if len(names) > 1 else set()
    for folder, name in zip(folders, names, strict=True):
        if names.count(name) > 1 or name in reserved or set(name) & set("{}"):
            raise UsageError(f"{folder}: no address can be called {name} here; rename the folder")
    origin = settings.origin
    with ExitStack() as opened:
        reviews = {
            name: opened.enter_context(ReviewDatabase(folder / DATABASE_NAME))
            for name, folder in zip(names, folders, strict=True)
        }
        listener = opened.enter_context(_listener(settings.host, settings.port))
        host = settings.host
        on_socket = "/" in host
        shown = host if on_socket else f"[{host}]" if ":" in host else host
        address = f"unix:{host}" if on_socket else f"http://{shown}:{listener.getsockname()[1]}"
        listening(origin or address, list(reviews.values()))
        listens_everywhere = on_socket or host in {"0.0.0.0", "::"}  # noqa: S104  # compared
        application = review_application(reviews, None if listens_everywhere else {host, *LOOPBACK}, settings)
        config = uvicorn.Config(
            application,
            log_level="warning",
            lifespan="off",
            server_header=False,
            # It would put the address that X-Forwarded-For claims in the place of the proxy's.
            proxy_headers=False,
        )
        uvicorn.Server(config).run(sockets=[listener])


def _listener(host: str, port: int) -> socket.socket:
    try:
        if "/" not in host:
            return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
        if sys.platform == "win32":
            raise UsageError(f"--host {host}: this system has no Unix sockets here; give an address")
        # What a killed server left behind.
        if Path(host).is_socket():
            Path(host).unlink()
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(host)
        # Whoever can write to the socket can name an account.
        Path(host).chmod(0o660)
        listener.listen()
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno is not None and error.errno > 0 else str(error)
        where = host if "/" in host else f"{host}:{port}"
        raise MachineError(f"{where}: {reason}; choose another --port or --host") from None
    return listener
