"""Problems of both kinds: what they show, what they check, and which answers fail."""

from __future__ import annotations

import pytest

from caretbench.files import DataError
from caretbench.problem import InlineSplice, Problem, Provenance
from caretbench.suites.c3bench.build.build import implementation_problems, scale_problem
from caretbench.suites.c3bench.build.checked_functions import CheckedFunction, SourceText, function_of_row
from caretbench.suites.c3bench.build.variants.code_context import function_context
from caretbench.suites.c3bench.implementations.rewrite import equivalent_contexts
from caretbench.suites.c3bench.measures import JUDGED, failed_predicates
from tests.support.scale_instructions import scale_middles, stated_specification

OURS = Provenance(source="written for this test")
TEXT = '''def largest(values):
    """Return the sum of the even numbers, at least 9."""
    total = 0
    for value in values:
        if value % 2 == 0:
            total += value
    if total > 9:
        return total
    return 9
'''
TEST = "def check(candidate):\n    assert candidate([1, 2, 8, 3]) == 10\n    assert candidate([]) == 9\n"
FUNCTION = CheckedFunction("ours/0", "largest", TEXT, TEST, OURS)


def problems() -> list[Problem]:
    return [
        one
        for context in equivalent_contexts(TEXT, "largest")[:1]
        for one in implementation_problems(function_context(FUNCTION, *context, "node"))
    ]


def test_implementations_of_a_context_differ_in_instruction_and_reference_alone() -> None:
    found = problems()
    assert len(found) >= 3
    assert len({(one.caret.prefix, one.caret.suffix) for one in found}) == 1
    assert len({one.caret.instruction for one in found}) == len({one.reference for one in found}) == len(found)
    for one in found:
        assert isinstance(one.splice, InlineSplice)
        assert "check(largest)" in one.splice.after
        assert TEST not in one.caret.suffix


def test_the_wording_of_an_instruction_depends_on_the_problem_and_never_changes() -> None:
    [context] = equivalent_contexts(TEXT, "largest")[:1]
    wordings = {one.rewrite: one.instructions for one in context.equivalents}
    seen: dict[str, set[str]] = {name: set() for name in wordings}
    for number in range(40):
        function = FUNCTION._replace(id=f"ours/{number}")
        middle = function_context(function, *context, "node")
        found = implementation_problems(middle)
        assert found == implementation_problems(middle)
        for one in found:
            seen[one.label("rewrite")].add(one.caret.instruction or "")
    assert any(len(texts) > 1 for texts in wordings.values())
    assert {name: set(texts) for name, texts in wordings.items()} == seen


def test_a_judge_is_asked_about_implementations_and_not_about_scale() -> None:
    assert all(JUDGED in one.checks for one in problems())
    [middle, *_] = scale_middles(TEXT, "python")
    assert JUDGED not in scale_problem(SourceText("ours", "python", TEXT, OURS), middle).checks


def test_an_answer_to_one_instruction_fails_under_another() -> None:
    found = problems()
    for one in found:
        for other in found:
            assert (failed_predicates(one, other.reference) == []) is (one is other)
        assert failed_predicates(one, "    return (") == ["the completed file does not parse"]


JAVASCRIPT = """function f(a) {
  let t = 0;
  for (const x of a) {
    if (x > 1) {
      t += g(x, 2);
    }
  }
  return t;
}
"""
JAVA = """class A {
  int f(int[] a) {
    int t = 0;
    for (int x : a) {
      t += g(x, 2);
    }
    return t;
  }
}
"""


@pytest.mark.parametrize(("language", "text"), [("python", TEXT), ("javascript", JAVASCRIPT), ("java", JAVA)])
def test_references_of_scale_satisfy_what_their_instructions_say(language: str, text: str) -> None:
    middles = scale_middles(text, language)
    assert {middle.type for middle in middles} == {"span", "multi_line", "block"}
    for middle in middles:
        problem = scale_problem(SourceText("ours", language, text, OURS), middle)
        assert problem.caret.prefix + problem.reference + problem.caret.suffix == text
        assert failed_predicates(problem, problem.reference) == []
        assert failed_predicates(problem, "") != []
        stated = stated_specification(problem.caret.instruction or "", language)
        assert stated is not None
        for name in ("kind", "node", "n", "header_in_prefix"):
            assert getattr(stated, name) == getattr(middle.specification, name)


def test_a_source_that_does_not_parse_has_no_middles() -> None:
    assert scale_middles("def f(:\n", "python") == []
    assert equivalent_contexts("def f(:\n", "f") == []


ROW = {
    "task_id": "SingleLineInfilling/HumanEval/0/L0",
    "entry_point": "f",
    "prompt": "def f(a):\n",
    "canonical_solution": "    return a\n",
    "test": TEST,
}


def test_functions_are_read_from_the_released_layout() -> None:
    first = function_of_row(ROW, "rows.jsonl:1", OURS)
    second = function_of_row(ROW | {"task_id": "HumanEval/7", "suffix": "\n", "more": 1}, "rows.jsonl:2", OURS)
    assert (first.id, first.text, first.entry_point) == ("HumanEval/0", "def f(a):\n    return a\n", "f")
    assert (second.id, second.text) == ("HumanEval/7", "def f(a):\n    return a\n\n")


@pytest.mark.parametrize("bad", [{"task_id": "x"}, {"task_id": 1}])
def test_a_malformed_row_is_named(bad: dict[str, object]) -> None:
    with pytest.raises(DataError, match=r"rows\.jsonl:2: "):
        function_of_row(bad, "rows.jsonl:2", OURS)
