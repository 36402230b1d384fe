"""Answers by somebody who saw instructions and signatures alone, before the predicates: at least 95 % of the right
ones are accepted, and of the wrong ones refused.

In ``cases/second_answers.txt`` a line is the middle of a problem: ``¶`` ends a line of it, ``⇥`` indents one, ``+``
marks what follows the instruction, ``-`` what does not, and ``~`` what only a reduction tells from that.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from caretbench.execution.dispatcher import open_executor
from caretbench.execution.execution_types import ExecutionRequest, Status
from caretbench.problem import Problem
from caretbench.runs.reductions import ReducedAnswer, reduce_answers
from caretbench.suites.c3bench.measures import FOLLOWED_REDUCED, failed_predicates, reduction
from caretbench.suites.c3bench.suite import C3BenchSuite

SUITE = C3BenchSuite()
CASES = Path(__file__).with_name("cases").joinpath("second_answers.txt").read_text("utf-8")
SECTIONS = f"\n{CASES}".split("\n=== ")[1:]


def answers() -> list[tuple[str, Problem, str]]:
    """Return mark, problem and text of each answer."""
    problems = {one.id: one for one in SUITE.load("starter").problems}
    found = []
    for section in SECTIONS:
        name, *lines = section.rstrip("\n").split("\n")
        problem = problems[f"icc/written/{name}"]
        margin = problem.reference[: len(problem.reference) - len(problem.reference.lstrip())]
        for line in lines:
            text = line[2:].replace("⇥", "    ").replace(" ¶ ", f"\n{margin}")
            found.append((line[0], problem, f"{margin}{text}\n"))
    return found


def faults(decisions: list[tuple[bool, bool, str]]) -> str:
    """Return the wrong decisions by text if they are more than 5 % of the right or of the wrong answers."""
    for right in (True, False):
        of_kind = [(accepted, text) for is_right, accepted, text in decisions if is_right is right]
        assert len(of_kind) >= 100
        wrong = [text for accepted, text in of_kind if accepted is not right]
        print(f"{'right' if right else 'wrong'}: {len(of_kind)}, of which {len(wrong)} are decided wrongly")  # noqa: T201
        if len(wrong) > 0.05 * len(of_kind):
            return "\n".join(wrong)
    return ""


def test_predicates_alone_tell_right_answers_from_wrong_ones() -> None:
    decided = [
        (mark == "+", not failed, f"{mark} {problem.id}: {failed}\n{text}")
        for mark, problem, text in answers()
        if mark != "~"
        for failed in [failed_predicates(problem, text)]
    ]
    assert not faults(decided)


@pytest.mark.long
def test_answers_that_pass_are_told_apart_when_they_are_reduced() -> None:
    known = {f"{number}": answer for number, answer in enumerate(answers())}

    def request(key: str, text: str) -> ExecutionRequest:
        made = SUITE.make_request(known[key][1], text, "default")
        assert made is not None
        return made.model_copy(update={"id": key, "reference_cpu_s": 0.0})

    executor = open_executor(2).programs
    results = list(executor.submit([request(key, text) for key, (_, _, text) in known.items()]))
    failing = [f"{one.status}: {known[one.id]}" for one in results if one.status is not Status.PASSED]
    assert not failing, "\n".join(failing)
    steps = {key: reduction(problem, text, "default") for key, (_, problem, text) in known.items()}
    active = {key: ReducedAnswer(one) for key, one in steps.items() if one is not None}
    accepted = {
        key: measured.values.get(FOLLOWED_REDUCED) == 1.0
        for key, measured in reduce_answers(active, request, executor.submit)
    }
    decided = [
        (mark == "+", accepted.get(key, False), f"{mark} {problem.id}\n{text}")
        for key, (mark, problem, text) in known.items()
    ]
    assert not faults(decided)
