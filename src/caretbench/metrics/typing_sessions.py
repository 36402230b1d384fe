"""Typing sessions that are simulated from stored answers: a developer types the reference and takes what agrees.

The developer always ends at the reference, so that the state of a session is one number: how many of its characters
are there. The editor indents. A suggestion is the first line of an answer; it stays while the typed text agrees with
it, so that the positions at which a model is asked do not depend on the rule of acceptance. No real developer is like
that: keystrokes saved are simulated, and real savings are far lower.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Final, Literal, NamedTuple

from rapidfuzz.distance import Prefix

TYPING_VERSION: Final = "typing@1"

Trigger = Literal["token", "line"]
"""Places where the editor asks: at starts of lines and after each non-word character, or at starts of lines only."""

# A key each 0.2 s is 60 words a minute; pauses of a second are usual at starts of lines, and short inside of them.
KEY_MS: Final = 200
_LINE_PAUSE_MS: Final = 800
_LEAST_GAIN: Final = 3
"""Minimum number of keys that a suggestion must save to be taken."""

OUTCOMES: Final = ("accepted", "wrong", "short", "unseen", "nothing")
"""Outcomes of requests; ``short`` suggestions are right and save too little, ``unseen`` ones come too late."""

_INDENTATION = re.compile(r"(?:\A|\n)([ \t]*)")
_WORD = re.compile(r"\w+")
_SIGN = re.compile(r"[^\w\n]")
_PIECE = re.compile(r"\W*\w+|\W+")
"""Text that one key takes of a suggestion: a word with what is before it, as editors do by their key for a word."""


class TypingPolicy(NamedTuple):
    """Rules of an editor and its user.

    ``best`` takes the whole suggestion by one key, or words of it by a key each, whichever saves more; ``whole`` takes
    it only if all of it agrees. No suggestion is shown of fewer than ``least_shown`` characters.
    """

    trigger: Trigger = "token"
    acceptance: Literal["best", "whole"] = "best"
    latency_ms: float = 0.0
    least_shown: int = 1


POLICIES: Final[Mapping[str, TypingPolicy]] = {
    "token": TypingPolicy(),
    "line": TypingPolicy(trigger="line"),
    "whole": TypingPolicy(acceptance="whole"),
}
"""Policies under which models are ordered; the first is the headline's. The others changed most pairs in trials."""


def accepted_prefix(answer: str, reference: str) -> float:
    """Return the share of the reference's characters up to the first one in which the answer differs, from 0 to 1.

    Blanks around both do not count; 1 for an empty answer where nothing was due.
    """
    answer, reference = answer.strip(), reference.strip()
    return Prefix.similarity(answer, reference) / len(reference) if reference else float(not answer)


def suggestion(answer: str) -> str:
    """Return the line of an answer that an editor shows at the caret."""
    return answer.partition("\n")[0].rstrip()


def copied_suggestion(before: str) -> str:
    """Return what follows the latest earlier place with the longest end of a text in common: the floor of copying."""
    last = len(before) - 1
    sizes = range(1, min(last, 200) + 1)
    common = bisect_left(sizes, True, key=lambda size: before.rfind(before[-size:], 0, last) < 0)
    return suggestion(before[before.rfind(before[-common:], 0, last) + common :]) if common else ""


@dataclass(frozen=True)
class TypedText:
    """Reference that is typed after a prefix, with its positions and the keys to each of them."""

    prefix: str
    reference: str

    @cached_property
    def keys(self) -> Sequence[int]:
        """Number of keys from the beginning to each position: one for each character but indentation."""
        free = {at for blank in _INDENTATION.finditer(self.reference) for at in range(*blank.span(1))}
        return list(accumulate((int(at not in free) for at in range(len(self.reference))), initial=0))

    @cached_property
    def lines(self) -> Sequence[int]:
        """Positions of the starts of lines, behind their indentation, without blank lines; the first is 0."""
        ends = (match.end() for match in _INDENTATION.finditer(self.reference))
        return [0, *(end for end in ends if end and self.reference[end : end + 1].strip())]

    @cached_property
    def tokens(self) -> Sequence[int]:
        """Positions of the starts of lines, and of those behind a non-word character inside of lines."""
        signs = (match.end() for match in _SIGN.finditer(self.reference))
        inside = (end for end in signs if end < len(self.reference) and self.keys[end] > self.keys[end - 1])
        return sorted({*self.lines, *inside})

    def agreement(self, at: int, shown: str) -> int:
        """Return how many characters of a suggestion at a position agree with the reference."""
        return int(Prefix.similarity(shown, self.reference[at : at + len(shown)]))

    def session(self, trigger: Trigger, answer: Callable[[int], str | None]) -> Iterator[tuple[int, str | None]]:
        """Yield the positions where the editor asks, with the suggestions; the last is None if its answer is."""
        places = self.tokens if trigger == "token" else self.lines
        index = 0
        while index < len(places):
            at = places[index]
            text = answer(at)
            if text is None:
                yield at, None
                return
            shown = suggestion(text)
            yield at, shown
            agreed = self.agreement(at, shown)
            # The character in which a suggestion differs is typed before the editor knows that it is wrong.
            index = bisect_left(places, max(at + 1, at + agreed + (agreed < len(shown))))

    @cached_property
    def words(self) -> Sequence[tuple[int, int, int]]:
        """Beginning and end of the words that an editor's word completion completes, and the keys that it saves.

        After each typed character the editor offers the latest word before it that begins so; it is taken if it is
        right and saves keys.
        """
        text = self.prefix + self.reference
        offset = len(self.prefix)
        latest: dict[str, str] = {}
        words = []
        for word in _WORD.finditer(text):
            start, name = word.start() - offset, word[0]
            if start >= 0:
                typed = next((n for n in range(1, len(name) - 1) if latest.get(name[:n]) == name), None)
                if typed is not None:
                    words.append((start, word.end() - offset, len(name) - typed - 1))
            latest.update((name[:n], name) for n in range(1, len(name) + 1))
        return words

    def word_keys(self, start: int, end: int) -> int:
        """Return the keys that word completion saves in a part of the text, words that are in it in part included."""
        return sum(saved for first, last, saved in self.words if first < end and start < last)


