"""Two edits of a patch for GMCQ-Hard: the choices are the patch, with one edit, with the other, and with both."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import combinations, islice
from typing import Final, Literal, NamedTuple

from rapidfuzz.distance import Indel, Levenshtein

from caretbench.suites.efcb.build.edits.editable_patch import EditablePatch
from caretbench.suites.efcb.build.edits.patch_parts import PatchEdit

MAX_EDITS: Final = 24
"""Maximum number of edits that are drawn for a change, evenly over their kinds."""
_MAX_TRIES: Final = 60
"""Maximum number of pairs that are examined for a change."""


NoPairReason = Literal["too_few_edits", "no_fair_pair"]
"""Reason why a change has no two edits."""


class EditPair(NamedTuple):
    """Two edits on different lines."""

    first: PatchEdit
    second: PatchEdit

    @property
    def versions(self) -> tuple[list[PatchEdit], ...]:
        """Edits of the four versions: none, the first, the second, both."""
        return ([], [self.first], [self.second], [self.first, self.second])


def find_pair(patch: EditablePatch, generator: random.Random) -> EditPair | NoPairReason:
    """Return two edits of a patch that give four different programs at equal distances, or why there are none."""
    edits = patch.draw_edits(generator, MAX_EDITS)
    pairs = _separate_pairs(edits, generator)
    first = next(pairs, None)
    if first is None:
        return "too_few_edits"
    tried = islice((first, *pairs), _MAX_TRIES)
    return next((pair for pair in tried if _is_valid_pair(patch, pair)), "no_fair_pair")


def _separate_pairs(edits: Sequence[PatchEdit], generator: random.Random) -> Iterator[EditPair]:
    """Yield the pairs of edits on different lines, in drawn order."""
    pairs = list(combinations(edits, 2))
    generator.shuffle(pairs)
    for one, other in pairs:
        if one.lines.isdisjoint(other.lines):
            yield EditPair(one, other)


def _is_valid_pair(patch: EditablePatch, pair: EditPair) -> bool:
    """Return whether the four choices are four different programs at equal distances.

    None is a renaming or reordering of another, and none has more syntax errors than the patch. With both edits no line
    repeats a neighbour, and the edits do not exchange the same texts: a test that expects another value in two
    places may be correct, too.
    """
    first, second = pair
    choices = pair.versions
    return (
        patch.exchanged_texts(first).isdisjoint(patch.exchanged_texts(second))
        and _are_equidistant([patch.excerpt(choice, first, second) for choice in choices])
        and not patch.copies_line(choices[3])
        and not any(patch.adds_syntax_errors(choice) for choice in choices[1:])
        and not any(patch.is_renaming(one, other) for one, other in combinations(choices, 2))
        and not any(patch.is_reordering(one, other) for one, other in combinations(choices, 2))
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
