"""Errors of providers, and their classification as faults of a request. Imports nothing of Inspect.

Providers raise what they like, wrapped by Inspect and by the library that tries again; the whole chain is looked at.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Literal, TypeVar

from pydantic import JsonValue

from caretbench.errors import MachineError
from caretbench.models import FailureKind
from caretbench.redaction import redact

# Statuses that speak of the request itself: it would be refused again.
_REFUSED = frozenset({400, 413, 414, 422, 501})
# Statuses below 500 that speak of the moment, and not of the request.
_AGAIN = frozenset({408, 409, 421, 425, 429})
_SHOWN = 400


class ProviderError(Exception):
    """Error of a provider that returned no answer. The message is one line without API keys.

    ``message`` is the text without the HTTP status, ``status_code`` the status where there was one; ``retryable`` says
    whether another try may help, and ``retry_after`` after how many seconds the server wants it. ``kind`` is the word
    for ``errors.jsonl``.
    """

    def __init__(
        self,
        message: str,
        *,
        status_code: int | None = None,
        retryable: bool = False,
        retry_after: float | None = None,
        kind: FailureKind | None = None,
    ) -> None:
        self.message = one_line(redact(message))
        super().__init__(f"HTTP {status_code}: {self.message}" if status_code else self.message)
        self.status_code = status_code
        self.retryable = retryable
        self.retry_after = retry_after
        self.kind: FailureKind = kind or ("refused" if status_code in _REFUSED else "provider")


class BrokenAnswerError(ProviderError):
    """Error: the answer is incomplete; another try may succeed."""

    def __init__(self, message: str, *, status_code: int | None = None) -> None:
        super().__init__(message, status_code=status_code, retryable=True, kind="provider")


_INTERRUPTED = frozenset({
    "abort", "aborted", "cancel", "cancelled", "canceled", "disconnected", "error", "engine_error", "failed",
    "insufficient_system_resource", "internal_error", "interrupted", "server_error", "timeout", "unavailable",
})  # fmt: skip
"""Finish reasons of engines that gave up."""


def is_interrupted(finish: object) -> bool:
    """Return whether a finish reason is that of an engine that gave up: what came until then is no answer."""
    return isinstance(finish, str) and finish.lower() in _INTERRUPTED


_ERROR_WORDS = frozenset({"error", "failed", "failure", "exception"})
_ERROR_KINDS = ("object", "type", "status", "event")
_MESSAGES = ("error", "message", "detail", "msg", "errors", "error_message", "error_msg", "details", "reason", "title")


def stated_error(piece: Mapping[str, JsonValue]) -> JsonValue:
    """Return the error that an answer, or an event of a stream, states in place of a text; None if it states none.

    Servers send errors with status 200, and in mid-stream, in several forms: under ``error``, as an object of the kind
    ``error``, or as a message where the choices would be.
    """
    if piece.get("error"):
        return piece["error"]
    if any(str(piece.get(key)).lower() in _ERROR_WORDS for key in _ERROR_KINDS):
        return dict(piece)
    is_answer = any(piece.get(key) is not None for key in ("choices", "content", "response", "usage"))
    said = any(isinstance(piece.get(key), (str, list)) and piece[key] for key in _MESSAGES)
    return None if is_answer or not said else dict(piece)


def error_message(error: JsonValue) -> str:
    """Return the message of a server's error in any of the known forms."""
    for _ in range(4):
        if isinstance(error, list) and error:
            error = error[0]
        if not isinstance(error, dict):
            break
        error = next((error[key] for key in _MESSAGES if error.get(key)), str(error))
    return error if isinstance(error, str) else json.dumps(error)


def server_error(error: JsonValue) -> ProviderError:
    """Return the exception for an error that a server stated in its answer."""
    code = error.get("code") if isinstance(error, dict) else None
    status = code if isinstance(code, int) and 400 <= code < 600 else None
    retryable = True if status is None else is_retryable_status(status)
    return ProviderError(
        f"the server answered with an error: {error_message(error)}", status_code=status, retryable=retryable
    )


def parse_json(data: bytes) -> JsonValue:
    """Parse the JSON of a server.

    Raises:
        BrokenAnswerError: it is none.
    """
    try:
        value: JsonValue = json.loads(data.decode("utf-8"))
    # A decoding error is a ValueError; RecursionError comes of JSON that is nested too deep.
    except (ValueError, RecursionError):
        raise BrokenAnswerError(f"the server's answer is no JSON: {data[:80]!r}") from None
    return value


