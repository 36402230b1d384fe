"""Error kind of repetition: the answer repeats the end of the prefix or the beginning of the suffix."""

from __future__ import annotations

from typing import Final

from caretbench.metrics.error_kinds.compared_answer import ComparedAnswer

_MAX_LINES: Final = 40
"""Maximum number of repeated lines that are compared."""
_MIN_BEGUN: Final = 4
"""Minimum number of letters and digits of the caret's line, or of its rest, that count as repeated."""


def repeats_surroundings(compared: ComparedAnswer) -> bool:
    """Return whether the answer begins with the end of the prefix, or repeats the beginning of the suffix.

    Lines are compared without the blanks around them; what the reference repeats itself is no fault.
    """
    if compared.is_empty or (not compared.nothing_due and not compared.is_comparable):
        return False
    return _repeats_prefix(compared) or _repeats_suffix(compared)


def _repeats_prefix(compared: ComparedAnswer) -> bool:
    begun = compared.caret_line.strip()
    if _words(begun) >= _MIN_BEGUN and all(
        text.lstrip().startswith(begun) is due for text, due in ((compared.answer, True), (compared.reference, False))
    ):
        return True
    before = _filled(compared.prefix)[-_MAX_LINES:]
    if begun:
        before[-1:] = []
    return _repeated_head(_filled(compared.answer), before) > _repeated_head(_filled(compared.reference), before)


def _repeated_head(lines: list[str], before: list[str]) -> int:
    """Return the largest number of first lines that are the last lines before, at least one with a word."""
    for count in range(min(len(lines), len(before)), 0, -1):
        if lines[:count] == before[-count:] and any(map(_words, lines[:count])):
            return count
    return 0


def _repeats_suffix(compared: ComparedAnswer) -> bool:
    rest, _, after = compared.shown_suffix.partition("\n")
    rest = rest.strip()
    if _words(rest) and not rest.startswith(("//", "#")):
        # The rest of the caret's line follows: repeated, it ends the answer or one of its lines.
        found = (_ends_line(text, rest) for text in (compared.answer, compared.reference))
        return next(found) > next(found)
    following = _filled(after if rest else compared.shown_suffix)[:_MAX_LINES]
    if rest:
        following = [rest, *following[: _MAX_LINES - 1]]
    return _repeats_lines(compared.answer, following) > _repeats_lines(compared.reference, following)


def _ends_line(text: str, rest: str) -> int:
    lines = _filled(text)
    return sum(line.endswith(rest) for line in lines)


def _repeats_lines(text: str, following: list[str]) -> int:
    """Return the largest number of lines of a text that are the first lines that follow.

    Two lines with a word each must repeat, or all lines to the end of the text.
    """
    lines = _filled(text)
    best = 0
    for start in range(len(lines)):
        most = min(len(lines) - start, len(following))
        count = next((n for n in range(most) if lines[start + n] != following[n]), most)
        words = sum(map(bool, map(_words, lines[start : start + count])))
        if count > best and (words >= 2 or (words and start + count == len(lines))):
            best = count
    return best


def _filled(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n") if line.strip()]


def _words(text: str) -> int:
    return sum(character.isalnum() for character in text)
