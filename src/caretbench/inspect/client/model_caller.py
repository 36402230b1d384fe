"""Calls of a model: request, retries and outcome. Runs inside the event loop.

Inspect is asked for single tries; trying again is decided here, since an answer without choices, a stream that ends
too early and a body of the wrong types are answers to Inspect, and the pauses have to be ours.
"""

from __future__ import annotations

import asyncio
import re
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from caretbench.inspect.client.messages import (
    MAX_FIRST_TOKENS,
    MIN_FIRST_TOKENS,
    UNTOLD,
    cut_at_stop,
    generate_config,
    letter_probabilities,
    letters_of,
    likeliest_letter,
    messages_of,
)
from caretbench.inspect.client.provider_errors import (
    BrokenAnswerError,
    RequestFault,
    classify_error,
    is_interrupted,
    redact_line,
)
from caretbench.models import ChatPrompt, ClientOptions, ModelAnswer, ModelFailure, ModelRequest, Prompt, TextPrompt
from caretbench.problem import Latency, Usage

if TYPE_CHECKING:
    from inspect_ai.model import Model, ModelOutput, StreamEvent

_MIN_UNSTREAMED = 3
"""Calls of a model that never streamed, answered only without a stream, after which no stream is asked for."""

_WORD = re.compile(r"[^\W\d_]{2,}")
_MIN_WORDS = 50

_FINISH = {"stop": "stop", "max_tokens": "length", "model_length": "length"}


@dataclass(frozen=True)
class ModelCall:
    """Samples of one request that are requested together."""

    request: ModelRequest
    samples: tuple[int, ...]


@dataclass
class CallOutcome:
    """Outcome of a call: ``retryable`` are samples to request one by one, ``fault`` is the error of the last try."""

    call: ModelCall
    answers: list[ModelAnswer] = field(default_factory=list)
    failures: list[ModelFailure] = field(default_factory=list)
    retryable: tuple[int, ...] = ()
    fault: RequestFault | None = None


@dataclass(frozen=True)
class _Reply:
    """Reply that Inspect accepted as an answer, with the provider's raw body if Inspect kept it."""

    output: ModelOutput
    choices: Sequence[Any]
    streamed: bool
    latency: Latency
    truncated: bool = False


