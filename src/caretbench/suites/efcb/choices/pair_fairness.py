"""Pairs of changes that are fair choices next to each other: like in size, apart in what they are about.

A relation between two changes that knows nothing of which one is asked for. GMCQ-Easy shows four changes of which each
two are fair to each other, so no rule about sizes removes a choice from any question.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from caretbench.sources.pull_request import PullRequest
from caretbench.suites.efcb.attacks.lexical import words
from caretbench.suites.efcb.rendering import Rendered

Indices = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

MOST_TIMES: Final = 2.0
"""Maximum ratio of characters, of files and of hunks (one added to both) of two choices."""
MOST_BALANCE: Final = 0.35
"""Maximum difference of the share of added lines among changed lines of two choices."""
_REFERENCE = re.compile(
    r"(?:(?P<repo>[\w.-]+/[\w.-]+)(?:#|/(?:issues|pull)/)|(?<![\w/])#|\bGH-)(?P<number>\d+)\b"
)
_PARTS: Final = frozenset(
    ("part", "step", "phase", "of", "cont", "continued", "again", "more", "follow", "up", "followup")
)


class Links(NamedTuple):
    """References of a change, as ``owner/name#7``; its own names; and the words of its title without numbers."""

    refers: frozenset[str]
    names: frozenset[str]
    title: tuple[str, ...]

    @classmethod
    def of(cls, pull: PullRequest) -> Links:
        """Return the links of a change."""
        text = f"{pull.title}\n{pull.description}"
        names = frozenset({f"{pull.repo}#{pull.number}".lower()} if pull.number else ())
        refers = {
            f"{found['repo'] or pull.repo}#{found['number']}".lower() for found in _REFERENCE.finditer(text)
        }
        title = tuple(word for word in words(pull.title) if not word.isdigit() and word not in _PARTS)
        return cls(frozenset(refers) - names, names, title)


class Fairness:
    """Fairness of each two changes of one repository, in the order in which they are given.

    A choice has at least ``smallest`` and at most ``largest`` times the lines of the other.
    """

    def __init__(
        self, shown: Sequence[Rendered], links: Sequence[Links], smallest: float, largest: float
    ) -> None:
        self._lines = np.array([patch.lines for patch in shown], dtype=np.float64)
        self._characters = np.array([patch.characters for patch in shown], dtype=np.float64)
        self._files = np.array([1 + len(patch.files) for patch in shown], dtype=np.float64)
        self._hunks = np.array([1 + _hunks(patch) for patch in shown], dtype=np.float64)
        self._added = np.array([_added_share(patch) for patch in shown])
        self._most_lines = min(largest, 1 / smallest)
        self._related_to = _related(shown, links)

    def between(self, left: Indices, right: Indices) -> Mask:
        """Return whether changes are fair to each other by size; the arguments are broadcast.

        Nothing has more lines and fewer characters than the other, so both ways to measure agree.
        """
        lines = self._lines[left] - self._lines[right]
        characters = self._characters[left] - self._characters[right]
        found: Mask = (
            (lines * characters >= 0)
            & _within(self._lines, left, right, self._most_lines)
            & _within(self._characters, left, right, MOST_TIMES)
            & _within(self._files, left, right, MOST_TIMES)
            & _within(self._hunks, left, right, MOST_TIMES)
            & (np.abs(self._added[left] - self._added[right]) <= MOST_BALANCE)
        )
        return found

    def related(self, index: int) -> Indices:
        """Return the changes that belong to the same piece of work as one, itself included."""
        return self._related_to[index]


def _within(values: npt.NDArray[np.float64], left: Indices, right: Indices, most: float) -> Mask:
    one, other = values[left], values[right]
    return (one <= most * other) & (other <= most * one)


def _hunks(patch: Rendered) -> int:
    return sum(f"\n{file.hunks}".count("\n@@") for file in patch.files)


def _added_share(patch: Rendered) -> float:
    marks = [line[:1] for file in patch.files for line in file.hunks.split("\n")]
    added, removed = marks.count("+"), marks.count("-")
    return added / max(added + removed, 1)


def _related(shown: Sequence[Rendered], links: Sequence[Links]) -> list[Indices]:
    """For each change those that belong to the same piece of work.

    One names the other, both name the same issue, their titles differ in numbers alone, or both show the same text.
    """
    found: list[set[int]] = [{index} for index in range(len(shown))]
    referring, named = _places(one.refers for one in links), _places(one.names for one in links)
    same = [
        *_places([patch.text] for patch in shown).values(),
        *_places([one.title] if one.title else [] for one in links).values(),
        *referring.values(),
    ]
    for members in same:
        for index in members:
            found[index].update(members)
    for reference, members in referring.items():
        for index in named.get(reference, ()):
            found[index].update(members)
            for member in members:
                found[member].add(index)
    return [np.array(sorted(members), dtype=np.int64) for members in found]


def _places(values: Iterable[Iterable[Hashable]]) -> dict[Hashable, list[int]]:
    """Return the places at which each value occurs."""
    found: dict[Hashable, list[int]] = defaultdict(list)
    for index, entries in enumerate(values):
        for entry in entries:
            found[entry].append(index)
    return found
