"""Search for secrets, names of persons and addresses in texts.

The patterns are data: ``private_texts.toml``, and for secrets ``secret_texts.toml``, which redaction uses too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from caretbench.redaction import secret_shapes


class PrivateText(NamedTuple):
    """One place with a text that may belong to somebody: kind, description in words, the text, and its position."""

    kind: str
    description: str
    text: str
    start: int
    is_secret: bool


def private_texts(text: str) -> Iterator[PrivateText]:
    """Yield secrets, names of persons and addresses in a text; placeholders (``jane@example.org``) are none."""
    folded = text.casefold()
    others = secret_shapes("caretbench.build.validation", "private_texts.toml")
    for shapes, is_secret in ((secret_shapes(), True), (others, False)):
        for shape in (shape for shape in shapes if shape.in_code and shape.may_occur(folded)):
            for match in shape.pattern.finditer(text):
                if shape.allowed is None or shape.allowed.search(match[0]) is None:
                    yield PrivateText(shape.kind, shape.description, match[0], match.start(), is_secret)
