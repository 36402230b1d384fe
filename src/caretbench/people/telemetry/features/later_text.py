"""Comparison of a shown text with the text that was there later: how much of it survived, and whether it was right."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from rapidfuzz.distance import LCSseq

from caretbench.metrics.text_overlap import dense_index, dense_text

_WORD: Final = re.compile(r"\w+")
_TOKEN: Final = re.compile(r"\w+|[^\w\s]")
_RUN: Final = 3
"""Number of words in a row from which they are the text's own: shorter runs are in other code too."""
_MOST_ALIGNED: Final = 60
"""Number of words up to which a text is searched as a whole, with changes."""
_SLACK: Final = 0.3
"""Share of its length by which a changed text may be longer."""
_SHORTEST_TYPED: Final = 3
"""Minimum number of characters, without blanks, of a text that counts as typed by the user."""
_MAX_WORDS: Final = 5_000
"""Number of words from which the survival of a text is not computed."""


def kept_share(accepted: str | None, later: str | None) -> float | None:
    """Return the share of the words of an accepted text that are in the later text, from 0 to 1.

    Single words that are anywhere in the later text say nothing, since other code has them too. Words count in runs of
    three; where half of the text's words or more are together, in their order; and at the beginning and end of both
    texts. A text that the later one contains as it was, blanks apart, is kept. None: nothing was accepted, or the later
    text is not known, or one of them is too long.
    """
    if accepted is None or later is None:
        return None
    words, found = _WORD.findall(accepted), _WORD.findall(later)
    if max(len(words), len(found)) > _MAX_WORDS:
        return None
    if _marked(_TOKEN.findall(accepted)) in _marked(_TOKEN.findall(later)):
        return 1.0
    if not words:
        return float(dense_text(accepted) in dense_text(later))
    kept = max(_in_runs(words, found), _together(words, found), _at_ends(words, found))
    return round(kept / len(words), 3)


def was_right(completion: str, later: str, prefix: str = "") -> bool:
    """Return whether the later text begins with a text, blanks apart, and ends there or goes on in a new line.

    Blanks count between the text and a word that it follows.
    """
    dense = dense_text(completion)
    if not dense or not dense_text(later).startswith(dense):
        return False
    if _continues_word(prefix, completion) is not _continues_word(prefix, later):
        return False
    rest = later[dense_index(later, len(dense)) :].lstrip(" \t")
    return rest[:1] in ("", "\n", "\r")


def typed_by_user(completion: str, later: str, prefix: str = "") -> bool:
    """Return whether a text that was not accepted is what the user then typed; more may follow in new lines."""
    return len(dense_text(completion)) >= _SHORTEST_TYPED and was_right(completion, later, prefix)


def _continues_word(prefix: str, text: str) -> bool:
    return bool(_WORD.match(prefix[-1:]) and _WORD.match(text[:1]))


def _in_runs(words: Sequence[str], later: Sequence[str]) -> int:
    """Return the number of words in runs of :data:`_RUN` that the later text has."""
    runs = {tuple(later[place : place + _RUN]) for place in range(len(later) - _RUN + 1)}
    places = [place for place in range(len(words) - _RUN + 1) if tuple(words[place : place + _RUN]) in runs]
    return len({place + step for place in places for step in range(_RUN)})


def _together(words: Sequence[str], later: Sequence[str]) -> int:
    """Return the number of words that are together, in their order, in a part of the later text; 0 if under a half."""
    if not _RUN <= len(words) <= _MOST_ALIGNED:
        return 0
    length, own = len(words) + max(1, int(_SLACK * len(words))), {*words}
    parts = (later[place : place + length] for place, word in enumerate(later) if word in own)
    most = max((int(LCSseq.similarity(words, part)) for part in parts), default=0)
    return most if 2 * most >= len(words) else 0


def _at_ends(words: Sequence[str], later: Sequence[str]) -> int:
    """Return the number of words at the beginning and end of both texts."""
    shorter = min(len(words), len(later))
    begin = next((place for place in range(shorter) if words[place] != later[place]), shorter)
    rest = shorter - begin
    return begin + next((place for place in range(rest) if words[-1 - place] != later[-1 - place]), rest)


def _marked(tokens: Sequence[str]) -> str:
    """Return tokens as a text in which one sequence contains another only at the bounds of tokens."""
    return "\0" + "".join(f"{token}\0" for token in tokens)
