"""Edit sites of GMCQ-Hard: the lines in which the choices differ, as seen by an attacker.

Four choices come from two edits: each site has two variants, and each choice has one variant of each site. Attackers
score the difference of the variants' features.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from caretbench.suites.efcb.build.attacks.code_likelihood import CodeModel
from caretbench.suites.efcb.build.attacks.line_context import FloatArray, LineContext
from caretbench.suites.efcb.build.attacks.line_features import FEATURE_NAMES, line_features
from caretbench.suites.efcb.build.edits.editable_patch import EditablePatch
from caretbench.suites.efcb.build.edits.patch_parts import PatchEdit


class EditSite(NamedTuple):
    """Lines that change together: positions in the text, and their two variants, without diff marks.

    ``first_choices`` are the choices with the first variant.
    """

    positions: tuple[int, ...]
    variants: tuple[tuple[str, ...], tuple[str, ...]]
    first_choices: frozenset[int]


def find_sites(choices: Sequence[str]) -> list[EditSite] | None:
    """Return the edit sites of a question; None if its choices are not two edits of one patch, line by line."""
    split = [choice.split("\n") for choice in choices]
    if len({len(lines) for lines in split}) != 1:
        return None
    groups: dict[frozenset[int], list[int]] = {}
    for position, variants in enumerate(zip(*split, strict=True)):
        if len(set(variants)) > 1:
            holders = frozenset(index for index, text in enumerate(variants) if text == variants[0])
            if len(set(variants)) != 2 or len(holders) != len(choices) // 2:
                return None
            groups.setdefault(holders, []).append(position)
    found = []
    for holders, places in groups.items():
        other = next(index for index in range(len(choices)) if index not in holders)
        readings = tuple(tuple(split[index][position][1:] for position in places) for index in (0, other))
        found.append(EditSite(tuple(places), (readings[0], readings[1]), holders))
    return found or None


def question_differences(lines: Sequence[str], sites: Sequence[EditSite], code_model: CodeModel) -> FloatArray:
    """Return features of the first variant minus the second, a row for each site.

    ``lines`` are those of any choice.
    """
    everywhere = frozenset(position for site in sites for position in site.positions)
    return _differences(lines, [(site.positions, site.variants, everywhere) for site in sites], code_model)


def edit_differences(patch: EditablePatch, edits: Sequence[PatchEdit], code_model: CodeModel) -> FloatArray:
    """Return features of the lines that each edit changes, before minus after."""
    starts = []
    start = 0
    for file in patch.rendered.files:
        starts.append(start + 1)
        start += file.text.count("\n")
    site_readings = []
    for edit in edits:
        before, after = patch.changed_lines(edit)
        places = tuple(starts[file] + line for file, line in sorted(edit.lines))
        site_readings.append((places, (tuple(before), tuple(after)), frozenset(places)))
    return _differences(patch.rendered.text.split("\n"), site_readings, code_model)


def _differences(
    lines: Sequence[str],
    site_readings: Sequence[tuple[tuple[int, ...], tuple[tuple[str, ...], tuple[str, ...]], frozenset[int]]],
    code_model: CodeModel,
) -> FloatArray:
    context = LineContext(lines)
    visible_lines = {left_out: context.excluding(left_out) for _, _, left_out in site_readings}
    # Before their edits, lines that several edits change are the same.
    numbers: dict[tuple[int, str, frozenset[int]], int] = {}
    for places, readings, left_out in site_readings:
        for reading in readings:
            for position, text in zip(places, reading, strict=True):
                numbers.setdefault((position, text, left_out), len(numbers))
    rows = line_features(
        context, code_model, [(position, text, visible_lines[left_out]) for position, text, left_out in numbers]
    )
    found = np.zeros((len(site_readings), len(FEATURE_NAMES)))
    for row, (places, readings, left_out) in enumerate(site_readings):
        for sign, reading in zip((1, -1), readings, strict=True):
            for position, text in zip(places, reading, strict=True):
                found[row] += sign * rows[numbers[position, text, left_out]]
    return found
