"""The loop that all gates share, with a strategy that decides at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from caretbench.build.validation.resumable_gate import ResumableGate
from caretbench.files import read_rows
from caretbench.problem import Problem
from caretbench.reports.frame import LoadedRun, build_frame, read_verdicts
from caretbench.reports.sections.rates import older_gate_warnings
from caretbench.suites.validity import GATE_VERSION, Validity
from tests.support.make_problem import MakeProblem


class Backwards(ResumableGate):
    """Decides the last problem first, and stops at one called ``stop``."""

    def __init__(self) -> None:
        self.counts: list[int] = []
        self.asked: list[str] = []
        self.problem_count = 0
        self.stop = True

    def progress(self, count: int) -> None:
        self.counts.append(count)

    def decide(self, problems: Sequence[Problem], all_problems: Sequence[Problem] = ()) -> Iterator[Validity]:
        self.problem_count = len(all_problems)
        for problem in reversed(problems):
            if self.stop and problem.id == "stop":
                raise KeyboardInterrupt
            self.asked.append(problem.id)
            yield Validity(problem_id=problem.id, verdict="valid")


def test_a_stopped_gate_goes_on_with_what_is_missing(tmp_path: Path, make_problem: MakeProblem) -> None:
    path = tmp_path / "verdicts.jsonl"
    problems = [make_problem(name) for name in ("a", "stop", "b")]
    gate = Backwards()
    with pytest.raises(KeyboardInterrupt):
        gate.run(problems, path)
    assert [row.problem_id for row in read_rows(path, Validity)] == ["b"]
    gate.stop = False
    verdicts = gate.run(problems, path)
    assert [verdict.problem_id for verdict in verdicts] == ["a", "stop", "b"]
    assert gate.asked == ["b", "stop", "a"]
    assert gate.problem_count == 3
    assert gate.counts == [0, 1, 1, 1, 1]


def test_verdicts_on_other_problems_are_kept_and_not_given(tmp_path: Path, make_problem: MakeProblem) -> None:
    path = tmp_path / "verdicts.jsonl"
    gate = Backwards()
    gate.run([make_problem("a"), make_problem("b")], path)
    assert [verdict.problem_id for verdict in gate.run([make_problem("b")], path)] == ["b"]
    assert len(path.read_text().splitlines()) == 2


def test_verdicts_of_an_older_gate_are_decided_again(tmp_path: Path, make_problem: MakeProblem) -> None:
    path = tmp_path / "verdicts.jsonl"
    old = '{"problem_id":"%s","verdict":"unverified","reasons":[],"details":{}}\n'
    path.write_text(old % "a" + old % "b")
    assert read_verdicts(path) == ({"a": "unverified", "b": "unverified"}, 2, {})
    gate = Backwards()
    [verdict] = gate.run([make_problem("a")], path)
    assert (verdict.verdict, verdict.gate) == ("valid", GATE_VERSION)
    assert [(row.problem_id, row.gate) for row in read_rows(path, Validity)] == [("a", GATE_VERSION), ("b", 1)]
    assert read_verdicts(path) == ({"a": "valid", "b": "unverified"}, 1, {})
    gate.run([make_problem("a")], path)
    assert gate.asked == ["a"]
    # A suite's gate may have a version of its own.
    assert read_verdicts(path, GATE_VERSION + 1)[1] == 2
    run = LoadedRun("r", {"suite": "devbench"}, [], [], build_frame([], []), older_verdicts=1)
    [note] = older_gate_warnings(run)
    assert "1 problems were" in note
    assert "Run `caretbench validate devbench`" in note
