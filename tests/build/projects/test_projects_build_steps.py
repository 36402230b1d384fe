"""Stored results of a build's steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from caretbench.build.projects.build_steps import BuildSteps, LaterRuns, StoringEngine
from caretbench.build.projects.project_check import ProjectCheck
from caretbench.errors import DataError
from caretbench.execution.execution_types import Isolation, ResultFile, Status
from caretbench.execution.workspaces.snapshot_store import Snapshot, SnapshotStore
from caretbench.execution.workspaces.workspace_request import WorkspaceRequest, WorkspaceResult
from tests.support.project_files import snapshot

REQUEST = WorkspaceRequest(id="project 0", snapshot="0" * 64, command=("true",), patch={"a.py": b"\xff\x00", "b": None})


class Engine:
    """Counts what it runs; a command ``false`` fails, ``late`` has no time."""

    def __init__(self) -> None:
        self.ids: list[str] = []

    def isolation(self) -> Isolation:
        return Isolation(level="none")

    def submit(self, requests: Iterable[WorkspaceRequest]) -> Iterator[WorkspaceResult]:
        statuses = {"false": Status.FAILED, "late": Status.TIMEOUT, "gone": Status.SANDBOX_ERROR}
        for request in requests:
            self.ids.append(request.id)
            file = ResultFile(path="log", pattern="log", data=b"\xfe\x00binary")
            status = statuses.get(request.command[0], Status.PASSED)
            yield WorkspaceResult(id=request.id, status=status, cpu_s=1.5, files=(file,))


def test_a_result_is_run_once_and_comes_back_whole(tmp_path: Path) -> None:
    engine, path = Engine(), tmp_path / "steps.jsonl"
    [first] = StoringEngine(engine, BuildSteps(path)).submit([REQUEST])
    again = REQUEST.model_copy(update={"id": "other name"})
    [second] = StoringEngine(engine, BuildSteps(path)).submit([again])
    assert engine.ids == ["project 0"]
    assert second == first.model_copy(update={"id": "other name", "cached": True})
    changed = REQUEST.model_copy(update={"patch": {"a.py": b"\xfe\x00", "b": None}})
    repeated = REQUEST.model_copy(update={"repeat": 1, "id": "project 1"})
    assert len(list(StoringEngine(engine, BuildSteps(path)).submit([changed, repeated]))) == 2
    assert engine.ids == ["project 0", "project 0", "project 1"]


@pytest.mark.parametrize(("program", "runs"), [("true", 1), ("false", 1), ("late", 2), ("gone", 2)])
def test_what_the_machine_may_have_caused_runs_again(tmp_path: Path, program: str, runs: int) -> None:
    engine = Engine()
    request = REQUEST.model_copy(update={"command": (program,)})
    for _ in range(2):
        list(StoringEngine(engine, BuildSteps(tmp_path / "steps.jsonl")).submit([request]))
    assert len(engine.ids) == runs


def test_a_torn_line_is_ignored_and_repaired(tmp_path: Path) -> None:
    engine, path = Engine(), tmp_path / "steps.jsonl"
    list(StoringEngine(engine, BuildSteps(path)).submit([REQUEST]))
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"kind":"command","key":"12')
    steps = BuildSteps(path)
    steps.store("x" * 64, "setup", "a")
    assert path.read_bytes().startswith(whole)
    assert BuildSteps(path).get("setup", "a") == "x" * 64


def test_checks_of_the_project_come_back_whole(tmp_path: Path) -> None:
    found = ProjectCheck(REQUEST.model_copy(update={"patch": {}}), flaky_tests=("a::b",), test_count=3, cpu_s=0.25)
    failing = found._replace(failing_tests={"a::c": "AssertionError"})
    BuildSteps(tmp_path / "s").store_check("failing", failing)
    assert BuildSteps(tmp_path / "s").check("failing") == failing
    BuildSteps(tmp_path / "s").store_check("command", found)
    assert BuildSteps(tmp_path / "s").check("command") == found
    assert BuildSteps(tmp_path / "s").check("another") is None


def test_an_error_leaves_the_setup_and_a_stop_leaves_all(tmp_path: Path) -> None:
    path = tmp_path / "s"
    for error, left in ((KeyboardInterrupt(), {"setup", "check"}), (DataError("no"), {"setup"})):
        steps = BuildSteps(path)
        steps.store("1", "setup", "a")
        steps.store("2", "check", "b")
        with pytest.raises(type(error)), steps.keeping_setup():
            raise error
        kept = BuildSteps(path)
        assert {kind for kind, name in (("setup", "a"), ("check", "b")) if kept.get(kind, name)} == left
    kept.remove()
    assert not path.exists()
    with pytest.raises(DataError), BuildSteps(path).keeping_setup():
        raise DataError("nothing was done")
    assert not path.exists()


def test_a_setup_whose_snapshot_is_gone_runs_again(tmp_path: Path) -> None:
    first = snapshot(tmp_path, {"a": "1"})
    store = SnapshotStore(tmp_path / "store")
    runs: list[int] = []

    def run() -> Snapshot:
        runs.append(1)
        return store.add(tmp_path / "project")

    steps = BuildSteps(tmp_path / "s")
    for _ in range(2):
        assert steps.set_up(store, ("pip install",), run).id == first.id
    store.remove(first.id)
    assert BuildSteps(tmp_path / "s").set_up(store, ("pip install",), run).id == first.id
    assert len(runs) == 2


def test_later_runs_are_taken_for_the_first_and_run_beside_the_next_command(tmp_path: Path) -> None:
    engine, steps = Engine(), BuildSteps(tmp_path / "steps.jsonl")
    stored = StoringEngine(engine, steps)
    later = LaterRuns(stored)
    repeated = [REQUEST.model_copy(update={"repeat": n, "id": f"project {n}"}) for n in range(3)]
    [first] = later.submit(repeated[:1])
    assert [one.status for one in later.submit(repeated[1:])] == [first.status] * 2
    assert engine.ids == ["project 0"]
    [reach] = later.submit([REQUEST.model_copy(update={"command": ("false",), "id": "reach"})])
    assert (reach.id, reach.status) == ("reach", Status.FAILED)
    assert engine.ids == ["project 0", "reach", "later 0 project 1"]
    assert [stored.knows(one) for one in repeated] == [True, True, False]
    # What does not pass is no model for its repetitions.
    list(later.submit([REQUEST.model_copy(update={"command": ("false",), "id": "again", "repeat": 1})]))
    assert engine.ids[3:] == ["again", "later 1 project 2"]
