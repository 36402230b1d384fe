"""Client of completion servers: sends one request, returns a complete answer or raises. Does not import Inspect."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import NamedTuple

import anyio
import httpx
from pydantic import JsonValue

from caretbench.inspect.client.provider_errors import BrokenAnswerError, ProviderError, is_retryable_status
from caretbench.inspect.providers.endpoint_shapes import EndpointShape, RequestForm
from caretbench.inspect.providers.stream_parsing import (
    AnswerAssembly,
    PartialChoice,
    StreamReader,
    TokenCounts,
    check_size,
    error_message,
    parse_json,
)
from caretbench.local.server_spec import is_loopback
from caretbench.redaction import REDACTED, redact

_AFTER_THE_END_S = 2.0  # a server may leave the stream open after its last word
_CONNECT_S = 20.0
_SILENCE_S = 600.0


class EndpointAnswer(NamedTuple):
    """Whole answer: at least one choice. Seconds count from sending; ``first_s`` is None where nothing streamed."""

    choices: list[PartialChoice]
    model: str | None
    counts: TokenCounts | None
    first_s: float | None
    last_s: float


class CompletionServer:
    """Completion server at one address.

    Args:
        shape: Shape of its requests and answers.
        address: Its base URL, as :meth:`Shape.address` returns it.
        key: Returns the key for each request (it may change while a run goes on).

    Raises:
        ValueError: ``address`` is none.
    """

    def __init__(self, shape: EndpointShape, address: str, key: Callable[[], str | None]) -> None:
        _check_address(address)
        self.address = address
        self._shape = shape
        self._key = key
        self._client: httpx.AsyncClient | None = None
        self._loop: object = None

    def _headers(self) -> dict[str, str]:
        headers = {"User-Agent": "caretbench"}
        if key := self._key():
            if not key.isascii() or not key.isprintable():
                raise ProviderError("the key holds characters that no key has", kind="provider")
            headers[self._shape.key_header] = f"{self._shape.key_scheme} {key}".strip()
        return headers

    def _safe(self, text: str) -> str:
        """Return ``text`` without the key, which the environment need not hold."""
        key = self._key()
        return redact(text.replace(key, REDACTED) if key else text)

    def _connections(self) -> httpx.AsyncClient:
        loop = anyio.lowlevel.current_token()
        if self._client is None or self._loop != loop:  # connections belong to the loop that opened them
            self._loop = loop
            self._client = httpx.AsyncClient(
                timeout=httpx.Timeout(_SILENCE_S, connect=_CONNECT_S, pool=None),
                limits=httpx.Limits(max_connections=None, max_keepalive_connections=100),
                trust_env=not is_loopback(self.address),  # a proxy has no way to this machine's own servers
                follow_redirects=False,  # a key goes to no other address
            )
        return self._client

    async def ask(self, form: RequestForm, body: Mapping[str, JsonValue], expected: int) -> EndpointAnswer:
        """Send one request for ``expected`` answers, with one try.

        Raises:
            ProviderError: it brought no whole answer.
        """
        url = self.address + form.path
        assembly = AnswerAssembly(self._shape, expected)
        started = time.monotonic()
        first_s: float | None = None
        with self._provider_errors(url):
            async with self._connections().stream("POST", url, json=body, headers=self._headers()) as response:
                if response.status_code != 200:
                    raise await self._refusal(response)
                streamed = not _is_one_piece(response)
                if streamed:
                    first_s = await self._read(response, assembly, form, started)
                else:
                    assembly.add(parse_json(await _whole(response)), form.answer or self._shape.answer)
        return EndpointAnswer(
            assembly.complete_choices(streamed=streamed),
            assembly.model,
            assembly.counts,
            first_s,
            time.monotonic() - started,
        )

    async def fetch(self, path: str, body: Mapping[str, JsonValue] | None = None) -> JsonValue:
        """Return JSON about the server itself, by GET, or by POST where there is a body; one try.

        Raises:
            ProviderError: there is none.
        """
        url = self.address + path
        method = "GET" if body is None else "POST"
        with self._provider_errors(url):
            async with self._connections().stream(method, url, json=body, headers=self._headers()) as response:
                if response.status_code != 200:
                    raise await self._refusal(response)
                return parse_json(await _whole(response))

    @contextmanager
    def _provider_errors(self, url: str) -> Iterator[None]:
        """Turn the errors of a connection into ours."""
        try:
            yield
        except httpx.TimeoutException as error:
            raise ProviderError(
                self._safe(f"no answer in time from {url} ({type(error).__name__})"),
                retryable=True, kind="timeout",
            ) from None  # fmt: skip
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
            raise ProviderError(self._safe(f"{url} is no address: {error}"), kind="provider") from None
        except httpx.HTTPError as error:  # no connection, or one that broke
            raise BrokenAnswerError(self._safe(f"{url} did not answer: {error or type(error).__name__}")) from None

    async def aclose(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def _read(
        self, response: httpx.Response, assembly: AnswerAssembly, form: RequestForm, started: float
    ) -> float | None:
        reader = StreamReader(self._shape, assembly, form)
        first_s: float | None = None
        with anyio.CancelScope() as scope:
            async for chunk in response.aiter_bytes():
                reader.feed(chunk)
                if first_s is None and assembly.started:
                    first_s = time.monotonic() - started
                if scope.deadline == math.inf and (assembly.ended or assembly.finished):
                    scope.deadline = anyio.current_time() + _AFTER_THE_END_S
        reader.close()
        return first_s

    async def _refusal(self, response: httpx.Response) -> ProviderError:
        status = response.status_code
        data = await _whole(response)
        try:
            said = error_message(parse_json(data))
        except ProviderError:
            said = data[:2000].decode("utf-8", "replace")
        hints = [hint.message for hint in self._shape.hints if hint.applies(status, said)]
        parts = [f"{response.request.url} says: {said.strip()[:400] or 'no word'}", *hints]
        return ProviderError(
            self._safe("; ".join(parts)),
            status_code=status,
            retryable=is_retryable_status(status),
            retry_after=_retry_after(response.headers),
        )


def _check_address(address: str) -> None:
    try:
        url = httpx.URL(address)
    except httpx.InvalidURL:
        url = httpx.URL("")
    if url.scheme not in ("http", "https") or not url.host:
        raise ValueError(f"{redact(address)} is no address of a server: http://HOST:PORT or https://HOST")


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
    """Return seconds of a Retry-After header: a number, or a date (RFC 9110, 10.2.3)."""
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
