"""``gguf/PATH`` or ``gguf/smollm2``: a model on this machine, as an Inspect provider."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

import anyio
import httpx
from inspect_ai.model import ChatMessage, GenerateConfig, Logprob, Logprobs, ModelCall, ModelOutput, ModelUsage
from pydantic import JsonValue, ValidationError

from caretbench.errors import UsageError
from caretbench.inspect.client.messages import PROMPT_KIND
from caretbench.inspect.client.provider_errors import (
    BrokenAnswerError,
    ProviderError,
    error_message,
    is_retryable_status,
    parse_json,
)
from caretbench.inspect.providers.answer_stream import StreamSplitter, check_size
from caretbench.inspect.providers.base import FINISH_REASONS, FIRST_S, SingleTryAPI, chat_choice
from caretbench.inspect.providers.endpoint_shapes import StopReason
from caretbench.local.gguf import read_gguf
from caretbench.local.llama_server import engine_version, open_server, server_settings
from caretbench.local.weights import find_model
from caretbench.models import Mode, PromptKind


class GgufAnswer:
    """Answer of llama.cpp's server while it is streamed."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self.tokens: list[Logprob] = []
        self.finish: str | None = None
        self.first_s: float | None = None
        self.usage: ModelUsage | None = None
        self.ended = False

    @property
    def text(self) -> str:
        """Text received so far."""
        return "".join(self._parts)

    def add_event(self, data: bytes, now_s: float) -> None:
        """Process one event, ``now_s`` seconds after the request.

        Raises:
            ProviderError: it is an error or has another form.
        """
        if data.strip() == b"[DONE]":
            self.ended = True
            return
        event: Any = parse_json(data)
        try:
            if event.get("error"):
                raise _refusal_of(event["error"])
            for choice in event.get("choices") or []:
                delta = choice.get("delta")
                text = (delta.get("content") if delta is not None else choice.get("text")) or ""
                if text:
                    self.first_s = now_s if self.first_s is None else self.first_s
                    self._parts.append(str(text))
                for token in (choice.get("logprobs") or {}).get("content") or []:
                    self.tokens.append(Logprob.model_validate(token))
                self.finish = choice.get("finish_reason") or self.finish
            if event.get("usage"):
                self.usage = _usage(event["usage"])
        except (AttributeError, KeyError, TypeError, ValidationError) as error:
            raise BrokenAnswerError(f"the server's answer has another form ({error})") from None


def _usage(counts: Mapping[str, Any]) -> ModelUsage:
    """Return llama.cpp's counts as Inspect's, which has cached tokens apart."""
    cached = int((counts.get("prompt_tokens_details") or {}).get("cached_tokens") or 0)
    return ModelUsage(
        input_tokens=int(counts["prompt_tokens"]) - cached,
        output_tokens=int(counts["completion_tokens"]),
        total_tokens=int(counts["prompt_tokens"]) + int(counts["completion_tokens"]),
        input_tokens_cache_read=cached,
    )


def response_error(status: int, data: bytes) -> ProviderError:
    """Return the error of a response of another ``status`` than 200."""
    try:
        said = error_message(parse_json(data))
    except ProviderError:
        said = data[:400].decode("utf-8", "replace")
    return ProviderError(f"the model's server: {said[:400]}", status_code=status, retryable=is_retryable_status(status))


def _refusal_of(error: Any) -> ProviderError:
    code = error.get("code") if isinstance(error, dict) else None
    status = code if isinstance(code, int) and 400 <= code < 600 else None
    return ProviderError(
        f"the model's server: {error_message(error)[:400]}",
        status_code=status, retryable=True if status is None else is_retryable_status(status),
    )  # fmt: skip


_SILENCE_S = 600.0
# Texts whose number of tokens is kept: strategies count the same parts for every sample.
_COUNTED_TEXTS = 4096
_STOP_REASONS: Mapping[str, Literal["stop", "max_tokens"]] = {"stop": "stop", "length": "max_tokens"}


