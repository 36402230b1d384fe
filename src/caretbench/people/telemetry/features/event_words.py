"""Words of an event that are given away with its features: language, trigger, model and category.

An editor, or a plugin of it, may put text of the code or of a person into them. Such a word becomes ``other``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Final

from caretbench.languages import languages
from caretbench.people.telemetry.event_rows import OTHER, CompletionEvent, EventTexts
from caretbench.people.telemetry.event_rules import telemetry_rules
from caretbench.redaction import redact
from caretbench.suites.devbench.cells.cell_tables import cell_categories

WORD_FIELDS: Final = ("language", "trigger", "model", "category")
"""Fields of an event whose words are given away."""

_PART: Final = re.compile(r"\w{6,}")
"""Part of a word that is searched in the code too; shorter ones are in names of models by chance (``small``)."""

_SHORTEST_USER: Final = 3
"""Minimum number of characters of a name of a user that is searched in words."""


def replaced_words(event: CompletionEvent) -> dict[str, str]:
    """Return ``other`` for each field whose word could be text of the code or of a person.

    Known words are never replaced. Others are where they have the shape of a secret, an ``@`` or the name of the
    event's user, or where the event's own texts have the word, or a long part of it. A language that is not known is
    always replaced.
    """
    words = {name: getattr(event, name) for name in WORD_FIELDS}
    return {
        name: OTHER
        for name, word in words.items()
        if word is not None and word not in _known()[name] and _is_private(name, word, event)
    }


def secret_words(event: CompletionEvent) -> int:
    """Return the number of words with something in the shape of a key or a password."""
    return sum(_has_secret(word) for word in (getattr(event, name) for name in WORD_FIELDS) if word is not None)


@cache
def _known() -> Mapping[str, frozenset[str]]:
    """Return the words of each field that pass whatever the code has."""
    rules = telemetry_rules().words
    of_house = {name for key, one in languages().items() for name in (key, *one.aliases, *one.dialects)}
    return {
        "language": frozenset({OTHER, *of_house, *rules.languages}),
        "trigger": frozenset({OTHER, *rules.triggers}),
        "model": frozenset({OTHER}),
        "category": frozenset({OTHER, *cell_categories()}),
    }


def _is_private(name: str, word: str, event: CompletionEvent) -> bool:
    if name == "language" or "@" in word or _has_secret(word):
        return True
    if len(event.user) >= _SHORTEST_USER and event.user.casefold() in word.casefold():
        return True
    return event.texts is not None and _is_in(word, event.texts)


def _is_in(word: str, texts: EventTexts) -> bool:
    pattern = _pattern(word)
    found = (texts.prefix, texts.suffix, texts.completion, texts.after_30s, texts.after_5min)
    return any(text is not None and pattern.search(text) for text in found)


@lru_cache(maxsize=1_024)
def _pattern(word: str) -> re.Pattern[str]:
    searched = "|".join(re.escape(one) for one in dict.fromkeys((word, *_PART.findall(word))))
    return re.compile(rf"(?<!\w)(?:{searched})(?!\w)", re.IGNORECASE)


@lru_cache(maxsize=1_024)
def _has_secret(word: str) -> bool:
    return redact(word) != word
