"""Calibration of attackers on one repository: the factor of their odds, and the edits that it is estimated from."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.efcb_learn_attackers import learn_round
from caretbench.suites.efcb.build.attacks.attacker_calibration import _likeliest_factor, calibrate_attackers
from caretbench.suites.efcb.build.attacks.code_likelihood import CodeModels
from caretbench.suites.efcb.build.attacks.learned_attackers import AttackerRound, EditSample, load_attackers
from caretbench.suites.efcb.build.changes import render_patch
from caretbench.suites.efcb.build.edits.editable_patch import EditablePatch
from caretbench.suites.efcb.problem_metadata import seeded_random
from tests.support.efcb_programs import added, change

CALLS = "def run(one, two, three):\n" + "".join(
    f"    step{line}(one, two)\n    step{line}(two, three)\n" for line in range(6)
)


def made(rows: int, strength: float, seed: int) -> np.ndarray:
    """Differences of which the first tells: the odds of the right reading are its exponential, times ``strength``."""
    draw = np.random.default_rng(seed)
    found = draw.normal(size=(rows, 4))
    right = draw.random(rows) < 1 / (1 + np.exp(-strength * found[:, 0]))
    found[~right, 0] *= -1
    return np.round(found, 4)


@pytest.fixture(scope="module")
def first() -> AttackerRound:
    """A round that learned where the odds are the exponential of twice the first difference."""
    rows = made(3000, 2.0, 0)
    return learn_round(rows, np.ones(len(rows)))


@pytest.mark.parametrize(("strength", "factor"), [(1.0, 0.5), (2.0, 1.0), (3.0, 1.5)])
def test_odds_are_lower_where_a_repository_is_harder_to_predict(
    first: AttackerRound, strength: float, factor: float
) -> None:
    here = made(4000, strength, 9)
    assert _likeliest_factor(first, EditSample(here, np.arange(4000))) == pytest.approx(factor, abs=0.2)
    # What passes tells nothing more, in either direction.
    fitted = first._replace(odds_factor=first.odds_factor * _likeliest_factor(first, EditSample(here, np.arange(4000))))
    passed = here[fitted.keep_probabilities(here) > np.random.default_rng(0).random(4000)]
    assert abs((passed[:, 0] > 0).mean() - 0.5) < 3.5 * 0.5 / len(passed) ** 0.5


def test_few_edits_change_little_and_none_nothing() -> None:
    pull = change(("a.py", added(CALLS)))
    background = CodeModels([pull]).excluding(pull.repo)
    patches = [(EditablePatch(render_patch(pull)), background)]
    one = calibrate_attackers(load_attackers(), patches, seeded_random(0, "test", "calibration"))
    assert one == calibrate_attackers(load_attackers(), patches, seeded_random(0, "test", "calibration"))
    assert one.rounds[0].odds_factor == pytest.approx(load_attackers().rounds[0].odds_factor, rel=0.3)
    assert one.rounds[1:] == load_attackers().rounds[1:]
    assert one.evaluation_round is load_attackers().evaluation_round
    assert (
        calibrate_attackers(load_attackers(), [], seeded_random(0, "test", "")).rounds[0].odds_factor
        == load_attackers().rounds[0].odds_factor
    )
