"""Client of completion servers: sends one request, and reads the answer in one piece, as events, or line by line.

An answer is whole or it is an error: a stream that ends early never gives a text. Imports nothing of Inspect.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

import anyio
import httpx
from pydantic import JsonValue

from caretbench.errors import UsageError
from caretbench.inspect.client.provider_errors import (
    BrokenAnswerError,
    ProviderError,
    as_error,
    error_message,
    is_interrupted,
    is_retryable_status,
    parse_json,
    plain_text,
    server_error,
    stated_error,
)
from caretbench.inspect.providers.endpoint_shapes import AnswerPaths, EndpointShape, RequestForm, value_at
from caretbench.local.server_spec import is_loopback
from caretbench.redaction import REDACTED, redact

MAX_ANSWER_BYTES = 16 << 20
"""Bytes of one answer, as sent; what is longer is no completion."""

END: Final = b"[DONE]"
"""Data of the event that ends a stream."""


class TokenCounts(NamedTuple):
    """Token counts of a request by the server; ``input`` includes the cached ones."""

    input: int
    output: int
    cached: int | None = None
    reasoning: int | None = None


class PartialChoice:
    """Choice of a streamed answer, received so far."""

    def __init__(self) -> None:
        self.silent = True
        self.parts: list[str] = []
        self.finish: str | None = None
        self.finished = False

    @property
    def text(self) -> str:
        """Text received so far.

        JSON may hold one character as two halves, and a server may send them in two pieces: halves that meet are one
        again, others become U+FFFD, since no file can hold them.
        """
        text = "".join(self.parts)
        try:
            text.encode()
        except UnicodeEncodeError:
            return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return text

    @property
    def text_or_none(self) -> str | None:
        """Text received so far; None if the server sent no text field."""
        return None if self.silent else self.text


class AnswerAssembly:
    """Assembly of the choices of one answer from its pieces."""

    def __init__(self, shape: EndpointShape, expected: int) -> None:
        self._shape = shape
        self._expected = expected
        self._has_end = False
        self._odd: JsonValue = None
        self.truncated = False
        self.ended = False
        self.choices: dict[int, PartialChoice] = {}
        self.model: str | None = None
        self.counts: TokenCounts | None = None

    @property
    def started(self) -> bool:
        """Return whether a first character was received."""
        return any(choice.parts for choice in self.choices.values())

    @property
    def finished(self) -> bool:
        """Return whether all requested answers have ended."""
        return len(self.choices) >= self._expected and all(c.finished for c in self.choices.values())

    def end(self) -> None:
        """Mark the answer as ended by the server."""
        self.ended = True

    def add(self, piece: JsonValue, places: AnswerPaths) -> None:
        """Add one event of the stream (or the whole answer) to the choices.

        Raises:
            ProviderError: it is an error, or has another form.
        """
        if not isinstance(piece, dict):
            raise BrokenAnswerError("the server's answer is no JSON object")
        if (error := stated_error(piece)) is not None:
            raise server_error(error)
        if isinstance(served := piece.get("model"), str) and served:
            self.model = served
        self.truncated |= piece.get("truncated") is True
        self._count(piece)
        found = value_at(piece, places.choices) if places.choices else [piece]
        if found is None:
            found, self._odd = [], piece
        if not isinstance(found, list):
            raise BrokenAnswerError(f"the server's answer has no list at {places.choices!r}")
        for position, entry in enumerate(found):
            self._add_choice(entry, position, places)

    def _add_choice(self, entry: JsonValue, position: int, places: AnswerPaths) -> None:
        if not isinstance(entry, dict):
            raise BrokenAnswerError(f"the server's answer holds {type(entry).__name__} in place of a choice")
        index = value_at(entry, places.index)
        # Servers with one answer per request send no index.
        number = index if isinstance(index, int) and not isinstance(index, bool) else position
        text, finish = plain_text(value_at(entry, places.text)), value_at(entry, places.finish)
        if text is not None and not isinstance(text, str):
            raise BrokenAnswerError(f"the server's answer has no text at {places.text!r}")
        if finish is not None and not isinstance(finish, str):
            raise BrokenAnswerError(f"the server's answer has no word at {places.finish!r}")
        choice = self.choices.setdefault(number, PartialChoice())
        if text is not None:
            choice.silent = False
        if text:
            choice.parts.append(text)
        self._has_end |= places.done is not None
        done = bool(finish if places.done is None else value_at(entry, places.done))
        choice.finished |= done
        if finish and done:
            choice.finish = finish
        if finish in self._shape.interrupted or is_interrupted(finish):
            raise BrokenAnswerError(f"the server broke the answer off: {finish}")

    def _count(self, piece: JsonValue) -> None:
        places = self._shape.usage
        entering, leaving, cached, reasoning = (
            _number(value_at(piece, place)) for place in (places.input, places.output, places.cached, places.reasoning)
        )
        if entering is not None and leaving is not None:
            self.counts = TokenCounts(entering, leaving, cached, reasoning)

    def received_choices(self) -> list[PartialChoice]:
        """Return the choices received so far, sorted by index."""
        return [self.choices[number] for number in sorted(self.choices)]

    def complete_choices(self, *, streamed: bool) -> list[PartialChoice]:
        """Return the complete choices, sorted by index.

        Raises:
            BrokenAnswerError: something is missing.
        """
        choices = self.received_choices()
        if not choices:
            said = f": {json.dumps(self._odd)[:200]}" if self._odd else ""
            raise BrokenAnswerError(f"the server answered without any choice{said}")
        # A choice without text is an answer only if the server says that it ended so.
        if any(not choice.parts and choice.finish is None for choice in choices):
            raise BrokenAnswerError("the server answered with a choice that holds neither text nor an end")
        if (streamed or self._has_end) and not self.finished and not self.ended:
            raise BrokenAnswerError("the stream ended early")
        return choices


def _number(value: JsonValue) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


class StreamSplitter:
    """Splitter of a byte stream into events or lines.

    Only line feeds divide: JSON may hold U+2028 and its like as they are, at which text readers would cut.
    """

    def __init__(self, stream: Literal["sse", "ndjson"]) -> None:
        self._events = stream == "sse"
        self._rest: list[bytes] = []
        self._data: list[bytes] = []
        self._is_error = False

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the events or lines that ``chunk`` completes."""
        first, *others = chunk.split(b"\n")
        # Joined once per line: a long line in many small chunks would be copied for each of them.
        self._rest.append(first)
        for other in others:
            line = b"".join(self._rest).rstrip(b"\r")
            self._rest = [other]
            yield from self._line(line)

    def close(self) -> Iterator[bytes]:
        """Yield the rest when the stream has ended."""
        yield from self._line(b"".join(self._rest).rstrip(b"\r"))
        yield from self._line(b"")
        self._rest = []

    def _line(self, line: bytes) -> Iterator[bytes]:
        if not self._events:
            if line.strip():
                yield line
        elif line.startswith(b"data:"):
            self._data.append(line[5:].removeprefix(b" "))
        # llama.cpp's older form of an error within a stream.
        elif line.startswith(b"error:"):
            self._data.append(as_error(line[6:]))
        elif line.startswith(b"event:"):
            self._is_error = line[6:].strip().lower() == b"error"
        elif not line and self._data:
            data, self._data = b"\n".join(self._data), []
            yield as_error(data) if self._is_error else data
            self._is_error = False


