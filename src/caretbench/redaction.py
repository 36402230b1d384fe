"""Redaction of keys and passwords in texts from outside, before they reach a file, a log or a terminal."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

REDACTED = "[redacted]"

_SECRET_NAME = re.compile(r"(?:^|_)(?:API)?(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)(?:_|$)", re.IGNORECASE)
_SHORTEST = 8  # shorter values occur by chance in ordinary text

# Each shape keeps the text before the secret (group 1), so that the message still shows what it was.
_SHAPES: tuple[re.Pattern[str], ...] = (
    re.compile(r"(\b(?:Bearer|Basic)\s+)[^\s\"',;}]{8,}", re.IGNORECASE),
    re.compile(r"(://[^\s:/@]*:)[^\s@/]+(?=@)"),
    re.compile(
        r"((?:^|[?&\s\"'{,;])(?:x-)?(?:(?:access|auth|api|secret|client)[_-]?)?(?:key|token|secret|password|passwd)"
        r"[\"']?\s*[=:]\s*[\"']?)[^\s\"'&,;}]{4,}",
        re.IGNORECASE,
    ),
    re.compile(r"(\b)(?:sk|pk|rk)-[A-Za-z0-9_*-]{8,}"),
    re.compile(r"(\b)(?:hf|gsk|ghp|gho|ghs|glpat|xai|r8|nvapi|pplx|fw)[_-][A-Za-z0-9_-]{12,}"),
    re.compile(r"(\b)github_pat_[A-Za-z0-9_]{12,}"),
    re.compile(r"(\b)AIza[A-Za-z0-9_-]{20,}"),
    re.compile(r"(\b)(?:AKIA|ASIA)[A-Z0-9]{12,}"),
    re.compile(r"(\b)eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),
)


def is_secret_name(name: str) -> bool:
    """Return whether an environment variable of this name holds a secret, judging by the name."""
    return _SECRET_NAME.search(name) is not None


def secret_values(environment: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Return values of the environment that look like secrets, longest first (one may contain another)."""
    variables = os.environ if environment is None else environment
    values = {
        value.strip()
        for name, value in variables.items()
        if is_secret_name(name) and len(value.strip()) >= _SHORTEST and not os.path.isabs(value.strip())  # noqa: PTH117
    }
    return tuple(sorted(values, key=lambda value: (-len(value), value)))


def redact(text: str) -> str:
    """Return ``text`` without the keys of the environment, and without texts in the shape of a key or a password."""
    for value in secret_values():
        text = text.replace(value, REDACTED)
    for shape in _SHAPES:
        text = shape.sub(rf"\g<1>{REDACTED}", text)
    return text