def as_error(data: bytes) -> bytes:
    """Return the data of an event as an object whose ``error`` they are."""
    try:
        error = json.loads(data)
    except ValueError:
        error = data.decode("utf-8", "replace").strip()
    stated = stated_error(error) if isinstance(error, dict) else error
    return json.dumps({"error": stated or error or "unknown"}).encode()


def plain_text(content: JsonValue) -> JsonValue:
    """Return a content as text: of a list of parts, the texts of those that are no thinking."""
    if not isinstance(content, list):
        return content
    texts: list[str] = []
    for part in content:
        is_text = isinstance(part, dict) and part.get("type", "text") in ("text", "output_text")
        said = part.get("text") if is_text and isinstance(part, dict) else part
        texts += [said] if isinstance(said, str) else []
    return "".join(texts)


def tls_advice(text: str) -> str:
    """Return the remedy for an error of an encrypted connection, for the end of its message."""
    if "CERTIFICATE_VERIFY_FAILED" in text:
        return "; for a certificate of your own set SSL_CERT_FILE to its file"
    return "; the server does not encrypt: try http://" if "WRONG_VERSION_NUMBER" in text else ""


def is_retryable_status(status: int) -> bool:
    """Return whether a retry may succeed after a response with this HTTP status."""
    return status in _AGAIN or (status >= 500 and status not in _REFUSED)