class TypedSession(NamedTuple):
    """Outcome of a session: counts, and the parts of the text by who wrote them.

    ``numbers`` has ``characters``, ``requests`` and their outcomes, the keys without a model (``keys``, and
    ``keys_of_words`` with word completion), and those that the model saves of both (``saved``, ``saved_of_words``).
    ``parts`` has ``typed`` and ``accepted`` texts, and the ``wrong`` suggestions.
    """

    numbers: Counter[str]
    parts: Sequence[tuple[str, str]]


def replay(
    text: TypedText, answers: Mapping[int, str], policy: TypingPolicy = POLICIES["token"]
) -> TypedSession | None:
    """Return the session with these answers by position; None if one is missing."""
    there, length, keys = 0, len(text.reference), text.keys[-1]
    numbers = Counter(dict.fromkeys((*OUTCOMES, "requests", "saved", "saved_of_words"), 0))
    numbers.update(characters=length, keys=keys, keys_of_words=keys - text.word_keys(0, length))
    parts = []
    for at, shown in text.session(policy.trigger, answers.get):
        if shown is None:
            return None
        start, end, saved, outcome = _outcome(text, at, shown, policy)
        numbers.update(("requests", outcome))
        if outcome == "accepted":
            # A word that is typed to where a suggestion begins is not completed either.
            numbers.update(saved=saved, saved_of_words=saved - text.word_keys(start, end))
            parts += [("typed", text.reference[there:start]), (outcome, text.reference[start:end])]
            there = end
        elif outcome == "wrong":
            parts += [("typed", text.reference[there:at]), (outcome, shown)]
            there = at
    return TypedSession(numbers, [*parts, ("typed", text.reference[there:])])


def simulated_keys(prefix: str, typed: str, completion: str) -> int:
    """Return the keys that a simulated developer who types a text saves by the suggestion at its beginning."""
    return _outcome(TypedText(prefix, typed), 0, suggestion(completion), POLICIES["token"])[2]


def _outcome(text: TypedText, at: int, shown: str, policy: TypingPolicy) -> tuple[int, int, int, str]:
    """Return beginning and end of what is taken of a suggestion, the keys that it saves, and the outcome."""
    if len(shown.strip()) < policy.least_shown:
        return at, at, 0, "nothing"
    agreed = at + text.agreement(at, shown)
    whole = agreed == at + len(shown)
    pause = _LINE_PAUSE_MS if at in {*text.lines} else 0
    typed = text.keys[at] + int(max(0.0, policy.latency_ms - pause) / KEY_MS)
    start = max(at, bisect_left(text.keys, typed, lo=at))
    if typed > text.keys[at] and start >= min(agreed + (not whole), len(text.reference)):
        return at, at, 0, "unseen"
    choices = [(agreed, 1)] if whole else []
    if policy.acceptance == "best":
        pieces = [piece.end() for piece in _PIECE.finditer(shown, start - at) if at + piece.end() <= agreed]
        choices += [(at + end, number) for number, end in enumerate(pieces, start=1)]
    gains = ((text.keys[end] - text.keys[start] - keys, end) for end, keys in choices)
    saved, end = max(gains, key=lambda gain: gain[0], default=(0, start))
    if saved >= _LEAST_GAIN:
        return start, end, saved, "accepted"
    return at, at, 0, "short" if whole else "wrong"
