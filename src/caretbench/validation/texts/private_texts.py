"""Search for secrets, names of persons and addresses in texts, by the patterns of ``private_texts.toml``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from caretbench.files import read_packaged_toml


class PrivateText(NamedTuple):
    """One place with a text that may belong to somebody: kind, description in words, and the text itself."""

    kind: str
    description: str
    text: str


class _Kind(NamedTuple):
    name: str
    description: str
    pattern: re.Pattern[str]
    allowed: re.Pattern[str] | None


@cache
def _kinds() -> tuple[_Kind, ...]:
    table = read_packaged_toml("caretbench.validation.texts", "private_texts.toml")
    return tuple(
        _Kind(
            name,
            entry["text"],
            re.compile(entry["pattern"]),
            re.compile(entry["allowed"]) if "allowed" in entry else None,
        )
        for name, entry in table.items()
    )


def private_texts(text: str) -> Iterator[PrivateText]:
    """Yield secrets, names of persons and addresses in a text; placeholders (``jane@example.org``) are none."""
    for kind in _kinds():
        for found in kind.pattern.finditer(text):
            if kind.allowed is None or kind.allowed.search(found[0]) is None:
                yield PrivateText(kind.name, kind.description, found[0])
