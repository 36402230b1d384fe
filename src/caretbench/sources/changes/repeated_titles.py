"""Titles that a description repeats: its first line or sentence, or an entry of a list of commits."""

from __future__ import annotations

import re
from typing import Final

_NUMBER: Final = re.compile(
    r"\s*\((?:[\w.-]+/[\w.-]+)?(?:#|!|GH-|PR #?)\d+\)|(?:^|\s)#\d+\s*$", re.IGNORECASE
)
# `fix(core): …`, `ipn/store: …`, `[docs] …`, `JIRA-12: …`
_PREFIX: Final = re.compile(
    r"^\s*(?:\[[^\]\n]{1,60}\]\s*:?\s*)*(?:[^\s:]{1,60}(?:,\s*[^\s:,]+){0,7}\s*:\s+)?"
)
_BULLET: Final = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)]|#{1,6})\s+")
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+(?=\S)")
_SHORTEST: Final = 8


class Repeated:
    """The forms in which a title is repeated: with or without prefix, number, marks, case and the last full stop."""

    def __init__(self, title: str) -> None:
        forms = {_bare(title), _bare(_PREFIX.sub("", title, count=1))}
        self._forms = {form for form in forms if len(form) >= _SHORTEST}

    def __bool__(self) -> bool:
        return bool(self._forms)

    def whole(self, line: str) -> bool:
        """Return whether a line says the title and nothing else."""
        text = _BULLET.sub("", line, count=1)
        return bool(self._forms) and (
            _bare(text) in self._forms or _bare(_PREFIX.sub("", text, count=1)) in self._forms
        )

    def entry(self, line: str) -> bool:
        """Return whether a line is an entry of a list, and says the title and nothing else."""
        return _BULLET.match(line) is not None and self.whole(line)

    def without(self, line: str) -> str:
        """Return a first line without its first sentence where that is the title."""
        first, *rest = _SENTENCE.split(line, maxsplit=1)
        return rest[0] if rest and self.whole(first) else line


def _bare(text: str) -> str:
    words = re.sub(r"[\W_]+", " ", _NUMBER.sub(" ", text))
    return " ".join(words.split()).casefold()
