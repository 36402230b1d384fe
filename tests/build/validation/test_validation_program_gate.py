from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import pytest

from caretbench.build.validation.mutants import mutants, strength
from caretbench.build.validation.program_gate import GateAnswer, GateOutcome, ProgramGate, weak_checks
from caretbench.execution.execution_types import ExecutionRequest, ExecutionResult, Status
from caretbench.extraction.policies import get_policy
from caretbench.problem import Problem
from caretbench.suites import load_suite
from caretbench.suites.baselines import stub
from caretbench.suites.validity import Validity
from tests.support.fakes import FakeExecutor
from tests.support.make_problem import MakeProblem

Decide = Callable[[ExecutionRequest], Status]


def judge(path: Path, problem: Problem, decide: Decide, *, strict: bool = False) -> tuple[Validity, FakeExecutor]:
    house = load_suite("devbench")
    executor = FakeExecutor(decide)
    gate = ProgramGate(
        executor,
        get_policy(),
        lambda p, text: house.make_request(p, text, "default"),
        house.failed_predicates,
        strict=strict,
    )
    [verdict] = gate.run([problem], path / "verdicts.jsonl")
    return verdict, executor


def reference(request: ExecutionRequest) -> bool:
    return "def double(x):\n    return 2 * x\n" in request.source


def test_a_problem_that_kills_a_wrong_answer_is_valid(tmp_path: Path, make_problem: MakeProblem) -> None:
    def decide(request: ExecutionRequest) -> Status:
        if reference(request):
            return Status.PASSED
        return Status.FAILED if "return" in request.source else Status.COMPILE_ERROR

    verdict, executor = judge(tmp_path, make_problem(), decide)
    assert (verdict.verdict, verdict.reasons) == ("valid", ())
    assert verdict.details["killed_by"]
    repeats = [request.repeat for request in executor.asked if reference(request)]
    assert repeats == [0, 1, 2]


def test_mutants_that_do_not_compile_prove_nothing(tmp_path: Path, make_problem: MakeProblem) -> None:
    verdict, _ = judge(tmp_path, make_problem(), lambda r: Status.PASSED if reference(r) else Status.COMPILE_ERROR)
    assert verdict.verdict == "unverified"
    assert verdict.reasons[0].startswith("no_killing_mutant: ")


def test_a_missing_answer_that_fails_may_not_be_enough(tmp_path: Path, make_problem: MakeProblem) -> None:
    problem = make_problem()
    missing = {problem.splice.program(text) for text in ("", stub(problem))}

    def only_missing_answers_fail(request: ExecutionRequest) -> Status:
        return Status.RUNTIME_ERROR if request.source in missing else Status.PASSED

    verdict, _ = judge(tmp_path / "usual", problem, only_missing_answers_fail)
    assert (verdict.verdict, verdict.details["killed_by"]) == ("valid", "empty")
    verdict, _ = judge(tmp_path / "strict", problem, only_missing_answers_fail, strict=True)
    assert verdict.verdict == "unverified"
    assert verdict.reasons[0].startswith("weak_checks: ")


def test_a_problem_without_any_mutant_is_unverified(tmp_path: Path, make_problem: MakeProblem) -> None:
    # Only the size of the moved vector was asserted: that nothing at all fails shows no more than that it must compile.
    problem = make_problem(
        language="cpp", prefix="int main() {\n  auto loads = ", reference="std::move(tons)", suffix=";\n", hidden="}\n"
    )
    assert mutants(problem) == []
    found, _ = judge(
        tmp_path, problem, lambda r: Status.PASSED if "std::move(tons)" in r.source else Status.RUNTIME_ERROR
    )
    assert (found.verdict, found.reasons) == ("unverified", ("no_killing_mutant: 0 tried",))


def test_the_row_says_how_strong_the_killing_mutant_is(tmp_path: Path, make_problem: MakeProblem) -> None:
    found, _ = judge(tmp_path / "value", make_problem(), lambda r: Status.PASSED if reference(r) else Status.FAILED)
    assert (found.details["killed_by"], found.details["strength"]) == ("number", "value")
    made = make_problem()
    values = {made.splice.program(one.text) for one in mutants(made) if strength(one.name) == "value"}
    found, _ = judge(
        tmp_path / "default", made, lambda r: Status.PASSED if reference(r) or r.source in values else Status.FAILED
    )
    assert (found.verdict, found.details["strength"]) == ("valid", "default")


