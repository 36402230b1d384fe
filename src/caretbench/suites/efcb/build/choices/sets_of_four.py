"""Disjoint sets of four changes for GMCQ-Easy.

Every member of a set is the correct choice of one question, with the same other three. A rule that sees only the four
choices takes the same one in all four questions, so it is right in exactly one: no such rule, known or learned,
is above chance.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cache
from itertools import combinations
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from caretbench.build.sources.pull_request import PullRequest
from caretbench.grouping import grouped
from caretbench.suites.efcb.build.choices.choice_problems import WRONG_CHOICE_COUNT
from caretbench.suites.efcb.lexical_similarity import split_words
from caretbench.suites.efcb.problem_metadata import RenderedPatch

Indices = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

# The three nearest changes as wrong choices made the right one the longest in 5 % and the shortest in 2 % of the
# questions; bounds that hold for each pair of a set favour none of its four.
MAX_RATIO: Final = 2.0
"""Maximum ratio of lines, of characters, of files and of hunks (one added to both) of two choices."""
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
        refers = {f"{match['repo'] or pull.repo}#{match['number']}".lower() for match in _REFERENCE.finditer(text)}
        title = tuple(word for word in split_words(pull.title) if not word.isdigit() and word not in _SERIES_WORDS)
        return cls(frozenset(refers) - names, names, title)


class PairFairness:
    """Fairness of pairs of one repository's changes, by index."""

    def __init__(self, rendered: Sequence[RenderedPatch], references: Sequence[ChangeReferences]) -> None:
        self._lines = np.array([patch.lines for patch in rendered], dtype=np.float64)
        self._characters = np.array([patch.characters for patch in rendered], dtype=np.float64)
        self._files = np.array([1 + len(patch.files) for patch in rendered], dtype=np.float64)
        hunks = (sum(f"\n{file.hunks}".count("\n@@") for file in patch.files) for patch in rendered)
        self._hunks = np.array([1 + count for count in hunks], dtype=np.float64)
        self._added = np.array([_added_share(patch) for patch in rendered])
        self._related_to = _find_related(rendered, references)

    def is_fair(self, left: Indices, right: Indices) -> Mask:
        """Return whether changes have fair sizes; the arguments are broadcast.

        None may have more lines and fewer characters than the other, so that both measures agree.
        """
        lines = self._lines[left] - self._lines[right]
        characters = self._characters[left] - self._characters[right]
        fair: Mask = (
            # Otherwise one would be the longest by lines and the other by characters, and an attack by either would
            # find a bias in one of them.
            (lines * characters >= 0)
            & _within_ratio(self._lines, left, right, MAX_RATIO)
            & _within_ratio(self._characters, left, right, MAX_RATIO)
            & _within_ratio(self._files, left, right, MAX_RATIO)
            & _within_ratio(self._hunks, left, right, MAX_RATIO)
            & (np.abs(self._added[left] - self._added[right]) <= MAX_ADDED_SHARE_DIFFERENCE)
        )
        return fair

    def related_changes(self, index: int) -> Indices:
        """Return the changes that belong to the same work as one, itself included."""
        return self._related_to[index]


def _within_ratio(values: npt.NDArray[np.float64], left: Indices, right: Indices, max_ratio: float) -> Mask:
    one, other = values[left], values[right]
    return (one <= max_ratio * other) & (other <= max_ratio * one)


def _added_share(patch: RenderedPatch) -> float:
    marks = [line[:1] for file in patch.files for line in file.hunks.split("\n")]
    added, removed = marks.count("+"), marks.count("-")
    return added / max(added + removed, 1)


def _find_related(shown: Sequence[RenderedPatch], links: Sequence[ChangeReferences]) -> list[Indices]:
    """Return for each change those that belong to the same work.

    One refers to the other, both refer to the same issue, their titles differ only in numbers, or their patches are
    equal.
    """
    related: list[set[int]] = [{index} for index in range(len(shown))]
    referring, named = (
        _positions_by_value(link.references for link in links),
        _positions_by_value(link.own_names for link in links),
    )
    # Parts of one work share their words and may both fit the text; equal titles up to numbers are parts of a series.
    same = [
        *_positions_by_value([patch.text] for patch in shown).values(),
        *_positions_by_value([link.title_words] if link.title_words else [] for link in links).values(),
        *referring.values(),
    ]
    for members in same:
        for index in members:
            related[index].update(members)
    for reference, members in referring.items():
        for index in named.get(reference, ()):
            related[index].update(members)
            for member in members:
                related[member].add(index)
    return [np.array(sorted(members), dtype=np.int64) for members in related]


def _positions_by_value(values: Iterable[Iterable[Hashable]]) -> dict[Hashable, list[int]]:
    """Return the indices at which each value occurs."""
    return grouped((entry, index) for index, entries in enumerate(values) for entry in entries)


Costs = npt.NDArray[np.float64]
ChoiceSet = tuple[int, ...]

