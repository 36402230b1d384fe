"""Rules that decide every number: which check decides, which rows count, which results are verdicts."""

from __future__ import annotations

from typing import Any

import pytest

from caretbench.execution.execution_types import CapturedOutput, ExecutionResult, Isolation, Status, TestTally
from caretbench.execution.scan.tamper import SCAN_VERSION
from caretbench.extraction.caret_surroundings import MAX_TEXT_CHARACTERS
from caretbench.extraction.policies import MAX_RAW_CHARACTERS, get_policy
from caretbench.problem import (
    Caret,
    ChoiceCheck,
    InlineSplice,
    NoSplice,
    PredicateCheck,
    Problem,
    ProgramCheck,
    Question,
    Score,
    TestsCheck,
)
from caretbench.runs.verdict import (
    CheckOutcome,
    Decision,
    answer_flags,
    answer_result,
    combine_checks,
    decided_outcome,
    deciding_scores,
    exclusion_cause,
    execution_details,
    execution_scorer,
    inserted_text,
    needs_execution,
    passed_by_completion,
    reference_result,
    refusal,
    result_without_program,
    waits_forever,
)
from caretbench.suites import load_suite
from tests.support.make_problem import MakeProblem

HOLDS, FAILS = CheckOutcome(True, 1.0), CheckOutcome(True, 0.0)
RAN, BROKE = CheckOutcome(True, 1.0, "passed"), CheckOutcome(True, 0.0, "timeout")
NO_VERDICT = CheckOutcome(False, 0.0, "skipped")


@pytest.mark.parametrize(
    ("checks", "decision"),
    [
        pytest.param([RAN], Decision(0, "passed", True), id="a run that passed"),
        pytest.param([HOLDS], Decision(0, "passed", True), id="a predicate that holds, without a run"),
        pytest.param([FAILS], Decision(0, "failed", False), id="a predicate that does not hold"),
        pytest.param([HOLDS, BROKE], Decision(1, "timeout", False), id="the failure decides, not its position"),
        pytest.param([RAN, FAILS], Decision(1, "failed", False), id="a predicate fails what ran"),
        pytest.param([FAILS, BROKE], Decision(1, "timeout", False), id="of two failures the run decides"),
        pytest.param([BROKE, NO_VERDICT], Decision(1, "skipped", None), id="no verdict outweighs a failure"),
        pytest.param([NO_VERDICT, RAN, HOLDS], Decision(0, "skipped", None), id="no verdict outweighs what passed"),
        pytest.param(
            [BROKE, CheckOutcome(False, 1.0, "skipped")], Decision(1, "skipped", None), id="whatever value it has"
        ),
        pytest.param([FAILS, FAILS], Decision(0, "failed", False), id="the first of equals"),
        pytest.param([CheckOutcome(True, 0.99)], Decision(0, "failed", False), id="nearly is not passed"),
        pytest.param([HOLDS, RAN], Decision(1, "passed", True), id="a run names the outcome"),
    ],
)
def test_one_check_decides(checks: list[CheckOutcome], decision: Decision) -> None:
    assert combine_checks(checks) == decision


# --- rows of scores ---------------------------------------------------------------------------------------------


def score(scorer: str = "execution@1", *, problem: str = "p", sample: int = 0, **fields: Any) -> Score:
    passed = fields.pop("passed", None)
    fields.setdefault("values", {} if passed is None else {"passed": float(passed)})
    made = {"problem_id": problem, "model": "m", "sample": sample, "scorer": scorer} | fields
    return Score.model_validate({"policy": "raw", "profile": "default"} | made)


def test_rows_without_a_decision_are_no_checks() -> None:
    run, predicate, similarity = score(passed=1), score("uses@1", passed=0), score("similarity@1", values={"chrf": 0.5})
    assert deciding_scores([run, similarity, predicate], executed=True) == [run, predicate]
    no_verdict = score(counted=False, outcome="skipped")
    assert deciding_scores([no_verdict, similarity], executed=True) == [no_verdict]


def test_other_checks_alone_are_no_verdict_where_a_program_has_to_run() -> None:
    predicate = score("uses@1", passed=1)
    assert deciding_scores([predicate], executed=True) == []
    assert deciding_scores([predicate], executed=False) == [predicate]
    assert deciding_scores([score("execution@2", passed=0), predicate], executed=True)[0].scorer == "execution@2"


def test_rows_decide_as_checks_do() -> None:
    assert decided_outcome([score(passed=1, outcome="passed"), score("uses@1", passed=0)]) == (1, "failed", False)
    assert decided_outcome([score(passed=0, outcome="oom")]) == Decision(0, "oom", False)
    assert decided_outcome([score(counted=False, outcome="sandbox_error")]) == Decision(0, "sandbox_error", None)
    assert not decided_outcome([score()]).passed, "a counted row without a value has not passed"


