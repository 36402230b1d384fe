"""``gguf/PATH`` or ``gguf/smollm2``: a model on this machine, as an Inspect provider."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

import anyio
import httpx
from inspect_ai.model import ChatMessage, GenerateConfig, Logprobs, ModelCall, ModelOutput
from pydantic import JsonValue

from caretbench.inspect.client.messages import PROMPT_KIND
from caretbench.inspect.client.provider_errors import BrokenAnswerError, ProviderError
from caretbench.inspect.providers.base import FINISH_REASONS, FIRST_S, SingleTryAPI, chat_choice
from caretbench.inspect.providers.endpoint_shapes import StopReason
from caretbench.inspect.providers.gguf_answer import GgufAnswer, response_error
from caretbench.inspect.providers.stream_parsing import StreamSplitter, check_size
from caretbench.local.gguf import read_gguf
from caretbench.local.llama_server import LlamaServer, engine_version, server_settings
from caretbench.local.weights import find_weights
from caretbench.models import Mode, PromptKind

_SILENCE_S = 600.0
_COUNTED_TEXTS = 4096  # a text and its number of tokens: strategies count the same parts for every sample
_STOP_REASONS: Mapping[str, Literal["stop", "max_tokens"]] = {"stop": "stop", "length": "max_tokens"}


class GgufAPI(SingleTryAPI):
    """Provider for a GGUF file, served by llama.cpp in a process of its own, started at the first request.

    Args:
        model_name: A path, or the name of a pulled model.
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
            raise ValueError(f"gguf/ knows no option {', '.join(sorted(ignored))}")
        engine_version()  # without one, nothing else matters
        path = find_weights(model_name)
        self.header = read_gguf(path)
        self._server = LlamaServer(
            path,
            server_settings(
                self.header,
                mode=mode,
                threads=threads,
                context_tokens=context_tokens,
                connections=connections,
                uncut=uncut,
            ),
        )
        self._name = path.stem
        self._client: httpx.AsyncClient | None = None
        self._loop: object = None
        self._counter: httpx.Client | None = None
        self._count = lru_cache(maxsize=_COUNTED_TEXTS)(self._counted)

    # --- what our client asks -----------------------------------------------------------------------------------

    @property
    def accepts(self) -> frozenset[PromptKind]:
        """Kinds of prompt: text always; conversations if the model has a chat template."""
        return frozenset({"text", "chat"} if self.header.chat_template else {"text"})

    @property
    def slots(self) -> int:
        """Number of requests that are answered in parallel; more would wait."""
        return self._server.setting.slots

    def identity(self) -> dict[str, JsonValue]:
        """Return the settings that influence answers: weights' hash, engine, mode, slots, threads, context length."""
        return self._server.identity()

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

    def _counted(self, text: str) -> int:
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

    # --- what Inspect asks a provider ---------------------------------------------------------------------------

    async def complete_once(self, messages: list[ChatMessage], config: GenerateConfig) -> tuple[ModelOutput, ModelCall]:
        """Send one request."""
        if (config.num_choices or 1) > 1:
            raise ProviderError("gguf/ gives one answer per request", kind="refused")
        path, body = self._request(messages, config)
        call = ModelCall.create(request=body, response=None)
        url = await anyio.to_thread.run_sync(self._server.ensure)
        started = time.monotonic()
        answer = await self._ask(url + path, body, started)
        call.time = time.monotonic() - started
        call.response = {
            "model": self._name, "choices": [{"text": answer.text, "finish_reason": answer.finish}],
        }  # fmt: skip
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

    # --- the request --------------------------------------------------------------------------------------------

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
        if self._client is None or self._loop != loop:  # connections belong to the loop that opened them
            self._loop = loop
            self._client = httpx.AsyncClient(
                timeout=httpx.Timeout(_SILENCE_S, connect=20.0, pool=None),
                limits=httpx.Limits(max_connections=None, max_keepalive_connections=self.slots),
                trust_env=False,  # a proxy has no way to this machine's own server
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
        if not answer.ended or answer.finish is None:
            raise BrokenAnswerError(f"{self._name}: the answer ended before its end")
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
