"""Implementation of :class:`caretbench.models.ModelClient` on Inspect's providers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from pydantic import JsonValue

from caretbench.errors import MachineError
from caretbench.inspect.client.background_loop import BackgroundLoop
from caretbench.inspect.client.calls_in_flight import CallsInFlight
from caretbench.inspect.client.error_classification import RequestFault
from caretbench.inspect.client.first_token import letters_of
from caretbench.inspect.client.model_caller import ModelCaller
from caretbench.inspect.client.provider_errors import ProviderError
from caretbench.inspect.client.provider_facts import ModelFacts, ProviderFacts
from caretbench.inspect.client.silence_logs import restore_logs, silence_logs
from caretbench.inspect.client.tokenizer_file import TokenizerFile
from caretbench.local.server_spec import own_server_advice
from caretbench.models import ClientOptions, ModelAnswer, ModelFailure, ModelRequest, Prompt

if TYPE_CHECKING:
    from inspect_ai.model import Model

_NOTICES = 20
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
        self._warm = warm  # asked once before the model, so that what Inspect loads late is in no answer's latency
        together = getattr(model.api, "several_per_request", provider.together)
        # The Responses API has no n: Inspect decides by the model's name whether it is taken.
        together = together and not getattr(model.api, "responses_api", None)
        if options.per_request is not None:
            together = options.per_request
        stop_texts = getattr(model.api, "stop_texts", provider.stop_texts)
        self._exchange = ModelCaller(
            model, options, together=together, stop_texts=stop_texts, secrets=secrets
        )  # fmt: skip
        silence_logs(self._notice)

    # --- what is known of the model ---------------------------------------------------------------------------------

    @property
    def identity(self) -> Mapping[str, JsonValue]:
        """Settings that identify the model: the provider's own, or else name, address and arguments."""
        own = self._own("identity")
        return dict(own) if isinstance(own, Mapping) else self._identity or {}

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
        own = self._own("served_name")
        return own if isinstance(own, str) else self.name

    @property
    def findings(self) -> str | None:
        """Findings of the provider about its server in one line, if it probed one."""
        own = self._own("findings")
        return own if isinstance(own, str) else None

    # --- asking -----------------------------------------------------------------------------------------------------

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
        flight = CallsInFlight(self._background, self._exchange)
        try:
            yield from self._fly(flight, iter(requests))
        finally:
            flight.cancel()

    def _fly(self, flight: CallsInFlight, requests: Iterator[ModelRequest]) -> Iterator[ModelAnswer | ModelFailure]:
        doubt: RequestFault | None = None  # it ends all, unless something under way is answered
        while True:
            while flight.active < self._connections and flight.idle and (doubt is None):
                if not flight.waiting:
                    request = next(requests, None)
                    if request is None:
                        break
                    if reason := self._unfit(request.prompt):
                        yield ModelFailure(
                            request_id=request.id, samples=request.samples, kind="unpromptable", attempts=0,
                            message=f"{self.name} {reason}",
                        )  # fmt: skip
                        continue
                    flight.add(request)
                flight.submit_next()
            if not flight.active:
                break
            outcome = flight.next_completed()
            self._answered = self._answered or bool(outcome.answers)
            yield from outcome.answers
            yield from outcome.failures
            if outcome.fault is not None and outcome.fault.other_requests_fail == "surely":
                yield from flight.cancel_all(outcome.fault)
                raise self._end(outcome.fault)
            if outcome.fault is not None and outcome.fault.other_requests_fail == "unless_answered":
                doubt = outcome.fault
            if self._answered:
                doubt = None
        if doubt is not None:
            yield from flight.cancel_all(doubt)
            raise self._end(doubt)

    def _unfit(self, prompt: Prompt) -> str | None:
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

    # --- the end ----------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Close connections, the thread, and the provider's resources. May be called twice."""
        if self._closed:
            return
        self._closed = True
        background = self._background or BackgroundLoop(f"caretbench {self.name}")
        try:
            background.call(_aclose(self._model))
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
        if text not in self.notices and len(self.notices) < _NOTICES:
            self.notices.append(text)


async def _aclose(model: Model) -> None:
    async with model:  # its end closes the provider
        pass
