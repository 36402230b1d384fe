"""An executor that runs nothing, and a model that thinks nothing: both decide by a function of the test."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice

from pydantic import JsonValue

from caretbench.execution.execution_types import ExecutionRequest, ExecutionResult, Isolation, Status
from caretbench.models import FailureKind, ModelAnswer, ModelFailure, ModelRequest, PromptKind, TextPrompt
from caretbench.problem import Caret, Latency, Usage
from caretbench.prompts.strategy import PromptBudget, PromptStrategy, UnpromptableError

ISOLATION = Isolation(backend="fake", level="none", memory="none", network="none", seccomp=False, user="unprivileged")


class FakeExecutor:
    """Gives each request the status that ``decide`` finds; counts what it was asked."""

    def __init__(self, decide: Callable[[ExecutionRequest], Status]) -> None:
        self.decide = decide
        self.asked: list[ExecutionRequest] = []

    def submit(self, requests: Iterable[ExecutionRequest]) -> Iterator[ExecutionResult]:
        """Results in order, one request pulled at a time."""
        for request in requests:
            self.asked.append(request)
            status = self.decide(request)
            module = "numpy" if status is Status.UNRESOLVED_IMPORT else None
            yield ExecutionResult(id=request.id, status=status, missing_module=module, isolation=ISOLATION)

    def isolation(self) -> Isolation:
        """No walls: nothing runs."""
        return ISOLATION


Reply = str | None | ModelFailure
"""Response of a fake model to one sample: a text, nothing, or an error."""


class FakeClient:
    """A model that answers at once, by a function; it keeps what it was asked.

    ``window`` requests are taken before the first of them is answered, as a client with connections does.
    """

    def __init__(
        self,
        reply: Callable[[ModelRequest, int], Reply] = lambda _request, sample: f"answer {sample}",
        *,
        name: str = "fake/model",
        accepts: Iterable[PromptKind] = ("chat", "text", "fill"),
        identity: Mapping[str, JsonValue] | None = None,
        context_tokens: int | None = None,
        usage: Usage | None = None,
        count: Callable[[str], int | None] = lambda _text: None,
        special: frozenset[str] | None = None,
        control: frozenset[str] = frozenset(),
        window: int = 1,
        returns_log_probabilities: bool = False,
    ) -> None:
        self.reply = reply
        self.name = name
        self.accepts: frozenset[PromptKind] = frozenset(accepts)
        self.identity: Mapping[str, JsonValue] = {"model": name} if identity is None else identity
        self.context_tokens = context_tokens
        self.usage = usage
        self.count = count
        self.special = special
        self.control = control
        self.window = window
        self.returns_log_probabilities = returns_log_probabilities
        self.asked: list[ModelRequest] = []
        self.closed = False

    @property
    def samples_asked(self) -> list[tuple[str, int]]:
        """Problem and number of every sample that was asked for, in order."""
        return [(request.id, sample) for request in self.asked for sample in request.samples]

    def submit(self, requests: Iterable[ModelRequest]) -> Iterator[ModelAnswer | ModelFailure]:
        """Every sample of every request, in order."""
        waiting = iter(requests)
        while under_way := list(islice(waiting, self.window)):
            self.asked += under_way
            for request in under_way:
                for sample in request.samples:
                    yield self._outcome(request, sample)

    def _outcome(self, request: ModelRequest, sample: int) -> ModelAnswer | ModelFailure:
        reply = self.reply(request, sample)
        if isinstance(reply, ModelFailure):
            return reply.model_copy(update={"request_id": request.id, "samples": (sample,)})
        return ModelAnswer(
            request_id=request.id, sample=sample, text=reply, finish_reason="stop", usage=self.usage,
            latency=Latency(last_s=0.01),
        )  # fmt: skip

    def count_tokens(self, text: str) -> int | None:
        """As ``count`` says."""
        return self.count(text)

    def special_tokens(self) -> frozenset[str] | None:
        """As given."""
        return self.special

    def control_tokens(self) -> frozenset[str]:
        """As given."""
        return self.control

    def close(self) -> None:
        """Remember it."""
        self.closed = True

    def __enter__(self) -> FakeClient:
        return self

    def __exit__(self, *details: object) -> None:
        self.close()


def failure(message: str = "no answer", kind: FailureKind = "provider") -> ModelFailure:
    """A failure for :class:`FakeClient` to give."""
    return ModelFailure(request_id="", samples=(), kind=kind, message=message)


class PlainStrategy(PromptStrategy):
    """Sends what stands before the caret, cut to the budget from its beginning; a text with <FIM> cannot be asked."""

    name = "plain"
    version = 1
    kind = "text"

    def render(self, caret: Caret, budget: PromptBudget) -> TextPrompt:
        """The prefix as a text prompt."""
        if "<FIM>" in caret.prefix:
            raise UnpromptableError("the text holds <FIM>")
        lines = caret.prefix.splitlines(keepends=True)
        while budget.tokens is not None and lines and budget.count("".join(lines)) > budget.tokens:
            del lines[0]
        return TextPrompt(text="".join(lines))
