"""Search for secrets, names of persons and addresses in texts.

The patterns are data: ``private_texts.toml``, and for secrets ``secret_texts.toml``, which redaction uses too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from caretbench.files import read_packaged_toml
from caretbench.redaction import secret_shapes


class PrivateText(NamedTuple):
    """One place with a text that may belong to somebody: kind, description in words, the text, and its position."""

    kind: str
    description: str
    text: str
    start: int
    is_secret: bool


class _Kind(NamedTuple):
    name: str
    description: str
    pattern: re.Pattern[str]
    allowed: re.Pattern[str] | None


@cache
def _kinds() -> tuple[_Kind, ...]:
    table = read_packaged_toml("caretbench.build.validation", "private_texts.toml")
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
    folded = text.casefold()
    for shape in secret_shapes():
        if shape.in_code and shape.may_occur(folded):
            yield from _find_matches(shape.kind, shape.description, shape.pattern, shape.allowed, text, is_secret=True)
    for kind in _kinds():
        yield from _find_matches(*kind, text, is_secret=False)


def _find_matches(
    name: str,
    description: str,
    pattern: re.Pattern[str],
    allowed: re.Pattern[str] | None,
    text: str,
    *,
    is_secret: bool,
) -> Iterator[PrivateText]:
    for match in pattern.finditer(text):
        if allowed is None or allowed.search(match[0]) is None:
            yield PrivateText(name, description, match[0], match.start(), is_secret)
