"""Gate of C3-Bench: its reasons for problems of scale without a run, and for implementations in the sandbox."""

from __future__ import annotations

import pytest

from caretbench.execution.dispatcher import open_executor
from caretbench.execution.execution_types import ExecutionRequest, Executor
from caretbench.extraction.policies import get_policy
from caretbench.problem import CriterionCheck, PredicateCheck, Problem, Provenance
from caretbench.suites import load_suite
from caretbench.suites.c3bench.build.build import implementation_problems, scale_problem
from caretbench.suites.c3bench.build.builder import CompletionGate, passing_wrong_answers, repeated_sources
from caretbench.suites.c3bench.build.checked_functions import CheckedFunction, SourceText
from caretbench.suites.c3bench.build.scale_middles import scale_candidates
from caretbench.suites.c3bench.build.variants.code_context import function_context
from caretbench.suites.c3bench.implementations.rewrite import equivalent_contexts
from caretbench.suites.c3bench.measures import FEATURES_PREDICATE
from caretbench.suites.validity import Validity
from tests.support.scale_instructions import scale_middles

OURS = Provenance(source="written for this test")
TEXT = '''def largest(values):
    """Return the largest even number, and how many there are."""
    best = 0
    count = 0
    for value in values:
        if value % 2 == 0:
            count += 1
            if value > best:
                best = value
    return best, count
'''


def no_executor() -> Executor:
    raise AssertionError("a gate without programs opens no executor")


def no_program(_problem: Problem, _text: str) -> ExecutionRequest | None:
    raise AssertionError("scale runs nothing")


def verdict(problem: Problem, *, others: tuple[Problem, ...] = (), policy_name: str = "clean") -> Validity:
    gate = CompletionGate(no_executor, get_policy(policy_name), no_program)
    [found] = gate.decide([problem], (*others, problem))
    return found


def scale(text: str = TEXT, source: str = "ours", kind: str = "block") -> Problem:
    middle = next(one for one in scale_middles(text, "python") if one.type == kind)
    return scale_problem(SourceText(source, "python", text, OURS), middle)


def specified(problem: Problem, **fields: object) -> Problem:
    [check] = problem.checks
    assert isinstance(check, PredicateCheck)
    specification = {**check.arguments["specification"], **fields}
    return problem.model_copy(
        update={"checks": (check.model_copy(update={"arguments": {"specification": specification}}),)}
    )


@pytest.mark.parametrize("kind", ["block", "multi_line", "span"])
def test_a_problem_of_scale_is_valid_without_a_run(kind: str) -> None:
    problem = scale(kind=kind)
    assert verdict(problem) == Validity(problem_id=problem.id, verdict="valid")


def test_a_reference_that_extraction_changes_is_invalid() -> None:
    problem = scale(kind="multi_line")
    fenced = problem.model_copy(update={"reference": f"```python\n{problem.reference}```\n"})
    found = verdict(fenced)
    assert found.verdict == "invalid"
    assert found.reasons[0] == "extraction_changes_reference"
    assert "extraction_changes_reference" not in verdict(fenced, policy_name="raw").reasons


def test_a_reference_that_fails_its_specification_is_invalid() -> None:
    found = verdict(specified(scale(), node="while"))
    assert found.verdict == "invalid"
    [reason] = [one for one in found.reasons if one.startswith("reference_fails: ")]
    assert "for" in reason


def test_wrong_answers_that_pass_are_named() -> None:
    problem = scale(kind="multi_line")
    [check] = problem.checks
    assert isinstance(check, PredicateCheck)
    lines = check.arguments["specification"]["n"]
    less = specified(problem, n=lines - 1)
    assert passing_wrong_answers(problem, "lenient") == {}
    assert list(passing_wrong_answers(less, "lenient")) == ["without_last_line"]
    assert "wrong_answer_passes: without_last_line" in verdict(less).reasons


def test_other_checks_are_about_no_wrong_answer() -> None:
    problem = scale(kind="multi_line")
    rule = PredicateCheck(name=FEATURES_PREDICATE, arguments={"requires": [], "forbids": []}, counts=False)
    judged = CriterionCheck(name="c3-instruction", maximum=1.0)
    assert passing_wrong_answers(problem.model_copy(update={"checks": (rule, judged)}), "lenient") == {}