class StreamReader:
    """Reader that feeds the bytes of one streamed answer to its assembly."""

    def __init__(self, shape: EndpointShape, assembly: AnswerAssembly, form: RequestForm | None = None) -> None:
        self._shape = shape
        self._chunk = (form.chunk if form else None) or shape.chunk
        self._assembly = assembly
        self._splitter = StreamSplitter(shape.stream)
        self._bytes = 0

    def feed(self, chunk: bytes) -> None:
        """Process the next bytes.

        Raises:
            ProviderError: they are an error, no JSON, or too many.
        """
        self._bytes += len(chunk)
        check_size(self._bytes)
        self._assemble(self._splitter.feed(chunk))

    def close(self) -> None:
        """Process the end of the stream."""
        self._assemble(self._splitter.close())

    def _assemble(self, found: Iterator[bytes]) -> None:
        for data in found:
            if self._shape.stream == "sse" and data.strip() == END:
                self._assembly.end()
            # Servers may send more lines behind `[DONE]`, usage for example: no part of the answer.
            elif not self._assembly.ended:
                self._assembly.add(parse_json(data), self._chunk)


def check_size(size: int) -> None:
    """Raise if an answer has too many bytes.

    Raises:
        ProviderError: they are.
    """
    if size > MAX_ANSWER_BYTES:
        raise ProviderError(f"the server's answer has more than {MAX_ANSWER_BYTES >> 20} MiB")


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

    def __init__(
        self,
        shape: EndpointShape,
        address: str,
        key: Callable[[], str | None],
        further_headers: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        _check_address(address)
        self.address = address
        self._shape = shape
        self._key = key
        self.further_headers = further_headers
        self._client: httpx.AsyncClient | None = None
        self._loop: object = None

    def _headers(self) -> dict[str, str]:
        headers = {"User-Agent": "caretbench", **self.further_headers}
        if key := self._key():
            # A key with another character is a slip of the clipboard, which no header can hold.
            if not key.isascii() or not key.isprintable():
                raise ProviderError("the key holds characters that no key has", kind="provider")
            headers[self._shape.key_header] = f"{self._shape.key_scheme} {key}".strip()
        return headers

    def _safe(self, text: str) -> str:
        """Return ``text`` without key and headers, which the environment need not hold."""
        for secret in (self._key(), *self.further_headers.values()):
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
        assembly = AnswerAssembly(self._shape, expected)
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
                    assembly.add(whole, form.answer or self._shape.answer)
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
        if self._shape.stream == "sse":
            return first.lstrip()[:1] in (b"{", b"[")
        return str(response.headers.get("content-type", "")).split(";")[0].strip().lower() == "application/json"

    async def _read(
        self, first: bytes, rest: AsyncIterator[bytes], assembly: AnswerAssembly, form: RequestForm, started: float
    ) -> float | None:
        reader = StreamReader(self._shape, assembly, form)
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
