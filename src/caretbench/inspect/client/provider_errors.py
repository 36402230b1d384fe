"""Errors of endpoints and programs, in a form that Inspect's retries understand.

Imports nothing of Inspect.
"""

from __future__ import annotations

from caretbench.models import FailureKind
from caretbench.redaction import redact

_REFUSED = frozenset({400, 413, 414, 422, 501})
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

    @property
    def rate_limited(self) -> bool:
        """Return whether the server asked for fewer requests."""
        return self.status_code == 429

    @property
    def unauthorised(self) -> bool:
        """Return whether the key is missing, wrong, or not allowed to do this."""
        return self.status_code in (401, 403)


class BrokenAnswerError(ProviderError):
    """Error: the answer is incomplete; another try may succeed."""

    def __init__(self, message: str, *, status_code: int | None = None) -> None:
        super().__init__(message, status_code=status_code, retryable=True, kind="provider")


def is_retryable_status(status: int) -> bool:
    """Return whether a retry may succeed after a response with this HTTP status."""
    return status in _AGAIN or (status >= 500 and status not in _REFUSED)


def one_line(text: str, limit: int = 2 * _SHOWN) -> str:
    """Return ``text`` on one line without control characters, cut to ``limit`` characters."""
    line = " ".join("".join(mark if mark.isprintable() else " " for mark in text[: 4 * limit]).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