class GgufAPI(SingleTryAPI):
    """Provider for a GGUF file, served by llama.cpp in a process of its own, started at the first request.

    Args:
        model_name: A path, or the name of a pulled model; with ``+ADAPTER``, an adapter on it.
        base_url: Not used.
        api_key: Not used.
        config: As for every provider.
        mode: ``reproducible`` (one request at a time, no prompt cache) or ``fast``.
        threads: By default all physical cores but one.
        context_tokens: Room for prompt and answer together; by default 4,096 or what the model has.
        uncut: No prompt can be shortened, so that more room is given by default.
        connections: Number of parallel requests; no slots are kept for more.
    """

    no_tools_message = "gguf/ takes no tools"

    # Long: Inspect passes each of a provider's options as a parameter.
    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 (as in the base class; never changed)
        mode: Mode = "reproducible",
        threads: int | None = None,
        context_tokens: int | None = None,
        connections: int | None = None,
        uncut: bool = False,
        **ignored: Any,
    ) -> None:
        super().__init__(model_name, base_url=base_url, api_key=api_key, config=config)
        if ignored:
            raise UsageError(f"gguf/ knows no option {', '.join(sorted(ignored))}")
        # Without an engine, nothing else matters.
        engine_version()
        self._files = find_model(model_name)
        self.header = read_gguf(self._files.weights)
        self._server = open_server(
            self._files,
            server_settings(
                self.header,
                mode=mode,
                threads=threads,
                context_tokens=context_tokens,
                connections=connections,
                uncut=uncut,
            ),
        )
        # The name of an adapter's file is the same for all.
        adapter = self._files.adapter
        self._name = self._files.weights.stem + ("" if adapter is None else f"+{adapter.resolve().parent.name}")
        self._client: httpx.AsyncClient | None = None
        self._loop: object = None
        self._counter: httpx.Client | None = None
        self._count = lru_cache(maxsize=_COUNTED_TEXTS)(self._count_tokens)

    @property
    def accepts(self) -> frozenset[PromptKind]:
        """Kinds of prompt: text always; conversations if the model has a chat template."""
        return frozenset({"text", "chat"} if self.header.chat_template else {"text"})

    @property
    def slots(self) -> int:
        """Number of requests that are answered in parallel; more would wait."""
        return self._server.setting.slots

    def identity(self) -> dict[str, JsonValue]:
        """Return the settings that influence answers: hashes, engine, mode, slots, threads, context length."""
        return self._server.identity(self._files.adapter)

    def context_tokens(self) -> int:
        """Room for prompt and answer together, in tokens."""
        return self._server.setting.context_tokens

    def special_tokens(self) -> frozenset[str]:
        """Return texts that are one special token, by the file's vocabulary."""
        return self.header.special_tokens

    def control_tokens(self) -> frozenset[str]:
        """Return the texts of control tokens in the file's vocabulary; the server parses them in every prompt."""
        return self.header.control_tokens

    def token_count(self, text: str) -> int:
        """Return the number of tokens of ``text`` by the model's own tokenizer, each sentinel as a single token."""
        return self._count(text)

    def _count_tokens(self, text: str) -> int:
        url = self._server.ensure()
        if self._counter is None:
            self._counter = httpx.Client(timeout=60, trust_env=False)
        body = {"content": text, "add_special": False, "parse_special": True}
        try:
            response = self._counter.post(f"{url}/tokenize", json=body, headers=self._server.headers)
            tokens = response.raise_for_status().json()["tokens"]
        except (httpx.HTTPError, ValueError, KeyError) as error:
            raise ProviderError(f"{self._name}: tokens cannot be counted: {error}", retryable=True) from None
        return len(tokens)

    async def complete_once(self, messages: list[ChatMessage], config: GenerateConfig) -> tuple[ModelOutput, ModelCall]:
        """Send one request."""
        if (config.num_choices or 1) > 1:
            raise ProviderError("gguf/ gives one answer per request", kind="refused")
        path, body = self._request(messages, config)
        call = ModelCall.create(request=body, response=None)
        # In a thread: the first call waits minutes until the model is loaded, and the loop serves others.
        url = await anyio.to_thread.run_sync(self._server.ensure)
        started = time.monotonic()
        answer = await self._ask(url + path, body, started)
        call.time = time.monotonic() - started
        call.response = {"model": self._name, "choices": [{"text": answer.text, "finish_reason": answer.finish}]}
        return self._output(answer), call

    def max_connections(self) -> int:
        """Return the number of slots."""
        return self.slots

    def connection_key(self) -> str:
        """Return the key of one pool per server."""
        return f"{self.model_name} {id(self._server)}"

    def canonical_name(self) -> str:
        """Return the file's name without its folder, which may hold a user's name."""
        return self._name

    async def aclose(self) -> None:
        """Close the connections and stop the server."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()
        if self._counter is not None:
            self._counter.close()
            self._counter = None
        await anyio.to_thread.run_sync(self._server.close)

    def _request(self, messages: Sequence[ChatMessage], config: GenerateConfig) -> tuple[str, dict[str, Any]]:
        body: dict[str, Any] = {
            "max_tokens": config.max_tokens or self.max_tokens(),
            "temperature": config.temperature,
            "top_p": config.top_p,
            "seed": config.seed,
            "stop": config.stop_seqs or None,
            "logprobs": config.top_logprobs if config.logprobs else None,
        }
        body = {key: value for key, value in body.items() if value is not None}
        body |= {
            "stream": True,
            "stream_options": {"include_usage": True},
            "cache_prompt": self._server.setting.prompt_cache,
            **self._server.adapter_fields(self._files.adapter),
        }
        alone = messages[0] if len(messages) == 1 and messages[0].role == "user" else None
        kind = (alone.metadata or {}).get(PROMPT_KIND) if alone else None
        if alone is not None and (kind == "text" or not self.header.chat_template):
            return "/v1/completions", body | {"prompt": alone.text}
        if not self.header.chat_template:
            raise ProviderError(
                f"{self._name} has no chat template: it goes on with a text (the prompt `left-to-right`, or `fim/…`)",
                kind="refused",
            )
        if config.response_schema is not None:
            schema = config.response_schema.json_schema.model_dump(exclude_none=True)
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": config.response_schema.name, "schema": schema, "strict": True},
            }
        turns = [{"role": message.role, "content": message.text} for message in messages]
        return "/v1/chat/completions", body | {"messages": turns}

    def _connections(self) -> httpx.AsyncClient:
        loop = anyio.lowlevel.current_token()
        # Connections belong to the loop that opened them.
        if self._client is None or self._loop != loop:
            self._loop = loop
            self._client = httpx.AsyncClient(
                timeout=httpx.Timeout(_SILENCE_S, connect=20.0, pool=None),
                limits=httpx.Limits(max_connections=None, max_keepalive_connections=self.slots),
                # A proxy has no way to this machine's own server.
                trust_env=False,
            )
        return self._client

    async def _ask(self, url: str, body: dict[str, Any], started: float) -> GgufAnswer:
        answer = GgufAnswer()
        splitter = StreamSplitter("sse")
        size = 0
        try:
            async with self._connections().stream("POST", url, json=body, headers=self._server.headers) as response:
                if response.status_code != 200:
                    raise response_error(response.status_code, await response.aread())
                async for chunk in response.aiter_bytes():
                    size += len(chunk)
                    check_size(size)
                    for data in splitter.feed(chunk):
                        answer.add_event(data, time.monotonic() - started)
        except httpx.TimeoutException:
            raise ProviderError(f"{self._name}: the model's server is silent", retryable=True, kind="timeout") from None
        except httpx.HTTPError as error:
            raise BrokenAnswerError(f"{self._name}: the model's server broke off ({type(error).__name__})") from None
        # A server that crashes leaves a stream that ends like a whole one, but for its last event.
        if not answer.ended or answer.finish is None:
            raise BrokenAnswerError(f"{self._name}: the stream ended early")
        return answer

    def _output(self, answer: GgufAnswer) -> ModelOutput:
        metadata: dict[str, Any] = {FINISH_REASONS: [answer.finish]}
        metadata |= {FIRST_S: answer.first_s} if answer.first_s is not None else {}
        reason: StopReason = _STOP_REASONS.get(answer.finish or "", "unknown")
        told = Logprobs(content=answer.tokens) if answer.tokens else None
        return ModelOutput(
            model=self._name,
            choices=[chat_choice(answer.text, self._name, reason, told)],
            usage=answer.usage,
            metadata=metadata,
        )
