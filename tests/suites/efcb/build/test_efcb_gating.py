from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from caretbench.problem import Check, ChoiceCheck, CriterionCheck, NoSplice, Problem, Provenance, Question
from caretbench.suites.efcb.build.builder import QuestionGate


def problem(identity: str = "a", choices: tuple[str, ...] = ("w", "x", "y", "z"), reference: str = "B") -> Problem:
    check: Check = ChoiceCheck(correct=1) if choices else CriterionCheck(name="efcb-masked", maximum=10)
    return Problem(
        id=identity, suite="efcb", shown=Question(text=f"which of {identity}", choices=choices), splice=NoSplice(),
        reference=reference, checks=(check,), labels={"task": "gmcq-easy"}, cluster="r@1",
        provenance=Provenance(source="r"),
    )  # fmt: skip


def balanced(count: int, name: str = "") -> list[Problem]:
    """Fair questions, whose right letters and texts tell nothing."""
    found = []
    for number in range(count):
        one = problem(f"{name}{number}", reference="ABCD"[number % 4])
        found.append(one.model_copy(update={"checks": (ChoiceCheck(correct=number % 4),)}))
    return found


def by_reference(problem: Problem, text: str | None) -> Mapping[str, float]:
    return {"passed": float(text == problem.reference)}


def by_letter(problem: Problem, text: str | None) -> Mapping[str, float]:
    return {"passed": float(text == "B")}


def test_fair_questions_are_valid_and_decided_once(tmp_path: Path) -> None:
    gate = QuestionGate(by_reference)
    problems = balanced(100)
    path = tmp_path / "validity.jsonl"
    assert {row.verdict for row in gate.run(problems, path)} == {"valid"}
    unfair = QuestionGate(lambda _problem, _text: {"passed": 1.0})
    assert {row.verdict for row in unfair.run(problems, path)} == {"valid"}
    assert len(path.read_text().splitlines()) == 100


def test_a_small_tier_is_unverified(tmp_path: Path) -> None:
    many = balanced(100)
    few = [
        one.model_copy(update={"id": f"r{one.id}", "labels": {"task": "gmcq-easy", "tier": "adversarial"}})
        for one in [problem(f"r{number}") for number in range(12)]
    ]
    turned = [
        one.model_copy(update={"labels": {**one.labels, "rotation": float(turn)}, "id": f"{one.id}-{turn}"})
        for turn in range(1, 4)
        for one in [problem(f"t{turn} {number}") for number in range(40)]
    ]
    rows = QuestionGate(by_reference).run([*many, *few, *turned], tmp_path / "v")
    assert [row.verdict for row in rows] == ["valid"] * 100 + ["unverified"] * 132
    assert rows[100].reasons == (
        "too_small_to_test: gmcq-easy adversarial has 12 questions; attacks are tested with 100",
    )


def test_a_tier_that_position_answers_is_invalid(tmp_path: Path) -> None:
    fair, told = balanced(100), [problem(f"told {number}") for number in range(100)]
    told = [one.model_copy(update={"labels": {"task": "gmcq-hard"}}) for one in told]
    rows = QuestionGate(by_reference).run([*fair, *told], tmp_path / "v")
    assert [row.verdict for row in rows] == ["valid"] * 100 + ["invalid"] * 100
    assert rows[100].reasons == ("shortcut: always B is right in 100.0% of gmcq-hard, chance is 25%",)


@pytest.mark.parametrize(
    ("asked", "passes", "reason"),
    [
        (problem(choices=("w", "x", "w", "z")), "B", "choices_repeat"),
        (problem(), "C", "reference_fails"),
        (problem(), "BC", "wrong_passes"),
        (problem(), "B ", "answerable_without_answer"),
    ],
)
def test_what_measures_nothing_is_invalid(tmp_path: Path, asked: Problem, passes: str, reason: str) -> None:
    taken = {letter.strip() for letter in passes}
    gate = QuestionGate(lambda _problem, text: {"passed": float((text or "") in taken)})
    [row] = gate.run([asked], tmp_path / "v")
    assert row.verdict == "invalid"
    assert any(said.startswith(reason) for said in row.reasons)


def test_a_question_that_is_asked_twice_is_invalid_the_second_time(tmp_path: Path) -> None:
    first = problem("a")
    second = first.model_copy(update={"id": "b"})
    others = balanced(98)
    rows = QuestionGate(by_reference).run([first, second, *others], tmp_path / "v")
    assert [row.reasons for row in rows[:2]] == [(), ("near_duplicate: a",)]


@pytest.mark.parametrize(
    ("reference", "empty", "reason"),
    [
        ({"edit_similarity": 1.0, "floor": 0.4}, {"edit_similarity": 0.0}, ""),
        ({"edit_similarity": 1.0, "floor": 0.95}, {"edit_similarity": 0.0}, "copying_answers"),
        ({"edit_similarity": 0.8}, {"edit_similarity": 0.0}, "reference_fails"),
        ({"chrf": 1.0}, {"chrf": 0.2}, "answerable_without_answer"),
        ({"length": 1.0}, {"length": 0.0}, "not_measured"),
        ({"names_unsupported": 1.0}, {"names_unsupported": 0.0}, "reference_fails"),
        ({"names_unsupported": 0.0}, {"names_unsupported": 0.0}, "not_measured"),
    ],
)
def test_what_is_judged_is_looked_at_by_its_measures(
    tmp_path: Path, reference: dict[str, float], empty: dict[str, float], reason: str
) -> None:
    asked = problem(choices=(), reference="right")
    gate = QuestionGate(lambda _problem, text: reference if text == "right" else empty)
    [row] = gate.run([asked], tmp_path / "v")
    assert "; ".join(row.reasons).partition(":")[0] == reason
