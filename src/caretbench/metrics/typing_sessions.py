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
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import Final, Literal, NamedTuple

from rapidfuzz.distance import Prefix

TYPING_VERSION: Final = "typing@1"

Trigger = Literal["token", "line"]
"""Places where the editor asks: at starts of lines and after each non-word character, or at starts of lines only."""

# A key each 0.2 s is 60 words a minute; pauses of a second are usual at starts of lines, and short inside of them.
KEY_MS: Final = 200
LINE_PAUSE_MS: Final = 800

_INDENTATION = re.compile(r"(?:\A|\n)([ \t]*)")
_WORD = re.compile(r"\w+")
_SIGN = re.compile(r"[^\w\n]")
_PIECE = re.compile(r"\W*\w+|\W+")
"""Text that one key takes of a suggestion: a word with what is before it, as editors do by their key for a word."""


class TypingPolicy(NamedTuple):
    """Rules of an editor and its user.

    ``best`` takes the whole suggestion by one key, or words of it by a key each, whichever saves more; ``whole`` takes
    it only if all of it agrees. Nothing is taken that saves fewer than ``least_gain`` keys, and no suggestion shown of
    fewer than ``least_shown`` characters.
    """

    trigger: Trigger = "token"
    acceptance: Literal["best", "whole"] = "best"
    latency_ms: float = 0.0
    least_gain: int = 3
    least_shown: int = 1


HEADLINE_POLICY: Final = TypingPolicy()
POLICIES: Final[Mapping[str, TypingPolicy]] = {
    "token": HEADLINE_POLICY,
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
        place = 0
        while place < len(places):
            at = places[place]
            text = answer(at)
            if text is None:
                yield at, None
                return
            shown = suggestion(text)
            yield at, shown
            agreed = self.agreement(at, shown)
            # The character in which a suggestion differs is typed before the editor knows that it is wrong.
            place = bisect_left(places, max(at + 1, at + agreed + (agreed < len(shown))))

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


@dataclass
class TypedSession:
    """Outcome of a session: keys, suggestions by outcome, and the parts of the text by who wrote them.

    ``accepted``, ``short`` (right, and too short to take), ``wrong`` and ``unseen`` are outcomes of requests; others
    got nothing to show. ``parts`` has ``typed`` and ``accepted`` texts, and the ``wrong`` suggestions.
    """

    characters: int
    keys: int
    keys_alone: int
    keys_with_words: int
    keys_of_words: int
    requests: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    parts: list[tuple[str, str]] = field(default_factory=list)

    @property
    def shown(self) -> int:
        """Number of suggestions that the user saw."""
        return self.outcomes.total() - self.outcomes["unseen"]

    @property
    def saved(self) -> float:
        """Share of keys saved, of those without a model."""
        return 1 - self.keys / self.keys_alone if self.keys_alone else 0.0

    @property
    def saved_beyond_words(self) -> float:
        """Share of keys saved with a model and word completion, of those with word completion alone."""
        return 1 - self.keys_with_words / self.keys_of_words if self.keys_of_words else 0.0


def replay(text: TypedText, answers: Mapping[int, str], policy: TypingPolicy = HEADLINE_POLICY) -> TypedSession | None:
    """Return the session with these answers by position; None if one is missing."""
    alone, there = text.keys[-1], 0
    with_words = alone - text.word_keys(0, len(text.reference))
    session = TypedSession(len(text.reference), alone, alone, with_words, with_words)
    for at, shown in text.session(policy.trigger, answers.get):
        if shown is None:
            return None
        session.requests += 1
        start, end, keys, outcome = _outcome(text, at, shown, policy)
        if outcome:
            session.outcomes[outcome] += 1
        if outcome == "accepted":
            spared = text.keys[end] - text.keys[start] - keys
            session.keys -= spared
            # A word that is typed to where a suggestion begins is not completed either.
            session.keys_with_words -= spared - text.word_keys(start, end)
            session.parts += [("typed", text.reference[there:start]), ("accepted", text.reference[start:end])]
            there = end
        elif outcome == "wrong":
            session.parts += [("typed", text.reference[there:at]), ("wrong", shown)]
            there = at
    session.parts.append(("typed", text.reference[there:]))
    return session


def simulated_keys(prefix: str, typed: str, completion: str) -> int:
    """Return the keys that a simulated developer who types a text saves by the suggestion at its beginning."""
    text = TypedText(prefix, typed)
    start, end, keys, _ = _outcome(text, 0, suggestion(completion), HEADLINE_POLICY)
    return text.keys[end] - text.keys[start] - keys if keys else 0


def _outcome(text: TypedText, at: int, shown: str, policy: TypingPolicy) -> tuple[int, int, int, str]:
    """Return beginning and end of what is taken of a suggestion, its keys, and the outcome; empty if none is shown."""
    if len(shown.strip()) < policy.least_shown:
        return at, at, 0, ""
    agreed = at + text.agreement(at, shown)
    pause = LINE_PAUSE_MS if at in {*text.lines} else 0
    typed = text.keys[at] + int(max(0.0, policy.latency_ms - pause) / KEY_MS)
    start = bisect_left(text.keys, typed, lo=at)
    if typed > text.keys[at] and start >= min(agreed + (agreed < at + len(shown)), len(text.reference)):
        return at, at, 0, "unseen"
    start = max(start, at)
    whole = agreed == at + len(shown)
    choices = [(agreed, 1)] if whole else []
    if policy.acceptance == "best":
        pieces = [piece.end() for piece in _PIECE.finditer(shown, start - at) if at + piece.end() <= agreed]
        choices += [(at + end, number) for number, end in enumerate(pieces, start=1)]
    end, keys = max(choices, key=lambda choice: text.keys[choice[0]] - choice[1], default=(start, 0))
    if text.keys[end] - text.keys[start] - keys >= policy.least_gain:
        return start, end, keys, "accepted"
    return at, at, 0, "short" if whole else "wrong"
