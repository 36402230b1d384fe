"""Selection of two edits for a question, so that learned attackers cannot find the correct choice.

The choices are the patch, with one edit, with another, and with both: all have the same distance to the others. Most
edits make a patch less plausible. So an edit whose features favour the correct variant by ``p`` to ``1 - p`` is kept
with probability ``(1 - p) / p``. Edits of all changes are drawn first; learners that are trained on the kept edits
of this build then give scores, and pairs are balanced on them.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations, combinations_with_replacement
from typing import Final, NamedTuple

import numpy as np
from rapidfuzz.distance import Indel, Levenshtein

from caretbench.suites.efcb.build.attacks.attack_accuracy import cross_validated_scores
from caretbench.suites.efcb.build.attacks.code_likelihood import CodeModel
from caretbench.suites.efcb.build.attacks.edit_sites import edit_differences
from caretbench.suites.efcb.build.attacks.learned_attackers import LearnedAttackers
from caretbench.suites.efcb.build.attacks.line_context import FloatArray
from caretbench.suites.efcb.build.attacks.line_features import FEATURE_NAMES
from caretbench.suites.efcb.build.edits.editable_patch import EditablePatch
from caretbench.suites.efcb.build.edits.patch_parts import PatchEdit
from caretbench.suites.efcb.problem_metadata import seeded_random

FeatureVector = tuple[int, ...]
"""Values of the features."""

_MAX_PASSES: Final = 20
# The excess is divided by this to get the number of items that are excluded before the next round.
_EXCLUSION_DIVISOR: Final = 6


def balance_items(
    candidates: Mapping[str, Collection[FeatureVector]], seed: int, purpose: str
) -> dict[str, FeatureVector]:
    """Return one vector for each item, so that the values of each feature are as balanced as possible.

    Items with the fewest candidates choose first; then each may choose again until none improves. Ties are broken by
    seed and ``purpose``.
    """
    drawn = {item: seeded_random(seed, purpose, item).random() for item in sorted(candidates)}
    order = sorted(candidates, key=lambda item: (len(candidates[item]), drawn[item], item))
    loads: Counter[tuple[int, int]] = Counter()
    chosen: dict[str, FeatureVector] = {}

    def load(vector: FeatureVector) -> int:
        return sum(loads[entry] for entry in enumerate(vector))

    for _ in range(_MAX_PASSES):
        changed = False
        for item in order:
            before = chosen.get(item)
            if before is not None:
                loads.subtract(enumerate(before))
            # Ties go to the smallest vector, so that the result does not depend on the order in which pairs were found.
            best = min(candidates[item], key=lambda vector: (load(vector), vector))
            if before is not None and load(best) >= load(before):
                best = before
            loads.update(enumerate(best))
            changed |= best != before
            chosen[item] = best
        if not changed:
            break
    return {item: chosen[item] for item in sorted(chosen)}


def balance_groups(
    candidates: Mapping[str, Collection[FeatureVector]],
    groups: Mapping[str, str],
    seed: int,
    purpose: str,
    value_count: int,
) -> dict[str, FeatureVector]:
    """Return one vector for each kept item: in each group, counts of a feature's values differ by at most 1.

    Items are excluded if all their candidates have values that are too frequent. Values are 0 to ``value_count - 1``.
    """
    members: dict[str, list[str]] = defaultdict(list)
    for item in sorted(candidates):
        members[groups[item]].append(item)
    kept: dict[str, FeatureVector] = {}
    for group in sorted(members):
        kept |= _balance_group(
            {item: candidates[item] for item in members[group]}, seed, f"{purpose} {group}", value_count
        )
    return kept


def _balance_group(
    candidates: Mapping[str, Collection[FeatureVector]], seed: int, purpose: str, value_count: int
) -> dict[str, FeatureVector]:
    left = dict(candidates)
    drawn = {item: seeded_random(seed, f"{purpose} left out", item).random() for item in left}
    while True:
        chosen = balance_items(left, seed, purpose)
        loads = _count_values(chosen, value_count)
        gap = max((max(load) - min(load) for load in loads), default=0)
        if gap <= 1:
            return chosen
        # Items with few candidates among equals first: the others may still change to a value that is rare.
        worst = sorted(chosen, key=lambda item: (-_excess(loads, chosen[item]), len(left[item]), drawn[item]))
        for item in worst[: max(1, gap // _EXCLUSION_DIVISOR)]:
            del left[item]


def _count_values(chosen: Mapping[str, FeatureVector], value_count: int) -> list[list[int]]:
    features = len(next(iter(chosen.values()), ()))
    loads = [[0] * value_count for _ in range(features)]
    for vector in chosen.values():
        for feature, value in enumerate(vector):
            loads[feature][value] += 1
    return loads


def _excess(loads: list[list[int]], vector: FeatureVector) -> float:
    """Return the excess of a vector's values over the mean frequency."""
    return sum(load[value] - sum(load) / len(load) for load, value in zip(loads, vector, strict=True))


