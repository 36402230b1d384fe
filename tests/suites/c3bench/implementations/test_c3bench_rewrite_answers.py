"""Ten right and ten wrong answers to each rewrite's instruction: predicates accept the former and refuse the latter.

In ``cases/answers.txt`` a line is the body of ``f(a)``: ``//`` ends a line of it, ``⇥`` indents one, ``+`` marks what
follows the instruction, and ``~`` what only a reduction tells from that.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from pathlib import Path

import pytest

from caretbench.execution.dispatcher import open_executor
from caretbench.execution.execution_types import ExecutionRequest
from caretbench.runs.reductions import ReducedAnswer, reduce_answers
from caretbench.suites.c3bench.implementations.features import FeatureRule, FoundFeatures, found_features
from caretbench.suites.c3bench.implementations.reduction import PredicateWords, reduced_text
from caretbench.suites.c3bench.implementations.rewrite import rewrite_entries, rule_of
from caretbench.suites.suite_types import Measurement, Reduction
from tests.support.python_rewrites import function_text

SECTIONS = Path(__file__).with_name("cases").joinpath("answers.txt").read_text("utf-8").split("=== ")[1:]


def sections() -> dict[str, tuple[dict[str, str], list[tuple[str, str]]]]:
    found = {}
    for section in SECTIONS:
        head, *lines = section.rstrip("\n").split("\n")
        name, *words = head.split()
        answers = [(line[0], line[2:].replace(" // ", "\n").replace("⇥", "    ")) for line in lines]
        found[name] = (dict(word.split("=") for word in words), answers)
    return found


def test_all_rewrites_have_ten_right_and_ten_wrong_answers() -> None:
    assert sections().keys() == rewrite_entries().keys()
    for name, (_, answers) in sections().items():
        assert Counter(mark == "+" for mark, _ in answers) == {True: 10, False: 10}, name
        assert len({text for _, text in answers}) == 20, name


@pytest.mark.parametrize("name", sections())
def test_the_predicate_tells_right_answers_from_wrong_ones(name: str) -> None:
    words, answers = sections()[name]
    rule = rule_of(rewrite_entries()[name], words)
    for mark, body in answers:
        found = found_in(body)
        assert rule.holds(found) is (mark != "-"), f"{rule.faults(found)}\n{body}"


def found_in(body: str) -> FoundFeatures:
    head, line_end, rest = function_text(body).partition("\n")
    found = found_features(head + line_end, rest, "", "python")
    assert found is not None, body
    return found


@pytest.mark.long
def test_reduced_answers_do_not_follow_by_lines_without_an_effect() -> None:
    executor = open_executor(1).programs
    rules, tests, answers = {}, {}, {}
    for name, (words, found) in sections().items():
        for mark, body in found:
            if mark == "~" or (mark, body) == found[0]:
                key = f"{mark} {name}"
                right = found[0][1].replace("\n", "\n    ")
                calls = "1", "2", "3", "'x'", "[]", "[3, 1, 2]", "[0, 7, 9]", "[-4, 5]", "[1]", "[2, 2, 1]"
                tests[key] = f"\ndef g(a):\n    {right}\n" + "".join(
                    f"\ntry:\n    expected = g({call})\nexcept TypeError:\n    pass\n"
                    f"else:\n    assert f({call}) == expected"
                    for call in calls
                )
                rules[key] = (rule_of(rewrite_entries()[name], words), found_in(body))
                text = function_text(body).partition("\n")[2]
                answers[key] = ReducedAnswer(shortened(text, *rules[key]))

    def request(key: str, text: str) -> ExecutionRequest:
        return ExecutionRequest(id=key, language="python", source=f"def f(a):\n{text}{tests[key]}\n")

    for key, measured in reduce_answers(answers, request, executor.submit):
        rule, whole = rules[key]
        body = textwrap.dedent(measured.details["left"]).rstrip("\n")
        assert rule.holds(whole, found_in(body)) is key.startswith("+"), f"{key}\n{body}"


def shortened(text: str, rule: FeatureRule, whole: FoundFeatures) -> Reduction:
    def holds(shorter: str) -> bool:
        return rule.holds(whole, found_in(textwrap.dedent(shorter).rstrip("\n")))

    words = PredicateWords(rule.requires, "def f(a):\n", text)
    left = yield from reduced_text("def f(a):\n", text, "", "python", words, holds)
    assert left is not None
    return Measurement("reduction@3", {}, {"left": left})
