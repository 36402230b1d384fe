"""Calibration of the shipped attackers on the edits of one repository.

Some repositories are easier to predict than those that the attackers learned on, others harder. Where their odds are
too low, edits that pass still tell; where they are too high, edits tell by the opposite. Which reading of an edit is
right is known before any question is made, so that one factor of the odds can be estimated from the build itself.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Final

import numpy as np

from caretbench.suites.efcb.attacks.attackers import Attackers, Round, Sample, change_weights
from caretbench.suites.efcb.attacks.line_features import FEATURES
from caretbench.suites.efcb.attacks.plausibility import Without
from caretbench.suites.efcb.attacks.sites import edit_differences
from caretbench.suites.efcb.edits.patches import Patch

CHANGES: Final = 120
"""Maximum number of changes of a repository from which its factor is estimated."""
EDITS: Final = 20
"""Maximum number of edits of each of them."""
_FACTORS: Final = tuple(step / 20 for step in range(6, 41))
# Standard deviation of the factor over repositories, as assumed before any edit is seen: 0.15 over six repositories.
_SPREAD: Final = 0.3


def calibrated(
    attackers: Attackers, patches: Iterable[tuple[Patch, Without]], generator: random.Random
) -> Attackers:
    """Return the attackers with the odds of their first round multiplied by the factor that is the likeliest here.

    ``patches`` are some of one repository, each with the code of the repository without it.
    """
    rows = [np.zeros((0, len(FEATURES)))]
    numbers: list[int] = []
    for number, (patch, background) in enumerate(patches):
        edits = patch.edits(generator, EDITS)
        rows.append(edit_differences(patch, edits, background))
        numbers += [number] * len(edits)
    sample = Sample(np.concatenate(rows), np.array(numbers, dtype=np.int64))
    first, *others = attackers.rounds
    return attackers._replace(rounds=(first._replace(trust=first.trust * _factor(first, sample)), *others))


def _factor(first: Round, sample: Sample) -> float:
    odds = first.odds(sample.differences)
    weights = change_weights(sample, np.ones(len(odds)))
    losses = [
        float((np.log1p(np.exp(-factor * odds)) * weights).sum()) + ((factor - 1) / _SPREAD) ** 2 / 2
        for factor in _FACTORS
    ]
    return _FACTORS[int(np.argmin(np.round(losses, 6)))]