# Features of an edit cost more than the edit itself, and at most 16 edits of a change are kept.
MAX_EDITS: Final = 150
"""Maximum number of edits examined for each change."""
RANK_SCORERS: Final = ("shipped", "judge", "linear_here", "trees_here", "combined")
"""Scorers whose ranks of the correct choice are balanced: shipped attackers, learners of this build, n-grams."""
# Edits whose features are computed together; no further batch after this number of kept edits.
_BATCH_SIZE: Final = 40
_MAX_SELECTED: Final = 16
_COMBINED: Final = FEATURE_NAMES.index("combined")
# Pairs proposed for each two groups of edits (by signs of their scores); pairs tried for one vector.
_PROPOSALS: Final = 4
_MAX_TRIES: Final = 2
_MAX_VECTORS: Final = 32


class EditPair(NamedTuple):
    """Two edits on different lines."""

    first: PatchEdit
    second: PatchEdit


class SelectedEdits(NamedTuple):
    """The kept edits of one change, their feature differences (a row each), and the number of all edits.

    ``edit_count`` is 0 if no two edits are on different lines.
    """

    edits: tuple[PatchEdit, ...]
    differences: FloatArray
    edit_count: int


class ScoredEdit(NamedTuple):
    """An edit with its score by each of :data:`RANK_SCORERS`: above 0 if it favours the correct variant."""

    edit: PatchEdit
    scores: tuple[float, ...]


def select_edits(
    patch: EditablePatch, code_model: CodeModel, attackers: LearnedAttackers, generator: random.Random
) -> SelectedEdits:
    """Draw edits of a patch, and keep a part of them so that attackers cannot predict the correct variant."""
    edits = patch.draw_edits(generator, MAX_EDITS)
    passed: list[PatchEdit] = []
    rows: list[FloatArray] = [np.zeros((0, len(FEATURE_NAMES)))]
    # Cheap, and first: without two lines to change no question is possible, whatever the attackers keep.
    if not _have_separate_lines(edits):
        return SelectedEdits((), rows[0], 0)
    for start in range(0, len(edits), _BATCH_SIZE):
        some = edits[start : start + _BATCH_SIZE]
        differences = edit_differences(patch, some, code_model)
        kept = [
            position
            for position, chance in enumerate(attackers.keep_probabilities(differences))
            if generator.random() < chance
        ]
        passed += [some[position] for position in kept]
        rows.append(differences[kept])
        if len(passed) >= _MAX_SELECTED:
            break
    return SelectedEdits(tuple(passed), np.concatenate(rows), len(edits))


def score_edits(
    selected: Sequence[SelectedEdits], repositories: Sequence[str], changes: Sequence[str], attackers: LearnedAttackers
) -> list[list[ScoredEdit]]:
    """Return the scores of all kept edits of a build, a list for each change.

    ``changes`` are names that decide the parts of cross-validation; ``attackers`` were trained on other repositories.
    """
    if not selected:
        return []
    here = cross_validated_scores([one.differences for one in selected], repositories, changes)
    return [
        [
            ScoredEdit(edit, tuple(map(float, values)))
            for edit, *values in zip(
                one.edits,
                attackers.scores(one.differences)[:, 1],
                attackers.evaluation_round.scores(one.differences)[:, 1],
                *of_change.T,
                one.differences[:, _COMBINED],
                strict=True,
            )
        ]
        for one, of_change in zip(selected, here, strict=True)
    ]


