"""Models that are Python functions of a prompt, for the Python API."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from caretbench.errors import UsageError
from caretbench.models import (
    AccessCheck,
    ClientOpener,
    ClientOptions,
    ModelAnswer,
    ModelFailure,
    ModelRequest,
    PromptKind,
)
from caretbench.plugins import Version, function_version, one_line
from caretbench.problem import Latency
from caretbench.runs.plans.config import ModelConfig, RunConfig
from caretbench.runs.plans.roles import FUNCTION

ModelFunction = Callable[..., str | None]
"""Function from a prompt to an answer: a ``FillPrompt`` at a caret, a ``ChatPrompt`` for a question."""


@dataclass(frozen=True)
class FunctionClient:
    """Client of a model that is a function: one call for each sample, one after the other.

    ``version`` is part of the key of every completion, so that a changed function is asked again.
    """

    name: str
    function: ModelFunction
    version: Version
    accepts: frozenset[PromptKind] = frozenset({"fill", "chat", "text"})
    # A prompt strategy is chosen by this name. With the function's own, one that is called "starcoder" would get FIM
    # sentinels in place of the two texts.
    served_name: str = FUNCTION
    context_tokens: int | None = None
    returns_log_probabilities: bool = False

    @property
    def identity(self) -> Mapping[str, JsonValue]:
        """Version of the function."""
        return {"function": self.version}

    def submit(self, requests: Iterable[ModelRequest]) -> Iterator[ModelAnswer | ModelFailure]:
        """Call the function for every sample; its exception, or anything but a text or None, is a failed sample."""
        for request in requests:
            for sample in request.samples:
                yield self._outcome(request, sample)

    def _outcome(self, request: ModelRequest, sample: int) -> ModelAnswer | ModelFailure:
        begin = time.monotonic()
        fault = ""
        try:
            text = self.function(request.prompt)
            if not isinstance(text, str | None):
                fault = f"returned {text!r:.80}; expected a text or None"
        except Exception as error:
            fault = one_line(error)
        if fault:
            return ModelFailure(request_id=request.id, samples=(sample,), kind="provider", message=fault)
        latency = Latency(last_s=time.monotonic() - begin)
        return ModelAnswer(request_id=request.id, sample=sample, text=text, finish_reason="stop", latency=latency)

    def count_tokens(self, text: str) -> int | None:
        """Return None: no tokenizer is known."""

    def special_tokens(self) -> frozenset[str] | None:
        """Return None: no vocabulary is known."""

    def control_tokens(self) -> frozenset[str]:
        """Return no tokens."""
        return frozenset()

    def close(self) -> None:
        """Do nothing: a function holds nothing."""

    def __enter__(self) -> FunctionClient:
        return self

    def __exit__(self, *details: object) -> None:
        return None


class FunctionModels:
    """Functions by the names of their models; a spec ``function/NAME`` means the function NAME.

    Raises:
        UsageError: a value is no function, or its version cannot be known.
    """

    def __init__(self, functions: Mapping[str, ModelFunction]) -> None:
        self._clients = {
            f"{FUNCTION}/{name}": FunctionClient(
                f"{FUNCTION}/{name}", function, function_version(function, f"model {name!r}")
            )
            for name, function in functions.items()
        }

    def added_to(self, config: RunConfig) -> RunConfig:
        """Return the configuration with these models; one that it names by its spec keeps its settings."""
        specs = {model.spec for model in config.models} | {judge.spec for judge in config.judges}
        added = tuple(
            ModelConfig(spec=spec, name=spec.partition("/")[2]) for spec in self._clients if spec not in specs
        )
        return config.model_copy(update={"models": (*config.models, *added)})

    def access(self, otherwise: AccessCheck) -> AccessCheck:
        """Return the check of access that asks ``otherwise`` about all models but these."""

        def check(spec: str, options: ClientOptions) -> None:
            if not self._of(spec):
                otherwise(spec, options)

        return check

    def opener(self, otherwise: ClientOpener) -> ClientOpener:
        """Return the opener of clients that asks ``otherwise`` for all models but these."""
        return lambda spec, options: self._of(spec) or otherwise(spec, options)

    def _of(self, spec: str) -> FunctionClient | None:
        """Return the client of a spec; None if it is no function.

        Raises:
            UsageError: there is no such function.
        """
        client = self._clients.get(spec)
        if client is None and spec.startswith(f"{FUNCTION}/"):
            known = ", ".join(self._clients) or "none was given"
            raise UsageError(f"{spec}: no such function; give it: models={{'NAME': function}}; known: {known}")
        return client
