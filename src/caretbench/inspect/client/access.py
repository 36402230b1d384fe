"""Access to a model, checked before anything is loaded: a key, the weights, a server on this machine."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from urllib.parse import urlsplit

from caretbench.errors import MachineError
from caretbench.inspect.client.provider_facts import provider_facts
from caretbench.local.weights import find_weights
from caretbench.models import ClientOptions

_SERVICES = ("azure", "bedrock", "vertex")
"""Services that offer a provider's models with access of their own: ``openai/azure/gpt-4o``."""
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_PATIENCE_S = 2.0


def check_access(spec: str, options: ClientOptions) -> None:
    """Raise if it is already known that a model cannot be asked. Inspect is not imported.

    Raises:
        MachineError: the provider's key is not set, or nobody listens at an address on this machine.
        DataError: there are no such weights.
    """
    provider, _, name = spec.partition("/")
    if provider == "gguf":
        find_weights(name)
        return
    keys = provider_facts(provider).keys
    stated = any("key" in argument or "token" in argument for argument in options.model_args)
    stated = stated or any(map(os.environ.get, keys)) or name.split("/")[0] in _SERVICES
    # Inspect reads further variables from such a file.
    stated = stated or any((folder / ".env").exists() for folder in (Path.cwd(), *Path.cwd().parents))
    if keys and not stated:
        raise MachineError(f"{spec}: there is no key of the provider; set {' or '.join(keys)} in the environment")
    if options.base_url:
        _check_address(spec, options.base_url)


def _check_address(spec: str, address: str) -> None:
    parts = urlsplit(address)
    if parts.hostname not in _LOOPBACK:
        return
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection((parts.hostname, port), _PATIENCE_S).close()
    except OSError as error:
        raise MachineError(
            f"{spec}: nobody listens at {parts.hostname}:{port} ({error.strerror or error}); start the model's "
            "server, or correct the address"
        ) from None
