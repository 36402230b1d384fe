"""Privacy of events that are given away: salted hashes of identities, and words that become ``other``."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

from caretbench.errors import DataError
from caretbench.languages import languages
from caretbench.people.telemetry.events import OTHER, CompletionEvent, EventTexts, telemetry_rules
from caretbench.redaction import redact
from caretbench.suites.devbench.cells.cell_tables import cell_categories

SALT_BYTES: Final = 32
"""Number of bytes of a new salt."""
# 128 bits: a shorter salt can be found by trying all of them, and every name with it.
MINIMUM_SALT_BYTES: Final = 16


class SaltedHashes:
    """Hashes of identities by a salt. The same name gives the same hash, and nobody without the salt can tell whose."""

    def __init__(self, salt: bytes) -> None:
        self._salt = salt

    def of(self, kind: str, name: str) -> str:
        """Return the hash of a name, 64 hexadecimal digits; equal names of two kinds have different hashes."""
        # NUL cannot be in a kind, so no name of one kind gives the hash of another. Names may hold halves of surrogate
        # pairs.
        text = f"{kind}\0{name}".encode("utf-8", "surrogatepass")
        return hmac.new(self._salt, text, hashlib.sha256).hexdigest()


def salted_hashes(path: Path) -> tuple[SaltedHashes, bool]:
    """Return hashes by the salt of a file, and whether the file was made: random, readable by its owner alone.

    Raises:
        DataError: the salt is too short, or other users can read it.
        OSError: the file cannot be read or made.
    """
    try:
        # O_EXCL makes and closes the file in one step: between a test and a write another process could put its own
        # file there.
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        # Editors and `echo` end a file with a line feed, which must not change every hash.
        salt = path.read_bytes().strip()
        if len(salt) < MINIMUM_SALT_BYTES:
            raise DataError(
                f"{path}: a salt of {len(salt)} bytes can be guessed; give at least {MINIMUM_SALT_BYTES}, or a path "
                "where there is no file yet"
            ) from None
        # Whoever reads the salt can hash a list of names and find out the users.
        if os.name == "posix" and path.stat().st_mode & 0o077:
            raise DataError(f"{path}: other users can read this salt; close it: chmod 600 {path}") from None
        return SaltedHashes(salt), False
    with os.fdopen(descriptor, "wb") as stream:
        salt = secrets.token_hex(SALT_BYTES).encode()
        stream.write(salt)
    return SaltedHashes(salt), True


WORD_FIELDS: Final = ("language", "trigger", "model", "category")
"""Fields of an event whose words are given away."""

# Six characters: of shorter pieces `small`, `turbo` and `mini` are in code as well as in names of models.
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
        if word is not None and word not in _known_names()[name] and _is_private(name, word, event)
    }


def secret_words(event: CompletionEvent) -> int:
    """Return the number of words with something in the shape of a key or a password."""
    return sum(_has_secret(word) for word in (getattr(event, name) for name in WORD_FIELDS) if word is not None)


@cache
def _known_names() -> Mapping[str, frozenset[str]]:
    """Return the words of each field that pass whatever the code has."""
    rules = telemetry_rules().words
    # Names of CaretBench's own tables cannot tell anything of the code, so that they pass without a search in it.
    of_house = {name for key, entry in languages().items() for name in (key, *entry.aliases, *entry.dialects)}
    return {
        "language": frozenset({OTHER, *of_house, *rules.languages}),
        "trigger": frozenset({OTHER, *rules.triggers}),
        # No list of models is complete, so each name is searched in the texts of its event.
        "model": frozenset({OTHER}),
        "category": frozenset({OTHER, *cell_categories()}),
    }


def _is_private(name: str, word: str, event: CompletionEvent) -> bool:
    # A language is one of a known list or a plugin's free text; an @ is in addresses of people.
    if name == "language" or "@" in word or _has_secret(word):
        return True
    # Names of one or two letters are in most words: they would turn all models into `other`.
    if len(event.user) >= _SHORTEST_USER and event.user.casefold() in word.casefold():
        return True
    return event.texts is not None and _is_in(word, event.texts)


def _is_in(word: str, texts: EventTexts) -> bool:
    pattern = _pattern(word)
    searched = (texts.prefix, texts.suffix, texts.completion, texts.after_30s, texts.after_5min)
    return any(text is not None and pattern.search(text) for text in searched)


@lru_cache(maxsize=1_024)
def _pattern(word: str) -> re.Pattern[str]:
    searched = "|".join(map(re.escape, dict.fromkeys((word, *_PART.findall(word)))))
    return re.compile(rf"(?<!\w)(?:{searched})(?!\w)", re.IGNORECASE)


@lru_cache(maxsize=1_024)
def _has_secret(word: str) -> bool:
    return redact(word) != word
