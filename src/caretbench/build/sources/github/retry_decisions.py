"""Decision after a response of GitHub: accept it, retry after a wait, skip it, or stop.

The rules are those of GitHub's documentation of rate limits: ``Retry-After`` first; else the time of
``x-ratelimit-reset`` if nothing remains; else at least a minute, longer each time. Waits are bounded: beyond
the bound a run stops with a message.
"""

from __future__ import annotations

import random
from typing import Final, Literal, NamedTuple

import httpx

MAX_ATTEMPTS: Final = 6
MAX_WAIT_S: Final = 4000.0
"""Seconds; slightly more than the hour after which a primary limit is reset."""
_SECONDARY_LIMIT_WAIT_S: Final = 60.0
_FIRST_WAIT_S: Final = 1.0
_GONE_STATUSES: Final = frozenset({404, 410, 451})
_NOT_SHOWN_STATUSES: Final = frozenset({406, 409, 422})
"""Too large, empty, or a search that is refused."""


class RetryDecision(NamedTuple):
    """The next action after a response; ``wait_s`` is the wait before a retry, ``reason`` the cause."""

    action: Literal["accept", "wait", "skip", "stop"]
    reason: str = ""
    wait_s: float = 0.0


def decide_retry(
    status: int, headers: httpx.Headers, text: str, attempt: int, now: float, generator: random.Random
) -> RetryDecision:
    """Return the next action after a response.

    ``attempt`` is the number of requests so far, from 1; ``now`` is the time in seconds since the epoch.
    """
    if status < 400:
        return RetryDecision("accept")
    if status == 401:
        return RetryDecision("stop", "GitHub rejects the token: check GITHUB_TOKEN")
    if status in _GONE_STATUSES:
        return RetryDecision("skip", f"gone (status {status})")
    if status in _NOT_SHOWN_STATUSES:
        return RetryDecision("skip", f"GitHub does not show it (status {status})")
    if status in (403, 429):
        return _decide_rate_limit(status, headers, text, attempt, now, generator)
    if status >= 500 or status == 408:
        return retry_after_error(f"status {status}", attempt, generator)
    return RetryDecision("stop", f"GitHub refuses the request (status {status}): {text[:200]}")


def retry_after_error(reason: str, attempt: int, generator: random.Random) -> RetryDecision:
    """Return the decision after a connection or server error: retry after 1 s, 2 s, 4 s, …, or stop."""
    if attempt >= MAX_ATTEMPTS:
        return RetryDecision("stop", f"{reason}, {attempt} times in a row; run the same command again to continue")
    return RetryDecision("wait", reason, _FIRST_WAIT_S * 2 ** (attempt - 1) * generator.uniform(1, 1.5))


def _decide_rate_limit(
    status: int, headers: httpx.Headers, text: str, attempt: int, now: float, generator: random.Random
) -> RetryDecision:
    words = text.lower()
    if "access blocked" in words:
        return RetryDecision("skip", f"blocked by GitHub (status {status})")
    after, left = _number(headers.get("retry-after")), _number(headers.get("x-ratelimit-remaining"))
    reset = _number(headers.get("x-ratelimit-reset"))
    if after is not None:
        reason, wait_s = "GitHub asks to wait", after
    elif left == 0 and reset is not None:
        reason, wait_s = "the limit of requests is reached until its reset", max(0.0, reset - now) + 1.0
    elif status == 429 or "rate limit" in words or "abuse" in words:
        reason = "a secondary rate limit"
        wait_s = _SECONDARY_LIMIT_WAIT_S * 2 ** (attempt - 1) * generator.uniform(1, 1.25)
    else:
        return RetryDecision("stop", f"GitHub forbids it (status {status}): {text[:200]}")
    if attempt >= MAX_ATTEMPTS or wait_s > MAX_WAIT_S:
        return RetryDecision(
            "stop",
            f"{reason}: {wait_s:.0f} s more; a GITHUB_TOKEN raises the limit; run the same command again to continue",
        )
    return RetryDecision("wait", reason, wait_s)


def _number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None
