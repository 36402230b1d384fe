"""A folder of tasks is scored as every other suite is: baselines, verdicts, what the tests said."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from caretbench.execution.dispatcher import Dispatcher
from caretbench.execution.execution_types import Isolation, Status
from caretbench.execution.workspaces.runner_reports import TestOutcome
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.execution.workspaces.workspace_runner import WorkspaceRequest, WorkspaceResult
from caretbench.extraction.policies import get_policy
from caretbench.files import write_rows
from caretbench.problem import Caret, FileSplice, Problem, Provenance, TestsCheck
from caretbench.runs.run_folder import RunFolder
from caretbench.runs.score import ScoringStage
from caretbench.suites import load_suite
from caretbench.suites.baselines import baseline_completions
from tests.support.fakes import ISOLATION, FakeExecutor

SOURCE = "def double(x):\n    y = 2 * x\n    return y\n"
REFERENCE = "y = 2 * x"


class Projects:
    """Passes what holds the reference."""

    def __init__(self) -> None:
        self.asked: list[WorkspaceRequest] = []

    def submit(self, requests: Iterable[WorkspaceRequest]) -> Iterator[WorkspaceResult]:
        for request in requests:
            self.asked.append(request)
            right = REFERENCE.encode() in bytes(request.patch["a.py"] or b"")  # type: ignore[arg-type]
            test = TestOutcome(name="T::test_double", outcome="passed" if right else "failed")
            status = Status.PASSED if right else Status.FAILED
            yield WorkspaceResult(id=request.id, status=status, tests=(test,), isolation=ISOLATION)

    def isolation(self) -> Isolation:
        return ISOLATION


def tasks(root: Path) -> Path:
    (root / "project").mkdir(parents=True)
    (root / "project" / "a.py").write_text(SOURCE)
    identity = SnapshotStore(root / "elsewhere").add(root / "project", ignore=()).id
    folder = root / "tasks"
    place = folder / "snapshots" / identity
    place.parent.mkdir(parents=True)
    (root / "project").rename(place)
    start = SOURCE.index(REFERENCE)
    end = start + len(REFERENCE)
    made = Problem(
        id="p/a.py:1:infill",
        suite="simcopilot",
        shown=Caret(language="python", prefix=SOURCE[:start], suffix=SOURCE[end:], path="a.py"),
        splice=FileSplice(snapshot=identity, path="a.py", start=start, end=end),
        reference=REFERENCE,
        checks=(TestsCheck(command=("python3", "-m", "pytest"), junit=("r.xml",), minimum_tests=1),),
        labels={"language": "python", "mode": "infill"},
        cluster="p",
        provenance=Provenance(source="p"),
    )
    write_rows(folder / "problems.jsonl", [made])
    return folder


def test_answers_in_projects_are_scored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CARETBENCH_CACHE", str(tmp_path / "cache"))
    house = load_suite("simcopilot")
    problems = house.load(str(tasks(tmp_path))).problems
    projects = Projects()
    folder = RunFolder(tmp_path / "run")
    folder.path.mkdir()
    executor = Dispatcher(FakeExecutor(lambda _request: Status.SKIPPED), lambda: projects)
    scoring = ScoringStage(house, problems, folder, get_policy("block"), "default", executor)
    for name in ("reference", "empty", "stub", "copy-context"):
        scoring.add_completions(baseline_completions(name, problems))
    assert scoring.run() == {}
    rows = {row.model: row for row in folder.scores() if row.scorer.startswith("execution")}
    assert {model: row.values["passed"] for model, row in rows.items()} == {
        "reference": 1.0, "empty": 0.0, "stub": 0.0, "copy-context": 0.0
    }  # fmt: skip
    assert rows["reference"].details["isolation"] == ISOLATION.level
    assert rows["empty"].details["tests"] == {"passed": 0, "failed": 1, "skipped": 0, "failing": ["T::test_double"]}
    asked = len(projects.asked)
    assert scoring.run() == {}
    assert len(projects.asked) == asked
