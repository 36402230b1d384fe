"""Requests of a build to one model, and the rows of their answers: ``asked.jsonl`` and ``errors.jsonl``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import JsonValue

from caretbench.build.build_models import ANSWER_ERRORS_FILE, ANSWERS_FILE, BuildRequest
from caretbench.build.models.config import BuildModelsConfig
from caretbench.files import read_rows, replace_surrogates, sha256_json
from caretbench.models import ChatPrompt, FailureKind, Message, ModelAnswer, ModelClient, Prompt, Sampling, TextPrompt
from caretbench.problem import SCHEMA_VERSION, Latency, Row, Usage
from caretbench.redaction import redact
from caretbench.runs.model_under_test import worst_cost
from caretbench.runs.plans.prices import Price
from caretbench.runs.plans.roles import NamedModel
from caretbench.runs.request_stage import PendingRequest, StageRequests

BuildAnswerKey = tuple[str, str, str, str, str]
"""Role, request, prompt, model, parameters."""


class _Question(Row):
    """Key fields of an answer. ``prompt`` and ``parameters`` are hashes: another text is another request."""

    schema_version: Literal[1] = SCHEMA_VERSION
    role: str
    request: str
    prompt: str
    model: str
    parameters: str

    @property
    def key(self) -> BuildAnswerKey:
        """Unique key of the row."""
        return (self.role, self.request, self.prompt, self.model, self.parameters)


class BuildAnswer(_Question):
    """One answer of a model that helps to build: a line of ``asked.jsonl``.

    ``parameters`` is the hash of ``settings``: sampling and the client's identity. ``cost`` is in US dollars.
    """

    settings: Mapping[str, JsonValue]
    text: str | None
    finish_reason: str | None = None
    usage: Usage | None = None
    cost: float | None = None
    latency: Latency | None = None


class MissingBuildAnswer(_Question):
    """Missing answer: a line of ``errors.jsonl`` of a build; the next call asks again."""

    kind: str
    message: str
    attempts: int = 1


class AnswerFiles:
    """The two answer files of a build's folder."""

    def __init__(self, folder: Path) -> None:
        self.answers_path = folder / ANSWERS_FILE
        self.errors_path = folder / ANSWER_ERRORS_FILE

    def answers(self) -> Iterator[BuildAnswer]:
        """Yield the stored answers.

        Raises:
            DataError: a line is malformed.
        """
        if self.answers_path.exists():
            yield from read_rows(self.answers_path, BuildAnswer, allow_partial_last_line=True)


@dataclass(frozen=True)
class BuildModelRequest:
    """A request of a build as it is sent to one model."""

    request: BuildRequest
    prompt: Prompt
    sampling: Sampling
    settings: Mapping[str, JsonValue]
    key: BuildAnswerKey


@dataclass
class BuildStageRequests(StageRequests[BuildModelRequest]):
    """Requests of one role to its model."""

    models_config: BuildModelsConfig
    role: str
    named: NamedModel
    client: ModelClient
    price: Price | None
    answers: dict[BuildAnswerKey, BuildAnswer] = field(default_factory=dict)
    """Answers received."""

    @property
    def model(self) -> str:
        """Name of the model in the rows."""
        return self.named.name

    def of(self, requests: Iterable[BuildRequest]) -> list[BuildModelRequest]:
        """Return the requests in the form sent to the model.

        Raises:
            ValueError: a key occurs twice, or the model does not take such prompts.
        """
        found: dict[str, BuildModelRequest] = {}
        for request in requests:
            if request.key in found:
                raise ValueError(f"{self.role}: the request {request.key!r} occurs twice")
            found[request.key] = self._question(request)
        return list(found.values())

    def _question(self, request: BuildRequest) -> BuildModelRequest:
        prompt = self._prompt(request.prompt)
        sampling = self.models_config.request_sampling(request.sampling)
        client: dict[str, JsonValue] = {"model": redact(self.client.name), **self.client.identity}
        settings: dict[str, JsonValue] = {"sampling": sampling.model_dump(exclude_none=True), "client": client}
        prompt_hash = sha256_json(prompt.model_dump(mode="json"))[:16]
        key = (self.role, request.key, prompt_hash, self.model, sha256_json(settings)[:16])
        return BuildModelRequest(request, prompt, sampling, settings, key)

    def _prompt(self, prompt: Prompt | str) -> Prompt:
        if isinstance(prompt, str):
            if "chat" in self.client.accepts:
                return ChatPrompt(messages=(Message(role="user", text=prompt),))
            prompt = TextPrompt(text=prompt)
        if prompt.kind not in self.client.accepts:
            raise ValueError(
                f"{self.role}: {self.model} takes {', '.join(sorted(self.client.accepts))} prompts, and the build "
                f"asks by {prompt.kind} prompts"
            )
        return prompt

    # --- hooks of the stage -----------------------------------------------------------------------------------------

    def sampling(self, pending: PendingRequest[BuildModelRequest]) -> Sampling:
        """Return the request's sampling settings."""
        return pending.item.sampling

    def worst_cost(self, pending: PendingRequest[BuildModelRequest]) -> float:
        """Return the cost of the whole prompt and a full answer."""
        return self.max_answer_cost(pending.item)

    def max_answer_cost(self, question: BuildModelRequest) -> float:
        """Return the maximum cost of an answer in US dollars; zero if no price is known."""
        return worst_cost(self.client, self.price, question.prompt, 1, question.sampling.max_tokens)

    def row(self, pending: PendingRequest[BuildModelRequest], answer: ModelAnswer, cost: float | None) -> BuildAnswer:
        """Return a line of ``asked.jsonl``."""
        question = pending.item
        row = BuildAnswer(
            **_identity(question),
            settings=question.settings,
            text=replace_surrogates(answer.text),
            finish_reason=replace_surrogates(answer.finish_reason),
            usage=answer.usage,
            cost=cost,
            latency=answer.latency,
        )
        self.answers[row.key] = row
        return row

    def missing(
        self, pending: PendingRequest[BuildModelRequest], sample: int, kind: FailureKind, message: str, attempts: int
    ) -> MissingBuildAnswer:
        """Return a line of ``errors.jsonl``."""
        del sample  # there is one
        question = pending.item
        return MissingBuildAnswer(**_identity(question), kind=kind, message=message, attempts=attempts)


def _identity(question: BuildModelRequest) -> dict[str, Any]:
    return dict(zip(("role", "request", "prompt", "model", "parameters"), question.key, strict=True))
