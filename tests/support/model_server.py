"""A scripted model server on a real socket: several vendors' shapes, streaming or not, and every way to misbehave.

    with ModelServer([rate_limited(), half_body()], answer="return 1") as server:
        ...  # the first request gets 429, the second half a body, all others the answer
    assert server.requests[0].body["n"] == 5

``server.url`` ends without a path: an OpenAI client's base URL is ``server.url + "/v1"``.
"""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Recorded:
    """One request as it came. ``body`` is None where there was none, or no JSON."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any
    at: float


@dataclass(frozen=True)
class Behaviour:
    """Behaviour of the server for one request; the functions below make them.

    ``pause_s`` stands before the first byte; ``drip_s`` between the parts of a stream; ``cut`` ends a stream after so
    many parts, as ``cut_how`` says: ``abort`` (the connection breaks) or ``clean`` (it ends as if all were said).
    ``whole`` answers in one piece where a stream is asked for.
    ``logprobs`` stand as they are in every choice of a whole answer, where the request asks for some.
    """

    text: str | None = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    pause_s: float = 0.0
    drip_s: float = 0.0
    cut: int | None = None
    cut_how: str = "abort"
    half: bool = False
    whole: bool = False
    choices: int | None = None
    null: bool = False
    finish: str = "stop"
    usage: bool = True
    logprobs: Json | None = None


def answer(text: str, **changes: Any) -> Behaviour:
    """An ordinary answer of this text."""
    return Behaviour(text=text, **changes)


def error(status: int = 500, message: str = "the server has a bad day", **details: Any) -> Behaviour:
    """An error in OpenAI's form; ``details`` join the error's fields (``code=...``)."""
    body = {"error": {"message": message, "type": "server_error", "param": None, "code": None} | details}
    return Behaviour(status=status, body=json.dumps(body).encode())


def rate_limited(retry_after: str | None = "0") -> Behaviour:
    """Status 429, with Retry-After where it is given."""
    headers = {} if retry_after is None else {"Retry-After": retry_after}
    body = {"error": {"message": "slow down", "type": "rate_limit", "param": None, "code": "rate_limit"}}
    return Behaviour(status=429, headers=headers, body=json.dumps(body).encode())


def half_body(text: str = "half of this is lost") -> Behaviour:
    """A whole answer (not a stream) of which half is sent, then the connection ends."""
    return Behaviour(text=text, half=True)


def garbage() -> Behaviour:
    """Bytes that are no JSON under status 200."""
    return Behaviour(body=b"\x00\xff\xfe<html>\x80 not JSON at all", headers={"Content-Type": "application/json"})


def silence(seconds: float = 3600) -> Behaviour:
    """Nothing for this time, or until the server ends."""
    return Behaviour(text="too late", pause_s=seconds)


def wrong_json(body: Any = None) -> Behaviour:
    """JSON of the wrong types under status 200."""
    wrong = {"id": 7, "object": [], "model": None, "choices": "none", "usage": "many"} if body is None else body
    return Behaviour(body=json.dumps(wrong).encode())


def empty_choices() -> Behaviour:
    """An answer without any choice."""
    return Behaviour(text="", choices=0)


def null_content(finish: str = "stop") -> Behaviour:
    """An answer whose content is null."""
    return Behaviour(null=True, finish=finish)


def disconnect(after: int = 2, text: str = "one two three four five six", how: str = "abort") -> Behaviour:
    """A stream that ends after ``after`` parts."""
    return Behaviour(text=text, cut=after, cut_how=how)


def drip(seconds: float, text: str = "one two three four five six") -> Behaviour:
    """A stream with a pause before each of its parts."""
    return Behaviour(text=text, drip_s=seconds)


def ramble(tokens: int = 10_000) -> Behaviour:
    """An endless answer, ended by its length."""
    return Behaviour(text="word " * tokens, finish="length")


# --- the shapes of the vendors ------------------------------------------------------------------------------------

Shape = Callable[[Json, list["str | None"], str, bool], Json]


def _pieces(text: str, size: int = 5) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def _tokens(text: str | None) -> int:
    return len(text.split()) if text else 0


def _openai_usage(body: Json, texts: list[str | None]) -> Json:
    prompt = json.dumps(body.get("messages") or body.get("prompt") or "")
    entering, leaving = _tokens(prompt), sum(map(_tokens, texts))
    usage: Json = {"prompt_tokens": entering, "completion_tokens": leaving, "total_tokens": entering + leaving}
    return usage | ({"prompt_tokens_details": {"cached_tokens": entering - 1}} if body.get("cached") else {})


def _openai(body: Json, texts: list[str | None], finish: str, usage: bool, chat: bool) -> Json:
    choices = [
        {"index": index, "finish_reason": finish, "logprobs": None}
        | ({"message": {"role": "assistant", "content": text}} if chat else {"text": text})
        for index, text in enumerate(texts)
    ]
    whole: Json = {
        "id": "cmpl-1",
        "object": "chat.completion" if chat else "text_completion",
        "created": 1,
        "model": f"{body.get('model')}-2026",
        "choices": choices,
    }
    return whole | ({"usage": _openai_usage(body, texts)} if usage else {})


def _chat(body: Json, texts: list[str | None], finish: str, usage: bool) -> Json:
    return _openai(body, texts, finish, usage, chat=True)


def _completion(body: Json, texts: list[str | None], finish: str, usage: bool) -> Json:
    return _openai(body, texts, finish, usage, chat=False)


def _ollama(body: Json, texts: list[str | None], finish: str, usage: bool) -> Json:
    whole: Json = {
        "model": body.get("model"),
        "created_at": "2026-01-01T00:00:00Z",
        "response": texts[0] if texts else "",
        "done": True,
        "done_reason": finish,
    }
    counts = {"prompt_eval_count": _tokens(body.get("prompt")), "eval_count": _tokens(texts[0] if texts else "")}
    return whole | (counts if usage else {})


def _llama_cpp(body: Json, texts: list[str | None], finish: str, usage: bool) -> Json:
    whole: Json = {
        "index": 0,
        "content": texts[0] if texts else "",
        "stop": True,
        "model": "model.gguf",
        "stop_type": {"stop": "eos", "length": "limit"}.get(finish, finish),
        "truncated": False,
    }
    entering = _tokens(str(body.get("prompt") or body.get("input_prefix")))
    counts = {"tokens_predicted": _tokens(texts[0] if texts else ""), "tokens_evaluated": entering}
    return whole | (counts if usage else {})


def _openai_stream(body: Json, texts: list[str | None], finish: str, usage: bool, chat: bool) -> Iterator[bytes]:
    frame: Json = {
        "id": "cmpl-1",
        "object": "chat.completion.chunk" if chat else "text_completion",
        "created": 1,
        "model": f"{body.get('model')}-2026",
    }

    def event(choices: list[Json], **more: Any) -> bytes:
        return b"data: " + json.dumps(frame | {"choices": choices} | more).encode() + b"\n\n"

    def part(index: int, delta: Json, reason: str | None = None) -> Json:
        said = {"delta": delta} if chat else {"text": delta.get("content", "")}
        return {"index": index, "finish_reason": reason} | said

    if chat:
        yield event([part(index, {"role": "assistant", "content": ""}) for index in range(len(texts))])
    for index, text in enumerate(texts):
        for piece in _pieces(text or ""):
            yield event([part(index, {"content": piece})])
    yield event([part(index, {}, finish) for index in range(len(texts))])
    if usage and (body.get("stream_options") or {}).get("include_usage"):
        yield event([], usage=_openai_usage(body, texts))
    yield b"data: [DONE]\n\n"


def _chat_stream(body: Json, texts: list[str | None], finish: str, usage: bool) -> Iterator[bytes]:
    return _openai_stream(body, texts, finish, usage, chat=True)


def _completion_stream(body: Json, texts: list[str | None], finish: str, usage: bool) -> Iterator[bytes]:
    return _openai_stream(body, texts, finish, usage, chat=False)


def _ollama_stream(body: Json, texts: list[str | None], finish: str, usage: bool) -> Iterator[bytes]:
    frame = {"model": body.get("model"), "created_at": "2026-01-01T00:00:00Z"}
    for piece in _pieces(texts[0] or "" if texts else ""):
        yield json.dumps(frame | {"response": piece, "done": False}).encode() + b"\n"
    yield json.dumps(_ollama(body, texts, finish, usage) | {"response": ""}).encode() + b"\n"


def _llama_cpp_stream(body: Json, texts: list[str | None], finish: str, usage: bool) -> Iterator[bytes]:
    for piece in _pieces(texts[0] or "" if texts else ""):
        yield b"data: " + json.dumps({"index": 0, "content": piece, "stop": False}).encode() + b"\n\n"
    yield b"data: " + json.dumps(_llama_cpp(body, texts, finish, usage) | {"content": ""}).encode() + b"\n\n"


@dataclass(frozen=True)
class Endpoint:
    """Answer of one address: a whole body, or the parts of a stream."""

    whole: Shape
    stream: Callable[[Json, list[str | None], str, bool], Iterator[bytes]]
    streams_by_default: bool = False
    media: str = "text/event-stream"


# The end of a path decides; longer ends come first.
ENDPOINTS: dict[str, Endpoint] = {
    "/chat/completions": Endpoint(_chat, _chat_stream),
    "/fim/completions": Endpoint(_chat, _chat_stream),
    "/api/generate": Endpoint(_ollama, _ollama_stream, streams_by_default=True, media="application/x-ndjson"),
    "/completions": Endpoint(_completion, _completion_stream),
    "/infill": Endpoint(_llama_cpp, _llama_cpp_stream),
    "/completion": Endpoint(_llama_cpp, _llama_cpp_stream),
}


def _tokenize(body: Json) -> Json:
    return {"tokens": [len(word) for word in str(body.get("content", "")).split()]}


# Questions about the server itself: neither scripted nor counted among the scripted requests.
ABOUT: dict[str, Callable[[Json], Json]] = {
    "/tokenize": _tokenize,
    "/props": lambda _: {
        "default_generation_settings": {"n_ctx": 4096},
        "total_slots": 1,
        "model_path": "model.gguf",
        "build_info": "b1-test",
    },
    "/health": lambda _: {"status": "ok"},
    "/v1/models": lambda _: {"object": "list", "data": [{"id": "model", "object": "model"}]},
    "/api/tags": lambda _: {"models": [{"name": "model"}]},
    "/api/version": lambda _: {"version": "0.0"},
}


# --- the server ---------------------------------------------------------------------------------------------------

Script = Iterable[Behaviour] | Callable[[Recorded], Behaviour | None]


class ModelServer:
    """Plays a script, one behaviour per request to a model; after its end, every request gets ``answer``.

    Args:
        script: Behaviours in order of arrival, or a function of the request (None: the ordinary answer).
        answer: The ordinary text, or a function of the request and the number of the choice.
        key: Where it is given, requests without ``Authorization: Bearer KEY`` get 401 (which repeats what they sent).
        paths: The addresses that exist, where not all do.
        about: Answers of addresses about the server itself; None: all of :data:`ABOUT`.
        reads_suffix: Count the tokens of a suffix in the prompt, as a server does that does not drop it.
        caches: Say of all tokens of a prompt but one that they were cached.
    """

    def __init__(
        self,
        script: Script = (),
        *,
        answer: str | Callable[[Recorded, int], str] = "return 2 * x",
        key: str | None = None,
        paths: Collection[str] | None = None,
        about: Mapping[str, Callable[[Json], Any]] | None = None,
        reads_suffix: bool = False,
        caches: bool = False,
    ) -> None:
        self.requests: list[Recorded] = []
        self.about: list[Recorded] = []
        self.most_at_once = 0
        self.connections: set[socket.socket] = set()
        self._answer = answer
        self._key = key
        self.paths = paths
        self.about_paths = ABOUT if about is None else about
        self.reads_suffix = reads_suffix
        self.caches = caches
        self._script = script if callable(script) else iter(script)
        self._lock = threading.Lock()
        self._at_once = 0
        self.stopping = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = False
        self._server.block_on_close = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        """The address, without a path."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def encrypt(self, context: ssl.SSLContext) -> None:
        """Speak TLS; to be called before the server starts."""
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)

    def __enter__(self) -> ModelServer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Break all connections and take no more. May be called twice."""
        if self.stopping.is_set():
            return
        self.stopping.set()
        self._server.shutdown()
        for connection in list(self.connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)  # idle ones would keep their threads
        self._server.server_close()
        self._thread.join()

    def locked(self, request: Recorded) -> bool:
        """Whether a request lacks the key."""
        return self._key is not None and request.headers.get("authorization") != f"Bearer {self._key}"

    def behaviour(self, request: Recorded) -> Behaviour:
        """Record ``request`` and return the behaviour for it."""
        with self._lock:
            self.requests.append(request)
            if self.locked(request):
                return error(401, f"Incorrect API key provided: {request.headers.get('authorization')}")
            chosen = self._script(request) if callable(self._script) else next(self._script, None)
        return chosen or Behaviour()

    def texts(self, request: Recorded, behaviour: Behaviour) -> list[str | None]:
        """The texts of the choices of an answer."""
        wanted = (request.body or {}).get("n") or 1 if behaviour.choices is None else behaviour.choices
        if behaviour.null:
            return [None] * wanted
        if behaviour.text is not None:
            return [behaviour.text] * wanted
        if callable(self._answer):
            return [self._answer(request, index) for index in range(wanted)]
        return [self._answer] * wanted

    def enter(self) -> None:
        """Counts a request that is under way."""
        with self._lock:
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)

    def leave(self) -> None:
        """Counts a request that has ended."""
        with self._lock:
            self._at_once -= 1


def _handler(model: ModelServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args: Any) -> None:
            """Says nothing."""

        def handle(self) -> None:
            model.connections.add(self.connection)
            try:
                super().handle()
            except (OSError, ValueError):
                self.close_connection = True  # the client has gone: that is among what is tested
            finally:
                model.connections.discard(self.connection)

        def finish(self) -> None:
            try:
                super().finish()
            except OSError:
                self.close_connection = True

        def do_GET(self) -> None:
            self._serve()

        def do_POST(self) -> None:
            self._serve()

        def _serve(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            try:
                body = json.loads(raw) if raw else None
            except ValueError:
                body = None
            path = self.path.split("?")[0]
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = Recorded(self.command, path, headers, body, time.monotonic())
            if path in model.about_paths and not model.locked(request):
                model.about.append(request)
                self._send(200, json.dumps(model.about_paths[path](body or {})).encode(), {})
                return
            endpoint = next((found for end, found in ENDPOINTS.items() if path.endswith(end)), None)
            if model.paths is not None and path not in model.paths:
                endpoint = None
            model.enter()
            try:
                self._play(request, model.behaviour(request), endpoint)
            finally:
                model.leave()

        def _play(self, request: Recorded, behaviour: Behaviour, endpoint: Endpoint | None) -> None:
            if behaviour.pause_s and model.stopping.wait(behaviour.pause_s):
                self.close_connection = True
                return
            if endpoint is None:
                behaviour = error(404, f"no such address: {request.path}")
            if behaviour.body is not None or endpoint is None:
                self._send(behaviour.status, behaviour.body or b"", behaviour.headers)
                return
            asked = request.body if isinstance(request.body, dict) else {}
            texts = model.texts(request, behaviour)
            if model.caches:
                asked = asked | {"cached": True}
            if model.reads_suffix and asked.get("suffix"):
                asked = asked | {"prompt": f"{asked.get('prompt')} {asked['suffix']}"}
            if asked.get("stream", endpoint.streams_by_default) and not (behaviour.half or behaviour.whole):
                parts = endpoint.stream(asked, texts, behaviour.finish, behaviour.usage)
                self._stream(parts, endpoint.media, behaviour)
                return
            whole = endpoint.whole(asked, texts, behaviour.finish, behaviour.usage)
            for choice in whole.get("choices", ()) if asked.get("logprobs") else ():
                choice["logprobs"] = behaviour.logprobs
            self._send(behaviour.status, json.dumps(whole).encode(), behaviour.headers, half=behaviour.half)

        def _send(self, status: int, body: bytes, headers: dict[str, str], half: bool = False) -> None:
            self.send_response(status)
            for name, value in ({"Content-Type": "application/json"} | headers).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: len(body) // 2] if half else body)
            if half:
                self.close_connection = True

        def _stream(self, parts: Iterator[bytes], media: str, behaviour: Behaviour) -> None:
            self.send_response(200)
            self.send_header("Content-Type", media)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for number, part in enumerate(parts):
                if behaviour.cut is not None and number >= behaviour.cut:
                    if behaviour.cut_how == "abort":
                        self.close_connection = True
                        return
                    break
                if behaviour.drip_s and model.stopping.wait(behaviour.drip_s):
                    self.close_connection = True
                    return
                self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
            self.wfile.write(b"0\r\n\r\n")

    return Handler
