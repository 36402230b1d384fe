"""Recognition of licence texts by characteristic words; data: ``licences.toml``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from pydantic import TypeAdapter

from caretbench.files import read_packaged_toml
from caretbench.problem import Row

_BEGINNING = 800
_QUOTES = re.compile("[\"'`\u201c\u201d\u2018\u2019]")
_FILE = re.compile(
    r"(?:un)?licen[cs]e(?:[-._].*)?|copying(?:[-._].*)?|(?:mit|bsd|apache)-licen[cs]e(?:\.\w+)?", re.IGNORECASE
)


class LicenceRule(Row):
    """One licence: its SPDX name and the words by which it is recognised."""

    name: str
    words_at_start: tuple[str, ...] = ()
    words_anywhere: tuple[str, ...] = ()
    words_absent: tuple[str, ...] = ()

    def matches(self, text: str) -> bool:
        """Return whether a normalised text is that of the licence."""
        beginning = text[:_BEGINNING]
        return (
            all(words in beginning for words in self.words_at_start)
            and all(words in text for words in self.words_anywhere)
            and not any(words in text for words in self.words_absent)
        )


@cache
def _licences() -> tuple[LicenceRule, ...]:
    return TypeAdapter(tuple[LicenceRule, ...]).validate_python(
        read_packaged_toml("caretbench.build.sources", "licences.toml")["licence"]
    )


def is_licence_file(name: str) -> bool:
    """Return whether a file name is that of a licence file."""
    return _FILE.fullmatch(name) is not None


def identify_licence(text: str) -> str | None:
    """Return the SPDX name of a licence text; None if no rule matches."""
    normal = re.sub(r"\s+", " ", _QUOTES.sub("", text)).strip().lower()
    return next((licence.name for licence in _licences() if licence.matches(normal)), None)


def repository_licence(files: Mapping[str, str]) -> str | None:
    """Return the licence in some files, or None; several are joined by ``OR`` in alphabetical order."""
    found = {identify_licence(text) for name, text in files.items() if is_licence_file(name)} - {None}
    return " OR ".join(sorted(name for name in found if name)) or None
