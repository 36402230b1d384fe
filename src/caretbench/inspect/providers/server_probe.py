"""Probe of a server of one's own: which model it serves, and which requests it answers. One token per request.

The requests are those that a run would send, so that an answer proves that the run's will be read. A status says little
about a suffix: servers drop fields that they do not know. At ``/v1/completions`` a suffix counts as read where the
server counts more tokens in the prompt with it than without.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import TypeVar
from urllib.parse import urlsplit

from pydantic import JsonValue

from caretbench.errors import MachineError
from caretbench.inspect.client.background_loop import BackgroundLoop
from caretbench.inspect.client.provider_errors import (
    BrokenAnswerError,
    ProviderError,
    RequestFault,
    classify_error,
    one_line,
    tls_advice,
)
from caretbench.inspect.providers.completion_server import CompletionServer, EndpointAnswer
from caretbench.inspect.providers.endpoint_shapes import EndpointShape, RequestForm, endpoint_shape, value_at
from caretbench.local.server_spec import KEY_VARIABLE, ServerSpec
from caretbench.models import ClientOptions, PromptKind
from caretbench.prompts.fim.families import fim_formats

_MAX_LISTED = 8
"""Maximum number of models that a message names."""


@dataclass(frozen=True)
class ServerFindings:
    """Findings of the probe of a server.

    ``chat`` and ``text`` are names of shapes, None where the server does not answer such a request; ``fill`` is the
    shape of its endpoint for prefix and suffix. ``special_tokens`` are the sentinels that its tokenizer reads as one
    token each, None where it tells none. ``unsent`` are settings that it refuses at their neutral value.
    """

    model: str
    chat: str | None = None
    text: str | None = None
    fill: str | None = None
    stream: bool = True
    context_tokens: int | None = None
    special_tokens: frozenset[str] | None = None
    unsent: tuple[str, ...] = ()
    is_uncounted: bool = False
    """True if a suffix was answered, and the server counts no tokens by which its use could be told."""
    note: str = ""
    """Reason for which the server was not probed."""

    @property
    def accepts(self) -> frozenset[PromptKind]:
        """Kinds of prompt that the server answers."""
        kinds: dict[PromptKind, str | None] = {"chat": self.chat, "text": self.text, "fill": self.fill}
        return frozenset(kind for kind, shape in kinds.items() if shape)

    def identity(self) -> dict[str, JsonValue]:
        """Return what decides the answers: the model that the server serves, its FIM endpoint, what is not sent."""
        facts: dict[str, JsonValue] = {"served": self.model}
        facts |= {"fill": self.fill_path} if self.fill else {}
        facts |= {"unsent": list(self.unsent)} if self.unsent else {}
        return facts

    @property
    def fill_path(self) -> str | None:
        """Path of the endpoint for prefix and suffix."""
        if self.fill is None:
            return None
        path = endpoint_shape(self.fill).fill.path
        return f"/v1{path}" if self.fill == "openai" else path

    def describe(self) -> str:
        """Return the findings in one line."""
        if self.note:
            return f"{self.note}; taken for a server with chat and completions"
        fill = f"FIM by {self.fill_path}" if self.fill else None
        ways = [way for way in (self.chat and "chat", self.text and "completions", fill) if way]
        lacks = [
            name for name, shape in (("chat", self.chat), ("completions", self.text), ("FIM", self.fill)) if not shape
        ]
        parts = [f"{one_line(self.model, 80)} has {_join(ways)}" + (f", not {' or '.join(lacks)}" if lacks else "")]
        parts += [f"context {self.context_tokens:,} tokens"] if self.context_tokens else []
        parts += [f"{', '.join(self.unsent)} not sent"] if self.unsent else []
        parts += [] if self.stream else ["answers in one piece"]
        if self.is_uncounted:
            # A FIM server without `usage` was taken for one that drops the suffix, and its user was not told.
            remedy = f"-m fim/openai/{one_line(self.model, 80)} --base-url URL/v1 sends it"
            parts.append(f"no tokens are counted, so that the use of a suffix is not known: {remedy}")
        return "; ".join(parts)


def _join(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def chosen_model(spec: ServerSpec, listed: Sequence[str]) -> str:
    """Return the server's name of the model that is meant.

    A model of another spelling is meant where its name ends the server's: Ollama adds ``:latest``, others list the path
    of a file.

    Raises:
        MachineError: the server has no such model, or several and none is named.
    """
    if not spec.model:
        if len(listed) == 1:
            return listed[0]
        if not listed:
            raise MachineError(f"{spec.root} lists no model at /v1/models; name it: server/MODEL@{spec.root}")
        raise MachineError(f"{spec.root} serves several models; name one: server/MODEL@{spec.root} {_listing(listed)}")
    if not listed or spec.model in listed:
        return spec.model
    same = [name for name in listed if spec.model in _spellings(name)]
    if len(same) == 1:
        return same[0]
    raise MachineError(f"{spec.root} has no model {spec.model!r} {_listing(listed)}")


def _listing(listed: Sequence[str]) -> str:
    rest = f", and {len(listed) - _MAX_LISTED} more" if len(listed) > _MAX_LISTED else ""
    return f"(it lists {', '.join(one_line(name, 120) for name in listed[:_MAX_LISTED])}{rest})"


def _spellings(name: str) -> set[str]:
    last = PurePosixPath(name).name
    return {name.removesuffix(":latest"), last, last.removesuffix(".gguf")}


_PREFIX = "def area(width, height):\n    return "
_SUFFIX = "\n\nassert area(3, 4) == 12\nassert area(1, 9) == 9\nassert area(5, 5) == 25\nassert area(0, 7) == 0\n"
_MIN_SUFFIX_TOKENS = 8
_MAX_PAUSE_S = 5.0
_ABOUT_S = 10.0
"""Limit of a request about the server itself, and of every request after one that was not answered in time."""
_ANSWER_S = 60.0
"""Limit of a request for one token, unless the user sets one; some servers load the model first."""
# A failing server was once asked six times for each request, in silence.
_RETRIES_WHILE_FAILING = 2
_BUSY = (429, 503)
"""Statuses of a server that loads its model, or has too much to do."""
_UNREACHABLE_TRIES = 2
_TLS_S = 5.0
_WHOLE_PROBE_S = 900.0
# Several tokens in any vocabulary: a server that counts one for it has another endpoint at this path.
_TOKENIZED = "width * height"
_UNCOUNTED = "the server counts no tokens, so that the use of a suffix is not known"

Result = TypeVar("Result")


def probe_server(spec: ServerSpec, key: Callable[[], str | None], options: ClientOptions) -> ServerFindings:
    """Return the findings about a server, by some ten small requests.

    Raises:
        MachineError: nobody listens, a key is missing or wrong, the model is not there, or no request is answered.
    """
    loop = BackgroundLoop("caretbench server probe")
    try:
        return loop.call(_ServerProbe(spec, key, options).run(), _WHOLE_PROBE_S)
    except TimeoutError:
        raise MachineError(f"{spec.root}: the probe of the server took more than {_WHOLE_PROBE_S:g} s") from None
    finally:
        loop.close()


def own_shape(name: str) -> EndpointShape:
    """Return a shape for a server of one's own: no vendor's key is sent to it."""
    return endpoint_shape(name).model_copy(update={"key_variables": (KEY_VARIABLE,)})


def own_address(name: str, root: str) -> str:
    """Return the address that the paths of a shape begin at."""
    return f"{root}/v1" if name == "openai" else root


@dataclass
class _Attempt:
    """Outcome of one kind of request: an answer, or the reason why there is none."""

    answer: EndpointAnswer | None = None
    refusal: str = ""
    error: ProviderError | None = None


class _ServerProbe:
    """One probe, inside an event loop."""

    def __init__(self, spec: ServerSpec, key: Callable[[], str | None], options: ClientOptions) -> None:
        self._spec = spec
        self._options = options
        self._servers = {
            name: CompletionServer(own_shape(name), own_address(name, spec.root), key, options.headers)
            for name in ("openai", "llama-cpp", "ollama")
        }
        # The address of this shape is the root, at which questions about the server begin.
        self._about = self._servers["llama-cpp"]
        self._found = ServerFindings(model="")
        self._failing = False
        """True if a request failed in all its tries, by the server's accident: the next ones are tried once."""
        chosen = options.timeout_s != ClientOptions().timeout_s
        self._answer_s = options.timeout_s if chosen else _ANSWER_S

    async def run(self) -> ServerFindings:
        """Return the findings.

        Raises:
            MachineError: as :func:`probe_server`.
        """
        try:
            models = await self._models()
            self._found = replace(self._found, model=chosen_model(self._spec, list(models)))
            # Its /v1/completions puts the model's chat template around the text, so that another endpoint is asked.
            ollama = isinstance(value_at(await self._fetch_or_none("/api/version"), "version"), str)
            await self._find_endpoints(ollama=ollama)
            context = models.get(self._found.model) or (None if ollama else await self._context())
            tokens = None if ollama or not self._found.text else await self._special_tokens()
            return replace(self._found, context_tokens=context, special_tokens=tokens)
        finally:
            for server in self._servers.values():
                await server.aclose()

    async def _models(self) -> dict[str, int | None]:
        """Return the models that the server lists, with their context where it tells it."""
        try:
            listed = await self._send_with_retries(lambda: self._about.fetch("/v1/models"), about=True)
        except ProviderError:
            return {}
        entries = value_at(listed, "data") if isinstance(listed, dict) else None
        return {
            str(entry["id"]): _count(entry.get("max_model_len"))
            for entry in (entries if isinstance(entries, list) else ())
            if isinstance(entry, dict) and entry.get("id")
        }

    async def _context(self) -> int | None:
        """Return the context that llama.cpp or TGI tell of themselves."""
        props = await self._fetch_or_none("/props")
        tokens = _count(value_at(props, "default_generation_settings.n_ctx"))
        return tokens or _count(value_at(await self._fetch_or_none("/info"), "max_total_tokens"))

    async def _special_tokens(self) -> frozenset[str] | None:
        """Return the sentinels that the server's tokenizer reads as one token; None if it tells none."""
        if (await self._tokens(_TOKENIZED) or 0) < 2:
            return None
        sentinels: set[str] = set()
        single: dict[str, bool] = {}
        for entry in fim_formats().values():
            for token in entry.identified_by:
                single[token] = single[token] if token in single else await self._tokens(token) == 1
                if not single[token]:
                    break
                sentinels.add(token)
        return frozenset(sentinels) or None

    async def _tokens(self, text: str) -> int | None:
        ours: dict[str, JsonValue] = {"content": text, "add_special": False, "parse_special": True}
        theirs: dict[str, JsonValue] = {"model": self._found.model, "prompt": text, "add_special_tokens": False}
        told = await self._fetch_or_none("/tokenize", {**ours, **theirs, "inputs": text})
        tokens = told if isinstance(told, list) else value_at(told, "tokens")
        return len(tokens) if isinstance(tokens, list) else None

    async def _fetch_or_none(self, path: str, body: Mapping[str, JsonValue] | None = None) -> JsonValue:
        """Return what the server says at a path, None if nothing."""
        try:
            return await self._send_with_retries(lambda: self._about.fetch(path, body), about=True)
        except ProviderError:
            return None

    async def _find_endpoints(self, *, ollama: bool) -> None:
        openai = endpoint_shape("openai")
        text_shape = "ollama" if ollama else "openai"
        text_form = endpoint_shape(text_shape).text
        turns: list[JsonValue] = [{"role": "user", "content": "Write one word."}]
        text = await self._attempt(text_shape, text_form, {"text": _PREFIX})
        chat = await self._attempt("openai", openai.chat, {"messages": turns})
        fill_shape, fill = await self._attempt_fill(text, ollama=ollama)
        outcomes = (("completions", text), ("chat", chat), ("FIM", fill))
        self._found = replace(
            self._found,
            text=text_shape if text.answer else None,
            chat="openai" if chat.answer else None,
            fill=fill_shape if fill.answer else None,
            is_uncounted=fill.refusal == _UNCOUNTED,
        )
        if not self._found.accepts:
            refusals = "; ".join(f"{name}: {attempt.refusal}" for name, attempt in outcomes)
            errors = [attempt.error for _, attempt in outcomes if attempt.error is not None]
            raise MachineError(
                f"{self._spec.root} answers no request for {self._found.model} ({refusals}); "
                + (await asyncio.to_thread(_encryption_remedy, self._spec.root) or _remedy(errors))
            )

    async def _attempt_fill(self, text: _Attempt, *, ollama: bool) -> tuple[str, _Attempt]:
        """Return the shape of the endpoint for prefix and suffix, and its answer."""
        values: dict[str, JsonValue] = {"prefix": _PREFIX, "suffix": _SUFFIX}
        native = "ollama" if ollama else "llama-cpp"
        fill = await self._attempt(native, endpoint_shape(native).fill, values)
        # An endpoint for completions that does not answer a text will not answer one with a suffix.
        if fill.answer or ollama or text.answer is None:
            return native, fill
        fill = await self._attempt("openai", endpoint_shape("openai").fill, values)
        if fill.answer is None:
            return "openai", fill
        counts, without = fill.answer.counts, text.answer.counts
        if counts is None or without is None:
            return "openai", _Attempt(refusal=_UNCOUNTED)
        # The suffix has more tokens; a template around the prompt may cost a few.
        if counts.input < without.input + _MIN_SUFFIX_TOKENS:
            return "openai", _Attempt(refusal="the suffix is dropped")
        return "openai", fill

    async def _attempt(self, name: str, form: RequestForm | None, values: Mapping[str, JsonValue]) -> _Attempt:
        """Return the outcome of a request; settings that the server refuses at their neutral value are not sent."""
        if form is None:
            return _Attempt(refusal="the endpoint has no such form")
        shape, server = endpoint_shape(name), self._servers[name]
        settings: dict[str, JsonValue] = {
            "model": self._found.model, "max_tokens": 1, "temperature": 0.2, "top_p": 1.0, "seed": None,
        }  # fmt: skip
        while True:
            left = {key: value for key, value in settings.items() if key not in self._found.unsent}
            body, _ = shape.body(form, {**left, **values}, stream=self._found.stream)
            try:
                return _Attempt(await self._send_with_retries(lambda body=body: server.ask(form, body, 1)))  # type: ignore[misc]
            except ProviderError as error:
                said = error.message.lower()
                if self._found.stream and error.status_code in (400, 422) and "stream" in said:
                    self._found = replace(self._found, stream=False)
                elif "top_p" not in self._found.unsent and error.status_code in (400, 422) and "top_p" in said:
                    self._found = replace(self._found, unsent=("top_p",))
                else:
                    return _Attempt(refusal=one_line(str(error), 200), error=error)

    async def _send_with_retries(self, send: Callable[[], Awaitable[Result]], *, about: bool = False) -> Result:
        """Return the outcome of a request, which is sent again after a server's accident.

        ``about``: it asks about the server itself, whose endpoints may answer even if this does not.

        Raises:
            ProviderError: the server refuses it, or no try helps.
            MachineError: nobody is there, or the key is missing or wrong.
        """
        tries = 0
        while True:
            tries += 1
            limit_s = min(self._answer_s, _ABOUT_S) if about or self._failing else self._answer_s
            try:
                async with asyncio.timeout(limit_s):
                    return await send()
            except TimeoutError:
                error = ProviderError(f"no answer within {limit_s:g} s", retryable=True, kind="timeout")
            except ProviderError as caught:
                error = caught
            fault = classify_error(error)
            self._check(fault, tries)
            # A server that says an error with status 200 has no such address (LM Studio).
            accident = error.status_code is not None or isinstance(error, BrokenAnswerError) or error.kind == "timeout"
            if not fault.retryable or not accident:
                raise error
            if tries > self._retries(error):
                self._failing = self._failing or not about
                raise error
            pause = max(min(self._options.retry_wait_s, 1.0) * 2.0 ** (tries - 1), fault.retry_after or 0.0)
            await asyncio.sleep(min(pause, _MAX_PAUSE_S))

    def _retries(self, error: ProviderError) -> int:
        """Return the number of tries after the first: many only while the server says that it is busy."""
        if self._failing or error.kind == "timeout":
            return 0
        if error.status_code in _BUSY:
            return self._options.max_retries
        return min(self._options.max_retries, _RETRIES_WHILE_FAILING)

    def _check(self, fault: RequestFault, tries: int) -> None:
        if fault.status in (401, 403):
            raise MachineError(
                f"{self._spec.root} wants a key, or another one (HTTP {fault.status}): set {KEY_VARIABLE} in the "
                "environment"
            )
        if fault.status is None and fault.other_requests_fail != "no" and tries >= _UNREACHABLE_TRIES:
            raise MachineError(f"{fault.message}; start the model's server, or correct the address")


def _encryption_remedy(root: str) -> str:
    """Return the remedy where an address without encryption belongs to a server that encrypts; else nothing."""
    parts = urlsplit(root)
    if parts.scheme != "http" or not parts.hostname:
        return ""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with (
            socket.create_connection((parts.hostname, parts.port or 80), _TLS_S) as plain,
            context.wrap_socket(plain, server_hostname=parts.hostname),
        ):
            return f"the server encrypts: try {root.replace('http://', 'https://', 1)}"
    except OSError:
        return ""


def _remedy(errors: Sequence[ProviderError]) -> str:
    """Return the remedy for requests that were all refused."""
    if advice := tls_advice(" ".join(map(str, errors))):
        return advice.lstrip("; ")
    if any(error.kind == "timeout" for error in errors):
        return "it listens and does not answer: look at the log of the server; --timeout gives it more seconds"
    if any((error.status_code or 0) >= 500 for error in errors):
        return "it listens and fails: look at the log of the server"
    return "check the address"


def _count(value: JsonValue) -> int | None:
    # Some servers write 0 or -1 for a limit that they do not have.
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
