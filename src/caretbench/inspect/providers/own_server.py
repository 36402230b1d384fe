"""``server/MODEL@URL``: a server of one's own (vLLM, llama.cpp, Ollama and others), as an Inspect provider."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from inspect_ai.model import ChatMessage, GenerateConfig, ModelCall, ModelOutput
from pydantic import JsonValue

from caretbench.errors import MachineError
from caretbench.inspect.client.messages import PROMPT_KIND
from caretbench.inspect.client.provider_errors import ProviderError
from caretbench.inspect.providers.base import SingleTryAPI
from caretbench.inspect.providers.endpoint_api import EndpointAPI
from caretbench.inspect.providers.server_probe import ServerFindings, own_address, own_shape, probe_server
from caretbench.local.server_spec import KEY_VARIABLE, SERVER, ServerSpec, parse_server_spec
from caretbench.models import ClientOptions, PromptKind


class OwnServerAPI(SingleTryAPI):
    """Provider for one model of a server of one's own. The server is probed here, before any question.

    Args:
        model_name: ``MODEL@URL``, or ``@URL`` where the server has one model.
        base_url: The address, where the name has none.
        api_key: The key; without it the environment variable ``SERVER_API_KEY``, if it is set.
        config: As for every provider.
        sends: False for a dry run: an unreachable server is then not an error.
        options: Fields of :class:`caretbench.models.ClientOptions`.
    """

    no_tools_message = "server/ takes no tools"
    probed = True
    several_per_request = True
    stop_texts = None
    takes_instructions = False

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 (as in the base class; never changed)
        sends: bool = True,
        **options: Any,
    ) -> None:
        spec = parse_server_spec(model_name, base_url)
        super().__init__(model_name, base_url=spec.root, api_key=api_key, api_key_vars=[KEY_VARIABLE], config=config)
        limits = ClientOptions.model_validate(options)
        self.found = _probe(spec, self.current_key, limits, sends=sends)
        self._root = spec.root
        self._is_context_chosen = limits.context_tokens is not None
        self._endpoints = {
            name: EndpointAPI(
                self.found.model, own_shape(name), own_address(name, spec.root), api_key=api_key, config=config,
                stream=limits.stream and self.found.stream,
                context_tokens=limits.context_tokens if own_shape(name).has_place_for("context_tokens") else None,
            )
            for name in {self.found.chat, self.found.text, self.found.fill}
            if name
        }  # fmt: skip

    @property
    def accepts(self) -> frozenset[PromptKind]:
        """Kinds of prompt that the server answers."""
        return self.found.accepts

    def findings(self) -> str:
        """Return the findings of the probe in one line, with what a conversation with Ollama has no place for."""
        unsent = self._is_context_chosen and self.found.chat and "ollama" in (self.found.text, self.found.fill)
        advice = "; --context-tokens is not sent with conversations: set OLLAMA_CONTEXT_LENGTH where the server starts"
        return self.found.describe() + (advice if unsent else "")

    def served_name(self) -> str:
        """Return the server's name of the model."""
        return self.found.model

    def identity(self) -> dict[str, JsonValue]:
        """Return the settings that influence answers: the address, the served model, the FIM endpoint."""
        return {"provider": SERVER, "address": self._root, **self.found.identity()}

    def context_tokens(self) -> int | None:
        """Return the room for prompt and answer together, if the server tells it."""
        return self.found.context_tokens

    def special_tokens(self) -> frozenset[str] | None:
        """Return the sentinels of the server's tokenizer, if it tells them."""
        return self.found.special_tokens

    async def complete_once(self, messages: list[ChatMessage], config: GenerateConfig) -> tuple[ModelOutput, ModelCall]:
        """Send one request to the endpoint of its kind."""
        kind = _prompt_kind(messages)
        name: str | None = getattr(self.found, kind)
        if name is None:
            raise ProviderError(f"the server has no endpoint for {kind} prompts", kind="refused")
        # Only the neutral value is left out: another one changes answers, and its refusal must be heard.
        if "top_p" in self.found.unsent and config.top_p == 1:
            config = config.model_copy(update={"top_p": None})
        endpoint = self._endpoints[name]
        return await (
            endpoint.converse(messages, config) if kind == "chat" else endpoint.complete_once(messages, config)
        )

    def connection_key(self) -> str:
        """Return the key of one connection pool per address."""
        return self._root

    async def aclose(self) -> None:
        """Close the connections."""
        for endpoint in self._endpoints.values():
            await endpoint.aclose()


def _probe(spec: ServerSpec, key: Callable[[], str | None], limits: ClientOptions, *, sends: bool) -> ServerFindings:
    try:
        return probe_server(spec, key, limits)
    except MachineError as error:
        if sends:
            raise
        return ServerFindings(
            spec.model or "the server's model", chat="openai", text="openai", note=f"not probed ({error})"
        )


def _prompt_kind(messages: Sequence[ChatMessage]) -> PromptKind:
    metadata = messages[0].metadata or {} if len(messages) == 1 else {}
    if "prefix" in metadata:
        return "fill"
    return "text" if metadata.get(PROMPT_KIND) == "text" else "chat"