@dataclass(eq=False)
class ModelCaller:
    """Sender of calls to one model, with retries.

    ``together`` and ``stream`` become false where the provider turns out not to honour them, ``first_tokens`` and
    ``stop_texts`` fewer where it refuses that many.
    """

    model: Model
    options: ClientOptions
    together: bool = field(kw_only=True)
    stop_texts: int | None = None
    secrets: tuple[str, ...] = field(default=(), repr=False)
    notify: Callable[[str], None] = lambda _: None
    first_tokens: int = MAX_FIRST_TOKENS

    def __post_init__(self) -> None:
        """Begin without an answer."""
        self.stream = self.options.stream
        self._told_cut = False
        self._streamed = False
        self._unstreamed = 0

    async def ask(self, call: ModelCall) -> CallOutcome:
        """Send a call until there is an answer, a permanent error, or no try left."""
        attempts = 0
        stream = self.stream
        empty_stream = False
        while True:
            attempts += 1
            tokens = self.first_tokens
            fault = None
            try:
                # Each try has the whole limit; a provider's own limit may be longer or none.
                async with asyncio.timeout(self.options.timeout_s):
                    reply = await self._try(call, attempts, stream=stream)
                outcome = self._to_outcome(call, reply, attempts)
            except TimeoutError:
                fault = RequestFault("timeout", f"no answer within {self.options.timeout_s:g} s", retryable=True)
            except Exception as error:
                fault = classify_error(error, self.secrets)
            else:
                self._learn(stream=stream, empty_stream=empty_stream)
                return outcome
            if self._asks_for_less(call, fault, tokens):
                continue
            if fault.status in (400, 422) and len(call.samples) > 1:
                # `n` may be what it does not take: asked singly, the provider will tell.
                self.together = False
                return CallOutcome(call, retryable=call.samples)
            if fault.status in (400, 422) and stream and "stream" in fault.message.lower():
                self.stream = stream = False
                continue
            if fault.ignored_streaming and stream:
                # The server may ignore the wish for a stream: the answer is asked for once more without one.
                stream, empty_stream = False, True
                continue
            if not fault.retryable or attempts > self.options.max_retries:
                failure = self._failure(call, call.samples, fault, attempts)
                return CallOutcome(call, failures=[failure], fault=fault)
            await asyncio.sleep(self._pause(call, fault, attempts))

    def _asks_for_less(self, call: ModelCall, fault: RequestFault, tokens: int) -> bool:
        """Return whether the next try asks for less of what the server refused: first tokens, or stop texts.

        TGI, and servers behind OpenAI's own interface, take four stop texts; others one or none. The rest is applied
        here.
        """
        if fault.status not in (400, 422):
            return False
        message = fault.message.lower()
        if tokens > MIN_FIRST_TOKENS and letters_of(call.request.prompt) and "logprobs" in message:
            self.first_tokens = MIN_FIRST_TOKENS
            return True
        sent = len(call.request.prompt.stop[: self.stop_texts])
        if "stop" not in message or not sent:
            return False
        self.stop_texts = next(number for number in (4, 1, 0) if number < sent)
        return True

    def _learn(self, *, stream: bool, empty_stream: bool) -> None:
        """Ask for no more streams where the model answers without them alone; an empty stream may be an accident."""
        self._streamed = self._streamed or stream
        self._unstreamed += empty_stream
        if self._unstreamed >= _MIN_UNSTREAMED and not self._streamed:
            self.stream = False

    def _pause(self, call: ModelCall, fault: RequestFault, attempts: int) -> float:
        """Return seconds until the next try: the server's wish, or doubling times, spread so that tries differ."""
        limit = self.options.retry_wait_limit_s
        # Not random: a repeated run waits as the first one did, and eight requests that failed together do not come
        # back together.
        spread = zlib.crc32(f"{call.request.id} {call.samples} {attempts}".encode(errors="replace")) / 2**32
        doubling = self.options.retry_wait_s * 2.0 ** min(attempts - 1, 30) * (0.75 + spread / 2)
        return min(limit, max(doubling, fault.retry_after or 0.0))

    async def _try(self, call: ModelCall, attempts: int, *, stream: bool) -> _Reply:
        first: float | None = None
        begin = time.monotonic()

        async def on_stream(event: StreamEvent) -> None:
            nonlocal first
            if event.type == "retry":
                first = None
            elif first is None:
                first = time.monotonic() - begin

        # A call costs 0.9 ms of CPU, a sample of a task of Inspect's own 12 ms; rows, tries and resumption would be the
        # task's.
        output = await self.model.generate(
            messages_of(call.request.prompt),
            config=generate_config(
                call.request,
                call.samples,
                self.options.connections,
                self.stop_texts,
                self.first_tokens,
                self.options.headers,
            ),
            cache=False,
            on_stream=on_stream if stream else None,
        )
        # Providers of ours read the stream themselves, so that Inspect sends no event for it.
        told = (output.metadata or {}).get("caretbench_first_s")
        first = told if isinstance(told, float) else first
        latency = Latency(first_s=first, last_s=time.monotonic() - begin, attempts=attempts)
        request, response = _raw()
        return _Reply(
            output, _choices(response), bool(request.get("stream")), latency, response.get("truncated") is True
        )

    def _to_outcome(self, call: ModelCall, reply: _Reply, attempts: int) -> CallOutcome:
        """Return the answers of a reply.

        Raises:
            BrokenAnswerError: there is none, or not a whole one.
        """
        given = reply.output.choices[: len(call.samples)]
        if not given:
            raise BrokenAnswerError("the provider answered without a choice")
        # Some servers accept `n` and answer once: the other samples are asked for one by one from now on.
        if len(given) < len(call.samples):
            self.together = False
        if not self._told_cut and (notice := _cut_prompt_notice(call.request.prompt, reply)):
            self._told_cut = True
            self.notify(notice)
        outcome = CallOutcome(call, retryable=call.samples[len(given) :])
        usage = usage_of(reply.output, len(given))
        for index, sample in enumerate(call.samples[: len(given)]):
            answer = self._answer(call, reply, index, sample, usage)
            if isinstance(answer, RequestFault):
                outcome.failures.append(self._failure(call, (sample,), answer, attempts))
            else:
                outcome.answers.append(answer)
        return outcome

    def _answer(
        self, call: ModelCall, reply: _Reply, index: int, sample: int, usage: Usage | None
    ) -> ModelAnswer | RequestFault:
        """Return one choice of a reply as an answer, or the refusal.

        Raises:
            BrokenAnswerError: it is not whole.
        """
        choice = reply.output.choices[index]
        raw = reply.choices[index] if index < len(reply.choices) else None
        reason = _server_finish_reason(raw, streamed=reply.streamed)
        letters = letters_of(call.request.prompt)
        told = letter_probabilities(choice, letters, raw) if letters else None
        refusal = refusal_of(reply.output, choice.stop_reason, choice.message.text)
        if letters and refusal is None and told is None:
            refusal = UNTOLD
        if refusal is not None:
            return RequestFault("refused", redact_line(refusal, self.secrets), retryable=False)
        text: str | None = choice.message.text
        # No text at all and the empty text are scored differently under `paper`; Inspect makes both the empty one.
        if not text and _is_null(raw):
            text = None
        finish = _finish(choice.stop_reason, reason)
        if is_interrupted(reason):
            raise BrokenAnswerError(f"the server broke the answer off: {reason}")
        # All of them: a server may ignore the stop texts that it was sent.
        if text and len(whole := cut_at_stop(text, call.request.prompt.stop)) < len(text):
            text, finish = whole, "stop"
        if told:
            text, finish = likeliest_letter(told), "stop"
        return ModelAnswer(
            request_id=call.request.id,
            sample=sample,
            text=text,
            finish_reason=finish,
            usage=usage,
            latency=reply.latency,
            served_by=reply.output.model or None,
            log_probabilities=told,
        )

    def _failure(self, call: ModelCall, samples: tuple[int, ...], fault: RequestFault, attempts: int) -> ModelFailure:
        return ModelFailure(
            request_id=call.request.id, samples=samples, kind=fault.kind, message=fault.message, attempts=attempts
        )


