"""``gguf/PATH`` or ``gguf/smollm2``: a model on this machine, as an Inspect provider."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import anyio
import httpx
from inspect_ai.model import ChatMessage, GenerateConfig, ModelCall, ModelOutput
from pydantic import JsonValue

from caretbench.errors import UsageError
from caretbench.inspect.client.messages import PROMPT_KIND
from caretbench.inspect.client.provider_errors import ProviderError
from caretbench.inspect.providers.completion_server import EndpointAnswer
from caretbench.inspect.providers.endpoint_api import EndpointAPI
from caretbench.inspect.providers.endpoint_shapes import endpoint_shape
from caretbench.inspect.providers.server_probe import own_address
from caretbench.local.gguf import read_gguf
from caretbench.local.llama_server import engine_version, open_server, server_settings
from caretbench.local.weights import find_model
from caretbench.models import Mode, PromptKind

# Texts whose number of tokens is kept: strategies count the same parts for every sample.
_COUNTED_TEXTS = 4096
_SHAPE: Final = "openai"
"""Shape of the server's requests and answers."""
_NOT_STARTED: Final = "http://127.0.0.1"
"""Address of a server that has no port yet."""


class GgufAPI(EndpointAPI):
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
    several_per_request = False

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
        del base_url, api_key
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
        shape = endpoint_shape(_SHAPE).model_copy(update={"title": "gguf/"})
        super().__init__(self._name, shape, _NOT_STARTED, api_key=self._server.key, config=config)
        self.model_name = model_name
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
        """Send one request: a text that is continued, or a conversation."""
        alone = len(messages) == 1 and messages[0].role == "user"
        is_text = alone and (messages[0].metadata or {}).get(PROMPT_KIND) == "text"
        if not self.header.chat_template and not alone:
            raise ProviderError(
                f"{self._name} has no chat template: it goes on with a text (the prompt `left-to-right`, or `fim/…`)",
                kind="refused",
            )
        # In a thread: the first call waits minutes until the model is loaded, and the loop serves others.
        self._server_client.address = own_address(_SHAPE, await anyio.to_thread.run_sync(self._server.ensure))
        if is_text or not self.header.chat_template:
            return await super().complete_once(messages, config)
        return await self.converse(messages, config)

    def further_fields(self, config: GenerateConfig) -> dict[str, JsonValue]:
        """Return the fields of llama.cpp's server that no other one has."""
        fields = {"cache_prompt": self._server.setting.prompt_cache, **self._server.adapter_fields(self._files.adapter)}
        return fields | ({"logprobs": config.top_logprobs} if config.logprobs else {})

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
        await super().aclose()
        if self._counter is not None:
            self._counter.close()
            self._counter = None
        await anyio.to_thread.run_sync(self._server.close)

    def _output(self, reply: EndpointAnswer, unsent: tuple[str, ...]) -> ModelOutput:
        # The server's own name of the model lacks the adapter.
        return super()._output(reply._replace(model=self._name), unsent)
