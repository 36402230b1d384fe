"""Detection of a title that its description repeats, as first line or sentence or as a list entry."""

from __future__ import annotations

import re
from typing import Final

_NUMBER: Final = re.compile(r"\s*\((?:[\w.-]+/[\w.-]+)?(?:#|!|GH-|PR #?)\d+\)|(?:^|\s)#\d+\s*$", re.IGNORECASE)
# `fix(core): …`, `ipn/store: …`, `[docs] …`, `JIRA-12: …`
_PREFIX: Final = re.compile(r"^\s*(?:\[[^\]\n]{1,60}\]\s*:?\s*)*(?:[^\s:]{1,60}(?:,\s*[^\s:,]+){0,7}\s*:\s+)?")
_BULLET: Final = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)]|#{1,6})\s+")
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+(?=\S)")
_MIN_TITLE_CHARACTERS: Final = 8


class RepeatedTitle:
    """Matches repetitions of a title, with or without prefix, number, punctuation and capitals."""

    def __init__(self, title: str) -> None:
        forms = {_normalize(title), _normalize(_PREFIX.sub("", title, count=1))}
        self._forms = {form for form in forms if len(form) >= _MIN_TITLE_CHARACTERS}

    def __bool__(self) -> bool:
        return bool(self._forms)

    def is_title(self, line: str) -> bool:
        """Return whether a line contains only the title."""
        text = _BULLET.sub("", line, count=1)
        return bool(self._forms) and (
            _normalize(text) in self._forms or _normalize(_PREFIX.sub("", text, count=1)) in self._forms
        )

    def is_list_entry(self, line: str) -> bool:
        """Return whether a line is a list entry that contains only the title."""
        return _BULLET.match(line) is not None and self.is_title(line)

    def remove_title(self, line: str) -> str:
        """Return a first line without its first sentence if that is the title."""
        first, *rest = _SENTENCE.split(line, maxsplit=1)
        return rest[0] if rest and self.is_title(first) else line


def _normalize(text: str) -> str:
    words = re.sub(r"[\W_]+", " ", _NUMBER.sub(" ", text))
    return " ".join(words.split()).casefold()
