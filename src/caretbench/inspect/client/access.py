"""Access to a model, checked before anything is loaded: a key, the weights, a server on this machine."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from urllib.parse import urlsplit

from caretbench.errors import MachineError
from caretbench.inspect.client.checkpoint_files import CHECKPOINT_PROVIDERS, check_packages
from caretbench.inspect.client.provider_facts import provider_facts
from caretbench.inspect.installation import check_installed
from caretbench.inspect.providers.endpoint_shapes import endpoint_shapes
from caretbench.local.server_spec import SERVER, is_loopback, own_server_advice, parse_server_spec
from caretbench.local.weights import find_weights
from caretbench.models import ClientOptions

_SERVICES = ("azure", "bedrock", "vertex")
"""Services that offer a provider's models with access of their own: ``openai/azure/gpt-4o``."""
_CREDENTIALS = ("key", "token", "adc")
"""Parts of the names of a provider's options that stand for a key."""
_PATIENCE_S = 2.0


def check_access(spec: str, options: ClientOptions) -> None:
    """Raise if it is already known that a model cannot be asked. Inspect is not imported.

    Raises:
        MachineError: Inspect AI is not installed, the provider's key is not set, or nobody listens at an address on
            this machine.
        DataError: there are no such weights.
        ValueError: the address of a server is missing or wrong.
    """
    check_installed(f"{spec}: asking a model")
    provider, _, name = spec.partition("/")
    if provider == "gguf":
        find_weights(name)
        return
    if provider == SERVER:
        _check_address(spec, parse_server_spec(spec, options.base_url).root)
        return
    if provider in CHECKPOINT_PROVIDERS:
        check_packages(spec, options.base_url, options.model_args)
    keys, instead = _endpoint_keys(name, options) if provider == "fim" else (_provider_keys(provider, name), "")
    stated = any(part in argument for argument in options.model_args for part in _CREDENTIALS)
    stated = stated or any(map(os.environ.get, keys)) or name.split("/")[0] in _SERVICES
    # Inspect reads further variables from such a file.
    stated = stated or any((folder / ".env").exists() for folder in (Path.cwd(), *Path.cwd().parents))
    if keys and not stated:
        raise MachineError(
            f"{spec}: there is no key of the provider; set {' or '.join(keys)} in the environment{instead}"
            f"{own_server_advice(spec, options.base_url)}"
        )
    if options.base_url:
        _check_address(spec, options.base_url)


def _provider_keys(provider: str, name: str) -> list[str]:
    """Return the variables of which one must hold the key of a provider of Inspect."""
    service, _, model = name.partition("/")
    if not model:
        service = ""
    known = provider_facts(provider).keys
    named = [key for key in known if service or "{" not in key]
    return [key.replace("{SERVICE}", service.upper().replace("-", "_")) for key in named]


def _endpoint_keys(name: str, options: ClientOptions) -> tuple[list[str], str]:
    """Return the variables of the key of a fill-in endpoint, and the words on what may be set instead.

    A server of one's own needs no key.
    """
    shape = endpoint_shapes().get(name.partition("/")[0])
    if shape is None or not shape.needs_key or options.base_url or any(map(os.environ.get, shape.base_url_variables)):
        return [], ""
    return [*shape.key_variables], f", or {shape.base_url_variables[0]} to an address that needs none"


def _check_address(spec: str, address: str) -> None:
    parts = urlsplit(address)
    if not is_loopback(address) or parts.hostname is None:
        return
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection((parts.hostname, port), _PATIENCE_S).close()
    except OSError as error:
        raise MachineError(
            f"{spec}: nobody listens at {parts.hostname}:{port} ({error.strerror or error}); start the model's "
            "server, or correct the address"
        ) from None
