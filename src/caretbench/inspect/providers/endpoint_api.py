"""Providers of completion endpoints: the base of those of one shape, and ``fim/SHAPE/MODEL``."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from logging import getLogger
from typing import Any

from inspect_ai.model import ChatMessage, GenerateConfig, ModelCall, ModelOutput, ModelUsage
from pydantic import JsonValue

from caretbench.errors import MachineError, UsageError
from caretbench.inspect.client.messages import PROMPT_KIND
from caretbench.inspect.client.provider_errors import ProviderError
from caretbench.inspect.providers.base import FINISH_REASONS, FIRST_S, SingleTryAPI, chat_choice, parse_prompt
from caretbench.inspect.providers.completion_server import CompletionServer, EndpointAnswer
from caretbench.inspect.providers.endpoint_shapes import EndpointShape, RequestForm, endpoint_shape
from caretbench.inspect.providers.server_probe import ServerFindings, own_address, own_shape, probe_server
from caretbench.local.server_spec import KEY_VARIABLE, SERVER, ServerSpec, parse_server_spec
from caretbench.models import ClientOptions, PromptKind

UNSENT = "caretbench_unsent"
"""Key of an output's metadata: what the request held and this endpoint has no place for."""

logger = getLogger(__name__)


class EndpointAPI(SingleTryAPI):
    """Provider for the completion endpoint of one shape at one address.

    Args:
        model: Name of the model for the server.
        shape: Shape of its requests and answers.
        address: Its address, as the shape's paths want it.
        api_key: The key; without it the shape's environment variables.
        config: As for every provider.
        stream: Ask for streams, which tell the time to the first token.
        context_tokens: The context to ask for, where the server must be told (Ollama cuts prompts silently at its own).
    """

    no_tools_message = "an endpoint that fills in has no tools"

    def __init__(
        self,
        model: str,
        shape: EndpointShape,
        address: str,
        *,
        api_key: str | None = None,
        config: GenerateConfig | None = None,
        stream: bool = True,
        context_tokens: int | None = None,
    ) -> None:
        self.shape = shape
        self.address = address
        self.model = model
        self._server_client = CompletionServer(shape, address, self.current_key)
        super().__init__(
            f"{shape.name}/{model}", base_url=address, api_key=api_key, api_key_vars=[*shape.key_variables],
            config=config or GenerateConfig(),
        )  # fmt: skip
        self._stream = stream
        self._context_tokens = context_tokens
        self._warned: set[str] = set()

    @property
    def accepts(self) -> frozenset[PromptKind]:
        """Kinds of prompt that the endpoint takes."""
        return self.shape.accepts

    @property
    def several_per_request(self) -> bool:
        """Return whether one request can ask for several answers."""
        return self.shape.several_per_request

    @property
    def takes_instructions(self) -> bool:
        """Return whether a request has a place for an instruction."""
        return "instruction" in self.shape.fill.body.values()

    @property
    def stop_texts(self) -> int | None:
        """Maximum number of stop texts of a request; None: any number. A server of one's own has no such limit."""
        return self.shape.stop_texts if self.address == self.shape.address(self.shape.base_url) else None

    async def complete_once(self, messages: list[ChatMessage], config: GenerateConfig) -> tuple[ModelOutput, ModelCall]:
        """Send one request."""
        form, values = self._form(parse_prompt(messages, f"fim/{self.shape.name}"), config)
        return await self._send(form, values, config)

    async def converse(self, messages: Sequence[ChatMessage], config: GenerateConfig) -> tuple[ModelOutput, ModelCall]:
        """Send one request for the next turn of a conversation.

        Raises:
            ProviderError: the endpoint takes none, or there is no whole answer.
        """
        if self.shape.chat is None:
            raise ProviderError(f"{self.shape.title} takes no conversation", kind="refused")
        turns: list[JsonValue] = [{"role": message.role, "content": message.text} for message in messages]
        values = self._values({}, config) | {"messages": turns, "response_format": _response_format(config)}
        return await self._send(self.shape.chat, values, config)

    async def _send(
        self, form: RequestForm, values: Mapping[str, JsonValue], config: GenerateConfig
    ) -> tuple[ModelOutput, ModelCall]:
        body, unsent = self.shape.body(form, values, stream=self._stream)
        if "instruction" in unsent:
            raise ProviderError(
                f"{self.shape.title} has no place for an instruction: ask by the prompt `chat` or `natural`, or "
                "with --instruction none or comment",
                kind="unpromptable",
            )
        expected = config.num_choices or 1
        # Status 422 tells the client to ask for the samples one by one.
        if expected > 1 and not self.several_per_request:
            raise ProviderError(
                f"{self.shape.title} gives one answer per request: ask {expected} times", status_code=422
            )
        body |= self.further_fields(config)
        self._warn(unsent)
        self._server_client.further_headers = config.extra_headers or {}
        call = ModelCall.create(request=body, response=None)
        reply = await self._server_client.ask(form, body, expected)
        call.time = reply.last_s
        call.response = {"model": reply.model, "choices": _as_sent(reply), "truncated": reply.truncated}
        return self._output(reply, unsent), call

    def further_fields(self, config: GenerateConfig) -> dict[str, JsonValue]:
        """Return the fields of a request in addition to those of its shape."""
        del config
        return {}

    def connection_key(self) -> str:
        """Return the key of one connection pool per address and account; the API key itself is in no log."""
        return f"{self.address} {hash(self.initial_api_key)}"

    async def aclose(self) -> None:
        """Close the connections."""
        await self._server_client.aclose()

    def _values(self, prompt: Mapping[str, JsonValue], config: GenerateConfig) -> dict[str, JsonValue]:
        return {
            "model": self.model,
            "max_tokens": config.max_tokens or self.max_tokens(),
            "temperature": config.temperature,
            "top_p": config.top_p,
            "seed": config.seed,
            "stop": [*dict.fromkeys([*(config.stop_seqs or []), *_texts(prompt.get("stop"))])] or None,
            "samples": config.num_choices if (config.num_choices or 1) > 1 else None,
            "context_tokens": self._context_tokens,
            "instruction": prompt.get("instruction") or None,
        }

    def _form(
        self, prompt: Mapping[str, JsonValue], config: GenerateConfig
    ) -> tuple[RequestForm, dict[str, JsonValue]]:
        values = self._values(prompt, config)
        fill = self.shape.fill
        text = prompt.get("text")
        # Some endpoints refuse an empty suffix; the same model completes the prefix at its other endpoint.
        if text is None and fill.empty_suffix == "text" and not prompt.get("suffix"):
            text = prompt.get("prefix") or ""
        if text is None:
            files = [
                {fill.file_path: file["path"], fill.file_text: file["text"]} for file in _tables(prompt.get("files"))
            ]
            return fill, values | {
                "prefix": prompt.get("prefix") or "",
                "suffix": prompt.get("suffix") or "",
                "files": files or None,  # type: ignore[dict-item]
            }
        if self.shape.text is None:
            raise ProviderError(
                f"{self.shape.title} wants the text before and after the caret (the prompt `fill`), "
                "and places the sentinels itself",
                kind="refused",
            )
        return self.shape.text, values | {"text": text, "files": prompt.get("files") or None}

    def _output(self, reply: EndpointAnswer, unsent: tuple[str, ...]) -> ModelOutput:
        model, counts = reply.model or self.model, reply.counts
        metadata: dict[str, Any] = {FINISH_REASONS: [choice.finish for choice in reply.choices]}
        metadata |= {FIRST_S: reply.first_s} if reply.first_s is not None else {}
        metadata |= {UNSENT: list(unsent)} if unsent else {}
        return ModelOutput(
            model=model,
            choices=[
                chat_choice(choice.text, model, self.shape.stop_reasons.get(choice.finish or "", "unknown"))
                for choice in reply.choices
            ],
            usage=None
            if counts is None
            else ModelUsage(
                # Inspect has cached tokens apart, the servers count them in.
                input_tokens=max(counts.input - (counts.cached or 0), 0),
                output_tokens=counts.output,
                total_tokens=counts.input + counts.output,
                input_tokens_cache_read=counts.cached,
                reasoning_tokens=counts.reasoning,
            ),
            metadata=metadata,
        )

    def _warn(self, unsent: tuple[str, ...]) -> None:
        for name in set(unsent) - self._warned:
            # Once for each name, and not once for each of thousands of requests.
            self._warned.add(name)
            logger.warning("%s has no place for %s: it is not sent", self.shape.title, name)