TEXT, COMMENTED = '\n    {x}\n    kg"""', '\n# Does something.\n    {x}\n    kg"""'


@pytest.mark.parametrize(
    ("before", "right", "passing", "reasons", "failed"),
    [
        ("    return ", "max(x, 'a')", [], [], "other quotes"),
        ("    return ", "max(x, 'a')", ['max(x, "a")'], [], None),
        ("    c = ", "x + 1", ["c = x + 1"], ["wrong_answer_passes: line again"], None),
        # With tabs a text of several lines is another one, wherever it begins.
        ("    c = ", f'"""{TEXT}', [f'"""{COMMENTED}'], ["right_answer_fails: tabs in a string"], "tabs"),
        ('    c = """', TEXT, [COMMENTED],
         ["right_answer_fails: fence in a string", "right_answer_fails: tabs in a string"], "fence, tabs"),
    ],
)  # fmt: skip
def test_right_answers_in_other_layouts_and_the_line_again_are_tried(
    tmp_path: Path, make_problem: MakeProblem, before: str, right: str, passing: list[str], reasons: list[str],
    failed: str | None,
) -> None:  # fmt: skip
    made = make_problem(prefix=f"def f(x):\n{before}", reference=right, suffix="\n    return 1\n")
    sources = {made.splice.program(text) for text in (right, *passing)}
    found, executor = judge(tmp_path, made, lambda r: Status.PASSED if r.source in sources else Status.FAILED)
    assert (found.verdict, list(found.reasons)) == ("invalid" if reasons else "valid", reasons)
    assert found.details.get("right_answers_failed") == failed
    assert len({one.source for one in executor.asked}) == len(executor.asked) - 2  # equal texts run once


def outcomes(**statuses: Sequence[Status]) -> dict[GateAnswer, GateOutcome]:
    return {
        GateAnswer(name, f"{number}", trivial=name in {"empty", "stub"}): GateOutcome(status, (), None)
        for name, found in statuses.items()
        for number, status in enumerate(found)
    }


@pytest.mark.parametrize(
    ("statuses", "reason"),
    [
        ({"number": [Status.FAILED, Status.PASSED]}, ""),
        ({"number": [Status.FAILED, Status.PASSED, Status.PASSED]}, "2 of 3 changed references pass (number, number)"),
        ({"number": [Status.FAILED, Status.PASSED, Status.COMPILE_ERROR]}, ""),
        ({"throw": [Status.FAILED] * 3, "number": [Status.PASSED]}, "no changed value fails (number)"),
        ({"throw": [Status.FAILED], "default_return": [Status.FAILED]}, ""),
        ({"crash": [Status.FAILED], "number": [Status.PASSED]}, "1 of 1 changed references pass (number)"),
        ({"vague_comment": []}, ""),
    ],
)
def test_weak_checks(statuses: dict[str, list[Status]], reason: str) -> None:
    first = {"reference": [Status.PASSED], "empty": [Status.FAILED], "stub": [Status.FAILED]}
    assert weak_checks(outcomes(**first, **statuses)).removeprefix("weak_checks: ") == reason


def test_an_empty_answer_that_passes_makes_a_problem_invalid(tmp_path: Path, make_problem: MakeProblem) -> None:
    verdict, _ = judge(tmp_path, make_problem(), lambda _request: Status.PASSED)
    assert verdict.verdict == "invalid"
    assert verdict.reasons == ("answerable_without_answer: empty, stub",)


