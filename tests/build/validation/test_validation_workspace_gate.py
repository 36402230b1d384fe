"""The gate for problems in projects, with an engine that decides by what stands in the patched file."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from caretbench.build.projects.project_check import ProjectCheck
from caretbench.build.validation.duplicates import near_duplicate_spans
from caretbench.build.validation.workspace_gate import (
    Trial,
    TrialAnswer,
    WorkspaceGate,
    trial_answers,
    verdict_of_result,
)
from caretbench.execution.execution_types import Isolation, Limits, Status
from caretbench.execution.workspaces.workspace_request import WORKSPACE_LIMITS
from caretbench.execution.workspaces.workspace_runner import WorkspaceRequest, WorkspaceResult
from caretbench.extraction.policies import get_policy
from caretbench.files import read_rows
from caretbench.problem import Caret, FileSplice, Problem, Provenance, TestsCheck
from caretbench.suites.validity import Validity
from tests.support.fakes import ISOLATION

SOURCE = """\
def area(width, height):
    if width < 0:
        raise ValueError(width)
    return width * height


def volume(width, height, depth):
    total = area(width, height) * depth
    return total
"""
BODY = "return width * height"
OTHER = "total = area(width, height) * depth\n    return total"
CHECK = TestsCheck(command=("python3", "-m", "unittest"), reference_s=0.1)

Decide = Callable[[str], Status]


class Engine:
    def __init__(self, decide: Decide, base: Status = Status.PASSED) -> None:
        self.decide = decide
        self.base = base
        self.asked: list[str] = []
        self.limits: list[Limits] = []

    def submit(self, requests: Iterable[WorkspaceRequest]) -> Iterator[WorkspaceResult]:
        for request in requests:
            [content] = [text for path, text in request.patch.items() if not path.startswith(".caretbench")] or [None]
            text = content.decode() if isinstance(content, bytes) else ""
            self.asked.append(text)
            self.limits.append(request.limits)
            status = self.decide(text) if text else self.base
            yield WorkspaceResult(id=request.id, status=status, isolation=ISOLATION, cpu_s=0.5)

    def isolation(self) -> Isolation:
        return ISOLATION


def problem(
    reference: str = BODY, path: str = "shapes.py", mode: str = "infill", source: str = SOURCE, after: str = ""
) -> Problem:
    start = source.index(reference, source.index(after) + len(after))
    end = start + len(reference)
    return Problem(
        id=f"{path}:{start}-{end}:{mode}",
        suite="simcopilot",
        shown=Caret(language="python", prefix=source[:start], suffix=source[end:], path=path),
        splice=FileSplice(snapshot="s", path=path, start=start, end=end),
        reference=reference,
        checks=(CHECK,),
        labels={"mode": mode, "language": "python"},
        cluster="p",
        provenance=Provenance(source="p"),
    )


@dataclass
class Gate(WorkspaceGate):
    """A gate of a project that is one file in memory."""

    found: Callable[[Sequence[Problem]], Collection[str]] | None = None
    source: str = SOURCE

    def request(self, problem: Problem, text: str) -> WorkspaceRequest:
        assert isinstance(problem.splice, FileSplice)
        patch = {problem.splice.path: problem.splice.content(self.source.encode(), text)}
        return WorkspaceRequest(id=problem.id, snapshot="s", command=CHECK.command, patch=patch)

    def original_file(self, problem: Problem) -> bytes:  # noqa: ARG002 - there is one
        return self.source.encode()

    def reached_problems(
        self,
        request: WorkspaceRequest,  # noqa: ARG002
        problems: Sequence[Problem],
    ) -> Collection[str]:
        return self.found(problems) if self.found else {problem.id for problem in problems}


def gate(engine: Engine, found: Callable[[Sequence[Problem]], Collection[str]] | None = None) -> WorkspaceGate:
    return Gate(engine, get_policy("block"), found=found)


def checked(text: str) -> Status:
    """What tests say that look at everything."""
    return Status.PASSED if text == SOURCE else Status.FAILED


def test_a_problem_whose_wrong_answers_fail_is_valid() -> None:
    engine = Engine(checked)
    [row] = gate(engine).decide([problem()])
    assert (row.verdict, row.reasons, row.details["killed_by"]) == ("valid", (), "arithmetic")
    assert row.details["strength"] == "value"
    assert row.details["runs"] == "3"  # nothing, a throw, and the first mutant
    assert engine.asked[:3] == ["", "", ""]  # the project as it is
    assert SOURCE not in engine.asked


@pytest.mark.parametrize(
    ("decide", "verdict", "reason"),
    [
        (lambda _text: Status.PASSED, "invalid", "answerable_without_answer: empty"),
        (lambda text: Status.PASSED if "return" in text.split("def volume")[0] or "raise Run" in text
         else Status.FAILED, "invalid", "answerable_without_answer: throw"),
        (lambda text: Status.FAILED if "raise Run" in text or "return width" not in text else Status.PASSED,
         "valid", ""),
        (lambda _text: Status.COMPILE_ERROR, "unverified", "no_killing_mutant"),
        (lambda _text: Status.SKIPPED, "unverified", "not_run"),
    ],
)  # fmt: skip
def test_reasons(decide: Decide, verdict: str, reason: str) -> None:
    [row] = gate(Engine(decide)).decide([problem()])
    assert row.verdict == verdict
    assert "".join(row.reasons).startswith(reason)


def test_an_answer_that_does_not_even_parse_is_not_run() -> None:
    whole = SOURCE.index("if width")
    tail = SOURCE[whole : SOURCE.index("\n\n")]
    engine = Engine(checked)
    [row] = gate(engine).decide([problem(tail)])
    assert row.verdict == "valid"
    assert not any("height):\n    \n" in text for text in engine.asked)
    assert any("height):\n    pass" in text for text in engine.asked)


def test_what_no_test_reaches_is_refused_before_anything_is_tried() -> None:
    engine = Engine(checked)
    rows = list(gate(engine, lambda _problems: {problem(OTHER).id}).decide([problem(), problem(OTHER)]))
    assert {row.problem_id: (row.verdict, row.reasons) for row in rows} == {
        problem().id: ("invalid", ("not_reached: no test runs it",)),
        problem(OTHER).id: ("valid", ()),
    }
    assert engine.asked[3:]
    assert all(BODY in text for text in engine.asked[3:])  # nothing else was touched


def test_a_project_whose_tests_fail_says_so_for_every_problem_and_is_run_once() -> None:
    engine = Engine(checked, base=Status.FAILED)
    rows = list(gate(engine).decide([problem(), problem(OTHER)]))
    assert {row.reasons[0].partition(":")[0] for row in rows} == {"tests_fail"}
    assert {row.verdict for row in rows} == {"invalid"}
    assert len(engine.asked) == 3


def test_wrong_answers_are_bounded_by_the_deciding_tests_where_these_are_quicker_than_all() -> None:
    engine = Engine(checked)
    whole = gate(engine)
    slow = WORKSPACE_LIMITS.model_copy(update={"cpu_s": 60.0})
    project = WorkspaceRequest(id="project", snapshot="s", command=CHECK.command, limits=slow)
    whole.known_checks = lambda _request: ProjectCheck(project, cpu_s=12.0, wall_s=12.0)
    quick = slow.model_copy(update={"cpu_s": 10.0})
    request = whole.request
    whole.request = lambda one, text: request(one, text).model_copy(update={"limits": quick})  # type: ignore[method-assign]
    assert [row.verdict for row in whole.decide([problem()])] == ["valid"]
    assert {limits.cpu_s for limits in engine.limits} == {10.0}


def test_objections_that_cost_nothing_come_first() -> None:
    engine = Engine(checked)
    elsewhere = problem().model_copy(update={"reference": "return 1"})
    rows = list(gate(engine).decide([elsewhere, problem(path="tests/test_shapes.py")]))
    assert [row.reasons[0].partition(":")[0] for row in rows] == ["reference_not_in_place", "in_test_code"]
    assert engine.asked == []


def test_the_same_code_elsewhere_is_a_repetition_but_another_mode_or_an_overlap_is_none() -> None:
    both = [problem(), problem(mode="suffix_hidden"), problem("raise ValueError(width)\n    " + BODY)]
    assert near_duplicate_spans(both) == {}
    near = "def f(x):\n    if x:\n        return g(x)\n    return h(x)\n"
    assert near_duplicate_spans([problem(one, source=near) for one in ("return g(x)", "return h(x)")]) == {}
    copy = problem(path="copies.py")
    assert near_duplicate_spans([problem(), copy]) == {copy.id: problem().id}


HELPERS = """\
def lock(thread_safe):
    lock = make(thread_safe)
    # released by the caller
    return lock


