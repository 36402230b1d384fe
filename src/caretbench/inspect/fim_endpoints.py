"""``fim/SHAPE/MODEL``: endpoints that take the text before and after the caret, as an Inspect provider."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from ipaddress import ip_address
from logging import getLogger
from typing import Any

import anyio
import httpx
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    GenerateConfig,
    ModelAPI,
    ModelCall,
    ModelOutput,
    ModelUsage,
    RetryDecision,
)
from inspect_ai.tool import ToolChoice, ToolInfo
from pydantic import JsonValue

from caretbench.errors import MachineError
from caretbench.inspect.failures import BrokenAnswerError, ProviderError, again_after
from caretbench.inspect.request import asked
from caretbench.inspect.shapes import Form, Shape, shape
from caretbench.inspect.streams import Assembly, Reader, check_size, parse, told
from caretbench.models import PromptKind, Sampling
from caretbench.secrets import REDACTED, redact

FIRST_S = "caretbench_first_s"
"""Key of an output's metadata: seconds to the first character of the answer."""

FINISH_REASONS = "caretbench_finish_reasons"
"""Key of an output's metadata: the server's own words, one per choice."""

UNSENT = "caretbench_unsent"
"""Key of an output's metadata: what the request held and this endpoint has no place for."""

_AFTER_THE_END_S = 2.0  # a server may leave the stream open after its last word
_CONNECT_S = 20.0
_SILENCE_S = 600.0

logger = getLogger(__name__)


