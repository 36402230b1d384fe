"""Prices of tokens (a TOML file), the cost of a request, and a budget that is never exceeded.

A price file holds one table for each model, as it is asked for; the name may be a pattern::

    [models."openai/gpt-4o-mini"]
    input_per_million = 0.15
    cached_input_per_million = 0.075
    output_per_million = 0.60

Prices change, so none are shipped. What runs on this machine costs nothing unless a file sets a price.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

from pydantic import Field

from caretbench.errors import UsageError
from caretbench.files import read_toml, validated
from caretbench.local.server_spec import is_local_server
from caretbench.problem import Row, Usage

_MILLION = 1_000_000
# Providers whose models run on this machine, or that send nothing.
_FREE = (
    "function/*", "gguf/*", "command/*", "mockllm/*", "ollama/*", "hf/*", "vllm/*", "fim/ollama/*", "fim/llama-cpp/*",
)  # fmt: skip


class Price(Row):
    """Price in US dollars per million tokens. Cached input costs as much as other input by default."""

    input_per_million: float = Field(ge=0, allow_inf_nan=False)
    output_per_million: float = Field(ge=0, allow_inf_nan=False)
    cached_input_per_million: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    currency: Literal["USD"] = "USD"

    def token_cost(self, input_tokens: int, output_tokens: int, cached_tokens: int = 0) -> float:
        """Return the cost in US dollars; ``cached_tokens`` are among the ``input_tokens``."""
        cached_price = self.input_per_million
        if self.cached_input_per_million is not None:
            cached_price = self.cached_input_per_million
        # Some providers count cached tokens apart from the input.
        fresh = max(0, input_tokens - cached_tokens)
        cost = fresh * self.input_per_million + cached_tokens * cached_price
        return (cost + output_tokens * self.output_per_million) / _MILLION

    def cost_per_answer(self, usage: Usage | None) -> float | None:
        """Return the cost of one of a request's answers in US dollars; None if the usage is unknown."""
        if self.is_free:
            return 0.0
        if usage is None or usage.input_tokens is None or usage.output_tokens is None:
            return None
        whole = self.token_cost(usage.input_tokens, usage.output_tokens, usage.cached_tokens or 0)
        # Providers charge for a request, which may hold several samples.
        return whole / usage.answers

    @property
    def of_batches(self) -> Price:
        """Price by the batch interface of OpenAI and Anthropic: the half."""
        prices = ("input_per_million", "output_per_million", "cached_input_per_million")
        return self.model_copy(
            update={name: value / 2 for name in prices if (value := getattr(self, name)) is not None}
        )

    @property
    def is_free(self) -> bool:
        """Return whether all prices are zero."""
        return not (self.input_per_million or self.output_per_million or self.cached_input_per_million)


FREE = Price(input_per_million=0, output_per_million=0)


class _PriceFile(Row):
    models: Mapping[str, Price]


class Prices:
    """Prices by model."""

    def __init__(self, models: Mapping[str, Price] | None = None) -> None:
        self._models = dict(models or {})

    @classmethod
    def load(cls, path: Path | None) -> Prices:
        """Return the prices of a file; none without one.

        Raises:
            DataError: it cannot be read, or is no price file.
        """
        return cls() if path is None else cls.parse(read_toml(path), str(path))

    @classmethod
    def parse(cls, value: object, source: str) -> Prices:
        """Return the prices of a table ``models`` in the form of a price file.

        Raises:
            DataError: it is no such table; the message begins with ``source``.
        """
        return cls(validated(_PriceFile, value, source).models)

    def find(self, spec: str) -> Price | None:
        """Return the price of the model ``spec``: by its name, else by the longest matching pattern.

        None where no price is known; programs and models on this machine are free by default.
        """
        if spec in self._models:
            return self._models[spec]
        fitting = [pattern for pattern in self._models if fnmatchcase(spec, pattern)]
        if fitting:
            # The longest pattern says most: `openai/gpt-4o-*` goes before `openai/*`.
            return self._models[max(fitting, key=len)]
        return FREE if is_local_server(spec) or any(fnmatchcase(spec, pattern) for pattern in _FREE) else None


def unpriced_error(specs: Sequence[str]) -> UsageError:
    """Return the error about models without a price, where money is limited."""
    return UsageError(
        f"no price is known for {', '.join(specs)}, so --max-cost cannot be kept; give one in a file: --prices FILE"
    )


class CostBudget:
    """Budget in US dollars: limit, amount spent, and amount reserved for requests in flight.

    A request is sent only when its worst case fits in what is left; so the limit holds whatever comes back. Requests
    are taken and answered in different threads.
    """

    def __init__(self, limit: float | None = None, spent: float = 0.0) -> None:
        self.limit = limit
        self.spent = spent
        self._reserved = 0.0
        self._lock = threading.Lock()

    def reserve(self, max_cost: float) -> bool:
        """Reserve US dollars for a request; return False, and reserve nothing, if the budget is too small."""
        with self._lock:
            # The worst case, before the request is sent: the limit holds over all stops of a run.
            # A free request passes even if the limit is already reached.
            if self.limit is not None and max_cost > 0 and self.spent + self._reserved + max_cost > self.limit:
                return False
            self._reserved += max_cost
            return True

    def commit(self, max_cost: float, spent: float) -> None:
        """Release the reserved amount, and count ``spent`` as spent."""
        with self._lock:
            self._reserved -= max_cost
            self.spent += spent