# Shipped attackers alone are too sure in some repositories: what they let pass in pants was told by the opposite, with
# .352 of 196 questions. So learners of the build itself balance the pairs.
def pairs_by_ranks(
    patch: EditablePatch, edits: Sequence[ScoredEdit], generator: random.Random
) -> dict[FeatureVector, EditPair]:
    """Return a pair for each possible vector of ranks (choices ahead of the correct one, by scorer)."""
    found: dict[FeatureVector, EditPair] = {}
    tried: Counter[FeatureVector] = Counter()
    for first, second in _propose_pairs(edits, generator):
        ranks = _correct_ranks(first, second, generator)
        tried[ranks] += 1
        if ranks not in found and tried[ranks] <= _MAX_TRIES and _is_valid_pair(patch, first.edit, second.edit):
            found[ranks] = EditPair(first.edit, second.edit)
            if len(found) == _MAX_VECTORS:
                break
    return found


def _have_separate_lines(edits: Sequence[PatchEdit]) -> bool:
    """Return whether two of the edits are on different lines."""
    return any(one.lines.isdisjoint(other.lines) for one, other in combinations(edits[:_BATCH_SIZE], 2))


def _propose_pairs(passed: Sequence[ScoredEdit], generator: random.Random) -> Iterator[tuple[ScoredEdit, ScoredEdit]]:
    """Yield pairs on different lines, a few of each two groups, so that rare ranks are tried as often."""
    kinds: dict[tuple[bool, ...], list[ScoredEdit]] = defaultdict(list)
    for one in passed:
        # Pairs drawn from all edits alike would seldom have the rare ranks, and these decide how many questions the
        # balance keeps.
        kinds[tuple(score > 0 for score in one.scores)].append(one)
    both = list(combinations_with_replacement(sorted(kinds), 2))
    generator.shuffle(both)
    for left, right in both:
        for _ in range(_PROPOSALS):
            first, second = generator.choice(kinds[left]), generator.choice(kinds[right])
            if first.edit.lines.isdisjoint(second.edit.lines):
                yield first, second


def _correct_ranks(first: ScoredEdit, second: ScoredEdit, generator: random.Random) -> FeatureVector:
    """Return the number of choices ahead of the correct one, by scorer; ties are drawn."""
    found = []
    for one, other in zip(first.scores, second.scores, strict=True):
        ahead = [-one, -other, -one - other]
        # A scorer that cannot tell two choices apart gives both the same rank; always the better one would look like a
        # bias.
        found.append(sum(score > 0 or (score == 0 and generator.random() < 0.5) for score in ahead))
    return tuple(found)


def _is_valid_pair(patch: EditablePatch, first: PatchEdit, second: PatchEdit) -> bool:
    """Return whether the four choices are four different programs at equal distances.

    None is a renaming or reordering of another, and none has more syntax errors than the patch. With both edits no line
    repeats a neighbour, and the edits do not exchange the same texts: a test that expects another value in two
    places may be correct, too.
    """
    choices: list[list[PatchEdit]] = [[], [first], [second], [first, second]]
    return (
        patch.exchanged_texts(first).isdisjoint(patch.exchanged_texts(second))
        and not any(patch.adds_syntax_errors(choice) for choice in choices[1:])
        and not any(patch.is_renaming(one, other) for one, other in combinations(choices, 2))
        and not any(patch.is_reordering(one, other) for one, other in combinations(choices, 2))
        and not patch.copies_line(choices[3])
        and _are_equidistant([patch.excerpt(choice, first, second) for choice in choices])
    )


def _are_equidistant(texts: Sequence[str]) -> bool:
    """Return whether every text has the same total distance to the others, by words and by characters.

    Although the edits are on different lines, an alignment may find a shortcut if they are close together.
    """
    words = [text.split() for text in texts]
    return all(
        len({sum(distance(one, other) for other in sequences) for one in sequences}) == 1
        for distance, sequences in ((Indel.distance, words), (Indel.distance, texts), (Levenshtein.distance, texts))
    )
