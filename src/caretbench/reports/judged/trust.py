"""Reliability of judges: consistency over repeats, correctness on controls, and acceptance by them.

A judge is correct about a control if it gives the text the known rating (:func:`is_control_correct`). It *fails* if
its number of correct controls is so low that a good judge (correct with probability ``GOOD_JUDGE_ACCURACY``) would
have one that low in at most ``MAX_FALSE_REJECTION`` of runs (all controls of a criterion together). With too few
controls to tell a good judge from one that is correct half of the time (``BAD_JUDGE_ACCURACY``), the verdict is open,
and the judge is not accepted either.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations
from typing import Final, Literal, NamedTuple

import numpy as np

from caretbench.errors import UsageError
from caretbench.judging.aggregation import JudgeKey, TextKey, separation
from caretbench.judging.answers import answer_key
from caretbench.judging.controls import (
    HALLUCINATIONS,
    INSTRUCTION_CONTROLS,
    REFERENCE,
    TWICE,
    control_names,
    control_totals,
    question_controls,
)
from caretbench.judging.criteria import Criterion, get_criterion
from caretbench.metrics.agreement import krippendorff_alpha
from caretbench.problem import Problem
from caretbench.reports.judged.judged_texts import JudgedTexts, TextValue

ControlTexts = Mapping[str, Mapping[str, str]]
"""Texts of the controls by problem and name."""

MIN_REFERENCE_SHARE = 0.7
"""Minimum share of the maximum that the reference must get."""


class Consistency(NamedTuple):
    """Consistency of one judge, over the answers that it judged more than once.

    ``same`` is the share of pairs of repeats with equal values, ``difference`` their mean distance, ``deviation`` the
    pooled standard deviation, ``alpha`` Krippendorff's between the repeats (ordinal). ``order_effect`` is the mean gain
    of an answer from being shown before the reference, over the ``both_orders`` answers shown in both orders.
    """

    texts: int
    same: float | None
    difference: float | None
    deviation: float | None
    alpha: float | None
    both_orders: int = 0
    order_effect: float | None = None


def consistency(texts: Mapping[TextKey, TextValue], *, orders: int = 1) -> Consistency:
    """Return the consistency of a judge's repeats, which cycle through ``orders`` orders of the texts."""
    several = [text.by_repeat for text in texts.values() if len(text.by_repeat) > 1]
    if not several:
        return Consistency(0, None, None, None, None)
    distances = [abs(first - two) for values in several for first, two in combinations(values.values(), 2)]
    squares = math.fsum(float(np.var(list(values.values()))) * len(values) for values in several)
    numbers = sorted({repeat for values in several for repeat in values})
    ratings = [[values.get(repeat) for values in several] for repeat in numbers]
    gains = [gain for values in several if (gain := _gain(values, orders)) is not None]
    return Consistency(
        texts=len(several),
        same=sum(distance == 0 for distance in distances) / len(distances),
        difference=math.fsum(distances) / len(distances),
        deviation=math.sqrt(squares / sum(len(values) - 1 for values in several)),
        alpha=krippendorff_alpha(ratings),
        both_orders=len(gains),
        order_effect=math.fsum(gains) / len(gains) if gains else None,
    )


def _gain(values: Mapping[int, float], orders: int) -> float | None:
    """Return the mean with the answer first less the mean with the reference first."""
    if orders < 2:
        return None
    first = [value for repeat, value in values.items() if repeat % 2]
    second = [value for repeat, value in values.items() if not repeat % 2]
    return math.fsum(first) / len(first) - math.fsum(second) / len(second) if first and second else None


# --- controls ---------------------------------------------------------------------------------------------------


class ControlRating(NamedTuple):
    """Ratings of one control by a judge. ``right`` is the share of correct ratings.

    Correct means: the reference gets at least :data:`TOP` of the maximum and no hallucination; other controls of
    hallucinations are recognised; a wrong answer gets less than half. ``separation`` is the probability that a
    reference gets a better value than this control. ``order_effect`` is the gain of the control from being shown first,
    as a share of the scale, and ``order_error`` its standard error; None if it was shown in one order.
    ``reference_above`` is the share of problems whose reference is rated above this control; ties count half.
    """

    mean: float
    problems: int
    right: float
    separation: float | None = None
    order_effect: float | None = None
    order_error: float | None = None
    reference_above: float | None = None


class Calibration(NamedTuple):
    """Calibration of one judge by the controls. Precision and recall are those of hallucinations.

    ``unjudged`` is the number of missing judgements of controls, for problems with at least two judged ones.
    """

    controls: Mapping[str, ControlRating]
    unjudged: int
    precision: float | None = None
    recall: float | None = None
    in_order: bool | None = None


