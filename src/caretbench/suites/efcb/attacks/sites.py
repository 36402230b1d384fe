"""Sites of GMCQ-Hard: the lines in which choices differ, as an attacker sees them who does not know which is right.

Four choices come from two edits: each site has two readings, and each choice one reading of each site. The difference
of the features of two readings is what any attacker on these features goes by.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from caretbench.suites.efcb.attacks.line_context import LineContext, Numbers
from caretbench.suites.efcb.attacks.line_features import FEATURES, features
from caretbench.suites.efcb.attacks.plausibility import Without
from caretbench.suites.efcb.edits.edit import Edit
from caretbench.suites.efcb.edits.patches import Patch


class PatchSite(NamedTuple):
    """Lines that change together: their places in the text, and two readings of them, without marks.

    ``first`` are the choices that have the first reading.
    """

    places: tuple[int, ...]
    readings: tuple[tuple[str, ...], tuple[str, ...]]
    first: frozenset[int]


def sites(choices: Sequence[str]) -> list[PatchSite] | None:
    """Return the sites of a question; None where its choices are no two edits of one patch, line by line."""
    split = [choice.split("\n") for choice in choices]
    if len({len(lines) for lines in split}) != 1:
        return None
    groups: dict[frozenset[int], list[int]] = {}
    for place, variants in enumerate(zip(*split, strict=True)):
        if len(set(variants)) > 1:
            holders = frozenset(index for index, text in enumerate(variants) if text == variants[0])
            if len(set(variants)) != 2 or len(holders) != len(choices) // 2:
                return None
            groups.setdefault(holders, []).append(place)
    found = []
    for holders, places in groups.items():
        other = next(index for index in range(len(choices)) if index not in holders)
        readings = tuple(tuple(split[index][place][1:] for place in places) for index in (0, other))
        found.append(PatchSite(tuple(places), (readings[0], readings[1]), holders))
    return found or None


def question_differences(lines: Sequence[str], found: Sequence[PatchSite], background: Without) -> Numbers:
    """Features of the first reading less those of the second, a row for each site; ``lines`` are any choice's."""
    everywhere = frozenset(place for site in found for place in site.places)
    return _differences(lines, [(site.places, site.readings, everywhere) for site in found], background)


def edit_differences(patch: Patch, edits: Sequence[Edit], background: Without) -> Numbers:
    """Features of the lines that each edit changes, as they are less as they become."""
    starts = []
    start = 0
    for file in patch.rendered.files:
        starts.append(start + 1)
        start += file.text.count("\n")
    asked = []
    for edit in edits:
        before, after = patch.changed_lines(edit)
        places = tuple(starts[file] + line for file, line in sorted(edit.lines))
        asked.append((places, (tuple(before), tuple(after)), frozenset(places)))
    return _differences(patch.rendered.text.split("\n"), asked, background)


def _differences(
    lines: Sequence[str],
    asked: Sequence[tuple[tuple[int, ...], tuple[tuple[str, ...], tuple[str, ...]], frozenset[int]]],
    background: Without,
) -> Numbers:
    context = LineContext(lines)
    known = {left_out: context.without(left_out) for _, _, left_out in asked}
    # A line that several edits change is the same before each of them.
    numbers: dict[tuple[int, str, frozenset[int]], int] = {}
    for places, readings, left_out in asked:
        for reading in readings:
            for place, text in zip(places, reading, strict=True):
                numbers.setdefault((place, text, left_out), len(numbers))
    rows = features(
        context, background, [(place, text, known[left_out]) for place, text, left_out in numbers]
    )
    found = np.zeros((len(asked), len(FEATURES)))
    for row, (places, readings, left_out) in enumerate(asked):
        for sign, reading in zip((1, -1), readings, strict=True):
            for place, text in zip(places, reading, strict=True):
                found[row] += sign * rows[numbers[place, text, left_out]]
    return found
