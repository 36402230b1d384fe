"""Texts of numbers in sentences: intervals in points, p values, places, lists of names."""

from __future__ import annotations

from collections.abc import Sequence

from caretbench.text_tables import p_text

_PLACES = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def points_range(low: float | None, high: float | None) -> str:
    """Return an interval of a difference of rates in points: ``1.2 to 7.0``; empty if there is none."""
    return number_range(None if low is None else 100 * low, None if high is None else 100 * high, 1)


def number_range(low: float | None, high: float | None, digits: int) -> str:
    """Return an interval with a number of digits: ``0.12 to 0.70``; empty if there is none."""
    return "" if low is None or high is None else f"{low:.{digits}f} to {high:.{digits}f}"


def points_interval(low: float | None, high: float | None) -> str:
    """Return an interval of a difference of rates in a sentence: `` [1.2 to 7.0]``; empty if there is none."""
    return _bracketed(points_range(low, high))


def size_interval(low: float | None, high: float | None, *, digits: int | None = None) -> str:
    """Return the interval of the size of a difference, smaller end first; in points, or plain with ``digits``."""
    if low is None or high is None:
        return ""
    ends = (low, high) if low + high >= 0 else (-high, -low)
    return _bracketed(points_range(*ends) if digits is None else number_range(*ends, digits))


def _bracketed(interval: str) -> str:
    return f" [{interval}]" if interval else ""


def p_words(value: float) -> str:
    """Return a p value in a sentence: ``p = 0.012``, ``p < 0.001``."""
    return f"p {p_text(value)}" if value < 0.001 else f"p = {p_text(value)}"


def place_word(place: int) -> str:
    """Return a place in words: ``seventh``; in digits from the eleventh on: ``number 21``."""
    return _PLACES[place - 1] if 1 <= place <= len(_PLACES) else f"number {place}"


def count_word(number: int) -> str:
    """Return a number in words up to ten."""
    return _WORDS[number] if 0 <= number < len(_WORDS) else str(number)


def capitalised(text: str) -> str:
    """Return a text with a capital at its beginning; the rest stays."""
    return text[:1].upper() + text[1:]


def joined_names(names: Sequence[str]) -> str:
    """Return names in one text: ``a, b and c``."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last
