"""The review server: addresses and their handlers, and the process that serves them."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from caretbench.errors import MachineError
from caretbench.people.review.database import DATABASE_NAME, ReviewDatabase
from caretbench.people.review.server.handlers import ReviewHandlers
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
    machine gets nothing; None allows all names of a server that listens on all addresses. ``origin`` is the one that
    browsers see where a proxy stands before the server.
    """

    def __init__(self, app: ASGIApp, hosts: Collection[str] | None, origin: str = "") -> None:
        self._app = app
        self._origin = origin.lower()
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
        await self._app(scope, receive, send_with_headers)

    def _refusal(self, method: str, headers: Headers) -> tuple[int, str] | None:
        host, origin = headers.get("host", ""), headers.get("origin")
        try:
            name, place = urlsplit(f"//{host}").hostname, urlsplit(origin or "").netloc
        except ValueError:  # "[", a bracket of IPv6 that nothing closes
            return 400, "the header Host or Origin is malformed"
        if self._hosts is not None and name not in self._hosts:
            return 421, "this server has another name; start it with --host"
        if method in {"GET", "HEAD"}:
            return None
        if not headers.get("content-length", "").isdecimal():
            return 411, "a request needs its length"
        if int(headers["content-length"]) > LARGEST_BODY:
            return 413, f"a request has at most {LARGEST_BODY} bytes"
        # A proxy may pass its own name of the server on as the host; the origin is the browser's.
        foreign = origin is not None and place.lower() != host.lower() and origin.lower() != (self._origin or None)
        if foreign or headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
            return 403, "requests of other sites are refused"
        return None


LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""Hosts that only this machine reaches."""


def review_application(
    database: ReviewDatabase, hosts: Collection[str] | None = LOOPBACK, public_url: str | None = None
) -> ASGIApp:
    """Return the application that serves a review.

    Args:
        database: The review.
        hosts: Names under which people reach it; None: any.
        public_url: Address that browsers see, if a proxy stands before the server. With HTTPS, cookies are secure.
    """
    origin = public_origin(public_url) if public_url is not None else ""
    if hosts is not None and origin:
        hosts = {*hosts, urlsplit(origin).hostname or ""}
    on = ReviewHandlers(database, secure=origin.startswith("https:"))
    routes = [
        Route("/", on.review),
        Route("/join/{secret}", on.show_link),
        Route("/join/{secret}", on.use_link, methods=["POST"]),
        Route("/decide", on.decide, methods=["POST"]),
        Route("/decisions", on.own_decisions),
        Route("/guidelines", on.guidelines),
        Route("/owner", on.owner),
        Route("/item/{item}/text", on.plain_text),
        Route("/assets/{name}", on.asset),
        Route("/api/queue", on.queue),
        Route("/api/entry/{item}", on.entry),
        Route("/api/events", on.events, methods=["POST"]),
        Route("/api/last", on.last),
    ]
    return Protection(Starlette(routes=routes), hosts, origin)


def serve(
    folder: Path, host: str, port: int, listening: Callable[[str, ReviewDatabase], None], public_url: str | None = None
) -> None:
    """Serve a review until the process is stopped.

    Args:
        folder: Folder of the review.
        host: Address to listen on.
        port: Port; 0 for a free one.
        listening: Called with the server's address and the database before the first request.
        public_url: Address that browsers see, if a proxy stands before the server.

    Raises:
        DataError: there is no review in the folder.
        MachineError: the address is in use, or not of this machine.
        UsageError: the public address is none.
    """
    origin = public_origin(public_url) if public_url is not None else None
    with ReviewDatabase(folder / DATABASE_NAME) as database:
        try:
            listener = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno is not None and error.errno > 0 else str(error)
            raise MachineError(f"{host}:{port}: {reason}; choose another --port or --host") from None
        with listener:
            shown = f"[{host}]" if ":" in host else host
            listening(origin or f"http://{shown}:{listener.getsockname()[1]}", database)
            listens_everywhere = host in {"0.0.0.0", "::"}  # noqa: S104  # compared
            application = review_application(database, None if listens_everywhere else {host, *LOOPBACK}, public_url)
            config = uvicorn.Config(application, log_level="warning", lifespan="off", server_header=False)
            uvicorn.Server(config).run(sockets=[listener])
