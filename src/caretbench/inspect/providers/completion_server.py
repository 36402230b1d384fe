"""Client of completion servers: sends one request, and reads the answer in one piece or as a stream.

An answer is whole or it is an error: a stream that ends early never gives a text. Imports nothing of Inspect.
"""

from __future__ import annotations

import math
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import NamedTuple

import anyio
import httpx
from pydantic import JsonValue

from caretbench.errors import UsageError
from caretbench.inspect.client.provider_errors import (
    BrokenAnswerError,
    ProviderError,
    error_message,
    is_retryable_status,
    parse_json,
)
from caretbench.inspect.providers.answer_stream import (
    AnswerAssembly,
    PartialChoice,
    StreamReader,
    TokenCounts,
    check_size,
)
from caretbench.inspect.providers.endpoint_shapes import EndpointShape, RequestForm
from caretbench.local.server_spec import is_loopback
from caretbench.redaction import REDACTED, redact

# A server may leave the stream open after its last word: the answer is whole, and would be a timeout.
_AFTER_THE_END_S = 2.0
_CONNECT_S = 20.0
_SILENCE_S = 600.0


class EndpointAnswer(NamedTuple):
    """Whole answer; seconds count from sending. ``truncated``: the server says that it cut the prompt."""

    choices: list[PartialChoice]
    model: str | None
    counts: TokenCounts | None
    first_s: float | None
    last_s: float
    truncated: bool = False


