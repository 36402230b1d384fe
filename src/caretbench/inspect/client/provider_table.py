"""What is known of each provider before it is asked. The data stand in ``providers.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources

from pydantic import BaseModel, ConfigDict, Field

from caretbench.models import PromptKind


class Provider(BaseModel):
    """What one provider takes."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    accepts: frozenset[PromptKind] = frozenset({"chat"})
    tells_probabilities: bool = False
    """Whether the log-probabilities of the likeliest first tokens can be asked for."""
    together: bool = False
    """Whether n samples by one request are honoured."""
    stop_texts: int | None = Field(default=None, ge=1)
    """How many stop texts a request may hold; None: any number, as far as is known."""
    options: tuple[str, ...] = ()
    """The client's options that the provider's constructor takes by name."""
    timeout_s: float | None = Field(default=None, gt=0)
    """Seconds of one try, where a user says nothing; None: as with all others."""


@cache
def providers() -> Mapping[str, Provider]:
    """All providers that the table knows, by name."""
    text = resources.files(__package__).joinpath("providers.toml").read_text(encoding="utf-8")
    return {name: Provider.model_validate(entry) for name, entry in tomllib.loads(text).items()}


def provider(name: str) -> Provider:
    """What is known of the provider ``name``; of others, that they take conversations."""
    return providers().get(name, Provider())
