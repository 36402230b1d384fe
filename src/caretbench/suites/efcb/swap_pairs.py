"""Two edits for a question, so that the right choice has a given rank of plausibility among the four.

The choices are the patch, with the one edit, with the other, with both: each differs from the other three alike, so
that likeness says nothing. An n-gram model would still tell the right one, which is the most plausible of most sets; so
the pairs found here give it every rank, by each of the scorers of :mod:`~caretbench.suites.efcb.plausibility`.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, combinations_with_replacement, pairwise
from typing import Final, NamedTuple

from rapidfuzz.distance import Indel, Levenshtein

from caretbench.suites.efcb.balancing import Vector
from caretbench.suites.efcb.edits import Edit
from caretbench.suites.efcb.patches import Patch
from caretbench.suites.efcb.plausibility import ORDERS, SCORERS, InQuestion, Without, by_scorer, code_lines

MOST_EDITS: Final = 300
"""Looked at for each change."""
LEAST_DELTA: Final = 0.5
"""Natural logarithms by which each edit changes the combined score of the patch."""
_LEAST_GAP: Final = 1e-6
# Pairs that are proposed for each two kinds of edits, by the signs of their deltas; and that are tried for one vector.
_PROPOSALS: Final = 6
_TRIES: Final = 3
_MOST_VECTORS: Final = 32


class Pair(NamedTuple):
    """Two edits on different lines. ``deltas``: by how much the patch is more plausible without each, combined."""

    first: Edit
    second: Edit
    deltas: tuple[float, float]


class _Scored(NamedTuple):
    """An edit with the lines it changes, and its deltas by scorer.

    ``repository`` are the log-likelihoods of the lines before and after it, by order.
    """

    edit: Edit
    before: tuple[str, ...]
    after: tuple[str, ...]
    repository: Sequence[Sequence[float]]
    deltas: tuple[float, ...]


def pairs(patch: Patch, background: Without, generator: random.Random) -> dict[Vector, Pair]:
    """For each attainable vector of ranks one pair: how many choices go before the right one, by scorer.

    Empty where the patch has no two valid edits on different lines.
    """
    question = InQuestion(code_lines(patch.rendered.text))
    scored = _scored(patch, patch.edits(generator, MOST_EDITS), background, question)
    found: dict[Vector, Pair] = {}
    tried: Counter[Vector] = Counter()
    for first, second in _proposed(scored, generator):
        expected = _expected(first, second)
        tried[expected] += 1
        if expected in found or tried[expected] > _TRIES:
            continue
        ranks = _ranks(first, second, question)
        if ranks is not None and ranks not in found and _holds(patch, first.edit, second.edit):
            found[ranks] = Pair(first.edit, second.edit, (first.deltas[-1], second.deltas[-1]))
            if len(found) == _MOST_VECTORS:
                break
    return found


def _scored(patch: Patch, edits: Sequence[Edit], background: Without, question: InQuestion) -> list[_Scored]:
    """The edits whose combined delta is large enough, each scored by itself."""
    changed = [patch.changed_lines(edit) for edit in edits]
    likelihoods = background.log_likelihoods([line for sides in changed for side in sides for line in side])
    found = []
    position = 0
    for edit, (before, after) in zip(edits, changed, strict=True):
        size = len(before)
        sides = likelihoods[:, position : position + 2 * size].reshape(len(ORDERS), 2, size).sum(axis=2)
        position += 2 * size
        old, new = question.log_likelihoods((before, after), left_out=before)
        lost = (sides[:, :1] - sides[:, 1:]).tolist()
        deltas = tuple(values[0] for values in by_scorer(lost, [old - new]))
        if abs(deltas[-1]) >= LEAST_DELTA:
            found.append(_Scored(edit, tuple(before), tuple(after), sides.tolist(), deltas))
    return found


def _proposed(scored: Sequence[_Scored], generator: random.Random) -> Iterator[tuple[_Scored, _Scored]]:
    """Pairs on different lines: a few of each two kinds, so that rare ranks are tried as often as common ones."""
    kinds: dict[tuple[bool, ...], list[_Scored]] = defaultdict(list)
    for one in scored:
        kinds[tuple(delta > 0 for delta in one.deltas)].append(one)
    both = list(combinations_with_replacement(sorted(kinds), 2))
    generator.shuffle(both)
    for left, right in both:
        for _ in range(_PROPOSALS):
            first, second = generator.choice(kinds[left]), generator.choice(kinds[right])
            if first.edit.lines.isdisjoint(second.edit.lines):
                yield first, second


def _expected(first: _Scored, second: _Scored) -> Vector:
    """The ranks if each edit changed the scores as it does alone, which it does but for the question's own lines."""
    return tuple(
        (one < 0) + (other < 0) + (one + other < 0)
        for one, other in zip(first.deltas, second.deltas, strict=True)
    )


def _ranks(first: _Scored, second: _Scored, question: InQuestion) -> Vector | None:
    """How many of the three other choices are more plausible than the patch; none where two are as good as alike."""
    sides = (first.before, first.after, second.before, second.after)
    inside = question.log_likelihoods(sides, left_out=first.before + second.before)
    repository = [[*one, *other] for one, other in zip(first.repository, second.repository, strict=True)]
    found = []
    for old, new, other_old, other_new in by_scorer(repository, inside):
        likelihoods = [old + other_old, new + other_old, old + other_new, new + other_new]
        if any(high - low < _LEAST_GAP for low, high in pairwise(sorted(likelihoods))):
            return None
        found.append(sum(other > likelihoods[0] for other in likelihoods[1:]))
    return tuple(found)


def _holds(patch: Patch, first: Edit, second: Edit) -> bool:
    """Whether the four choices are four programs, as far from each other as they should be.

    None is a renaming of another, and none has more faults than the patch.
    """
    choices: list[list[Edit]] = [[], [first], [second], [first, second]]
    return (
        not any(patch.raises_errors(choice) for choice in choices[1:])
        and not any(patch.is_renaming(one, other) for one, other in combinations(choices, 2))
        and _alike([patch.around(choice, first, second) for choice in choices])
    )


def _alike(texts: Sequence[str]) -> bool:
    """Whether every text is as far from the other three as any other, by words and by characters.

    The two edits stand on different lines, and yet an alignment may find a cheaper way where they stand close together.
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


def ranks_of(scores: Mapping[str, Sequence[float]], correct: int) -> Vector:
    """How many choices are more plausible than the right one, by each of the scorers."""
    return tuple(sum(score > scores[scorer][correct] for score in scores[scorer]) for scorer in SCORERS)
