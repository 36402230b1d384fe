"""Fair pairs of changes: similar in size, and not about the same work.

The relation does not depend on the correct choice. All pairs of GMCQ-Easy's four changes are fair, so no rule
about sizes excludes a choice of any question.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from caretbench.build.sources.pull_request import PullRequest
from caretbench.suites.efcb.floors.lexical_similarity import split_words
from caretbench.suites.efcb.patch_rendering import RenderedPatch

Indices = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

MAX_RATIO: Final = 2.0
"""Maximum ratio of characters, of files and of hunks (one added to both) of two choices."""
MAX_ADDED_SHARE_DIFFERENCE: Final = 0.35
"""Maximum difference of the share of added lines among changed lines of two choices."""
_REFERENCE = re.compile(r"(?:(?P<repo>[\w.-]+/[\w.-]+)(?:#|/(?:issues|pull)/)|(?<![\w/])#|\bGH-)(?P<number>\d+)\b")
_SERIES_WORDS: Final = frozenset(
    ("part", "step", "phase", "of", "cont", "continued", "again", "more", "follow", "up", "followup")
)


class ChangeReferences(NamedTuple):
    """References of a change (``owner/name#7``), its own names, and title words without numbers."""

    references: frozenset[str]
    own_names: frozenset[str]
    title_words: tuple[str, ...]

    @classmethod
    def from_pull_request(cls, pull: PullRequest) -> ChangeReferences:
        """Return the references of a change."""
        text = f"{pull.title}\n{pull.description}"
        names = frozenset({f"{pull.repo}#{pull.number}".lower()} if pull.number else ())
        refers = {f"{found['repo'] or pull.repo}#{found['number']}".lower() for found in _REFERENCE.finditer(text)}
        title = tuple(word for word in split_words(pull.title) if not word.isdigit() and word not in _SERIES_WORDS)
        return cls(frozenset(refers) - names, names, title)


class PairFairness:
    """Fairness of pairs of one repository's changes, by index.

    The ratio of lines must be between ``min_line_ratio`` and ``max_line_ratio``.
    """

    def __init__(
        self,
        rendered: Sequence[RenderedPatch],
        references: Sequence[ChangeReferences],
        min_line_ratio: float,
        max_line_ratio: float,
    ) -> None:
        self._lines = np.array([patch.lines for patch in rendered], dtype=np.float64)
        self._characters = np.array([patch.characters for patch in rendered], dtype=np.float64)
        self._files = np.array([1 + len(patch.files) for patch in rendered], dtype=np.float64)
        self._hunks = np.array([1 + _hunks(patch) for patch in rendered], dtype=np.float64)
        self._added = np.array([_added_share(patch) for patch in rendered])
        self._most_lines = min(max_line_ratio, 1 / min_line_ratio)
        self._related_to = _find_related(rendered, references)

    def is_fair(self, left: Indices, right: Indices) -> Mask:
        """Return whether changes have fair sizes; the arguments are broadcast.

        None may have more lines and fewer characters than the other, so that both measures agree.
        """
        lines = self._lines[left] - self._lines[right]
        characters = self._characters[left] - self._characters[right]
        found: Mask = (
            (lines * characters >= 0)
            & _within_ratio(self._lines, left, right, self._most_lines)
            & _within_ratio(self._characters, left, right, MAX_RATIO)
            & _within_ratio(self._files, left, right, MAX_RATIO)
            & _within_ratio(self._hunks, left, right, MAX_RATIO)
            & (np.abs(self._added[left] - self._added[right]) <= MAX_ADDED_SHARE_DIFFERENCE)
        )
        return found

    def related_changes(self, index: int) -> Indices:
        """Return the changes that belong to the same work as one, itself included."""
        return self._related_to[index]


def _within_ratio(values: npt.NDArray[np.float64], left: Indices, right: Indices, max_ratio: float) -> Mask:
    one, other = values[left], values[right]
    return (one <= max_ratio * other) & (other <= max_ratio * one)


def _hunks(patch: RenderedPatch) -> int:
    return sum(f"\n{file.hunks}".count("\n@@") for file in patch.files)


def _added_share(patch: RenderedPatch) -> float:
    marks = [line[:1] for file in patch.files for line in file.hunks.split("\n")]
    added, removed = marks.count("+"), marks.count("-")
    return added / max(added + removed, 1)


def _find_related(shown: Sequence[RenderedPatch], links: Sequence[ChangeReferences]) -> list[Indices]:
    """Return for each change those that belong to the same work.

    One refers to the other, both refer to the same issue, their titles differ only in numbers, or their patches are
    equal.
    """
    found: list[set[int]] = [{index} for index in range(len(shown))]
    referring, named = (
        _positions_by_value(one.references for one in links),
        _positions_by_value(one.own_names for one in links),
    )
    same = [
        *_positions_by_value([patch.text] for patch in shown).values(),
        *_positions_by_value([one.title_words] if one.title_words else [] for one in links).values(),
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


def _positions_by_value(values: Iterable[Iterable[Hashable]]) -> dict[Hashable, list[int]]:
    """Return the indices at which each value occurs."""
    found: dict[Hashable, list[int]] = defaultdict(list)
    for index, entries in enumerate(values):
        for entry in entries:
            found[entry].append(index)
    return found
