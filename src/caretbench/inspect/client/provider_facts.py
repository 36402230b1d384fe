"""Facts about providers and models known before any request, and checks that a model can be asked.

The facts are in ``providers.toml``. A key, the weights and a server on this machine are checked before anything is
loaded.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic import Field, JsonValue

from caretbench.errors import MachineError
from caretbench.files import read_packaged_toml
from caretbench.inspect.client.checkpoint_files import CHECKPOINT_PROVIDERS, check_packages
from caretbench.inspect.providers.endpoint_shapes import endpoint_shapes
from caretbench.local.server_spec import SERVER, is_loopback, own_server_advice, parse_server_spec
from caretbench.local.weights import find_model
from caretbench.models import ClientOptions, PromptKind
from caretbench.problem import Row

if TYPE_CHECKING:
    from inspect_ai.model import Model


def check_installed(purpose: str) -> None:
    """Raise MachineError, with the package to install, if Inspect AI is not installed. It is not imported."""
    if find_spec("inspect_ai") is None:
        raise MachineError(f"{purpose} needs Inspect AI, which is not installed: pip install 'caretbench[models]'")


class ProviderFacts(Row):
    """Capabilities of one provider."""

    accepts: frozenset[PromptKind] = frozenset({"chat"})
    returns_log_probabilities: bool = False
    """True if the log-probabilities of the likeliest first tokens can be requested."""
    together: bool = False
    """True if one request can return n samples."""
    stop_texts: int | None = Field(default=None, ge=1)
    """Maximum number of stop texts of a request; None: any number, as far as is known."""
    options: tuple[str, ...] = ()
    """The client's options that the provider's constructor takes by name."""
    keys: tuple[str, ...] = ()
    """Environment variables of the provider's key, one of which must be set; empty: not known, or none is needed."""
    timeout_s: float | None = Field(default=None, gt=0)
    """Default seconds of one try; None: as for all others."""


@cache
def providers() -> Mapping[str, ProviderFacts]:
    """Return all providers that the table knows, by name."""
    table = read_packaged_toml("caretbench.inspect.client", "providers.toml")
    return {name: ProviderFacts.model_validate(entry) for name, entry in table.items()}


def provider_facts(name: str) -> ProviderFacts:
    """Return the facts of the provider ``name``; an unknown provider is assumed to accept chat prompts only."""
    return providers().get(name, ProviderFacts())


class ModelFacts:
    """Part of a :class:`caretbench.models.ModelClient` that sends no requests; Inspect sends them itself.

    A provider of ours may know more than Inspect asks of it: its ModelAPI may have ``identity()``,
    ``context_tokens()``, ``token_count(text)``, ``special_tokens()``, ``control_tokens()``, ``stop_texts`` and
    ``takes_instructions``.
    """

    def __init__(self, model: Model) -> None:
        self.name = str(model)
        self._api: Any = model.api
        facts = provider_facts(self.name.partition("/")[0])
        self.accepts: frozenset[PromptKind] = facts.accepts
        self.returns_log_probabilities = facts.returns_log_probabilities

    def _own(self, name: str, *arguments: object) -> Any:
        method = getattr(self._api, name, None)
        return method(*arguments) if callable(method) else None

    @property
    def identity(self) -> Mapping[str, JsonValue]:
        """Settings that identify the model: those that the provider defines, else its name."""
        reported = self._own("identity")
        return dict(reported) if isinstance(reported, Mapping) else {"provider": self.name.partition("/")[0]}

    @property
    def context_tokens(self) -> int | None:
        """Context length (prompt and answer) in tokens, if the provider knows it."""
        reported = self._own("context_tokens")
        return reported if isinstance(reported, int) else None

    def count_tokens(self, text: str) -> int | None:
        """Return the number of tokens by the provider's own tokenizer, if it has one."""
        reported = self._own("token_count", text)
        return reported if isinstance(reported, int) else None

    def special_tokens(self) -> frozenset[str] | None:
        """Return those of the provider's own tokenizer, if it has one."""
        reported = self._own("special_tokens")
        return None if reported is None else frozenset(reported)

    def control_tokens(self) -> frozenset[str]:
        """Return those of the provider's own tokenizer, if it has one."""
        return frozenset(self._own("control_tokens") or ())

    @property
    def takes_instructions(self) -> bool:
        """Return whether a prompt of the kind ``fill`` may have an instruction."""
        return bool(getattr(self._api, "takes_instructions", True))

    @property
    def stop_texts(self) -> int | None:
        """Maximum number of stop texts of a request; None: any number."""
        maximum = provider_facts(self.name.partition("/")[0]).stop_texts
        limit = getattr(self._api, "stop_texts", maximum)
        return limit if isinstance(limit, int) else None


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
        find_model(name)
        return
    if provider == SERVER:
        _check_address(spec, parse_server_spec(spec, options.base_url).root)
        return
    if provider in CHECKPOINT_PROVIDERS:
        check_packages(spec, options.base_url, options.model_args)
    keys, instead = _endpoint_keys(name, options) if provider == "fim" else (_provider_keys(provider, name), "")
    # An option of the provider may hold the key under any name, api_key or azure_ad_token.
    stated = any(word in argument for argument in options.model_args for word in _CREDENTIALS)
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
    variables = provider_facts(provider).keys
    named = [key for key in variables if service or "{" not in key]
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
    # An address elsewhere may be behind a proxy that only the request knows.
    if not is_loopback(address) or parts.hostname is None:
        return
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        # Before Inspect is loaded, which takes seconds.
        socket.create_connection((parts.hostname, port), _PATIENCE_S).close()
    except OSError as error:
        raise MachineError(
            f"{spec}: nobody listens at {parts.hostname}:{port} ({error.strerror or error}); start the model's "
            "server, or correct the address"
        ) from None
