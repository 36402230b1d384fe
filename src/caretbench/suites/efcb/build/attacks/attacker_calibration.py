"""Calibration of the shipped attackers on the edits of one repository.

Some repositories are easier to predict than the training repositories, others harder. If the odds are too low, kept
edits still reveal the correct variant; if they are too high, the opposite guess does. The correct variant of an edit
is known, so one factor of the odds can be estimated from the build itself.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Final

import numpy as np

from caretbench.suites.efcb.build.attacks.code_likelihood import CodeModel
from caretbench.suites.efcb.build.attacks.edit_sites import edit_differences
from caretbench.suites.efcb.build.attacks.learned_attackers import (
    AttackerRound,
    EditSample,
    LearnedAttackers,
    edit_weights,
)
from caretbench.suites.efcb.build.attacks.line_features import FEATURE_NAMES
from caretbench.suites.efcb.build.edits.editable_patch import EditablePatch

MAX_CHANGES: Final = 120
"""Maximum number of changes for the estimate of a repository's factor."""
MAX_EDITS_PER_CHANGE: Final = 20
"""Maximum number of edits for each of these changes."""
_FACTORS: Final = tuple(step / 20 for step in range(6, 41))
# Prior standard deviation of the factor over repositories; measured: 0.15 over six repositories.
_SPREAD: Final = 0.3


def calibrate_attackers(
    attackers: LearnedAttackers, patches: Iterable[tuple[EditablePatch, CodeModel]], generator: random.Random
) -> LearnedAttackers:
    """Return the attackers with the first round's odds scaled by the likeliest factor for a repository.

    ``patches`` are some of its patches, each with the model of the repository's code without it.
    """
    rows = [np.zeros((0, len(FEATURE_NAMES)))]
    numbers: list[int] = []
    for number, (patch, code_model) in enumerate(patches):
        edits = patch.draw_edits(generator, MAX_EDITS_PER_CHANGE)
        rows.append(edit_differences(patch, edits, code_model))
        numbers += [number] * len(edits)
    sample = EditSample(np.concatenate(rows), np.array(numbers, dtype=np.int64))
    first, *others = attackers.rounds
    return attackers._replace(
        rounds=(first._replace(odds_factor=first.odds_factor * _likeliest_factor(first, sample)), *others)
    )


def _likeliest_factor(first: AttackerRound, sample: EditSample) -> float:
    odds = first.log_odds(sample.differences)
    weights = edit_weights(sample, np.ones(len(odds)))
    losses = [
        float((np.log1p(np.exp(-factor * odds)) * weights).sum()) + ((factor - 1) / _SPREAD) ** 2 / 2
        for factor in _FACTORS
    ]
    return _FACTORS[int(np.argmin(np.round(losses, 6)))]
