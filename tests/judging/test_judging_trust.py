"""Controls of questions, and what is said of a judge that was given them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caretbench.judging.answers import answer_key
from caretbench.judging.controls import _false_claims, control_names, question_control_sample, question_controls
from caretbench.judging.criteria import get_criterion
from caretbench.problem import Judgement, Problem
from caretbench.reports.judged.judged_texts import JudgedRun, JudgedTexts, TextValue
from caretbench.reports.judged.trust import ControlRating, calibration, consistency, in_order
from tests.support.questions import CHANGES, question_problem

CLAIMS, DESCRIPTION, FLAG = (
    get_criterion(name) for name in ("efcb-claims", "efcb-description", "efcb-hallucination-paper")
)
JUDGE = ("g", "p")


def problems(task: str = "reverse-qa-hallu") -> list[Problem]:
    return [question_problem(task, change) for change in CHANGES]


def repeats(*values: float) -> TextValue:
    return TextValue(dict(enumerate(values)), {})


def judged(values: dict[tuple[str, str], float], form: str = "claims", maximum: float = 1.0) -> JudgedTexts:
    texts = {key: repeats(value) for key, value in values.items()}
    return JudgedTexts("c@1", form, maximum, form == "claims", {JUDGE: texts}, {})


def test_judges_of_an_edited_criterion_have_each_their_own_overall_score() -> None:
    """A file of a criterion may be edited between two judges, without a new version."""
    infos, rows = [], []
    common = {"subject": "answer", "criterion": "q@1", "form": "scores", "scores": {"a": 5, "b": 5}}
    for judge, overall in (("g1", ["a"]), ("g2", ["a", "b"]), ("g3", ["b"])):
        settings = {**common, "overall": overall}
        infos.append({"model": judge, "source": "model", "parameters": "p", "settings": settings})
        rows.append(
            Judgement(problem_id="x", answer="y", judge=judge, parameters="p", criterion="q@1", values={"a": 1, "b": 3})
        )
    [problem, *_] = problems()
    [texts] = JudgedRun({"x": problem}, [], rows, {"judges": infos}).texts
    values = {judge: texts.judges[judge, "p"]["x", "y"].by_repeat for judge in ("g1", "g2", "g3")}
    assert values == {"g1": {0: 1.0}, "g2": {0: 2.0}, "g3": {0: 3.0}}


# --- controls ---------------------------------------------------------------------------------------------------


def test_which_controls_a_criterion_has() -> None:
    assert control_names(CLAIMS) == control_names(FLAG) == ("reference", "false-claim", "other-reference")
    assert control_names(DESCRIPTION) == ("reference", "other-reference", "empty")
    assert control_names(get_criterion("efcb-claim-support")) == ()


def test_every_control_of_every_problem() -> None:
    made = problems()
    found = question_controls(made, CLAIMS)
    references = {problem.reference for problem in made}
    for problem in made:
        texts = found[problem.id]
        assert list(texts) == ["reference", "false-claim", "other-reference"]
        assert texts["reference"] == problem.reference
        assert texts["other-reference"] in references - {problem.reference}
        start, _, claim = texts["false-claim"].rpartition("\n\n")
        assert start == problem.reference
        assert claim in {text for text, _ in _false_claims()}
    assert question_controls(made[::-1], CLAIMS) == found
    assert {text for texts in question_controls(made, DESCRIPTION).values() for text in texts.values()} >= {""}


def test_the_injected_statement_has_no_word_in_patch_or_text() -> None:
    problem = question_problem("reverse-qa-hallu", "cache")
    told = problem.reference + " " + " ".join(words[0] for _, words in _false_claims()[:-1])
    [texts] = question_controls([problem.model_copy(update={"reference": told})], CLAIMS).values()
    assert texts["false-claim"].endswith(_false_claims()[-1][0])
    told += " username"
    [texts] = question_controls([problem.model_copy(update={"reference": told})], CLAIMS).values()
    assert "false-claim" not in texts


def test_the_other_pull_request_is_another_one() -> None:
    made = problems()
    twin = made[0].model_copy(update={"id": "twin", "reference": "another text of the same change"})
    found = question_controls([made[0], twin], CLAIMS)
    assert all("other-reference" not in texts for texts in found.values())
    # Of another repository, where its own has no other.
    far = made[1].model_copy(update={"labels": {**made[1].labels, "repository": "c/d"}})
    assert question_controls([made[0], far], CLAIMS)[made[0].id]["other-reference"] == far.reference
    other_task = question_problem("reverse-qa", "flags")
    assert "other-reference" not in question_controls([made[0], other_task], CLAIMS)[made[0].id]


def test_the_sample_is_even_over_tasks() -> None:
    made = [*problems("reverse-qa"), *problems("mpr-gen")[:1]]
    assert [problem.labels["task"] for problem in question_control_sample(made, 2)] == ["mpr-gen", "reverse-qa"]
    assert question_control_sample(made, 2) == question_control_sample(made[::-1], 2)
    assert len(question_control_sample(made, 100)) == 4


# --- calibration ------------------------------------------------------------------------------------------------


def controls_judged(asked_by: str, values: dict[str, float], task: str) -> dict[tuple[str, str], float]:
    texts = question_controls(problems(task), get_criterion(asked_by))
    return {
        (problem, answer_key(text)): values[name]
        for problem, named in texts.items()
        for name, text in named.items()
        if name in values
    }


def test_a_judge_that_is_always_right() -> None:
    values = controls_judged(
        "efcb-claims", {"reference": 0, "false-claim": 1, "other-reference": 1}, "reverse-qa-hallu"
    )
    found = calibration(judged(values), JUDGE, CLAIMS, problems())
    assert (found.precision, found.recall, found.in_order, found.unjudged) == (1.0, 1.0, True, 0)
    assert {name: (control.mean, control.right) for name, control in found.controls.items()} == {
        "reference": (0.0, 1.0), "false-claim": (1.0, 1.0), "other-reference": (1.0, 1.0),
    }  # fmt: skip
    assert found.controls["false-claim"].separation == 1.0
    assert found.controls["reference"].separation is None


def test_a_judge_that_sees_hallucinations_everywhere() -> None:
    values = controls_judged(
        "efcb-claims", {"reference": 1, "false-claim": 1, "other-reference": 1}, "reverse-qa-hallu"
    )
    found = calibration(judged(values), JUDGE, CLAIMS, problems())
    assert (found.precision, found.recall, found.in_order) == (pytest.approx(6 / 9), 1.0, False)
    assert found.controls["reference"].right == 0.0
    assert found.controls["other-reference"].separation == 0.5


def test_a_judge_that_sees_none() -> None:
    values = controls_judged(
        "efcb-claims", {"reference": 0, "false-claim": 0, "other-reference": 0}, "reverse-qa-hallu"
    )
    found = calibration(judged(values), JUDGE, CLAIMS, problems())
    assert (found.precision, found.recall, found.in_order) == (None, 0.0, False)


def test_what_was_not_judged_does_not_count() -> None:
    values = controls_judged("efcb-claims", {"reference": 0, "false-claim": 1}, "reverse-qa-hallu")
    found = calibration(judged(values), JUDGE, CLAIMS, problems())
    assert (found.precision, found.recall, found.unjudged) == (1.0, 1.0, 3)
    assert "other-reference" not in found.controls
    # A model that wrote the reference was given no control.
    only = {key: value for key, value in values.items() if value == 0}
    assert calibration(judged(only), JUDGE, CLAIMS, problems()).controls == {}


def test_scores_must_be_top_for_the_truth_and_low_for_the_rest() -> None:
    values = controls_judged("efcb-description", {"reference": 7.0, "other-reference": 4.9, "empty": 0}, "reverse-qa")
    found = calibration(judged(values, "scores", 10.0), JUDGE, DESCRIPTION, problems("reverse-qa"))
    assert (found.precision, found.recall, found.in_order) == (None, None, True)
    assert [control.right for control in found.controls.values()] == [1.0, 1.0, 1.0]
    values = controls_judged("efcb-description", {"reference": 6.9, "other-reference": 5.0, "empty": 9.4}, "reverse-qa")
    found = calibration(judged(values, "scores", 10.0), JUDGE, DESCRIPTION, problems("reverse-qa"))
    assert [control.right for control in found.controls.values()] == [0.0, 0.0, 0.0]
    assert found.in_order is False


def test_the_order_of_the_controls() -> None:
    means = {"reference": 9.0, "reference-twice": 6.0, "other-reference": 1.0, "empty": 2.0}

    def ordered(**other: float) -> bool | None:
        return in_order({name: ControlRating(other.get(name, mean), 1, 1.0) for name, mean in means.items()})

    assert ordered()
    assert not ordered(empty=6.5)
    assert not ordered(reference=6.0)


# --- consistency ------------------------------------------------------------------------------------------------


def test_a_steady_judge() -> None:
    texts = {("p", str(value)): repeats(value, value) for value in range(11)}
    found = consistency(texts, orders=2)
    assert (found.texts, found.same, found.difference, found.deviation, found.order_effect) == (11, 1.0, 0.0, 0.0, 0.0)
    assert found.alpha == pytest.approx(1.0)


def test_a_judge_that_likes_what_stands_first() -> None:
    texts = {("p", "a"): repeats(4, 6), ("p", "b"): repeats(2, 5, 4), ("p", "c"): repeats(7)}
    found = consistency(texts, orders=2)
    assert (found.texts, found.same) == (2, 0.0)
    assert found.difference == pytest.approx((2 + 3 + 2 + 1) / 4)
    assert found.order_effect == pytest.approx(((6 - 4) + (5 - 3)) / 2)
    assert found.deviation == pytest.approx(math.sqrt((2 + 14 / 3) / 3))
    assert consistency(texts).order_effect is None
    assert consistency({("p", "a"): repeats(1)}) == (0, None, None, None, None, 0, None)


@given(st.lists(st.lists(st.integers(0, 10).map(float), min_size=1, max_size=4), max_size=8))
def test_shares_and_distances_are_in_range(values: list[list[float]]) -> None:
    found = consistency({("p", str(place)): repeats(*row) for place, row in enumerate(values)}, orders=2)
    for number, top in ((found.same, 1), (found.difference, 10), (found.deviation, 10)):
        assert number is None or 0 <= number <= top