def test_only_rows_of_the_policy_and_the_profile_decide(make_problem: MakeProblem) -> None:
    rows = [
        score(passed=1), score(passed=0, policy="syntax"), score(passed=0, profile="paper"),
        score(sample=1, passed=0, outcome="failed"), score(sample=2, counted=False, outcome="skipped"),
        score("uses@1", sample=3, passed=1), score(problem="elsewhere", passed=1),
    ]  # fmt: skip
    problems = {"p": make_problem("p")}
    passed = passed_by_completion(rows, problems, "raw", "default")
    assert passed == {("p", "m", "none", 0): True, ("p", "m", "none", 1): False, ("p", "m", "none", 2): None}
    assert passed_by_completion(rows, problems, "syntax", "default") == {("p", "m", "none", 0): False}
    assert passed_by_completion(rows, problems, "raw", "paper") == {("p", "m", "none", 0): False}


def test_programs_and_tests_need_execution_and_predicates_do_not(make_problem: MakeProblem) -> None:
    def needs(*checks: Any) -> bool:
        return needs_execution(make_problem().model_copy(update={"checks": checks}))

    tests = TestsCheck(command=("pytest",), junit=("report.xml",), minimum_tests=1)
    assert needs(ProgramCheck())
    assert needs(PredicateCheck(name="short"), tests)
    assert not needs(PredicateCheck(name="short"))
    assert not needs(ChoiceCheck(correct=0))


def test_a_scorer_is_named_by_the_version_of_its_rules() -> None:
    rules = load_suite("devbench").rules("default")
    assert execution_scorer(rules) == f"execution@{rules.programs}"


# --- texts ------------------------------------------------------------------------------------------------------


def question(problem: Problem) -> Problem:
    changed = {"shown": Question(text="Which?", choices=("a", "b")), "splice": NoSplice()}
    return problem.model_copy(update=changed | {"checks": (ChoiceCheck(correct=0),)})


def test_a_caret_gets_what_the_policy_leaves_and_a_question_the_raw_text(make_problem: MakeProblem) -> None:
    fenced = "```python\n    return 2 * x\n```"
    fences = get_policy("clean")
    assert inserted_text(fenced, make_problem(), fences) == fences.apply(fenced, make_problem().caret).text != fenced
    assert inserted_text(fenced, question(make_problem()), fences) == fenced
    assert inserted_text(None, make_problem(), fences) is None


def test_a_text_over_the_bound_is_refused_and_one_at_it_is_not(make_problem: MakeProblem) -> None:
    for problem, most in ((make_problem(), MAX_TEXT_CHARACTERS), (question(make_problem()), MAX_RAW_CHARACTERS)):
        bound, longer = "x" * most, "x" * (most + 1)
        assert refusal(bound, problem, get_policy("raw")) is None
        assert inserted_text(bound, problem, get_policy("raw")) == bound
        assert f"{most + 1:,}" in str(refusal(longer, problem, get_policy("raw")))
        assert inserted_text(longer, problem, get_policy("raw")) is None
        assert refusal(None, problem, get_policy("raw")) is None


def test_code_that_could_forge_a_pass_is_flagged_under_default_alone(make_problem: MakeProblem) -> None:
    problem, leaves = make_problem(), "    import os\n    os._exit(0)\n"
    flags = answer_flags(leaves, problem, "default")
    assert flags
    assert all(flag.startswith("tamper:") for flag in flags)
    assert len(set(flags)) == len(flags)
    assert answer_flags(leaves, problem, "paper") == ()
    assert answer_flags(None, problem, "default") == ()
    assert answer_flags(problem.reference, problem, "default") == ()
    assert answer_flags(leaves, question(problem), "default") == ()


def test_an_answer_is_scanned_in_its_place_with_what_is_hidden() -> None:
    """The check is hidden, and the answer keeps it from being reached: only the whole program shows that."""
    problem = Problem.model_validate(
        {
            "id": "p", "suite": "devbench", "reference": "x = 1\n", "cluster": "p", "provenance": {"source": "a test"},
            "shown": Caret(language="python", prefix="", suffix=""), "labels": {}, "checks": (ProgramCheck(),),
            "splice": InlineSplice(before="", after="    assert x == 1\n"),
        }
    )  # fmt: skip
    hidden = answer_flags("if False:\n", problem, "default")
    seen = problem.model_copy(update={"splice": InlineSplice(before="", after="")})
    assert hidden
    assert answer_flags("if False:\n", seen, "default") == ()


# --- results ----------------------------------------------------------------------------------------------------


def result(status: Status, **fields: Any) -> ExecutionResult:
    return ExecutionResult(id="p", status=status, **fields)