def calibration(judged: JudgedTexts, judge: JudgeKey, criterion: Criterion, problems: Sequence[Problem]) -> Calibration:
    """Return the calibration of a judge by the controls of all problems that are judged by the criterion."""
    values, gains, unjudged = _gathered(judged, judge, criterion, problems)
    bad = judged.form in HALLUCINATIONS
    ratings = {
        name: rating._replace(
            order_effect=float(np.mean(gains[name])) if len(gains[name]) > 1 else None,
            order_error=_standard_error(gains[name]),
        )
        for name, rating in _ratings(values, judged.maximum, bad=bad).items()
    }
    precision, recall = _precision_and_recall(values) if bad else (None, None)
    return Calibration(ratings, unjudged, precision, recall, in_order(ratings, bad=bad))


def caret_calibration(texts: Mapping[TextKey, TextValue], controls: ControlTexts, maximum: float) -> Calibration:
    """Return the calibration of a judge of texts at carets, by the problems of which it judged all controls."""
    answers = {problem: {name: answer_key(text) for name, text in named.items()} for problem, named in controls.items()}
    values = control_totals(answers, {text: value.value for text, value in texts.items()})
    ratings = _ratings({name: numbers for name, numbers in values.items() if numbers}, maximum)
    paired = {
        name: rating._replace(reference_above=_share_above(values[REFERENCE], values[name]))
        for name, rating in ratings.items()
        if name != REFERENCE
    }
    ratings |= paired
    return Calibration(ratings, 0, in_order=in_order(ratings) if ratings else None)


def decision_calibration(texts: Mapping[TextKey, TextValue], names: Mapping[TextKey, str]) -> Calibration:
    """Return the calibration of a judge of decisions by its controls, of which ``names`` has the names by text."""
    values: dict[str, list[float]] = {name: [] for name in INSTRUCTION_CONTROLS}
    for text, value in texts.items():
        if text in names:
            values[names[text]].append(value.value)
    # More than half of the rounds decide.
    return Calibration(_ratings({name: numbers for name, numbers in values.items() if numbers}, 1.0, least=0.5), 0)


def _ratings(
    values: Mapping[str, Sequence[float]], maximum: float, *, bad: bool = False, least: float | None = None
) -> dict[str, ControlRating]:
    """Return the ratings of the controls by a judge's values of them; the reference is not told from itself."""
    reference = [-value if bad else value for value in values.get(REFERENCE, ())]
    ratings = {}
    for name, numbers in values.items():
        right = [is_control_correct(name, value, maximum, bad=bad, least=least) for value in numbers]
        apart = separation(reference, [-value if bad else value for value in numbers]) if name != REFERENCE else None
        ratings[name] = ControlRating(
            math.fsum(numbers) / len(numbers), len(numbers), sum(right) / len(right), separation=apart
        )
    return ratings


def _share_above(reference: Sequence[float], control: Sequence[float]) -> float:
    wins = [(a > b) + (a == b) / 2 for a, b in zip(reference, control, strict=True)]
    return math.fsum(wins) / len(wins)


def _gathered(
    judged: JudgedTexts, judge: JudgeKey, criterion: Criterion, problems: Sequence[Problem]
) -> tuple[dict[str, list[float]], dict[str, list[float]], int]:
    """Return values and gains (from being shown first) of all judged controls, and the number of unjudged ones."""
    values: dict[str, list[float]] = {name: [] for name in control_names(criterion)}
    gains: dict[str, list[float]] = {name: [] for name in values}
    unjudged = 0
    for problem, texts in question_controls(problems, criterion).items():
        every = {name: judged.judges[judge].get((problem, answer_key(text))) for name, text in texts.items()}
        there = {name: value for name, value in every.items() if value is not None}
        # The reference alone may be a model's answer; with a second judged text, controls were requested.
        if len(there) > 1:
            unjudged += len(every) - len(there)
            for name, value in there.items():
                values[name].append(value.value)
                if (gain := _gain(value.by_repeat, criterion.order_count)) is not None:
                    gains[name].append(gain / judged.maximum)
    return {name: numbers for name, numbers in values.items() if numbers}, gains, unjudged


