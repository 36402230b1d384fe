"""Two edits for a question, such that what learned attackers count tells nothing of the right choice.

The choices are the patch, with the one edit, with the other, with both: each differs from the other three alike, so
that likeness says nothing. Most edits make a patch less plausible. An edit is used as often as its like in the other
direction: of edits whose difference speaks for the right reading by ``p`` to ``1 - p``, ``(1 - p) / p`` pass. Edits are
drawn from all changes first; learners on what passed in this build then give scores, by which pairs are evened.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations, combinations_with_replacement
from typing import Final, NamedTuple

import numpy as np
from rapidfuzz.distance import Indel, Levenshtein

from caretbench.suites.efcb.attacks.attackers import Attackers
from caretbench.suites.efcb.attacks.learned_attacks import scores_here
from caretbench.suites.efcb.attacks.line_context import Numbers
from caretbench.suites.efcb.attacks.line_features import FEATURES
from caretbench.suites.efcb.attacks.plausibility import Without
from caretbench.suites.efcb.attacks.sites import edit_differences
from caretbench.suites.efcb.choices.balancing import Vector
from caretbench.suites.efcb.edits.edit import Edit
from caretbench.suites.efcb.edits.patches import Patch

MOST_EDITS: Final = 150
"""Looked at for each change."""
SCORERS: Final = ("shipped", "judge", "linear_here", "trees_here", "combined")
"""Whose ranks of the right choice are even: shipped attackers, those learned on this build, and n-grams."""
# Edits that are counted at a time, and of which no more are looked at once so many passed.
_AT_ONCE: Final = 40
_ENOUGH: Final = 16
_COMBINED: Final = FEATURES.index("combined")
# Pairs that are proposed for each two kinds of edits, by the signs of their scores; and that are tried for one vector.
_PROPOSALS: Final = 4
_TRIES: Final = 2
_MOST_VECTORS: Final = 32


class Pair(NamedTuple):
    """Two edits on different lines."""

    first: Edit
    second: Edit


class Passed(NamedTuple):
    """The edits of one change that the attackers let pass, their differences, and how many edits there were.

    ``edits`` is 0 where no two are on different lines. ``differences`` has a row for each edit.
    """

    passed: tuple[Edit, ...]
    differences: Numbers
    edits: int


class Scored(NamedTuple):
    """An edit with its score by each of :data:`SCORERS`: above 0 where it speaks for the right reading."""

    edit: Edit
    scores: tuple[float, ...]


def passed_edits(patch: Patch, background: Without, attackers: Attackers, generator: random.Random) -> Passed:
    """Draw edits of a patch, and of these some that tell the attackers nothing."""
    edits = patch.edits(generator, MOST_EDITS)
    passed: list[Edit] = []
    rows: list[Numbers] = [np.zeros((0, len(FEATURES)))]
    if not _apart(edits):
        return Passed((), rows[0], 0)
    for start in range(0, len(edits), _AT_ONCE):
        some = edits[start : start + _AT_ONCE]
        differences = edit_differences(patch, some, background)
        kept = [
            place for place, chance in enumerate(attackers.passes(differences)) if generator.random() < chance
        ]
        passed += [some[place] for place in kept]
        rows.append(differences[kept])
        if len(passed) >= _ENOUGH:
            break
    return Passed(tuple(passed), np.concatenate(rows), len(edits))


def scored(
    found: Sequence[Passed], repositories: Sequence[str], changes: Sequence[str], attackers: Attackers
) -> list[list[Scored]]:
    """Return the scores of all edits that passed in a build, a list for each change.

    By their names, changes are put into parts for cross-validation; ``attackers`` were learned elsewhere.
    """
    if not found:
        return []
    here = scores_here([one.differences for one in found], repositories, changes)
    return [
        [
            Scored(edit, tuple(map(float, values)))
            for edit, *values in zip(
                one.passed,
                attackers.scores(one.differences)[:, 1],
                attackers.judge.scores(one.differences)[:, 1],
                *of_change.T,
                one.differences[:, _COMBINED],
                strict=True,
            )
        ]
        for one, of_change in zip(found, here, strict=True)
    ]


def pairs(patch: Patch, edits: Sequence[Scored], generator: random.Random) -> dict[Vector, Pair]:
    """For each attainable vector of ranks one pair: how many choices go before the right one, by :data:`SCORERS`."""
    found: dict[Vector, Pair] = {}
    tried: Counter[Vector] = Counter()
    for first, second in _proposed(edits, generator):
        ranks = _ranks(first, second, generator)
        tried[ranks] += 1
        if ranks not in found and tried[ranks] <= _TRIES and _holds(patch, first.edit, second.edit):
            found[ranks] = Pair(first.edit, second.edit)
            if len(found) == _MOST_VECTORS:
                break
    return found


def _apart(edits: Sequence[Edit]) -> bool:
    """Return whether two of the edits are on different lines."""
    return any(one.lines.isdisjoint(other.lines) for one, other in combinations(edits[:_AT_ONCE], 2))


def _proposed(passed: Sequence[Scored], generator: random.Random) -> Iterator[tuple[Scored, Scored]]:
    """Pairs on different lines: a few of each two kinds, so that rare ranks are tried as often as common ones."""
    kinds: dict[tuple[bool, ...], list[Scored]] = defaultdict(list)
    for one in passed:
        kinds[tuple(score > 0 for score in one.scores)].append(one)
    both = list(combinations_with_replacement(sorted(kinds), 2))
    generator.shuffle(both)
    for left, right in both:
        for _ in range(_PROPOSALS):
            first, second = generator.choice(kinds[left]), generator.choice(kinds[right])
            if first.edit.lines.isdisjoint(second.edit.lines):
                yield first, second


def _ranks(first: Scored, second: Scored, generator: random.Random) -> Vector:
    """Return how many choices go before the right one; where two are equal, either may."""
    found = []
    for one, other in zip(first.scores, second.scores, strict=True):
        ahead = [-one, -other, -one - other]
        found.append(sum(score > 0 or (score == 0 and generator.random() < 0.5) for score in ahead))
    return tuple(found)


def _holds(patch: Patch, first: Edit, second: Edit) -> bool:
    """Return whether the four choices are four programs, as far from each other as they should be.

    None is a renaming of another or has its lines in another order, and none has more faults than the patch. The one
    with both edits has no line that became like the next, and not the same exchange twice: a test that asks for another
    value in two places may be as right.
    """
    choices: list[list[Edit]] = [[], [first], [second], [first, second]]
    return (
        patch.exchanged(first).isdisjoint(patch.exchanged(second))
        and not any(patch.raises_errors(choice) for choice in choices[1:])
        and not any(patch.is_renaming(one, other) for one, other in combinations(choices, 2))
        and not any(patch.is_permutation(one, other) for one, other in combinations(choices, 2))
        and not patch.copies(choices[3])
        and _alike([patch.around(choice, first, second) for choice in choices])
    )


def _alike(texts: Sequence[str]) -> bool:
    """Return whether every text is as far from the other three as any other, by words and by characters.

    The two edits are on different lines, and yet an alignment may find a cheaper way where they are close together.
    """
    words = [text.split() for text in texts]
    return all(
        len({sum(distance(one, other) for other in sequences) for one in sequences}) == 1
        for distance, sequences in (
            (Indel.distance, words),
            (Indel.distance, texts),
            (Levenshtein.distance, texts),
        )
    )