@pytest.mark.parametrize(
    ("statuses", "verdict", "reason"),
    [
        ([Status.FAILED] * 6, "invalid", "reference_fails: failed"),
        ([Status.PASSED, Status.TIMEOUT, Status.PASSED] * 2, "invalid", "reference_flaky: timeout"),
        ([Status.TIMEOUT] * 3, "invalid", "reference_fails: timeout"),
        ([Status.COMPILE_ERROR] * 3, "invalid", "reference_fails: compile_error"),
        ([Status.SKIPPED] * 3, "unverified", "reference_not_run: skipped"),
        ([Status.UNRESOLVED_IMPORT] * 3, "unverified", "reference_not_run: unresolved_import numpy"),
    ],
)
def test_a_reference_answer_must_pass_every_time(
    tmp_path: Path, make_problem: MakeProblem, statuses: list[Status], verdict: str, reason: str
) -> None:
    pending = list(statuses)
    found, _ = judge(tmp_path, make_problem(), lambda r: pending.pop(0) if reference(r) else Status.FAILED)
    assert (found.verdict, found.reasons[0]) == (verdict, reason)
    assert pending == []


@pytest.mark.parametrize("first", [[Status.FAILED] * 3, [Status.PASSED, Status.TIMEOUT, Status.FAILED]])
def test_a_reference_that_fails_among_others_is_decided_by_three_runs_alone(
    tmp_path: Path, make_problem: MakeProblem, first: list[Status]
) -> None:
    pending = [*first, *[Status.PASSED] * 3]
    found, executor = judge(tmp_path, make_problem(), lambda r: pending.pop(0) if reference(r) else Status.FAILED)
    assert (found.verdict, found.reasons) == ("valid", ())
    assert [request.repeat for request in executor.asked if reference(request)] == [0, 1, 2, 3, 4, 5]


def test_a_reference_that_passes_among_others_and_fails_alone_is_flaky(
    tmp_path: Path, make_problem: MakeProblem
) -> None:
    pending = [Status.PASSED, Status.FAILED, Status.PASSED, *[Status.FAILED] * 3]
    found, _ = judge(tmp_path, make_problem(), lambda r: pending.pop(0) if reference(r) else Status.FAILED)
    assert (found.verdict, found.reasons[0]) == ("invalid", "reference_flaky: failed")


def test_a_repeated_problem_is_invalid(tmp_path: Path, make_problem: MakeProblem) -> None:
    house = load_suite("devbench")
    gate = ProgramGate(
        FakeExecutor(lambda r: Status.PASSED if reference(r) else Status.FAILED),
        get_policy(), lambda p, text: house.make_request(p, text, "default"), house.failed_predicates,
    )  # fmt: skip
    prefix = "import os\n\n\ndef first(values):\n    return [value for value in values]\n\n\ndef double(x):\n"
    problems = [
        make_problem("python/low_context/a", prefix=prefix),
        make_problem("python/low_context/b", prefix=prefix),
    ]
    verdicts = gate.run(problems, tmp_path / "verdicts.jsonl")
    assert [verdict.verdict for verdict in verdicts] == ["valid", "invalid"]
    assert verdicts[1].reasons == ("near_duplicate: python/low_context/a",)


def test_stored_verdicts_are_not_made_again(tmp_path: Path, make_problem: MakeProblem) -> None:
    def decide(request: ExecutionRequest) -> Status:
        return Status.PASSED if reference(request) else Status.FAILED

    first, _ = judge(tmp_path, make_problem(), decide)
    again, executor = judge(tmp_path, make_problem(), decide)
    assert again == first
    assert executor.asked == []


def test_the_killing_answer_does_not_depend_on_the_order_of_results(tmp_path: Path, make_problem: MakeProblem) -> None:
    class Backwards(FakeExecutor):
        def submit(self, requests: Iterable[ExecutionRequest]) -> Iterator[ExecutionResult]:
            yield from reversed(list(super().submit(requests)))

    house = load_suite("devbench")
    killers = []
    for executor in (FakeExecutor, Backwards):
        gate = ProgramGate(
            executor(lambda request: Status.PASSED if reference(request) else Status.FAILED), get_policy(),
            lambda p, text: house.make_request(p, text, "default"), house.failed_predicates,
        )  # fmt: skip
        [verdict] = gate.run([make_problem()], tmp_path / executor.__name__)
        killers.append(verdict.details["killed_by"])
    assert killers == ["number", "number"]
