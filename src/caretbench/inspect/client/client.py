"""Implementation of :class:`caretbench.models.ModelClient` on Inspect's providers."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import queue
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from pydantic import JsonValue

from caretbench.errors import MachineError
from caretbench.inspect.client.background_loop import BackgroundLoop, Tasks
from caretbench.inspect.client.checkpoint_files import TokenizerFile
from caretbench.inspect.client.messages import letters_of
from caretbench.inspect.client.model_caller import CallOutcome, ModelCall, ModelCaller
from caretbench.inspect.client.provider_errors import ProviderError, RequestFault, one_line
from caretbench.inspect.client.provider_facts import ModelFacts, ProviderFacts
from caretbench.local.server_spec import own_server_advice
from caretbench.models import ClientOptions, ModelAnswer, ModelFailure, ModelRequest, Prompt
from caretbench.redaction import redact

if TYPE_CHECKING:
    from inspect_ai.model import Model

_TALKATIVE = ("inspect_ai", "openai", "anthropic", "google_genai", "mistralai", "groq", "httpx", "httpx2", "httpcore")
_OURS = logging.getLogger("caretbench.inspect")

Listener = Callable[[str], None]


class _Quiet(logging.Handler):
    """Log handler that forwards messages as one redacted line."""

    def __init__(self) -> None:
        super().__init__()
        self.listeners: list[Listener] = []

    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = one_line(redact(record.getMessage()))
        # Arguments that do not fit their format are the library's mistake, and no reason to end a request.
        except (TypeError, ValueError):
            return
        _OURS.debug("%s: %s", record.name, text)
        if record.levelno >= logging.WARNING:
            for listener in list(self.listeners):
                listener(text)


_handler = _Quiet()
_lock = threading.Lock()
_saved: dict[str, bool] = {}


def silence_logs(listener: Listener) -> None:
    """Silence the libraries until as many calls of :func:`restore_logs`; ``listener`` receives their warnings."""
    with _lock:
        # What a provider sends in the wrong types is looked at all the same; pydantic would print parts of it.
        warnings.filterwarnings("ignore", message="Pydantic serializer warnings", category=UserWarning)
        if not _handler.listeners:
            for name in _TALKATIVE:
                logger = logging.getLogger(name)
                _saved[name] = logger.propagate
                # Through the root logger their texts would reach the terminal, between the lines of a run.
                logger.propagate = False
                logger.addHandler(_handler)
        _handler.listeners.append(listener)


def restore_logs(listener: Listener) -> None:
    """Undo one call of :func:`silence_logs` with this listener."""
    with _lock:
        if listener not in _handler.listeners:
            return
        _handler.listeners.remove(listener)
        if not _handler.listeners:
            for name, propagate in _saved.items():
                logger = logging.getLogger(name)
                logger.removeHandler(_handler)
                logger.propagate = propagate
            _saved.clear()


class CallsInFlight:
    """Calls of one ``submit``: waiting, in flight, completed."""

    def __init__(self, background: BackgroundLoop, exchange: ModelCaller) -> None:
        self._background = background
        self._exchange = exchange
        self._tasks: Tasks = set()
        self._completed: queue.SimpleQueue[tuple[ModelCall, asyncio.Task[CallOutcome]]] = queue.SimpleQueue()
        self._calls: list[ModelCall] = []
        self.waiting: deque[ModelCall] = deque()

    @property
    def active(self) -> int:
        """Number of calls that were sent and whose outcome has not been returned yet."""
        return len(self._calls)

    @property
    def idle(self) -> bool:
        """Return whether no completed call can be returned at once."""
        return self._completed.empty()

    def add(self, request: ModelRequest) -> None:
        """Divide a request into calls (one for all samples, or one per sample) and queue them."""
        together = self._exchange.together and len(request.samples) > 1
        # A seed belongs to one sample: together, all but the first would have none of their own.
        if together and (request.sampling.seed is None):
            self.waiting.append(ModelCall(request, request.samples))
        else:
            self.waiting.extend(ModelCall(request, (sample,)) for sample in request.samples)

    def submit_next(self) -> None:
        """Send the next waiting call."""
        call = self.waiting.popleft()
        self._calls.append(call)
        self._background.start(self._tasks, self._exchange.ask(call), lambda task: self._completed.put((call, task)))

    def next_completed(self) -> CallOutcome:
        """Wait until a call ends, and return its outcome."""
        call, task = self._wait_for_completed()
        self._calls.remove(call)
        outcome = task.result()
        if outcome.retryable:
            # First in the queue: the other samples of their request are answered already.
            self.waiting.extendleft(ModelCall(call.request, (sample,)) for sample in reversed(outcome.retryable))
        return outcome

    def _wait_for_completed(self) -> tuple[ModelCall, asyncio.Task[CallOutcome]]:
        while True:
            with contextlib.suppress(queue.Empty):
                # With a limit, and again: without one, Windows hears of no Ctrl-C meanwhile.
                return self._completed.get(timeout=1)

    def cancel_all(self, fault: RequestFault) -> Iterator[ModelFailure]:
        """Cancel all calls; yield a failure for each call in flight or waiting."""
        self.cancel()
        for call in [*self._calls, *self.waiting]:
            yield ModelFailure(
                request_id=call.request.id, samples=call.samples, kind=fault.kind, message=fault.message, attempts=0
            )
        self._calls.clear()
        self.waiting.clear()

    def cancel(self) -> None:
        """Cancel the calls in flight, and wait until they have ended."""
        if self._calls:
            self._background.cancel(self._tasks)


_MAX_NOTICES = 20
_PATIENCE_S = 120.0


class InspectClient(ModelFacts):
    """One model behind one of Inspect's providers; ``open_client`` makes it.

    A ModelAPI of ours may also have ``accepts``, ``slots`` and ``several_per_request``.
    """

    def __init__(
        self,
        name: str,
        model: Model,
        options: ClientOptions,
        provider: ProviderFacts,
        *,
        tokenizer: TokenizerFile | None = None,
        identity: Mapping[str, JsonValue] | None = None,
        secrets: tuple[str, ...] = (),
        warm: Model | None = None,
    ) -> None:
        super().__init__(model)
        self.name = name
        self.accepts = getattr(model.api, "accepts", provider.accepts)
        self.returns_log_probabilities = provider.returns_log_probabilities
        self.options = options
        self.notices: list[str] = []
        """Warnings of Inspect and the provider, redacted, each once."""
        self._model = model
        self._identity = identity
        self._tokenizer = tokenizer
        # A local server answers this number of requests at once; the waiting time of others would count as theirs.
        slots = getattr(model.api, "slots", None)
        self._connections = min(options.connections, slots) if isinstance(slots, int) else options.connections
        self._answered = False
        self._background: BackgroundLoop | None = None
        self._closed = False
        # Asked once before the model, so that what Inspect loads late is in no answer's latency.
        self._warm = warm
        together = getattr(model.api, "several_per_request", provider.together)
        # The Responses API has no n: Inspect decides by the model's name whether it is taken.
        together = together and not getattr(model.api, "responses_api", None)
        if options.per_request is not None:
            together = options.per_request
        stop_texts = getattr(model.api, "stop_texts", provider.stop_texts)
        self._exchange = ModelCaller(
            model, options, together=together, stop_texts=stop_texts, secrets=secrets, notify=self._notice
        )
        silence_logs(self._notice)

    @property
    def identity(self) -> Mapping[str, JsonValue]:
        """Settings that identify the model: the provider's own, or else name, address and arguments."""
        reported = self._own("identity")
        return dict(reported) if isinstance(reported, Mapping) else self._identity or {}

    @property
    def context_tokens(self) -> int | None:
        """Context length in tokens from the options or the provider; None if unknown."""
        return self.options.context_tokens or super().context_tokens

    def count_tokens(self, text: str) -> int | None:
        """Return the number of tokens by the tokenizer of the options, or the provider's own.

        Raises:
            MachineError: the provider's server does not answer.
        """
        if self._tokenizer is not None:
            return self._tokenizer.count(text)
        try:
            return super().count_tokens(text)
        except ProviderError as error:
            raise MachineError(f"{self.name}: {error}") from None

    def special_tokens(self) -> frozenset[str] | None:
        """Return those of the tokenizer of the options, or the provider's own."""
        return self._tokenizer.special_tokens if self._tokenizer else super().special_tokens()

    def control_tokens(self) -> frozenset[str]:
        """Return those of the tokenizer of the options, or the provider's own."""
        return self._tokenizer.control_tokens if self._tokenizer else super().control_tokens()

    @property
    def probed(self) -> bool:
        """Return whether the provider asked its server for what it has, so that ``auto`` need not refuse."""
        return bool(getattr(self._api, "probed", False))

    @property
    def served_name(self) -> str:
        """Name of the model for its server, by which families are told; the name on the command line otherwise."""
        reported = self._own("served_name")
        return reported if isinstance(reported, str) else self.name

    @property
    def findings(self) -> str | None:
        """Findings of the provider about its server in one line, if it probed one."""
        reported = self._own("findings")
        return reported if isinstance(reported, str) else None

    def submit(self, requests: Iterable[ModelRequest]) -> Iterator[ModelAnswer | ModelFailure]:
        """Yield every sample of every request, answered or failed, in any order.

        At most ``connections`` calls are under way (fewer where a local server has fewer slots), and a
        request is taken only when one of them is free.

        Raises:
            MachineError: no request can be answered (a wrong key, an unknown model, nobody at the address), or the
                client is closed. What had been taken is given as failures before.
        """
        if self._closed:
            raise MachineError(f"{self.name}: the client is closed")
        if self._background is None:
            self._background = BackgroundLoop(f"caretbench {self.name}")
            if self._warm is not None:
                self._background.call(self._warm.generate("", cache=False), _PATIENCE_S)
        calls = CallsInFlight(self._background, self._exchange)
        try:
            yield from self._send_all(calls, iter(requests))
        finally:
            calls.cancel()

    def _send_all(self, calls: CallsInFlight, requests: Iterator[ModelRequest]) -> Iterator[ModelAnswer | ModelFailure]:
        # It ends all requests, unless something under way is answered: a forbidden model fails them all, a forbidden
        # text one.
        pending_fault: RequestFault | None = None
        while True:
            # Answers that are there are given before the next request is taken: a caller may want to stop (its budget
            # is spent).
            while calls.active < self._connections and calls.idle and (pending_fault is None):
                if not calls.waiting:
                    request = next(requests, None)
                    if request is None:
                        break
                    if reason := self._unsendable_reason(request.prompt):
                        yield ModelFailure(
                            request_id=request.id, samples=request.samples, kind="unpromptable", attempts=0,
                            message=f"{self.name} {reason}",
                        )  # fmt: skip
                        continue
                    calls.add(request)
                calls.submit_next()
            if not calls.active:
                break
            outcome = calls.next_completed()
            self._answered = self._answered or bool(outcome.answers)
            yield from outcome.answers
            yield from outcome.failures
            if outcome.fault is not None and outcome.fault.other_requests_fail == "surely":
                yield from calls.cancel_all(outcome.fault)
                raise self._end(outcome.fault)
            if outcome.fault is not None and outcome.fault.other_requests_fail == "unless_answered":
                pending_fault = outcome.fault
            if self._answered:
                pending_fault = None
        if pending_fault is not None:
            yield from calls.cancel_all(pending_fault)
            raise self._end(pending_fault)

    def _unsendable_reason(self, prompt: Prompt) -> str | None:
        """Return the reason not to send ``prompt``; None if there is none."""
        if prompt.kind not in self.accepts:
            return f"takes prompts of the kind {' or '.join(sorted(self.accepts))}, not {prompt.kind}"
        if letters_of(prompt) and not self.returns_log_probabilities:
            return "tells no log-probabilities of the first token"
        return None

    def _end(self, fault: RequestFault) -> MachineError:
        variables = [name for name in getattr(self._api, "api_key_vars", ()) if isinstance(name, str)]
        advice = ""
        if fault.status in (401, 403) and variables:
            advice = f"; check {' or '.join(variables)}"
        elif fault.status == 404:
            advice = own_server_advice(self.name, self.options.base_url) or "; check the model's name and the address"
        return MachineError(f"{self.name} cannot be asked: {fault.message}{advice}")

    def close(self) -> None:
        """Close connections, the thread, and the provider's resources. May be called twice."""
        if self._closed:
            return
        self._closed = True
        background = self._background or BackgroundLoop(f"caretbench {self.name}")
        try:
            background.call(_aclose(self._model))
        # A provider may raise anything at its end; the answers are there, so it is a note.
        except Exception as error:
            self._notice(f"closing: {type(error).__name__}")
        finally:
            background.close()
            restore_logs(self._notice)

    def __enter__(self) -> InspectClient:
        return self

    def __exit__(self, *details: object) -> None:
        self.close()

    def _notice(self, text: str) -> None:
        # A library may warn at each of thousands of requests; the first twenty different texts tell what is wrong.
        if text not in self.notices and len(self.notices) < _MAX_NOTICES:
            self.notices.append(text)


async def _aclose(model: Model) -> None:
    # The end of this block closes the provider.
    async with model:
        pass