@dataclass(eq=False)
class CompletionServer:
    """Completion server at one address.

    Args:
        shape: Shape of its requests and answers.
        address: Its base URL, as :meth:`Shape.address` returns it.
        key: Returns the key for each request (it may change while a run goes on).
        further_headers: Headers of every request.

    Raises:
        UsageError: ``address`` is none.
    """

    shape: EndpointShape
    address: str
    key: Callable[[], str | None]
    further_headers: Mapping[str, str] = field(default_factory=dict, repr=False)  # they may hold keys

    def __post_init__(self) -> None:
        """Check the address."""
        check_address(self.address)
        self._client: httpx.AsyncClient | None = None
        self._loop: object = None

    def _headers(self) -> dict[str, str]:
        headers = {"User-Agent": "caretbench", **self.further_headers}
        if key := self.key():
            # A key with another character is a slip of the clipboard, which no header can hold.
            if not key.isascii() or not key.isprintable():
                raise ProviderError("the key holds characters that no key has", kind="provider")
            headers[self.shape.key_header] = f"{self.shape.key_scheme} {key}".strip()
        return headers

    def _safe(self, text: str) -> str:
        """Return ``text`` without key and headers, which the environment need not hold."""
        for secret in (self.key(), *self.further_headers.values()):
            text = text.replace(secret, REDACTED) if secret else text
        return redact(text)

    def _connections(self) -> httpx.AsyncClient:
        loop = anyio.lowlevel.current_token()
        # Connections belong to the loop that opened them; Inspect may ask from another one.
        if self._client is None or self._loop != loop:
            self._loop = loop
            self._client = httpx.AsyncClient(
                # For a silent server; the limit of the client's options is mostly shorter, and ends the try first.
                timeout=httpx.Timeout(_SILENCE_S, connect=_CONNECT_S, pool=None),
                limits=httpx.Limits(max_connections=None, max_keepalive_connections=100),
                # A proxy has no way to this machine's own servers.
                trust_env=not is_loopback(self.address),
                verify=httpx.create_ssl_context(),
                # A key goes to no other address.
                follow_redirects=False,
            )
        return self._client

    async def ask(self, form: RequestForm, body: Mapping[str, JsonValue], expected: int) -> EndpointAnswer:
        """Send one request for ``expected`` answers, with one try.

        Raises:
            ProviderError: it brought no whole answer.
        """
        url = self.address + form.path
        assembly = AnswerAssembly(self.shape, expected)
        started = time.monotonic()
        first_s: float | None = None
        with self._provider_errors(url):
            async with self._connections().stream("POST", url, json=body, headers=self._headers()) as response:
                if response.status_code != 200:
                    raise await self._refusal_error(response)
                chunks = response.aiter_bytes()
                first = await _first_part(chunks)
                streamed = not self._is_whole(response, first)
                if streamed:
                    first_s = await self._read(first, chunks, assembly, form, started)
                else:
                    whole = parse_json(await _read_body(chunks, first))
                    assembly.add(whole, form.answer or self.shape.answer)
        return EndpointAnswer(
            assembly.complete_choices(streamed=streamed),
            assembly.model,
            assembly.counts,
            first_s,
            time.monotonic() - started,
            assembly.truncated,
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
                    raise await self._refusal_error(response)
                return parse_json(await _read_body(response.aiter_bytes()))

    @contextmanager
    def _provider_errors(self, url: str) -> Iterator[None]:
        """Turn the errors of a connection into ours."""
        try:
            yield
        except httpx.TimeoutException as error:
            raise ProviderError(
                self._safe(f"no answer in time from {url} ({type(error).__name__})"), retryable=True, kind="timeout"
            ) from None
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
            raise ProviderError(self._safe(f"{url} is no address: {error}"), kind="provider") from None
        # No connection, or one that broke.
        except httpx.HTTPError as error:
            raise BrokenAnswerError(self._safe(f"{url} did not answer: {error or type(error).__name__}")) from None

    async def aclose(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    def _is_whole(self, response: httpx.Response, first: bytes) -> bool:
        """Return whether an answer is one JSON value, and no stream, whatever its content type says of events."""
        if self.shape.stream == "sse":
            return first.lstrip()[:1] in (b"{", b"[")
        return str(response.headers.get("content-type", "")).split(";")[0].strip().lower() == "application/json"

    async def _read(
        self, first: bytes, rest: AsyncIterator[bytes], assembly: AnswerAssembly, form: RequestForm, started: float
    ) -> float | None:
        reader = StreamReader(self.shape, assembly, form)
        first_s: float | None = None
        with anyio.CancelScope() as scope:
            async for chunk in _after(first, rest):
                reader.feed(chunk)
                if first_s is None and assembly.started:
                    first_s = time.monotonic() - started
                if scope.deadline == math.inf and (assembly.ended or assembly.finished):
                    scope.deadline = anyio.current_time() + _AFTER_THE_END_S
        reader.close()
        return first_s

    async def _refusal_error(self, response: httpx.Response) -> ProviderError:
        status = response.status_code
        data = await _read_body(response.aiter_bytes())
        try:
            said = error_message(parse_json(data))
        except ProviderError:
            said = data[:2000].decode("utf-8", "replace")
        hints = [hint.message for hint in self.shape.hints if hint.applies(status, said)]
        parts = [f"{response.request.url} says: {said.strip()[:400] or 'no word'}", *hints]
        return ProviderError(
            self._safe("; ".join(parts)),
            status_code=status,
            retryable=is_retryable_status(status),
            retry_after=_retry_after(response.headers),
        )


def check_address(address: str) -> None:
    """Raise UsageError if an address is none of a server."""
    try:
        url = httpx.URL(address)
    except httpx.InvalidURL:
        url = httpx.URL("")
    if url.scheme not in ("http", "https") or not url.host:
        raise UsageError(f"{redact(address)} is no address of a server: http://HOST:PORT or https://HOST")


async def _first_part(chunks: AsyncIterator[bytes]) -> bytes:
    """Return the bytes up to the first that is no blank."""
    first = b""
    async for chunk in chunks:
        first += chunk
        check_size(len(first))
        if first.strip():
            break
    return first


async def _after(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for chunk in rest:
        yield chunk


async def _read_body(chunks: AsyncIterator[bytes], first: bytes = b"") -> bytes:
    parts: list[bytes] = []
    size = 0
    async for chunk in _after(first, chunks):
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