class FimEndpointAPI(ModelAPI):
    """A completion endpoint of one of the shapes of ``fim_shapes.toml``.

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
        self.shape: Shape = shape(name)
        if not model:
            raise ValueError(f"fim/{name} needs the name of a model: fim/{name}/MODEL")
        if ignored:
            raise ValueError(f"fim/{name} knows no option {', '.join(sorted(ignored))}")
        variables = self.shape.base_url_variables
        given = base_url or next((os.environ[name] for name in variables if os.environ.get(name)), None)
        self.address = self.shape.address(given or self.shape.base_url)
        _check_address(self.address)
        super().__init__(
            model_name, base_url=self.address, api_key=api_key, api_key_vars=[*self.shape.key_variables],
            config=config,
        )  # fmt: skip
        self.model = model
        self._stream = stream
        self._context_tokens = context_tokens
        self._client: httpx.AsyncClient | None = None
        self._loop: object = None
        self._warned: set[str] = set()
        if self.shape.needs_key and given is None and not self._key():
            raise MachineError(
                f"{self.shape.title} needs a key: set {' or '.join(self.shape.key_variables)} "
                f"(or {variables[0]} to an address that needs none)"
            )

    @property
    def accepts(self) -> frozenset[PromptKind]:
        """The kinds of prompt that the endpoint takes."""
        return self.shape.accepts

    @property
    def several_per_request(self) -> bool:
        """Whether one request can ask for several answers."""
        return self.shape.several_per_request

    # --- what Inspect asks a provider ---------------------------------------------------------------------------

    async def generate(
        self,
        input: list[ChatMessage],  # noqa: A002 (the base class's name)
        tools: list[ToolInfo],
        tool_choice: ToolChoice,  # noqa: ARG002
        config: GenerateConfig,
    ) -> tuple[ModelOutput, ModelCall]:
        """One request, one try.

        Raises:
            ProviderError: it brought no whole answer.
        """
        if tools:
            raise ProviderError("an endpoint that fills in has no tools", kind="refused")
        form, values = self._form(asked(input, f"fim/{self.shape.name}"), config)
        body, unsent = self.shape.body(form, values, stream=self._stream)
        if "instruction" in unsent:
            raise ProviderError(
                f"{self.shape.title} has no place for an instruction: ask by the prompt `chat` or `natural`",
                kind="unpromptable",
            )
        self._warn(unsent)
        expected = config.num_choices or 1
        if expected > 1 and not self.several_per_request:
            raise ProviderError(
                f"{self.shape.title} gives one answer per request: ask {expected} times", status_code=422
            )
        call = ModelCall.create(request=body, response=None)
        started = time.monotonic()
        assembly, first_s, streamed = await self._ask(form, body, expected, started)
        call.time = time.monotonic() - started
        output = self._output(assembly, first_s, unsent, streamed=streamed)
        call.response = {"model": output.model, "choices": _as_sent(assembly)}
        return output, call

    def should_retry(self, ex: Exception) -> bool | RetryDecision:
        """Whether another try may help, and when."""
        if not isinstance(ex, ProviderError) or not ex.again:
            return RetryDecision.no()
        decide = RetryDecision.rate_limit if ex.rate_limited else RetryDecision.transient
        return decide(retry_after=ex.retry_after)

    def is_auth_failure(self, ex: Exception) -> bool:
        """Whether the key is missing or wrong."""
        return isinstance(ex, ProviderError) and ex.unauthorised

    def connection_key(self) -> str:
        """One pool of connections for each address and account."""
        return f"{self.address} {self.initial_api_key}"

    def max_tokens(self) -> int | None:
        """Never left to the server, whose own value may be 1 or endless."""
        return Sampling().max_tokens

    async def aclose(self) -> None:
        """Ends the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    # --- the request --------------------------------------------------------------------------------------------

    def _form(
        self, prompt: Mapping[str, JsonValue], config: GenerateConfig
    ) -> tuple[Form, dict[str, JsonValue]]:
        values: dict[str, JsonValue] = {
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
        fill = self.shape.fill
        text = prompt.get("text")
        if text is None and fill.empty_suffix == "text" and not prompt.get("suffix"):
            text = prompt.get("prefix") or ""
        if text is None:
            files = [
                {fill.file_path: file["path"], fill.file_text: file["text"]}
                for file in _tables(prompt.get("files"))
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

    def _key(self) -> str | None:
        found = self.api_key or next(
            (os.environ[name] for name in self.shape.key_variables if os.environ.get(name)), None
        )
        return found.strip() if found else None

    def _headers(self) -> dict[str, str]:
        headers = {"User-Agent": "caretbench"}
        if key := self._key():
            if not key.isascii() or not key.isprintable():
                raise ProviderError("the key holds characters that no key has", kind="provider")
            headers[self.shape.key_header] = f"{self.shape.key_scheme} {key}".strip()
        return headers

    def _safe(self, text: str) -> str:
        """``text`` without the key, which the environment need not hold."""
        key = self._key()
        return redact(text.replace(key, REDACTED) if key else text)

    def _connections(self) -> httpx.AsyncClient:
        loop = anyio.lowlevel.current_token()
        if self._client is None or self._loop != loop:  # connections belong to the loop that opened them
            self._loop = loop
            self._client = httpx.AsyncClient(
                timeout=httpx.Timeout(_SILENCE_S, connect=_CONNECT_S, pool=None),
                limits=httpx.Limits(max_connections=None, max_keepalive_connections=100),
                trust_env=not _is_loopback(self.address),  # a proxy has no way to this machine's own servers
                follow_redirects=False,  # a key goes to no other address
            )
        return self._client

    async def _ask(
        self, form: Form, body: dict[str, JsonValue], expected: int, started: float
    ) -> tuple[Assembly, float | None, bool]:
        url = self.address + form.path
        assembly = Assembly(self.shape, expected)
        try:
            async with self._connections().stream(
                "POST", url, json=body, headers=self._headers()
            ) as response:
                if response.status_code != 200:
                    raise await self._refusal(response)
                if _is_one_piece(response):
                    assembly.add(parse(await _whole(response)), self.shape.answer)
                    return assembly, None, False
                return assembly, await self._read(response, assembly, started), True
        except httpx.TimeoutException as error:
            raise ProviderError(
                self._safe(f"no answer in time from {url} ({type(error).__name__})"),
                again=True, kind="timeout",
            ) from None  # fmt: skip
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
            raise ProviderError(self._safe(f"{url} is no address: {error}"), kind="provider") from None
        except httpx.HTTPError as error:  # no connection, or one that broke
            raise BrokenAnswerError(
                self._safe(f"{url} did not answer: {error or type(error).__name__}")
            ) from None

    async def _read(self, response: httpx.Response, assembly: Assembly, started: float) -> float | None:
        reader = Reader(self.shape, assembly)
        first_s: float | None = None
        with anyio.CancelScope() as scope:
            async for chunk in response.aiter_bytes():
                reader.feed(chunk)
                if first_s is None and assembly.begun:
                    first_s = time.monotonic() - started
                if scope.deadline == math.inf and (assembly.ended or assembly.finished):
                    scope.deadline = anyio.current_time() + _AFTER_THE_END_S
        reader.close()
        return first_s

    async def _refusal(self, response: httpx.Response) -> ProviderError:
        status = response.status_code
        data = await _whole(response)
        try:
            said = told(parse(data))
        except ProviderError:
            said = data[:2000].decode("utf-8", "replace")
        hints = [hint.message for hint in self.shape.hints if hint.applies(status, said)]
        parts = [f"{response.request.url} says: {said.strip()[:400] or 'no word'}", *hints]
        return ProviderError(
            self._safe("; ".join(parts)),
            status_code=status,
            again=again_after(status),
            retry_after=_retry_after(response.headers),
        )

    def _output(
        self, assembly: Assembly, first_s: float | None, unsent: tuple[str, ...], *, streamed: bool
    ) -> ModelOutput:
        choices = assembly.whole(streamed=streamed)
        model = assembly.model or self.model
        metadata: dict[str, Any] = {FINISH_REASONS: [choice.finish for choice in choices]}
        metadata |= {FIRST_S: first_s} if first_s is not None else {}
        metadata |= {UNSENT: list(unsent)} if unsent else {}
        counts = assembly.counts
        return ModelOutput(
            model=model,
            choices=[
                ChatCompletionChoice(
                    message=ChatMessageAssistant(content=choice.text, model=model, source="generate"),
                    stop_reason=self.shape.stop_reasons.get(choice.finish or "", "unknown"),
                )
                for choice in choices
            ],
            usage=None
            if counts is None
            else ModelUsage(
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
            self._warned.add(name)
            logger.warning("%s has no place for %s: it is not sent", self.shape.title, name)


# --- small things -----------------------------------------------------------------------------------------------


def _as_sent(assembly: Assembly) -> list[JsonValue]:
    """The choices in OpenAI's form, with the server's own words: for Inspect's log, and for who reads it."""
    return [
        {"text": choice.said, "finish_reason": choice.finish or "unknown"} for choice in assembly.in_order()
    ]


def _texts(value: JsonValue) -> list[str]:
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []


def _tables(value: JsonValue) -> list[dict[str, JsonValue]]:
    return [table for table in value if isinstance(table, dict)] if isinstance(value, list) else []


def _check_address(address: str) -> None:
    try:
        url = httpx.URL(address)
    except httpx.InvalidURL:
        url = httpx.URL("")
    if url.scheme not in ("http", "https") or not url.host:
        raise ValueError(f"{redact(address)} is no address of a server: http://HOST:PORT or https://HOST")


def _is_loopback(address: str) -> bool:
    host = httpx.URL(address).host
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _is_one_piece(response: httpx.Response) -> bool:
    kind = response.headers.get("content-type", "").split(";")[0].strip().lower()
    return bool(kind == "application/json")


async def _whole(response: httpx.Response) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for chunk in response.aiter_bytes():
        size += len(chunk)
        check_size(size)
        parts.append(chunk)
    return b"".join(parts)


def _retry_after(headers: httpx.Headers) -> float | None:
    """Seconds of a Retry-After header: a number, or a date (RFC 9110, 10.2.3)."""
    value = headers.get("retry-after", "").strip()
    try:
        seconds = float(value)
    except ValueError:
        try:
            date = parsedate_to_datetime(value)
        except ValueError:
            return None
        date = date if date.tzinfo else date.replace(tzinfo=UTC)
        seconds = (date - datetime.now(UTC)).total_seconds()
    return max(seconds, 0.0) if math.isfinite(seconds) else None