def _server_finish_reason(raw: object, *, streamed: bool) -> object:
    """Return the finish reason as the server spelled it, if any.

    Raises:
        BrokenAnswerError: it is missing at the end of a stream.
    """
    if not isinstance(raw, dict):
        return None
    # A stream that breaks off is an answer to Inspect, with what came until then.
    if streamed and raw.get("finish_reason") is None:
        raise BrokenAnswerError("the stream ended before the answer was complete")
    return raw.get("finish_reason")


def _finish(stop_reason: str, reason: object) -> str | None:
    """Return the finish reason; ``reason`` is the server's own word."""
    unknown = reason if isinstance(reason, str) else None
    return _FINISH.get(stop_reason) or (unknown if stop_reason == "unknown" else stop_reason)


def _raw() -> tuple[dict[str, Any], dict[str, Any]]:
    """Return request and response of this task's last call, as Inspect records them; empty if it does not."""
    from inspect_ai.log import transcript

    events = transcript().events
    call = getattr(events[-1], "call", None) if events else None
    return (call.request or {}, call.response or {}) if call is not None else ({}, {})


def _choices(response: dict[str, Any]) -> list[Any]:
    """Return the choices of a body of OpenAI's form in Inspect's order."""
    choices = response.get("choices")
    if not isinstance(choices, list):
        return []
    if all(isinstance(choice, dict) and isinstance(choice.get("index"), int) for choice in choices):
        # Inspect sorts by index too: the raw choice and the parsed one must be of one sample.
        choices = sorted(choices, key=lambda choice: int(choice["index"]))
    return choices


def _is_null(raw: object) -> bool:
    """Return whether a choice of OpenAI's form holds no text at all, which Inspect makes the empty text."""
    if not isinstance(raw, dict):
        return False
    message = raw.get("message")
    said = message.get("content") if isinstance(message, dict) else raw.get("text")
    return said is None


def refusal_of(output: ModelOutput, stop_reason: str, text: str) -> str | None:
    """Return the error message that the provider returned in place of an answer; None if there is none."""
    if stop_reason == "content_filter":
        return f"the provider's content filter: {output.error or text}".rstrip(": ")
    if stop_reason == "model_length" and output.usage is None:
        return f"too long for the model: {output.error or text}".rstrip(": ")
    return None


def _cut_prompt_notice(prompt: Prompt, reply: _Reply) -> str | None:
    """Return a warning where a server says that it cut the prompt, or counts fewer tokens than the prompt has words."""
    if isinstance(prompt, ChatPrompt):
        texts = [message.text for message in prompt.messages]
    else:
        texts = [prompt.text] if isinstance(prompt, TextPrompt) else [prompt.prefix, prompt.suffix]
    # A word is a token or more in any vocabulary; one of a single letter may be joined to a mark.
    words = sum(len(_WORD.findall(text)) for text in texts)
    usage = usage_of(reply.output, 1)
    told = usage.input_tokens if usage is not None else None
    if not reply.truncated and (not told or told >= words or words < _MIN_WORDS):
        return None
    counted = "" if told is None else f" (it counts {told:,} tokens for {words:,} words)"
    return (
        f"the server cuts prompts{counted}: give its model a longer context, or --context-tokens what it has, so that "
        "the prompt is cut here"
    )


def usage_of(output: ModelOutput, answers: int) -> Usage | None:
    """Convert Inspect's token counts, which exclude cached tokens, to our usage."""
    usage = output.usage
    # Zeros stand for counts that the provider does not tell.
    if usage is None or not (usage.total_tokens or usage.input_tokens or usage.output_tokens):
        return None
    cached = usage.input_tokens_cache_read
    return Usage(
        input_tokens=usage.input_tokens + (cached or 0) + (usage.input_tokens_cache_write or 0),
        output_tokens=usage.output_tokens,
        cached_tokens=cached,
        reasoning_tokens=usage.reasoning_tokens,
        answers=answers,
    )
