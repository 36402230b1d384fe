"""Acceptance of judges by their controls, a condition for a grader's values to enter a score.

A judge is correct about a control if it gives the text the known rating (``trust.is_control_correct``). It *fails* if
its number of correct controls is so low that a good judge (correct with probability ``GOOD_GRADER_ACCURACY``) would
have one that low in at most ``MAX_FALSE_REJECTION`` of runs (all controls of a criterion together). With too few
controls to tell a good judge from one that is correct half of the time (``BAD_GRADER_ACCURACY``), the verdict is open,
and the judge is not accepted either.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final, Literal, NamedTuple

import numpy as np

from caretbench.judging.aggregation import GraderKey
from caretbench.judging.criteria import Criterion
from caretbench.judging.criteria import criterion as find_criterion
from caretbench.judging.question_controls import control_names
from caretbench.reports.judged.answer_values import JudgedTexts
from caretbench.reports.judged.judged_answers import JudgedAnswers, grader_title
from caretbench.reports.judged.trust import Calibration, calibration

ACCEPTANCE_VERSION: Final = "controls@1"
"""Version of the rule by which graders are accepted."""

GOOD_GRADER_ACCURACY: Final = 0.85
MAX_FALSE_REJECTION: Final = 0.01
"""Maximum probability that a good grader fails under one criterion."""
BAD_GRADER_ACCURACY: Final = 0.5
MAX_FALSE_ACCEPTANCE: Final = 0.05
"""Maximum probability that a bad grader is accepted (``BAD_GRADER_ACCURACY``: its share of correct controls)."""
MAX_ORDER_EFFECT: Final = 0.25
"""Maximum gain of a text from being shown first, as a share of the scale."""

_FEWEST_ORDERED: Final = 10
_DEVIATIONS: Final = 2.6  # 99 % of a normal distribution, both sides
_LARGEST: Final = 2000

State = Literal["accepted", "failed", "too_few", "unknown"]


class Acceptance(NamedTuple):
    """Verdict on one grader by one criterion, and the reason if it is not accepted."""

    state: State
    reason: str = ""

    @property
    def accepted(self) -> bool:
        """Return whether scores may include the grader's values."""
        return self.state == "accepted"


@cache
def min_correct_controls(problems: int, controls: int) -> int:
    """Return the number of problems, of ``problems``, in which a grader must judge a control correctly."""
    from scipy.special import bdtr  # takes a third of a second to load, and few runs have controls

    return int(
        np.argmax(bdtr(np.arange(problems + 1), problems, GOOD_GRADER_ACCURACY) > MAX_FALSE_REJECTION / controls)
    )


@cache
def min_control_problems(controls: int) -> int:
    """Return the number of problems for which each control must be judged to detect a bad grader."""
    from scipy.special import bdtrc

    last = 0
    for problems in range(1, 200):  # the probability falls with the problems, but not at every step
        required = min_correct_controls(problems, controls)
        if bdtrc(required - 1, problems, BAD_GRADER_ACCURACY) > MAX_FALSE_ACCEPTANCE:
            last = problems
    return last + 1


def grader_acceptance(found: Calibration, criterion: Criterion) -> Acceptance:
    """Return the verdict on a grader by its ratings of the controls of a criterion."""
    return acceptance_of(found, control_names(criterion))


def acceptance_of(found: Calibration, names: tuple[str, ...]) -> Acceptance:
    """Return the verdict on a grader by its ratings of the controls with these names."""
    if not names:
        return Acceptance("unknown", "there are no controls for this criterion")
    faults = list(_faults(found, names))
    if faults:
        return Acceptance("failed", "; ".join(faults))
    judged = {name: found.controls[name].problems if name in found.controls else 0 for name in names}
    if not any(judged.values()):
        return Acceptance("unknown", "no controls were judged")
    fewest = min(judged.values())
    if fewest < min_control_problems(len(names)):
        return Acceptance("too_few", f"too few controls ({fewest}; {min_control_problems(len(names))} are needed)")
    return Acceptance("accepted")


def _faults(found: Calibration, names: tuple[str, ...]) -> Iterator[str]:
    for name in names:
        rating = found.controls.get(name)
        if rating is None:
            continue
        problems = min(rating.problems, _LARGEST)  # more problems do not change the result
        right = rating.right * problems
        if right < min_correct_controls(problems, len(names)) - 1e-9:
            yield f"{name} judged correctly in {round(rating.right * rating.problems)} of {rating.problems}"
    for name in names:
        rating = found.controls.get(name)
        if rating is None or rating.order_effect is None or rating.order_error is None:
            continue
        if rating.problems < _FEWEST_ORDERED:
            continue
        if abs(rating.order_effect) - _DEVIATIONS * rating.order_error > MAX_ORDER_EFFECT:
            verb = "gains" if rating.order_effect > 0 else "loses"
            yield f"{name} {verb} {abs(rating.order_effect):.0%} of the scale by being shown first"


def run_acceptance(answers: JudgedAnswers, judged: JudgedTexts, grader: GraderKey) -> Acceptance:
    """Return the verdict on one grader by one criterion of a run."""
    criterion = known_criterion(judged.criterion)
    if criterion is None:
        return Acceptance("unknown", "the controls of this criterion are not known")
    return grader_acceptance(calibration(judged, grader, criterion, answers.problems_of(judged.criterion)), criterion)


def known_criterion(key: str) -> Criterion | None:
    """Return CaretBench's criterion with this name and version, or None."""
    try:
        return find_criterion(key)
    except KeyError:
        return None


def withheld_by_criterion(answers: JudgedAnswers) -> Mapping[str, str]:
    """Return the reason for withholding scores, by criterion, for criteria with a grader that is not accepted."""
    found: dict[str, str] = {}
    for judged in answers.texts():
        verdicts = [(key, run_acceptance(answers, judged, key)) for key in judged.graders]
        reasons = [
            rejection_line(grader_title(key, judged), judged.criterion, verdict)
            for key, verdict in verdicts
            if not verdict.accepted
        ]
        if reasons:
            found[judged.criterion] = "; ".join(reasons)
    return found


def rejection_line(grader: str, criterion: str, verdict: Acceptance) -> str:
    """Return one line with grader, criterion and the reason for rejection."""
    reason = (
        f"fails its controls: {verdict.reason} (rule {ACCEPTANCE_VERSION})"
        if verdict.state == "failed"
        else verdict.reason
    )
    return f"{grader} by {criterion}: {reason}"
