"""Protection of the review's pages: headers of every response, and requests that are refused."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
    machine gets nothing; None allows all names of a server that listens on all addresses.
    """

    def __init__(self, app: ASGIApp, hosts: Collection[str] | None) -> None:
        self._app = app
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
        host = headers.get("host", "")
        if self._hosts is not None and urlsplit(f"//{host}").hostname not in self._hosts:
            return 421, "this server has another name; start it with --host"
        if method in {"GET", "HEAD"}:
            return None
        if not headers.get("content-length", "").isdecimal():
            return 411, "a request needs its length"
        if int(headers["content-length"]) > LARGEST_BODY:
            return 413, f"a request has at most {LARGEST_BODY} bytes"
        origin = headers.get("origin")
        foreign = origin is not None and urlsplit(origin).netloc.lower() != host.lower()
        if foreign or headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
            return 403, "requests of other sites are refused"
        return None