# 14 partners make 364 sets of three, 40 make 9,880: the second number is tried only for changes that find none among
# the first.
_FIRST_PARTNERS: Final = 14
_MORE_PARTNERS: Final = 40
# Maximum number of sets tried for a leftover change.
_MAX_REPAIR_TRIES: Final = 24


class SetRelations(NamedTuple):
    """Relations between changes from which sets are built: near and fair partners, fairness, costs.

    ``nearest_partners``: best fair partners of a change, cheapest first; ``fair_partners``: all of them, in a fixed
    order. ``fairness``: square of pairwise fairness. ``set_costs``: costs of sets of the first row with three others
    each, by index; infinite if impossible. ``tie_order`` breaks ties.
    """

    change_count: int
    nearest_partners: Callable[[int], Indices]
    fair_partners: Callable[[int], Indices]
    fairness: Callable[[Indices], Mask]
    set_costs: Callable[[Indices, Indices], Costs]
    tie_order: Sequence[float]


@cache
def _triples(count: int) -> Indices:
    """Return all sets of three different numbers from 1 to ``count``."""
    return 1 + np.array(list(combinations(range(count), WRONG_CHOICE_COUNT)), dtype=np.int64).reshape(
        -1, WRONG_CHOICE_COUNT
    )


def build_sets_of_four(relations: SetRelations) -> list[ChoiceSet]:
    """Return disjoint sets whose members are pairwise fair, preferring low cost.

    Changes with the fewest partners are placed first. A leftover change then replaces a member of a set if that member
    can form a new set from other leftovers.
    """
    free = np.ones(relations.change_count, dtype=bool)
    partners = [relations.fair_partners(index) for index in range(relations.change_count)]
    sets: list[ChoiceSet] = []
    # Whoever has many partners finds a set later, too; the other order leaves most of the others alone.
    order = sorted(range(relations.change_count), key=lambda index: (len(partners[index]), relations.tie_order[index]))
    for index in order:
        if free[index] and (four := _cheapest_set_with(index, partners[index], free, relations)):
            free[list(four)] = False
            sets.append(four)
    return _repair_sets(sets, free, partners, order, relations)


def _cheapest_set_with(index: int, partners: Indices, free: Mask, relations: SetRelations) -> ChoiceSet | None:
    """Return the cheapest set of a change with its nearest free partners, else with more partners."""
    near = relations.nearest_partners(index)
    near = near[free[near]][:_FIRST_PARTNERS]
    rest = partners[free[partners]]
    further = np.concatenate((near, rest[~np.isin(rest, near)]))[:_MORE_PARTNERS]
    return _cheapest_set(index, near, relations) or (
        _cheapest_set(index, further, relations) if len(further) > len(near) else None
    )


def _cheapest_set(index: int, others: Indices, relations: SetRelations) -> ChoiceSet | None:
    if len(others) < WRONG_CHOICE_COUNT:
        return None
    rows = np.array([index, *others], dtype=np.int64)
    fair = relations.fairness(rows)
    triples = _triples(len(others))
    one, two, three = triples.T
    triples = triples[fair[one, two] & fair[one, three] & fair[two, three]]
    if not len(triples):
        return None
    costs = np.round(relations.set_costs(rows, triples), 9)
    best = int(costs.argmin())
    return (index, *(int(row) for row in rows[triples[best]])) if np.isfinite(costs[best]) else None


def _repair_sets(
    sets: list[ChoiceSet], free: Mask, partners: Sequence[Indices], order: Sequence[int], relations: SetRelations
) -> list[ChoiceSet]:
    """Return the sets after leftovers replaced members that form new sets with other leftovers."""
    for index in order:
        if not free[index] or not sets:
            continue
        is_partner = np.zeros(relations.change_count, dtype=bool)
        is_partner[partners[index]] = True
        held = is_partner[np.array(sets)]
        tried = 0
        for position in np.flatnonzero(held.sum(axis=1) >= WRONG_CHOICE_COUNT):
            members = sets[position]
            strangers = [member for member, fits in zip(members, held[position], strict=True) if not fits]
            for given in strangers or members:
                kept = tuple(member for member in members if member != given)
                tried += 1
                four = _replacement_set(index, given, kept, partners[given], free, relations)
                if four is not None:
                    sets[position] = (index, *kept)
                    sets.append(four)
                    free[[index, *four]] = False
                    break
            # The search for one leftover would otherwise go through all sets of the repository, for one more question.
            if not free[index] or tried >= _MAX_REPAIR_TRIES:
                break
    return sets


def _replacement_set(
    index: int, released: int, kept: ChoiceSet, partners: Indices, free: Mask, relations: SetRelations
) -> ChoiceSet | None:
    """Return a new set of the released member and leftovers if the change may take its place, else None."""
    rest = partners[free[partners]]
    rest = rest[rest != index][:_FIRST_PARTNERS]
    if len(rest) < WRONG_CHOICE_COUNT:
        return None
    costs = relations.set_costs(np.array([index, *kept], dtype=np.int64), _triples(WRONG_CHOICE_COUNT))
    return _cheapest_set(released, rest, relations) if np.isfinite(costs[0]) else None
