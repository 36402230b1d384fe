"""Names of models on servers of one's own, ``server/MODEL@URL``, and addresses on this machine."""

from __future__ import annotations

import os
from ipaddress import ip_address
from typing import Final, NamedTuple
from urllib.parse import urlsplit, urlunsplit

from caretbench.errors import UsageError

SERVER: Final = "server"
"""Provider of these models, the first part of their names."""

KEY_VARIABLE: Final = "SERVER_API_KEY"
"""Environment variable of the key that is sent to such a server, if it is set."""

_OPENAI_ADDRESSES = ("OPENAI_BASE_URL", "OPENAI_API_BASE")

FORM: Final = "server/MODEL@URL, for example server/qwen2.5-coder@http://127.0.0.1:8000"


class ServerSpec(NamedTuple):
    """Model and address of ``server/MODEL@URL``.

    ``model`` is empty where the server's only model is meant; ``root`` is the address without a final ``/v1``.
    """

    model: str
    root: str


def parse_server_spec(spec: str, base_url: str | None = None) -> ServerSpec:
    """Return model and address of ``server/MODEL@URL``, or of ``server/MODEL`` and a ``base_url``.

    The URL may end with ``/v1`` or not, and begins with ``http://`` if it names no scheme.

    Raises:
        UsageError: there is no address, there are two, or it is none.
    """
    name = spec.removeprefix(f"{SERVER}/")
    # A name may hold an @ (a revision), and a URL as well (a user): the sign before a scheme is the right one.
    at = next((index for scheme in ("@http://", "@https://") if (index := name.find(scheme)) >= 0), name.rfind("@"))
    model, address = (name[:at], name[at + 1 :]) if at >= 0 else (name, "")
    if address and "://" not in address and not {":", "."} & set(address):
        # Without a dot or a port it is no address: the sign is a part of the model's name.
        model, address = name, ""
    if address and base_url and _root(address) != _root(base_url):
        raise UsageError(f"{spec}: the name has an address, and --base-url is another one; give one of them")
    address = address or base_url or ""
    if not address:
        raise UsageError(f"{spec}: the address of the server is missing; write {FORM}")
    return ServerSpec(model, _root(address))


def canonical_spec(spec: str) -> str:
    """Return ``server/MODEL@URL`` with scheme and without a final ``/v1``: an address in two spellings is one model."""
    try:
        parsed = parse_server_spec(spec) if spec.startswith(f"{SERVER}/") else None
    except UsageError:  # without an address, or with a wrong one: the server's provider says it
        parsed = None
    return f"{SERVER}/{parsed.model}@{parsed.root}" if parsed else spec


def _root(address: str) -> str:
    address = address.strip()
    try:
        parts = urlsplit(address if "://" in address else f"http://{address}")
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    # A port that is no number, or half an IPv6 address.
    except ValueError:
        valid = False
    if not valid:
        raise UsageError(f"{address} is no address of a server; write {FORM}")
    # The address is stored in the manifest and shown in reports.
    if parts.username is not None or parts.query or parts.fragment:
        raise UsageError(
            f"{parts.hostname}: an address has no password, query or fragment; a key is set in {KEY_VARIABLE}"
        )
    # llama.cpp's and Ollama's own endpoints are next to /v1, and not below it.
    path = parts.path.rstrip("/").removesuffix("/v1").rstrip("/")
    return urlunsplit((parts.scheme, parts.netloc, path, "", ""))


def is_loopback(address: str) -> bool:
    """Return whether an address is on this machine."""
    try:
        host = urlsplit(address).hostname or ""
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def is_local_server(spec: str) -> bool:
    """Return whether a model's name is ``server/MODEL@URL`` with an address on this machine."""
    if not spec.startswith(f"{SERVER}/"):
        return False
    try:
        return is_loopback(parse_server_spec(spec).root)
    except ValueError:
        return False


def openai_address(base_url: str | None) -> str | None:
    """Return the address of the provider ``openai``, if it is not OpenAI's own by default."""
    return base_url or next(filter(None, map(os.environ.get, _OPENAI_ADDRESSES)), None)


def own_server_advice(spec: str, base_url: str | None) -> str:
    """Return the advice to ask a server of one's own by ``server/``; empty if ``spec`` is asked at OpenAI's address."""
    provider, _, name = spec.partition("/")
    address = openai_address(base_url)
    if provider != "openai" or not address or (urlsplit(address).hostname or "").endswith("openai.com"):
        return ""
    return f"; a server of your own is asked as -m {SERVER}/{name}@{address}, which finds out what it has"