def one_line(text: str, limit: int = 2 * _SHOWN) -> str:
    """Return ``text`` on one line without control characters, cut to ``limit`` characters."""
    # Only the beginning is looked at: an error page may have megabytes. Control characters could hide text of a
    # terminal.
    line = " ".join("".join(mark if mark.isprintable() else " " for mark in text[: 4 * limit]).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


OtherRequestsFail = Literal["no", "unless_answered", "surely"]
"""True if all other requests will fail too: surely with a wrong key; with a forbidden model unless one succeeds."""

_MAX_QUOTED = 160
_WRAPPERS = frozenset({"RetryError", "ModelGenerateError"})
_MISSING = frozenset({"MachineError", "PrerequisiteError", "ImportError", "ModuleNotFoundError", "NotImplementedError"})
_EMPTY_STREAM = "NoStreamDataError"
"""Inspect's word for a server that ends with success and sends no event: it ignores ``stream``, or sends nothing."""
_UNREACHABLE = frozenset({"ConnectError", "ConnectTimeout", "UnsupportedProtocol", "InvalidURL"})
_TIMEOUTS = frozenset({"TimeoutError", "APITimeoutError", "ReadTimeout", "AttemptTimeoutError"})
_NO_MONEY = frozenset({"insufficient_quota", "billing_hard_limit_reached", "insufficient_balance"})
_HOPELESS: dict[int, OtherRequestsFail] = {401: "surely", 402: "surely", 403: "unless_answered", 404: "unless_answered"}


@dataclass(frozen=True)
class RequestFault:
    """Fault of a try without an answer. ``retryable``: another try may succeed; ``retry_after``: the server's seconds.

    ``ignored_streaming``: a stream was asked for, and what came has no part of one.
    """

    kind: FailureKind
    message: str
    retryable: bool
    status: int | None = None
    retry_after: float | None = None
    other_requests_fail: OtherRequestsFail = "no"
    ignored_streaming: bool = False


def exception_chain(error: BaseException) -> Iterator[BaseException]:
    """Yield ``error`` and its chain of causes and contexts, the outermost first."""
    seen: set[int] = set()
    current: BaseException | None = error
    # Libraries set a cause by hand, and a chain may lead back to its beginning.
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        last = getattr(current, "last_attempt", None)
        tried = last.exception() if last is not None else None
        current = tried or current.__cause__ or current.__context__


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield the links of the chain that are causes, not merely earlier exceptions."""
    for link in exception_chain(error):
        yield link
        # A context is what was being handled when something else failed: a timeout of an earlier try says nothing about
        # this one.
        if link.__cause__ is None and getattr(link, "last_attempt", None) is None:
            return


_Value = TypeVar("_Value")


def _first(links: Iterable[BaseException], read: Callable[[BaseException], _Value | None]) -> _Value | None:
    """Return the first link's value that is there."""
    return next((value for link in links if (value := read(link)) is not None), None)


def _kind(provider_error: object, names: Set[str], status: int | None, *, retryable: bool) -> FailureKind:
    stated: FailureKind | None = getattr(provider_error, "kind", None)
    if stated:
        return stated
    if status is None:
        return "timeout" if names & _TIMEOUTS else "provider"
    return "refused" if 400 <= status < 500 and not retryable else "provider"


def classify_error(error: Exception, secrets: tuple[str, ...] = ()) -> RequestFault:
    """Return the fault for an exception. ``secrets`` and texts that look like secrets are removed from its message."""
    links = list(exception_chain(error))
    names = {type(link).__name__ for link in links}
    causes = {type(link).__name__ for link in _causes(error)}
    status = _first(links, _status)
    code = str(next((getattr(link, "code", None) for link in links if getattr(link, "code", None)), ""))
    provider_error = next((link for link in links if getattr(link, "retryable", None) is not None), None)
    other_requests_fail: OtherRequestsFail = _HOPELESS.get(status or 0, "no")
    retryable = status is None or is_retryable_status(status)
    if provider_error is not None:
        retryable = bool(getattr(provider_error, "retryable", False))
    elif causes & _MISSING or code in _NO_MONEY:
        retryable, other_requests_fail = False, "surely"
    elif status is None and type(links[0]) is ValueError:
        # Inspect's word on the request itself: it would be said again.
        retryable = False
    if status is None and (names & _UNREACHABLE or any(map(_is_unreachable, links))):
        other_requests_fail = "unless_answered"
    return RequestFault(
        kind=_kind(provider_error, names, status, retryable=retryable),
        message=redact_line(_said(links, status, provider_error) + tls_advice(" ".join(map(str, links))), secrets),
        retryable=retryable and other_requests_fail != "surely",
        status=status,
        retry_after=_first(links, _retry_after),
        other_requests_fail=other_requests_fail,
        ignored_streaming=_EMPTY_STREAM in names,
    )


def redact_line(text: str, secrets: tuple[str, ...] = ()) -> str:
    """Return ``text`` in one line, without markup of terminals and without secrets."""
    # Keys that were given as arguments are in no environment variable, by which `redact` knows the others.
    for secret in secrets:
        text = text.replace(secret, "[redacted]")
    return one_line(redact(text), 500)


def _status(error: BaseException) -> int | None:
    value = getattr(error, "status_code", None)
    return value if isinstance(value, int) and 100 <= value <= 599 else None


def _retry_after(error: BaseException) -> float | None:
    given = getattr(error, "retry_after", None)
    if given is None:
        headers = getattr(getattr(error, "response", None), "headers", None) or {}
        given = headers.get("retry-after")
    try:
        return max(0.0, float(given)) if given is not None else None
    except (TypeError, ValueError):
        # A date: our own pauses serve as well.
        return None


def _is_unreachable(error: BaseException) -> bool:
    return isinstance(error, (ConnectionRefusedError, socket.gaierror))


def _said(links: list[BaseException], status: int | None, provider_error: BaseException | None) -> str:
    """Return the message of the most informative exception: the one with the status, else the innermost shown."""
    unwrapped = [link for link in links if type(link).__name__ not in _WRAPPERS] or links[-1:]
    if status is not None:
        knowing = next((link for link in unwrapped if _status(link) is not None), unwrapped[0])
        return f"HTTP {status}: {_words(knowing)}"
    if provider_error is not None:
        return _words(provider_error)
    first = list(_causes(unwrapped[0]))[-1]
    words, name = _words(first), type(first).__name__
    if isinstance(first, MachineError) or name == "PrerequisiteError":
        return words
    text = f"{name}: {words}" if words else name
    # A provider's library met a body of another form: its KeyError says nothing to a user.
    if isinstance(first, (ValueError, TypeError, LookupError, AttributeError, AssertionError)):
        return f"what came is no answer in the provider's form ({text[:_MAX_QUOTED]})"
    return text


def plain_message(message: object) -> str:
    """Return a message of Inspect without the terminal's markup, redacted, in one line."""
    from rich.errors import MarkupError
    from rich.text import Text

    try:
        text = Text.from_markup(str(message).replace("\n\n", ": ")).plain
    except MarkupError:
        text = str(message)
    return redact_line(text).removeprefix("ERROR").lstrip(": ")


def _words(error: BaseException) -> str:
    if type(error).__name__ == "PrerequisiteError":
        return plain_message(getattr(error, "message", error))
    body = getattr(error, "body", None)
    if isinstance(body, str) and body.strip():
        return body
    if isinstance(body, dict):
        inner = body.get("error")
        message = body.get("message") or (inner.get("message") if isinstance(inner, dict) else inner)
        if message:
            return str(message)
    message = getattr(error, "message", None)
    return message if isinstance(message, str) and message else str(error)