def _standard_error(values: Sequence[float]) -> float | None:
    """Return the standard error of the mean; None for fewer than two values."""
    return float(np.std(values, ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else None


def is_control_correct(name: str, value: float, maximum: float, *, bad: bool, least: float | None = None) -> bool:
    """Return whether a control got the correct value.

    Args:
        name: Name of the control.
        value: Its value.
        maximum: Maximum of the scale.
        bad: The value is a share of hallucinations.
        least: The reference must get more than this; by default at least :data:`MIN_REFERENCE_SHARE` of the maximum.
    """
    if bad:
        return value < 0.5 if name == REFERENCE else value > 0.5
    if name != REFERENCE:
        return value < maximum / 2
    return value >= MIN_REFERENCE_SHARE * maximum if least is None else value > least


def _precision_and_recall(values: Mapping[str, Sequence[float]]) -> tuple[float | None, float | None]:
    """Return precision and recall of hallucinations over all controls; a repeat counts as a part of a verdict."""
    false_alarms = math.fsum(values.get(REFERENCE, ()))
    there = [value for name, numbers in values.items() if name != REFERENCE for value in numbers]
    noticed = math.fsum(there)
    precision = noticed / (noticed + false_alarms) if noticed + false_alarms else None
    return precision, noticed / len(there) if there else None


def in_order(ratings: Mapping[str, ControlRating], *, bad: bool = False) -> bool | None:
    """Return whether the reference is rated best, and next to it the doubled one; None without two controls."""
    if REFERENCE not in ratings or len(ratings) < 2:
        return None
    means = {name: -rating.mean if bad else rating.mean for name, rating in ratings.items()}
    reference, doubled = means.pop(REFERENCE), means.pop(TWICE, None)
    # Which of the wrong texts is worst is a matter of taste.
    wrong = max(means.values(), default=-math.inf)
    return reference > wrong if doubled is None else reference > doubled > wrong


ACCEPTANCE_VERSION: Final = "controls@1"
"""Version of the rule by which judges are accepted."""

# Below 33 problems for each of three controls (35 for four), no threshold keeps both 1 % and 5 %.
# A judge that always said 4 earned the reference .760, and nothing withheld it: acceptance is by exact binomial bounds.
GOOD_JUDGE_ACCURACY: Final = 0.85
MAX_FALSE_REJECTION: Final = 0.01
"""Maximum probability that a good judge fails under one criterion."""
BAD_JUDGE_ACCURACY: Final = 0.5
MAX_FALSE_ACCEPTANCE: Final = 0.05
"""Maximum probability that a bad judge is accepted (``BAD_JUDGE_ACCURACY``: its share of correct controls)."""
MAX_ORDER_EFFECT: Final = 0.25
"""Maximum gain of a text from being shown first, as a share of the scale."""

_FEWEST_ORDERED: Final = 10
_DEVIATIONS: Final = 2.6  # 99 % of a normal distribution, both sides
_LARGEST: Final = 2000

State = Literal["accepted", "failed", "too_few", "unknown"]


class Acceptance(NamedTuple):
    """Verdict on one judge by one criterion, and the reason if it is not accepted."""

    state: State
    reason: str = ""

    @property
    def accepted(self) -> bool:
        """Return whether scores may include the judge's values."""
        return self.state == "accepted"


@cache
def min_correct_controls(problems: int, controls: int) -> int:
    """Return the number of problems, of ``problems``, in which a judge must judge a control correctly."""
    from scipy.special import bdtr  # takes a third of a second to load, and few runs have controls

    return int(
        # A judge fails by any one control, so the probability of a false rejection is divided among them.
        np.argmax(bdtr(np.arange(problems + 1), problems, GOOD_JUDGE_ACCURACY) > MAX_FALSE_REJECTION / controls)
    )


@cache
def min_control_problems(controls: int) -> int:
    """Return the number of problems for which each control must be judged to detect a bad judge."""
    from scipy.special import bdtrc

    last = 0
    for problems in range(1, 200):  # the probability falls with the problems, but not at every step
        required = min_correct_controls(problems, controls)
        if bdtrc(required - 1, problems, BAD_JUDGE_ACCURACY) > MAX_FALSE_ACCEPTANCE:
            last = problems
    return last + 1


def acceptance_of(calibration: Calibration, names: tuple[str, ...]) -> Acceptance:
    """Return the verdict on a judge by its ratings of the controls with these names."""
    if not names:
        return Acceptance("unknown", "there are no controls for this criterion")
    faults = list(_faults(calibration, names))
    if faults:
        return Acceptance("failed", "; ".join(faults))
    judged = {name: calibration.controls[name].problems if name in calibration.controls else 0 for name in names}
    if not any(judged.values()):
        return Acceptance("unknown", "no controls were judged")
    fewest = min(judged.values())
    if fewest < min_control_problems(len(names)):
        return Acceptance("too_few", f"too few controls ({fewest}; {min_control_problems(len(names))} are needed)")
    return Acceptance("accepted")


def _faults(calibration: Calibration, names: tuple[str, ...]) -> Iterator[str]:
    for name in names:
        rating = calibration.controls.get(name)
        if rating is None:
            continue
        problems = min(rating.problems, _LARGEST)  # more problems do not change the result
        # A share times its count may be a rounding error below the whole number, so a judge at the threshold passes.
        right = rating.right * problems
        if right < min_correct_controls(problems, len(names)) - 1e-9:
            yield f"{name} judged correctly in {round(rating.right * rating.problems)} of {rating.problems}"
    for name in names:
        rating = calibration.controls.get(name)
        if rating is None or rating.order_effect is None or rating.order_error is None:
            continue
        # The standard error of a handful of differences is itself too uncertain to fail a judge by.
        if rating.problems < _FEWEST_ORDERED:
            continue
        if abs(rating.order_effect) - _DEVIATIONS * rating.order_error > MAX_ORDER_EFFECT:
            verb = "gains" if rating.order_effect > 0 else "loses"
            yield f"{name} {verb} {abs(rating.order_effect):.0%} of the scale by being shown first"


def known_criterion(key: str) -> Criterion | None:
    """Return CaretBench's criterion with this name and version, or None."""
    try:
        return get_criterion(key)
    except UsageError:
        return None
