"""Models of a build: requests and stored rows (``asked.jsonl``, ``errors.jsonl``), sent by the resumable stage."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from pydantic import JsonValue

from caretbench.build.build_models import ANSWER_ERRORS_FILE, ANSWERS_FILE, AnswersMissingError, BuildRequest
from caretbench.build.models.config import BuildModelsConfig
from caretbench.errors import UsageError
from caretbench.files import RowAppender, read_appended, replace_surrogates, sha256_json
from caretbench.models import (
    ChatPrompt,
    ClientOpener,
    FailureKind,
    Message,
    ModelAnswer,
    ModelClient,
    Prompt,
    Sampling,
    TextPrompt,
)
from caretbench.problem import Latency, StoredRow, Usage
from caretbench.progress import Progress
from caretbench.redaction import redact
from caretbench.runs.generate import worst_cost
from caretbench.runs.plans.prices import CostBudget, Price
from caretbench.runs.plans.roles import NamedModel
from caretbench.runs.request_stage import (
    ErrorFile,
    PendingRequest,
    ReportProgress,
    RequestStage,
    StageCounts,
    StageRequests,
    reserved_cost,
)

BuildAnswerKey = tuple[str, str, str, str, str]
"""Role, request, prompt, model, parameters."""


class _Question(StoredRow):
    """Key fields of an answer. ``prompt`` and ``parameters`` are hashes: another text is another request."""

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


def stored_answers(folder: Path) -> dict[BuildAnswerKey, BuildAnswer]:
    """Return the answers in a build's folder.

    Raises:
        DataError: a line is malformed.
    """
    return {row.key: row for row in read_appended(folder / ANSWERS_FILE, BuildAnswer)}


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
        by_key: dict[str, BuildModelRequest] = {}
        for request in requests:
            if request.key in by_key:
                raise ValueError(f"{self.role}: the request {request.key!r} occurs twice")
            by_key[request.key] = self._question(request)
        return list(by_key.values())

    def _question(self, request: BuildRequest) -> BuildModelRequest:
        prompt = self._prompt(request.prompt)
        sampling = self.models_config.request_sampling(request.sampling)
        client: dict[str, JsonValue] = {"model": redact(self.client.name), **self.client.identity}
        settings: dict[str, JsonValue] = {"sampling": sampling.model_dump(exclude_none=True), "client": client}
        # A changed prompt is another question: its old answer is not reused, and its cost stays counted.
        prompt_hash = sha256_json(prompt.model_dump(mode="json"))[:16]
        key = (self.role, request.key, prompt_hash, self.model, sha256_json(settings)[:16])
        return BuildModelRequest(request, prompt, sampling, settings, key)

    def _prompt(self, prompt: Prompt | str) -> Prompt:
        if isinstance(prompt, str):
            if "chat" in self.client.accepts:
                return ChatPrompt(messages=(Message(role="user", text=prompt),))
            prompt = TextPrompt(text=prompt)
        if prompt.kind not in self.client.accepts:
            raise UsageError(
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


class OpenModels:
    """Models of a build, opened on first use; one is open at a time.

    Local servers hold their weights in memory, so that two of them may be too many.
    """

    def __init__(self, models_config: BuildModelsConfig, opener: ClientOpener) -> None:
        self.models_config = models_config
        self._opener = opener
        self._spec = ""
        self._client: ModelClient | None = None
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_details: object) -> None:
        self._stack.close()

    def questions(
        self, role: str, name: str | None, requests: Iterable[BuildRequest]
    ) -> tuple[BuildStageRequests, list[BuildModelRequest]]:
        """Open a model of a role, the only one if ``name`` is None; return the requests in the form sent to it.

        Raises:
            ValueError: the role has no such model, or the requests cannot be asked so.
        """
        named = self.models_config.model(role, name)
        spec = named.spec
        if self._client is None or spec != self._spec:
            self._stack.close()
            self._spec, self._client = spec, None
            self._client = self._stack.enter_context(self._opener(spec, self.models_config.options))
        work = BuildStageRequests(self.models_config, role, named, self._client, self.models_config.price(named))
        return work, work.of(requests)


class StoredBuildModels:
    """Models of a build (:class:`caretbench.build.build_models.BuildModels`) over the files of its folder.

    Use it as a context manager. From the first question on, the folder's ``asked.jsonl`` is held against other builds.
    """

    def __init__(
        self, models_config: BuildModelsConfig, folder: Path, opener: ClientOpener, progress: Progress
    ) -> None:
        self._models = OpenModels(models_config, opener)
        self._folder = folder
        self._progress = progress
        self._stack = ExitStack()
        self._totals: dict[str, int] = {}
        self._missed: set[BuildAnswerKey] = set()
        self._has_answered: dict[tuple[str, str | None], bool] = {}
        self.roles = frozenset(models_config.models)

    def names(self, role: str) -> tuple[str, ...]:
        """Return the names of a role's models."""
        return tuple(model.name for model in self._models.models_config.models.get(role, ()))

    def all_answered(self) -> bool:
        """Return whether each model that was asked has a stored answer."""
        return all(self._has_answered.values())

    def __enter__(self) -> Self:
        self._stack.enter_context(self._models)
        return self

    def __exit__(self, *_details: object) -> None:
        self._stack.close()

    @cached_property
    def _rows(self) -> RowAppender:
        return self._stack.enter_context(RowAppender(self._folder / ANSWERS_FILE))

    @cached_property
    def _answers(self) -> dict[BuildAnswerKey, BuildAnswer]:
        """Stored answers."""
        return stored_answers(self._folder)

    @cached_property
    def _budget(self) -> CostBudget:
        """Budget of the whole build: the stored answers are spent, those to other prompts included."""
        spent = sum(row.cost or 0.0 for row in self._answers.values()) + reserved_cost(self._folder / ANSWERS_FILE)
        return CostBudget(self._models.models_config.max_cost, spent)

    def ask(self, role: str, requests: Iterable[BuildRequest]) -> Mapping[str, str]:
        """Return the answers by request key; request those that are not stored.

        Raises:
            ValueError: as :class:`caretbench.build.build_models.BuildModels` does.
            AnswersMissingError: an answer is missing.
            DataError: another process asks for the same build, or a file is malformed.
        """
        return self._ask(role, None, requests)

    def ask_each(self, role: str, requests: Mapping[str, Iterable[BuildRequest]]) -> Mapping[str, Mapping[str, str]]:
        """Return the answers of several models by name and request key; request those that are not stored.

        Raises:
            ValueError, AnswersMissingError, DataError: as :meth:`ask`, after all models were asked.
        """
        answers, complaints = {}, []
        for name, asked in requests.items():
            try:
                answers[name] = self._ask(role, name, asked)
            except AnswersMissingError as error:
                complaints.append(str(error))
        if complaints:
            raise AnswersMissingError("; ".join(complaints))
        return answers

    def _ask(self, role: str, name: str | None, requests: Iterable[BuildRequest]) -> Mapping[str, str]:
        has_answered = self._has_answered.setdefault((role, name), False)
        work, questions = self._models.questions(role, name, requests)
        rows, answers, budget = self._rows, self._answers, self._budget  # in this order: the first one locks
        pending = [entry for entry in questions if entry.key not in answers]
        report = self._report(work, len(questions))
        with ErrorFile(self._folder / ANSWER_ERRORS_FILE, MissingBuildAnswer) as errors:
            stage = RequestStage(work, budget, rows, errors, report)
            stage.counts.requested = len(questions)
            stage.counts.stored = len(questions) - len(pending)
            report(stage.counts.stored, stage.counts)
            stage.ask(PendingRequest(entry.request.key, entry, (0,), entry.prompt) for entry in pending)
        # Answers that came before an error are kept: they are paid.
        answers |= work.answers
        self._has_answered[role, name] = (
            has_answered or not questions or any(entry.key in answers for entry in questions)
        )
        self._missed |= {entry.key for entry in questions if entry.key not in answers}
        errors.rewrite(errors.stored_keys - self._missed)  # what is missing now, and nothing of earlier builds
        self._note(work)
        if stage.counts.missing:
            raise AnswersMissingError(self._complaint(work, stage.counts))
        return {entry.request.key: answers[entry.key].text or "" for entry in questions}

    def _report(self, work: BuildStageRequests, requested: int) -> ReportProgress:
        """Return the progress callback of a stage; counts of several stages of one role add up."""
        step = f"answers of {work.model} ({work.role})"
        self._totals[step] = self._totals.get(step, 0) + requested

        def report(added: int, counts: StageCounts) -> None:
            self._progress(step, added, self._totals[step], f"${counts.cost:.4f}" if counts.cost else "")

        return report

    def _note(self, work: BuildStageRequests) -> None:
        """Report truncated answers, and the notices of the client."""
        cut = sum(row.finish_reason == "length" for row in work.answers.values())
        # A cut answer may still be usable, so it is no error; only the user knows whether to pay again.
        if cut:
            self._progress.note(
                f"{work.role}: {cut} of {len(work.answers)} answers are cut at their maximum of tokens; a higher "
                "--max-tokens asks again"
            )
        for line in getattr(work.client, "notices", ()):
            self._progress.note(f"{work.model}: {line}")

    def _complaint(self, work: BuildStageRequests, counts: StageCounts) -> str:
        kinds = ", ".join(f"{kind} {count}" for kind, count in counts.missing.most_common())
        count = f"{counts.missing.total()} of {counts.requested}"
        line = f"{work.role}, {work.model}: {count} answers are missing ({kinds}): "
        if set(counts.missing) == {"budget"}:
            line += "the rest of --max-cost does not cover one more answer; raise it to continue"
        else:
            line += (
                f"{' '.join((counts.stop_reason or counts.usual_message).split())[:300]}; the same command asks again"
            )
        return f"{line}; see {self._folder / ANSWER_ERRORS_FILE}"
