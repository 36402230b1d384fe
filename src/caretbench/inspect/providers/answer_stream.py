"""Answers of completion servers as they come: bytes of a stream into events or lines, and these into whole choices."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

from pydantic import JsonValue

from caretbench.inspect.client.provider_errors import (
    BrokenAnswerError,
    ProviderError,
    as_error,
    is_interrupted,
    parse_json,
    plain_text,
    server_error,
    stated_error,
)
from caretbench.inspect.providers.endpoint_shapes import AnswerPaths, EndpointShape, RequestForm, value_at

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
        self.tokens: list[JsonValue] = []
        """Tokens with their log-probabilities, where they were asked for."""
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
        choices = value_at(piece, places.choices) if places.choices else [piece]
        if choices is None:
            choices, self._odd = [], piece
        if not isinstance(choices, list):
            raise BrokenAnswerError(f"the server's answer has no list at {places.choices!r}")
        for position, entry in enumerate(choices):
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
        tokens = value_at(entry, "logprobs.content")
        choice.tokens += tokens if isinstance(tokens, list) else []
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
            _number(value_at(piece, path)) for path in (places.input, places.output, places.cached, places.reasoning)
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

    def _assemble(self, pieces: Iterator[bytes]) -> None:
        for data in pieces:
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
