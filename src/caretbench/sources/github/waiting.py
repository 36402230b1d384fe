"""Reaction to a response of GitHub: accept it, retry after a wait, skip it, or stop.

The rules are those of GitHub's documentation of rate limits: ``Retry-After`` first; else the moment of
``x-ratelimit-reset`` where nothing remains; else at least a minute, longer each time. Waits are bounded, so that a
run ends with a message where it cannot go on.
"""

from __future__ import annotations

import random
from typing import Final, Literal, NamedTuple

import httpx

TRIES: Final = 6
LONGEST_WAIT_S: Final = 4000.0
"""A little more than the hour after which a primary limit is reset."""
_SECONDARY_S: Final = 60.0
_FAULT_S: Final = 1.0
_GONE: Final = frozenset({404, 410, 451})
_TOO_LARGE: Final = frozenset({406, 422})


class Step(NamedTuple):
    """What to do next. ``seconds``: how long to wait before the same request; ``reason``: why."""

    action: Literal["take", "wait", "pass_over", "stop"]
    reason: str = ""
    seconds: float = 0.0


def after_answer(
    status: int, headers: httpx.Headers, text: str, attempt: int, now: float, draw: random.Random
) -> Step:
    """What an answer asks for.

    ``attempt`` counts from 1 how often the request was sent, ``now`` the seconds since the epoch.
    """
    if status < 400:
        return Step("take")
    if status == 401:
        return Step("stop", "GitHub does not know the token: look at GITHUB_TOKEN")
    if status in _GONE:
        return Step("pass_over", f"gone (status {status})")
    if status in _TOO_LARGE:
        return Step("pass_over", f"GitHub does not show it (status {status})")
    if status in (403, 429):
        return _limited(status, headers, text, attempt, now, draw)
    if status >= 500 or status == 408:
        return waited(f"status {status}", attempt, draw)
    return Step("stop", f"GitHub refuses the request (status {status}): {text[:200]}")


def waited(reason: str, attempt: int, draw: random.Random) -> Step:
    """After a fault of the connection or of the server: 1 s, 2 s, 4 s, …, or the end."""
    if attempt >= TRIES:
        return Step("stop", f"{reason}, {attempt} times in a row; the same command goes on later")
    return Step("wait", reason, _FAULT_S * 2 ** (attempt - 1) * draw.uniform(1, 1.5))


def _limited(
    status: int, headers: httpx.Headers, text: str, attempt: int, now: float, draw: random.Random
) -> Step:
    words = text.lower()
    after, left = _number(headers.get("retry-after")), _number(headers.get("x-ratelimit-remaining"))
    reset = _number(headers.get("x-ratelimit-reset"))
    if after is not None:
        reason, seconds = "GitHub asks to wait", after
    elif left == 0 and reset is not None:
        reason, seconds = "the hour's requests are used up", max(0.0, reset - now) + 1.0
    elif status == 429 or "rate limit" in words or "abuse" in words:
        reason = "a secondary rate limit"
        seconds = _SECONDARY_S * 2 ** (attempt - 1) * draw.uniform(1, 1.25)
    else:
        return Step("stop", f"GitHub forbids it (status {status}): {text[:200]}")
    if attempt >= TRIES or seconds > LONGEST_WAIT_S:
        return Step(
            "stop",
            f"{reason}: {seconds:.0f} s more; a GITHUB_TOKEN raises the limit, and the same command goes on later",
        )
    return Step("wait", reason, seconds)


def _number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None