def _as_sent(reply: EndpointAnswer) -> list[JsonValue]:
    """Return the choices in OpenAI's form, with the server's own words, for Inspect's log and its readers."""
    return [
        {"text": choice.text_or_none, "finish_reason": choice.finish or "unknown"}
        | ({"logprobs": {"content": choice.tokens}} if choice.tokens else {})
        for choice in reply.choices
    ]


def _response_format(config: GenerateConfig) -> JsonValue:
    schema = config.response_schema
    if schema is None:
        return None
    form: dict[str, JsonValue] = {"name": schema.name, "schema": schema.json_schema.model_dump(exclude_none=True)}
    return {"type": "json_schema", "json_schema": form | {"strict": True}}


def _texts(value: JsonValue) -> list[str]:
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []


def _tables(value: JsonValue) -> list[dict[str, JsonValue]]:
    return [table for table in value if isinstance(table, dict)] if isinstance(value, list) else []


class FimEndpointAPI(EndpointAPI):
    """Provider for completion endpoints of the shapes of ``fim_shapes.toml``.

    Args:
        model_name: ``SHAPE/MODEL``.
        base_url: The server's address; without it the shape's environment variables, then the vendor's address.
        api_key: The key; without it the shape's environment variables.
        config: As for every provider.
        stream: Ask for streams, which tell the time to the first token.
        context_tokens: The context to ask for, where the server must be told (Ollama cuts prompts silently at its own).
    """

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 (as in the base class; never changed)
        stream: bool = True,
        context_tokens: int | None = None,
        **ignored: Any,
    ) -> None:
        name, _, model = model_name.partition("/")
        shape = endpoint_shape(name)
        if not model:
            raise UsageError(f"fim/{name} needs the name of a model: fim/{name}/MODEL")
        if ignored:
            raise UsageError(f"fim/{name} knows no option {', '.join(sorted(ignored))}")
        variables = shape.base_url_variables
        given = base_url or next((os.environ[name] for name in variables if os.environ.get(name)), None)
        super().__init__(
            model, shape, shape.address(given or shape.base_url), api_key=api_key, config=config, stream=stream,
            context_tokens=context_tokens,
        )  # fmt: skip
        if shape.needs_key and given is None and not self.current_key():
            raise MachineError(
                f"{shape.title} needs a key: set {' or '.join(shape.key_variables)} "
                f"(or {variables[0]} to an address that needs none)"
            )


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
