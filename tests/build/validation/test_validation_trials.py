"""Verdicts of the gate for projects that follow from one answer's result."""

from __future__ import annotations

from typing import Any, cast

import pytest

from caretbench.build.projects.project_check import ProjectCheck
from caretbench.build.validation.workspace_gate import (
    EMPTY_ANSWERS,
    THROW,
    Trial,
    TrialAnswer,
    next_answer,
    verdict_of_result,
    verdict_without_kill,
)
from caretbench.execution.execution_types import Status
from caretbench.execution.workspaces.workspace_runner import WorkspaceResult
from caretbench.suites.validity import Validity
from tests.support.make_problem import make_problem

EMPTY = sorted(EMPTY_ANSWERS)[0]
NEGATED = TrialAnswer("negated", "x")


def trial(*answers: TrialAnswer) -> Trial:
    return Trial(make_problem("p"), ProjectCheck(cast("Any", None)), iter(answers))


def verdict(answer: TrialAnswer, status: Status, state: Trial | None = None, reason: str = "") -> Validity | None:
    return verdict_of_result(state or trial(), answer, WorkspaceResult(id="p", status=status, reason=reason))


@pytest.mark.parametrize("answer", [NEGATED, TrialAnswer(EMPTY, "")])
def test_a_fault_of_the_machine_decides_nothing_about_the_problem(answer: TrialAnswer) -> None:
    for reason, cause in (("", Status.SANDBOX_ERROR.value), ("no memory", "no memory")):
        row = verdict(answer, Status.SANDBOX_ERROR, reason=reason)
        assert row is not None
        assert (row.verdict, row.reasons) == ("unverified", (f"not_run: {cause}",))


def test_an_empty_answer_that_passes_is_invalid_and_one_that_fails_decides_nothing() -> None:
    row = verdict(TrialAnswer(EMPTY, ""), Status.PASSED)
    assert row is not None
    assert (row.verdict, row.reasons) == ("invalid", (f"answerable_without_answer: {EMPTY}",))
    assert verdict(TrialAnswer(EMPTY, ""), Status.FAILED) is None


def test_a_killed_mutant_makes_valid_and_one_that_does_not_compile_proves_nothing() -> None:
    row = verdict(NEGATED, Status.FAILED)
    assert row is not None
    assert (row.verdict, row.details["killed_by"]) == ("valid", "negated")
    state = trial()
    assert verdict(NEGATED, Status.COMPILE_ERROR, state) is None
    assert verdict(NEGATED, Status.PASSED, state) is None
    assert verdict_without_kill(state).reasons == ("no_killing_mutant: 2 tried",)


def test_a_killed_throw_shows_only_that_the_place_is_reached() -> None:
    state = trial()
    assert verdict(TrialAnswer(THROW, "raise"), Status.PASSED, state) is None
    assert verdict_without_kill(state).reasons == ("no_killing_mutant: 1 tried; even a throw passes",)


def test_throws_are_skipped_after_the_one_at_the_start_was_killed() -> None:
    answers = (TrialAnswer(THROW, "raise"), NEGATED)
    state = trial(*answers)
    assert next_answer(state) == answers[0]
    state = trial(*answers)
    state.killed_at_start = THROW
    assert next_answer(state) == NEGATED
    assert next_answer(state) is None
