"""The toolchains of a run's problems."""

from __future__ import annotations

from caretbench.execution.execution_types import Status
from caretbench.runs.session import toolchains
from tests.support.fakes import FakeExecutor
from tests.support.make_problem import MakeProblem


def test_a_language_whose_programs_are_not_run_is_skipped_with_a_note(make_problem: MakeProblem) -> None:
    notes: list[str] = []
    problems = [make_problem("a", language="cobol"), make_problem("b", language="python")]
    found = toolchains(problems, FakeExecutor(lambda _: Status.PASSED), notes.append)
    assert "cobol is skipped: programs in this language are not run" in notes
    assert "cobol" not in found
    assert not [note for note in notes if note.startswith("python is skipped: programs in this language")]