def test_a_source_that_repeats_an_earlier_one_is_a_near_duplicate() -> None:
    first, again = scale(source="a"), scale(TEXT + "\n\nlargest([])\n", source="b", kind="span")
    far = scale("def f(a):\n    for x in a:\n        print(x)\n    return a\n", source="c")
    assert repeated_sources([first, again, far]) == {again.id: first.id}
    assert repeated_sources([again, first]) == {first.id: again.id}
    assert repeated_sources([first, scale(source="a", kind="span"), again]) == {again.id: first.id}
    assert verdict(again, others=(first,)).reasons == (f"near_duplicate: {first.id}",)
    assert verdict(first, others=(first, again)).verdict == "valid"


def test_problems_of_one_source_and_of_other_languages_do_not_repeat_it() -> None:
    block, span = scale(kind="block"), scale(kind="span")
    assert repeated_sources([block, span]) == {}
    other = span.model_copy(
        update={"cluster": "elsewhere", "shown": span.caret.model_copy(update={"language": "javascript"})}
    )
    assert repeated_sources([block, other]) == {}


FUNCTION_TEXT = '''def total(values):
    """Return the sum of the even values."""
    found = 0
    for value in values:
        if value % 2 == 0:
            found += value
    return found
'''
TEST = "def check(candidate):\n    assert candidate([1, 2, 4]) == 6\n    assert candidate([]) == 0\n"


@pytest.mark.long
def test_programs_and_the_reference_s_predicate_decide_about_implementations() -> None:
    suite = load_suite("c3bench")
    function = CheckedFunction("ours/total", "total", FUNCTION_TEXT, TEST, OURS)
    [context, *_] = equivalent_contexts(FUNCTION_TEXT, "total")
    middle = function_context(function, *context, "node")
    good = implementation_problems(middle)[0]
    rule = PredicateCheck(name=FEATURES_PREDICATE, arguments={"requires": ["try"], "forbids": []}, counts=False)
    unruly = good.model_copy(update={"id": "unruly", "checks": (good.checks[0], rule)})
    wrong = CheckedFunction("ours/wrong", "total", FUNCTION_TEXT, TEST.replace("== 6", "== 7"), OURS)
    failing = implementation_problems(function_context(wrong, *context, "node"))[0].model_copy(
        update={"cluster": good.cluster}
    )
    block = next(one for one in scale_middles(TEXT, "python") if one.type == "block")
    twin = good.model_copy(update={"id": "twin", "cluster": "twin"})
    problems = [good, unruly, failing, twin, scale_problem(SourceText("scale", "python", TEXT, OURS), block)]

    def program(problem: Problem, text: str) -> ExecutionRequest | None:
        request = suite.make_request(problem, text, "default")
        assert request is None or isinstance(request, ExecutionRequest)
        return request

    gate = CompletionGate(lambda: open_executor(1), get_policy("clean"), program)
    found = {one.problem_id: one for one in gate.decide(problems)}
    assert next(iter(found)) == problems[-1].id
    assert found[good.id].verdict == "valid", found[good.id].reasons
    assert found[problems[-1].id].verdict == "valid"
    assert found["twin"].reasons == (f"near_duplicate: {good.id}",)
    assert found["unruly"].verdict == found[failing.id].verdict == "invalid"
    assert found["unruly"].reasons == ("reference_fails: predicate",)
    assert any(reason.startswith("reference_fails") for reason in found[failing.id].reasons)


TESTED = SourceText("ours/total", "python", FUNCTION_TEXT, OURS, f"\n\n{TEST}\n\ncheck(total)\n")


@pytest.mark.long
def test_tests_decide_about_scale_and_answers_without_sense_fail_them() -> None:
    suite = load_suite("c3bench")
    candidates, _ = scale_candidates([TESTED], 10, 99, 0)
    problems = {one.form: scale_problem(one.file, one.middle) for one in candidates}
    block, body = problems["block-for-None-False"], problems["block-for-None-True"]
    assert "line" not in str(body.caret.instruction).replace("Complete only", "")
    idle = SourceText("ours/idle", "python", FUNCTION_TEXT, OURS, "\n\nassert total([]) == 0\n")
    blind = scale_problem(idle, candidates[[one.form for one in candidates].index("block-for-None-False")].middle)

    def program(problem: Problem, text: str) -> ExecutionRequest | None:
        request = suite.make_request(problem, text, "default")
        assert request is None or isinstance(request, ExecutionRequest)
        return request

    gate = CompletionGate(lambda: open_executor(1), get_policy("clean"), program)
    found = {one.problem_id: one for one in gate.decide([block, body, blind], [block, body])}
    assert found[block.id].verdict == found[body.id].verdict == "valid", found
    assert found[blind.id].reasons == ("answerable_without_answer: empty, blind-scale",)
