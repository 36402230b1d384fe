"""Changes that belong together: one is no wrong answer to a question about the other, or no fair one."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from caretbench.sources.pull_request import PullRequest
from caretbench.suites.efcb.attacks.lexical import words

_REFERENCE = re.compile(
    r"(?:(?P<repo>[\w.-]+/[\w.-]+)(?:#|/(?:issues|pull)/)|(?<![\w/])#|\bGH-)(?P<number>\d+)\b"
)
_PARTS: Final = frozenset(
    ("part", "step", "phase", "of", "cont", "continued", "again", "more", "follow", "up", "followup")
)


class Links(NamedTuple):
    """What a change refers to, as ``owner/name#7``; its own names; and the words of its title without numbers."""

    refers: frozenset[str]
    names: frozenset[str]
    title: tuple[str, ...]

    @classmethod
    def of(cls, pull: PullRequest) -> Links:
        """The links of a change."""
        text = f"{pull.title}\n{pull.description}"
        names = frozenset({f"{pull.repo}#{pull.number}".lower()} if pull.number else ())
        refers = {
            f"{found['repo'] or pull.repo}#{found['number']}".lower() for found in _REFERENCE.finditer(text)
        }
        title = tuple(word for word in words(pull.title) if not word.isdigit() and word not in _PARTS)
        return cls(frozenset(refers) - names, names, title)


def linked(first: Links, second: Links) -> bool:
    """Whether one change names the other, both name the same issue, or their titles differ in numbers alone."""
    return bool(
        first.refers & (second.refers | second.names)
        or second.refers & first.names
        or (first.title and first.title == second.title)
    )
