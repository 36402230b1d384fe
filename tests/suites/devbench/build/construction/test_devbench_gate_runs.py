"""Results of new instances in the sandbox: first the reference, then the verdict of the gate."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from caretbench.build import load_builder
from caretbench.execution.dispatcher import open_executor
from caretbench.execution.execution_types import Executor
from caretbench.problem import Problem
from caretbench.suites.devbench.build.construction.gate_runs import GateResult, GateRuns
from caretbench.suites.devbench.starter import problem_of_text
from caretbench.suites.validity import Validity

PROGRAM = "import sys\n\n\ndef total(values):\n    ⟦return sum(values)⟧\n⟦tests⟧\n"
PASSING = PROGRAM + "assert total([1, 2]) == 3\n"
FAILING = PROGRAM + "sys.exit('sk-abcdefghijklmnop is 3, not 4')\n"
ABOUT_TEXT = PROGRAM + "assert sys._getframe().f_lineno == 6\n"


class StatedGate:
    """A gate with stated reasons; it notes what it was asked about."""

    def __init__(self, *reasons: str) -> None:
        self.reasons = reasons
        self.asked: list[str] = []

    def run(self, problems: Sequence[Problem], path: Path) -> list[Validity]:  # noqa: ARG002  the form of a gate
        self.asked += [one.id for one in problems]
        return [
            Validity(
                problem_id=one.id,
                verdict="invalid" if self.reasons else "valid",
                reasons=self.reasons,
                details={"killed_by": "empty_list"},
            )
            for one in problems
        ]


@pytest.fixture(scope="module")
def executor() -> Executor:
    return open_executor(2).programs


def result(
    executor: Executor, text: str, *reasons: str, unverified: bool = False, without_program: bool = False
) -> tuple[GateResult, list[str]]:
    gate = StatedGate(*reasons)
    builder = load_builder("devbench")
    program = (lambda _problem, _text: None) if without_program else builder._program
    runs = GateRuns(gate, executor, program, Path("validity.jsonl"), unverified=unverified)
    problem = problem_of_text(text, "python/low_context/one", "made")
    [found] = runs.results([problem]).values()
    return found, gate.asked


def test_a_problem_that_passes_is_an_instance(executor: Executor) -> None:
    found, asked = result(executor, PASSING)
    assert found == GateResult("instance", "", "", "empty_list")
    assert asked == ["python/low_context/one"]
    assert result(executor, PASSING, without_program=True)[0].outcome == "instance"


def test_a_failing_reference_ends_before_the_gate_and_its_output_is_the_diagnosis(executor: Executor) -> None:
    found, asked = result(executor, FAILING)
    assert (found.outcome, asked) == ("gate", [])
    assert found.fault.startswith("reference_fails: ")
    assert found.detail.startswith(f"{found.fault}: ")
    assert found.detail.endswith("is 3, not 4")
    assert "abcdefghijklmnop" not in found.detail


def test_assertions_about_the_text_are_a_fault_behind_the_gate(executor: Executor) -> None:
    found, asked = result(executor, ABOUT_TEXT)
    assert (found.outcome, len(asked)) == ("gate", 1)
    assert "empty line" in found.fault


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("no_killing_mutant", "no_killing_mutant: assert results that a mistake changes, with their exact values"),
        ("weak_checks: 1 of 8", "weak_checks: 1 of 8: assert results that a mistake changes, with their exact values"),
        (
            "answerable_without_answer: stub",
            "answerable_without_answer: stub: the assertions do not need the reference",
        ),
        ("flaky", "flaky"),
    ],
)
def test_reasons_of_the_gate_say_what_they_mean(executor: Executor, reason: str, words: str) -> None:
    found, _ = result(executor, PASSING, reason)
    assert (found.outcome, found.fault, found.detail) == ("gate", words, words)


def test_what_this_machine_cannot_run_is_accepted_where_that_is_asked_for(executor: Executor) -> None:
    reason = "reference_not_run: no compiler"
    assert result(executor, PASSING, reason)[0].outcome == "unverified"
    accepted, _ = result(executor, PASSING, reason, unverified=True)
    assert (accepted.outcome, accepted.fault) == ("instance", reason)
