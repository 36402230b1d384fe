"""Texts of numbers in sentences: intervals in points, p values, places, lists of names."""

from __future__ import annotations

from collections.abc import Sequence

_PLACES = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def points_interval(low: float | None, high: float | None) -> str:
    """Return an interval of a difference of rates in points: `` [1.2 to 7.0]``; empty if there is none."""
    return "" if low is None or high is None else f" [{100 * low:.1f} to {100 * high:.1f}]"


def size_interval(low: float | None, high: float | None, *, percent: bool) -> str:
    """Return the interval of the size of a difference, smaller end first; in points if ``percent``, else plain."""
    if low is None or high is None:
        return ""
    ends = (low, high) if low + high >= 0 else (-high, -low)
    return points_interval(*ends) if percent else f" [{ends[0]:.3f} to {ends[1]:.3f}]"


def p_text(value: float) -> str:
    """Return a p value with three digits: ``0.012``, ``< 0.001``."""
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def p_words(value: float) -> str:
    """Return a p value in a sentence: ``p = 0.012``, ``p < 0.001``."""
    return f"p {p_text(value)}" if value < 0.001 else f"p = {p_text(value)}"


def place_word(place: int) -> str:
    """Return a place in words: ``seventh``; in digits from the eleventh on."""
    return _PLACES[place - 1] if 1 <= place <= len(_PLACES) else f"{place}th"


def count_word(number: int) -> str:
    """Return a number in words up to ten."""
    return _WORDS[number] if 0 <= number < len(_WORDS) else str(number)


def joined_names(names: Sequence[str]) -> str:
    """Return names in one text: ``a, b and c``."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last
