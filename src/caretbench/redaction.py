"""Redaction of keys and passwords in texts from outside, before they reach a file, a log or a terminal."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from caretbench.errors import UsageError
from caretbench.files import read_packaged_toml

REDACTED = "[redacted]"

_SECRET_NAME = re.compile(r"(?:^|_)(?:API)?(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)(?:_|$)", re.IGNORECASE)
# Shorter values occur by chance in ordinary text: a variable TOKEN=on would redact the word everywhere.
_MIN_SECRET_CHARACTERS = 8


class SecretShape(NamedTuple):
    """Shape of a secret: kind, description in words, pattern, placeholders, and texts of which each match has one.

    ``in_code``: ordinary programs have no such text. The groups ``shown`` and ``after`` of the pattern are no secret.
    """

    kind: str
    description: str
    pattern: re.Pattern[str]
    allowed: re.Pattern[str] | None
    holds: tuple[str, ...]
    in_code: bool

    def may_occur(self, folded: str) -> bool:
        """Return whether a text, which is case-folded, can have a match."""
        return any(part in folded for part in self.holds)

    @property
    def replacement(self) -> str:
        """Text that replaces a match; what is around the secret stays, so that a message still shows what it was."""
        kept = self.pattern.groupindex
        return "".join((r"\g<shown>" * ("shown" in kept), REDACTED, r"\g<after>" * ("after" in kept)))


@cache
def secret_shapes(package: str = "caretbench", file: str = "secret_texts.toml") -> tuple[SecretShape, ...]:
    """Return the shapes of secrets; or of other texts, from another file of a package."""
    return tuple(
        SecretShape(
            name,
            entry["text"],
            re.compile(entry["pattern"]),
            re.compile(entry["allowed"]) if "allowed" in entry else None,
            tuple(entry.get("holds", ("",))),
            entry.get("in_code", True),
        )
        for name, entry in read_packaged_toml(package, file).items()
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
        # A path (GOOGLE_APPLICATION_CREDENTIALS) names a file of secrets, and is none itself.
        if is_secret_name(name) and len(value.strip()) >= _MIN_SECRET_CHARACTERS and not os.path.isabs(value.strip())  # noqa: PTH117
    }
    return tuple(sorted(values, key=lambda value: (-len(value), value)))


def check_key(key: str, where: str) -> None:
    """Raise UsageError if no header can hold a key: line ends of a file, and slips of the clipboard."""
    if not (key.isascii() and key.isprintable()):
        raise UsageError(f"{where} holds characters that no key has, a line end for example; set it again")


def redact(text: str) -> str:
    """Return ``text`` without the keys of the environment, and without texts in the shape of a key or a password."""
    # First, since a key of the environment may have no shape that a pattern knows.
    for value in secret_values():
        text = text.replace(value, REDACTED)
    # A search for a fixed part comes first: most texts have none, and the patterns are slow.
    folded = text.casefold()
    for shape in secret_shapes():
        if shape.may_occur(folded):
            text = shape.pattern.sub(shape.replacement, text)
    return text
