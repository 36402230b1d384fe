"""Providers of completion endpoints: the base of those of one shape, and ``fim/SHAPE/MODEL``."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from logging import getLogger
from typing import Any

from inspect_ai.model import ChatMessage, GenerateConfig, ModelCall, ModelOutput, ModelUsage
from pydantic import JsonValue

from caretbench.errors import MachineError, UsageError
from caretbench.inspect.client.provider_errors import ProviderError
from caretbench.inspect.providers.base import FINISH_REASONS, FIRST_S, SingleTryAPI, chat_choice, parse_prompt
from caretbench.inspect.providers.completion_server import CompletionServer, EndpointAnswer
from caretbench.inspect.providers.endpoint_shapes import EndpointShape, RequestForm, endpoint_shape
from caretbench.models import PromptKind

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
        self._server = CompletionServer(shape, address, self.current_key)
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
        self._warn(unsent)
        self._server.further_headers = config.extra_headers or {}
        call = ModelCall.create(request=body, response=None)
        reply = await self._server.ask(form, body, expected)
        call.time = reply.last_s
        call.response = {"model": reply.model, "choices": _as_sent(reply), "truncated": reply.truncated}
        return self._output(reply, unsent), call

    def connection_key(self) -> str:
        """Return the key of one connection pool per address and account; the API key itself is in no log."""
        return f"{self.address} {hash(self.initial_api_key)}"

    async def aclose(self) -> None:
        """Close the connections."""
        await self._server.aclose()

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
                "prefix": prompt.get("prefix") or "", "suffix": prompt.get("suffix") or "",
                "files": files or None,  # type: ignore[dict-item]
            }  # fmt: skip
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
    return [{"text": choice.text_or_none, "finish_reason": choice.finish or "unknown"} for choice in reply.choices]


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
