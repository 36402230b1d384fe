"""How a model is to be reached: the options of a client. Imports nothing of Inspect."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

Mode = Literal["reproducible", "fast"]
"""How a local server runs: one slot and no prompt cache, or several with one."""


class ClientOptions(BaseModel):
    """How one model is reached; says nothing of what it is asked.

    ``connections`` requests are under way at once. A try ends after ``timeout_s`` seconds; a request after
    ``max_retries`` tries beyond the first. ``retry_wait_s`` is the first pause between tries, in seconds; each
    following one is longer, up to ``retry_wait_limit_s`` (a server's Retry-After may ask for more, up to that limit).
    ``per_request``: n samples by one request; None: where the provider is known to honour it.
    ``mode`` and ``threads`` are of local servers. ``context_tokens`` is the room for prompt and answer together, where
    the provider does not tell it; ``uncut`` says that no prompt can be shortened, and a local server then gives more
    room by default. ``tokenizer`` is the model's own ``tokenizer.json``. ``model_args`` go to the
    provider as they are.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    connections: int = Field(default=8, ge=1, le=1000)
    timeout_s: float = Field(default=120, gt=0)
    max_retries: int = Field(default=5, ge=0)
    retry_wait_s: float = Field(default=3, ge=0)
    retry_wait_limit_s: float = Field(default=120, ge=0)
    per_request: bool | None = None
    base_url: str | None = None
    mode: Mode = "reproducible"
    threads: int | None = Field(default=None, ge=1)
    context_tokens: int | None = Field(default=None, ge=1)
    uncut: bool = False
    stream: bool = True
    tokenizer: Path | None = None
    model_args: dict[str, JsonValue] = Field(default_factory=dict)