NO_VERDICTS = {Status.SKIPPED, Status.SANDBOX_ERROR, Status.MISSING_DEPENDENCY}


@pytest.mark.parametrize("status", Status)
def test_what_is_a_verdict_on_an_answer_and_on_a_reference(status: Status) -> None:
    assert answer_result(result(status)) == (result(status), status not in NO_VERDICTS)
    of_reference, counted = reference_result(result(status))
    missing = status is Status.UNRESOLVED_IMPORT
    assert of_reference.status is (Status.MISSING_DEPENDENCY if missing else status)
    assert counted is (not missing and status not in {*NO_VERDICTS, Status.TIMEOUT})


def test_waiting_for_ever_passes_only_where_the_reference_waits_too() -> None:
    waiting, stopped = result(Status.INCOMPLETE, waits=True), result(Status.INCOMPLETE)
    assert reference_result(waiting).result.status is Status.PASSED
    assert reference_result(stopped).result.status is Status.INCOMPLETE
    assert answer_result(waiting).result.status is Status.INCOMPLETE
    assert answer_result(waiting, reference_never_finishes=True).result.status is Status.PASSED
    assert answer_result(stopped, reference_never_finishes=True).result.status is Status.INCOMPLETE
    assert (
        answer_result(result(Status.FAILED, waits=True), reference_never_finishes=True).result.status is Status.FAILED
    )
    assert (waits_forever(waiting), waits_forever(stopped), waits_forever(None)) == (True, False, False)


def test_an_answer_without_a_program_fails_with_the_reason(make_problem: MakeProblem) -> None:
    failed = result_without_program(make_problem("p"), "too long")
    assert (failed.id, failed.status, failed.reason) == ("p", Status.RUNTIME_ERROR, "too long")
    assert answer_result(failed).counted
    assert result_without_program(make_problem("p")).reason


def test_details_of_a_pass_and_of_a_failure() -> None:
    times = {"compile_s": 1.23456, "run_s": 2.00004, "cpu_s": 0.5}
    shown: dict[str, Any] = {"compile_s": 1.2346, "run_s": 2.0, "cpu_s": 0.5, "cached": False}
    ended: dict[str, Any] = {"stage": "run", "exit_code": 1, "signal": 9}
    streams: dict[str, Any] = {"stderr": CapturedOutput(text="a" * 10 + "b" * 2000), "diagnostics": "c" * 2000 + "d"}
    passed = result(Status.PASSED, **times, **ended, **streams)
    assert execution_details(passed) == shown | {"diagnostics": "c" * 2000}
    failed = result(Status.FAILED, **times, **ended, **streams)
    assert execution_details(failed) == shown | ended | {"diagnostics": "c" * 2000, "stderr": "b" * 2000}
    assert execution_details(failed, ("tamper:exit",))["scan"] == SCAN_VERSION
    assert execution_details(failed, ("tamper:exit",))["flags"] == ["tamper:exit"]


def test_details_that_not_every_run_has() -> None:
    tally = TestTally(passed=2, failed=1, failing=("t",))
    isolation = Isolation(backend="b", level="landlock", memory="watchdog", network="none", seccomp=True, user="caller")
    checked = result(
        Status.TYPE_ERROR, type_check="failed", run_status=Status.PASSED, stderr=CapturedOutput(text="e"),
        missing_module="six", reason="why", waits=True, runs_alone=3, isolation=isolation, tests=tally,
    )  # fmt: skip
    details = execution_details(checked)
    expected: dict[str, Any] = {
        "type_check": "failed", "run_status": "passed", "run_stderr": "e", "module": "six", "reason": "why",
        "waits": True, "runs_alone": 3, "isolation": "landlock",
        "tests": {"passed": 2, "failed": 1, "skipped": 0, "failing": ["t"]},
    }  # fmt: skip
    assert {name: details[name] for name in expected} == expected
    assert "stderr" not in details, "the type checker's words have another field"
    assert not expected.keys() & execution_details(result(Status.FAILED)).keys()


@pytest.mark.parametrize(
    ("outcome", "details", "cause"),
    [
        ("skipped", {"reason": "no javac", "module": "m"}, "skipped: no javac"),
        ("skipped", {}, "skipped: toolchain or declared need is missing here"),
        ("missing_dependency", {"module": "torch", "reason": "r"}, "missing dependency: torch"),
        ("missing_dependency", {"module": ""}, "missing dependency: unknown"),
        ("timeout", {"reason": "slow"}, "reference: timeout"),
        (None, {}, "reference: None"),
    ],
)
def test_the_cause_for_which_a_problem_is_excluded(outcome: str | None, details: Any, cause: str) -> None:
    assert exclusion_cause(outcome, details) == cause