def nothing(value):
    # not yet
    value.clear()
"""


def named_answers(reference: str, **labels: str) -> dict[str, str]:
    made = problem(reference, source=HELPERS, after="):" if reference != "thread_safe" else "make(")
    made = made.model_copy(update={"labels": {**made.labels, **labels}})
    return {one.name: one.text for one in trial_answers(made, HELPERS.encode(), get_policy("raw"))}


def test_what_people_write_instead_of_an_answer_is_tried() -> None:
    # A comment stands between the header and the caret: only the parser sees that a statement must follow.
    assert named_answers("value.clear()")["stub"] == "pass"
    assert named_answers("thread_safe", block="argument_list")["no value"] == "None"
    assert "no value" not in named_answers("make(thread_safe)")
    assert named_answers("make(thread_safe)")["line again"] == "lock = make(thread_safe)"
    assert "line again" not in named_answers("value.clear()")


@pytest.mark.parametrize(
    ("name", "reference", "wrong"),
    [("no value", "thread_safe)", "make(None)"), ("line again", "make(thread_safe)", "= lock = make")],
)
def test_wrong_answers_that_pass_make_a_problem_invalid(name: str, reference: str, wrong: str) -> None:
    made = problem(reference.rstrip(")") if name == "no value" else reference, source=HELPERS, after="lock = ")
    made = made.model_copy(update={"labels": {**made.labels, "block": "argument_list"}})
    engine = Engine(lambda text: Status.PASSED if wrong in text else Status.FAILED)
    [row] = Gate(engine, get_policy("raw"), source=HELPERS).decide([made])
    assert row.verdict == "invalid"
    assert name in row.reasons[0]


def test_right_answers_in_other_layouts_are_tried() -> None:
    source = "def f(a):\n    if a:\n        b = 'x'\n        return b\n    return ''\n"
    made = problem("if a:\n        b = 'x'\n        return b", source=source)
    found = {one.name: one.text for one in trial_answers(made, source.encode(), get_policy("raw"))}
    assert found["tabs"] == "if a:\n\t\tb = 'x'\n\t\treturn b"
    assert found["fence"] == "```python\nif a:\n    b = 'x'\n    return b\n```"
    assert found["comment in column 0"] == "if a:\n# Does something.\n        b = 'x'\n        return b"
    assert found["other quotes"] == 'if a:\n        b = "x"\n        return b'
    trial = Trial(made, ProjectCheck(WorkspaceRequest(id="p", snapshot="s", command=("true",))), iter(()))
    failed = WorkspaceResult(id="r", status=Status.FAILED)
    assert verdict_of_result(trial, TrialAnswer("tabs", ""), failed) is None
    row = verdict_of_result(trial, TrialAnswer("number", ""), failed)
    assert row is not None
    assert (row.verdict, row.details["right_answers_failed"]) == ("valid", "tabs")
    in_text = verdict_of_result(trial, TrialAnswer("tabs", "", layout_is_wrong=True), failed)
    assert in_text is not None
    assert (in_text.verdict, in_text.reasons) == ("invalid", ("right_answer_fails: tabs in a string",))


def test_closing_brackets_alone_are_no_answer() -> None:
    source = "class A {\n  static int f(int x) {\n    if (x > 0) {\n      return g(x);\n    }\n    return 0;\n  }\n}\n"
    reference = "return g(x);\n    }"
    java = problem(reference, "A.java", "suffix_hidden", source)
    java = java.model_copy(update={"shown": java.caret.model_copy(update={"language": "java"})})
    engine = Engine(lambda _text: Status.PASSED)
    made = gate(engine)
    made.original_file = lambda _problem: source.encode()
    splice = java.splice
    assert isinstance(splice, FileSplice)
    made.request = lambda one, text: WorkspaceRequest(
        id=one.id, snapshot="s", command=("x",), patch={"A.java": splice.content(source.encode(), text)}
    )
    [row] = made.decide([java])
    assert row.reasons == ("answerable_without_answer: closers",)
    assert engine.asked[-1] == source.replace(reference, "}")


MANY = "\n".join(f"def f{n}(x):\n    return x * {n + 2} + {n}\n" for n in range(40))


def _validate(path: Path) -> None:
    def slow(text: str) -> Status:
        import time

        time.sleep(0.02)
        return Status.FAILED

    _many_gate(slow).run(_many(), path)


def _many() -> list[Problem]:
    return [problem(f"return x * {n + 2} + {n}", source=MANY) for n in range(40)]


def _many_gate(decide: Decide) -> WorkspaceGate:
    made = gate(Engine(decide))
    made.original_file = lambda _problem: MANY.encode()

    def request(one: Problem, text: str) -> WorkspaceRequest:
        assert isinstance(one.splice, FileSplice)
        patch = {"shapes.py": one.splice.content(MANY.encode(), text)}
        return WorkspaceRequest(id=one.id, snapshot="s", command=CHECK.command, patch=patch)

    made.request = request
    return made


def test_a_gate_that_is_killed_goes_on_without_a_duplicate(tmp_path: Path) -> None:
    path = tmp_path / "validity.jsonl"
    worker = multiprocessing.get_context("fork").Process(target=_validate, args=(path,))
    worker.start()
    while worker.is_alive() and (not path.exists() or path.read_bytes().count(b"\n") < 3):
        worker.join(0.005)
    if worker.pid is not None and worker.is_alive():
        os.kill(worker.pid, signal.SIGKILL)
    worker.join()
    before = path.read_bytes().count(b"\n")
    with path.open("ab") as stream:
        stream.write(b'{"problem_id": "to')
    verdicts = _many_gate(lambda _text: Status.FAILED).run(_many(), path)
    stored = [row.problem_id for row in read_rows(path, Validity)]
    assert before >= 3
    assert len(stored) == len(set(stored)) == len(verdicts) == 40
    assert [row.problem_id for row in verdicts] == [one.id for one in _many()]


def test_a_verdict_comes_before_the_answers_of_the_next_problem() -> None:
    engine = Engine(checked)
    verdicts = gate(engine).decide([problem(), problem(OTHER)])
    assert next(verdicts).problem_id == problem().id
    assert not [text for text in engine.asked if text and OTHER not in text]
    assert [verdict.problem_id for verdict in verdicts] == [problem(OTHER).id]
