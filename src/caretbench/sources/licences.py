"""Recognition of licence texts by their words; the data are in ``licences.toml``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from pydantic import TypeAdapter

from caretbench.files import packaged_table
from caretbench.problem import Row

_BEGINNING = 800
_QUOTES = re.compile("[\"'`\u201c\u201d\u2018\u2019]")
_FILE = re.compile(
    r"(?:un)?licen[cs]e(?:[-._].*)?|copying(?:[-._].*)?|(?:mit|bsd|apache)-licen[cs]e(?:\.\w+)?",
    re.IGNORECASE,
)


class Licence(Row):
    """One licence and the words that tell it."""

    name: str
    begins: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    def fits(self, text: str) -> bool:
        """Return whether a normalised text is this licence."""
        beginning = text[:_BEGINNING]
        return (
            all(words in beginning for words in self.begins)
            and all(words in text for words in self.words)
            and not any(words in text for words in self.without)
        )


@cache
def _licences() -> tuple[Licence, ...]:
    return TypeAdapter(tuple[Licence, ...]).validate_python(
        packaged_table("caretbench.sources", "licences.toml")["licence"]
    )


def is_licence_file(name: str) -> bool:
    """Return whether a file at the top of a repository is named as licences are."""
    return _FILE.fullmatch(name) is not None


def identify(text: str) -> str | None:
    """Return the SPDX name of a licence's text; none when no entry of the table fits."""
    normal = re.sub(r"\s+", " ", _QUOTES.sub("", text)).strip().lower()
    return next((licence.name for licence in _licences() if licence.fits(normal)), None)


def licence_of(files: Mapping[str, str]) -> str | None:
    """The licence of a repository from its licence files: several are joined by ``OR``, in alphabetical order."""
    found = {identify(text) for name, text in files.items() if is_licence_file(name)} - {None}
    return " OR ".join(sorted(name for name in found if name)) or None
