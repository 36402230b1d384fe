"""Facts about providers and models, known before any request. Those of providers are in ``providers.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from caretbench.models import PromptKind

if TYPE_CHECKING:
    from inspect_ai.model import Model


class ProviderFacts(BaseModel):
    """Capabilities of one provider."""

    model_config = ConfigDict(extra="forbid", frozen=True)

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
    text = resources.files(__package__).joinpath("providers.toml").read_text(encoding="utf-8")
    return {name: ProviderFacts.model_validate(entry) for name, entry in tomllib.loads(text).items()}


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
        known = provider_facts(self.name.partition("/")[0])
        self.accepts: frozenset[PromptKind] = known.accepts
        self.returns_log_probabilities = known.returns_log_probabilities

    def _own(self, name: str, *arguments: object) -> Any:
        method = getattr(self._api, name, None)
        return method(*arguments) if callable(method) else None

    @property
    def identity(self) -> Mapping[str, JsonValue]:
        """Settings that identify the model: those that the provider defines, else its name."""
        own = self._own("identity")
        return dict(own) if isinstance(own, Mapping) else {"provider": self.name.partition("/")[0]}

    @property
    def context_tokens(self) -> int | None:
        """Context length (prompt and answer) in tokens, if the provider knows it."""
        own = self._own("context_tokens")
        return own if isinstance(own, int) else None

    def count_tokens(self, text: str) -> int | None:
        """Return the number of tokens by the provider's own tokenizer, if it has one."""
        own = self._own("token_count", text)
        return own if isinstance(own, int) else None

    def special_tokens(self) -> frozenset[str] | None:
        """Return those of the provider's own tokenizer, if it has one."""
        own = self._own("special_tokens")
        return None if own is None else frozenset(own)

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
        known = provider_facts(self.name.partition("/")[0]).stop_texts
        limit = getattr(self._api, "stop_texts", known)
        return limit if isinstance(limit, int) else None
