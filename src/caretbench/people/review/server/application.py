"""The review server: addresses and their handlers, and the process that serves them."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Collection
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import ASGIApp

from caretbench.errors import MachineError
from caretbench.people.review.database import DATABASE_NAME, ReviewDatabase
from caretbench.people.review.server.handlers import ReviewHandlers
from caretbench.people.review.server.security import Protection

LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""Hosts that only this machine reaches."""


def review_application(database: ReviewDatabase, hosts: Collection[str] | None = LOOPBACK) -> ASGIApp:
    """Return the application that serves a review to people who reach it under one of the hosts; None: any."""
    on = ReviewHandlers(database)
    routes = [
        Route("/", on.review),
        Route("/join/{secret}", on.show_link),
        Route("/join/{secret}", on.use_link, methods=["POST"]),
        Route("/decide", on.decide, methods=["POST"]),
        Route("/guidelines", on.guidelines),
        Route("/owner", on.owner),
        Route("/item/{item}/text", on.plain_text),
        Route("/assets/{name}", on.asset),
        Route("/api/queue", on.queue),
        Route("/api/entry/{item}", on.entry),
        Route("/api/events", on.events, methods=["POST"]),
        Route("/api/mine", on.own_events),
    ]
    return Protection(Starlette(routes=routes), hosts)


def serve(folder: Path, host: str, port: int, listening: Callable[[str, ReviewDatabase], None]) -> None:
    """Serve a review until the process is stopped.

    Args:
        folder: Folder of the review.
        host: Address to listen on.
        port: Port; 0 for a free one.
        listening: Called with the server's address and the database before the first request.

    Raises:
        DataError: there is no review in the folder.
        MachineError: the address is in use, or not of this machine.
    """
    with ReviewDatabase(folder / DATABASE_NAME) as database:
        try:
            listener = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno is not None and error.errno > 0 else str(error)
            raise MachineError(f"{host}:{port}: {reason}; choose another --port or --host") from None
        with listener:
            shown = f"[{host}]" if ":" in host else host
            listening(f"http://{shown}:{listener.getsockname()[1]}", database)
            listens_everywhere = host in {"0.0.0.0", "::"}  # noqa: S104  # compared
            application = review_application(database, None if listens_everywhere else {host, *LOOPBACK})
            config = uvicorn.Config(application, log_level="warning", lifespan="off", server_header=False)
            uvicorn.Server(config).run(sockets=[listener])
