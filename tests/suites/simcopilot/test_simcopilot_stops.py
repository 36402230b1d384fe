"""Builds that are stopped: nothing that is done is repeated, and the tasks are those of an unbroken build."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from caretbench.build.package_index.index_proxy import IndexProxy
from caretbench.build.project_tasks.task_builder import TaskBuilder
from caretbench.build.project_tasks.task_folder import TaskFolder
from caretbench.errors import DataError
from caretbench.execution.execution_types import Status
from caretbench.execution.toolchains.csharp import find_dotnet_sdk
from caretbench.execution.workspaces.runner_reports import TestOutcome
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.execution.workspaces.workspace_executor import WorkspaceExecutor
from caretbench.execution.workspaces.workspace_runner import WorkspaceRequest, WorkspaceResult, WorkspaceRunner
from caretbench.progress import Progress
from caretbench.projects.answer_requests import get_tests_check
from caretbench.suites.simcopilot.build.builder import SimCopilotOptions
from tests.support.killed_builds import KilledBuilds, content
from tests.support.shop_project import FILES, SETUP, SOURCES, TOOLS, options, written

# What it writes differs each time: a build that runs it again has another snapshot, and other bytes.
RANDOM_SETUP = "mkdir -p vendored && head -c 9 /dev/urandom | od -An -tx1 > vendored/stamp.txt && sleep 0.4"


@pytest.fixture(scope="module")
def engine(workspace_runner: WorkspaceRunner, store: SnapshotStore) -> Iterator[WorkspaceExecutor]:
    """An engine as a build has it: its set-up commands reach package indexes."""
    del workspace_runner  # skips where no sandbox can be built
    runner = WorkspaceRunner(store=store, index=IndexProxy)
    yield WorkspaceExecutor(2, workspace_runner=runner, use_cache=False)
    runner.close()


class CountingExecutor(WorkspaceExecutor):
    """An executor that notes the ids of the requests that are submitted to it."""

    def __init__(self, engine: WorkspaceExecutor) -> None:
        super().__init__(1, workspace_runner=engine.workspace_runner, use_cache=False)
        self.ids: list[str] = []

    def submit(self, requests: Iterable[WorkspaceRequest]) -> Iterator[WorkspaceResult]:
        waiting = list(requests)
        self.ids += [request.id for request in waiting]
        return super().submit(waiting)


class StopError(BaseException):
    """A stop from outside, such as Ctrl-C."""


def build_until(engine: WorkspaceExecutor, root: Path, out: Path, chosen: SimCopilotOptions, *stop: str) -> list[str]:
    """Build, and stop when a step of this name has ended; return the requests that were submitted."""
    counted = CountingExecutor(engine)

    class Stopping(Progress):
        """Raises when a step that ends the build has ended."""

        def __call__(self, step: str, added: int, total: int | None, detail: str = "") -> None:
            del total, detail
            if step in stop and added:
                raise StopError

    builder = TaskBuilder(counted, progress=Stopping())
    if stop:
        with pytest.raises(StopError):
            builder.build(root, TaskFolder(out), chosen)
    else:
        builder.build(root, TaskFolder(out), chosen)
    return counted.ids


def names(ids: list[str]) -> set[str]:
    return {name.split(" ")[0] for name in ids} & {"setup", "project", "reach"}


def test_steps_that_are_done_are_not_repeated_after_a_stop(engine: WorkspaceExecutor, tmp_path: Path) -> None:
    root = written(tmp_path / "shop", FILES)
    out, chosen = tmp_path / "tasks", options(RANDOM_SETUP)
    assert names(build_until(engine, root, out, chosen, "setup")) == {"setup"}
    assert names(build_until(engine, root, out, chosen, "tests as they are")) == {"project"}
    assert names(build_until(engine, root, out, chosen, "reach")) == {"reach"}
    rest = build_until(engine, root, out, chosen)
    assert rest
    assert names(rest) == set()
    assert TaskFolder(out).problems()
    assert not [path.name for path in out.iterdir() if path.name.startswith(".")]


def test_the_gate_goes_on_with_the_measured_limits(engine: WorkspaceExecutor, tmp_path: Path) -> None:
    root = written(tmp_path / "shop", FILES)
    chosen = options(SETUP)
    build_until(engine, root, tmp_path / "whole", chosen)
    first = build_until(engine, root, tmp_path / "tasks", chosen, "candidates")
    assert names(first) == {"setup", "project", "reach"}
    assert names(build_until(engine, root, tmp_path / "tasks", chosen)) == set()
    assert content(tmp_path / "tasks") == content(tmp_path / "whole")


def test_an_error_keeps_the_setup_and_runs_the_tests_again(engine: WorkspaceExecutor, tmp_path: Path) -> None:
    root = written(tmp_path / "shop", FILES)
    out = tmp_path / "tasks"
    with pytest.raises(DataError, match="not pass"):
        build_until(engine, root, out, options(RANDOM_SETUP, command="false"))
    again = build_until(engine, root, out, options(RANDOM_SETUP))
    assert names(again) == {"project", "reach"}


NAME = "test_shop.TotalTest.test_none"


class FlakyExecutor(CountingExecutor):
    """An executor under which one test fails in the second of three runs."""

    def submit(self, requests: Iterable[WorkspaceRequest]) -> Iterator[WorkspaceResult]:
        waiting = {request.id: request for request in requests}
        for result in super().submit(waiting.values()):
            excluded = any(NAME.encode() in content for content in waiting[result.id].patch.values() if content)
            fails = waiting[result.id].repeat % 3 == 1 and not excluded
            flaky = {"status": Status.FAILED, "tests": (TestOutcome(name=NAME, outcome="failed"),)}
            yield result.model_copy(update=flaky) if fails else result


def test_a_test_that_fails_in_a_later_run_is_excluded_before_problems_are_written(
    engine: WorkspaceExecutor, tmp_path: Path
) -> None:
    root = written(tmp_path / "shop", FILES)
    flaky = FlakyExecutor(engine)
    built = TaskBuilder(flaky).build(root, TaskFolder(tmp_path / "tasks"), options())
    assert dict(built.manifest.flaky_tests) == {"tests": (NAME,)}
    assert {get_tests_check(problem).excluded_tests for problem in built.candidates} == {(NAME,)}
    assert flaky.ids.index("reach 0") < flaky.ids.index("project 2"), "the first pass did not wait"


_STOPS = {"setup": 2, "tests as they are": 3, "reach": 2, "candidates": 3}
"""Steps in the order of a build, each with the number of kills in it."""


@pytest.mark.long
@pytest.mark.parametrize("language", SOURCES)
def test_ten_kills_leave_the_bytes_of_an_unbroken_build(
    engine: WorkspaceExecutor, place: Path, tmp_path: Path, language: str
) -> None:
    if language == "csharp" and find_dotnet_sdk() is None:
        pytest.skip("needs an SDK of .NET")
    if language in TOOLS and shutil.which(TOOLS[language]) is None:
        pytest.skip(f"needs {TOOLS[language]}")
    engine.isolation()
    root = written(tmp_path / "shop", SOURCES[language])
    killed = KilledBuilds(root, f"options(SETUP, {language!r})", _STOPS, place / language)
    whole, out = tmp_path / "whole", tmp_path / "killed"
    killed.build_unbroken(whole)
    killed.build_with_kills(out)
    assert content(out) == content(whole)
    assert TaskFolder(out).problems()
