"""Builds that are stopped: nothing that is done is repeated, and the tasks are those of an unbroken build."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from caretbench.errors import DataError
from caretbench.execution.toolchains.csharp import find_dotnet_sdk
from caretbench.execution.workspaces.workspace_executor import WorkspaceExecutor
from caretbench.execution.workspaces.workspace_runner import WorkspaceRequest, WorkspaceResult
from caretbench.suites.project_tasks.task_builder import TaskBuilder
from caretbench.suites.project_tasks.task_folder import TaskFolder
from caretbench.suites.simcopilot.options import SimCopilotOptions
from tests.support.shop_project import FILES, SETUP, SOURCES, TOOLS, options, written

# What it writes differs each time: a build that runs it again has another snapshot, and other bytes.
RANDOM_SETUP = "mkdir -p vendored && head -c 9 /dev/urandom | od -An -tx1 > vendored/stamp.txt && sleep 0.4"


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

    def progress(step: str, added: int, _total: int | None) -> None:
        if step in stop and added:
            raise StopError

    builder = TaskBuilder(counted, progress=progress)
    if stop:
        with pytest.raises(StopError):
            builder.build(root, TaskFolder(out), chosen)
    else:
        builder.build(root, TaskFolder(out), chosen)
    return counted.ids


def names(ids: list[str]) -> set[str]:
    return {name.split(" ")[0] for name in ids} & {"setup", "project", "reach"}


def content(folder: Path) -> dict[str, bytes]:
    """Return the bytes of all files, without the measured CPU time: on a busy machine two builds measure two."""
    found = {
        str(path.relative_to(folder)): bytes(path.readlink()) if path.is_symlink() else path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() or path.is_symlink()
    }
    measured = re.compile(rb'"reference_s":(?:2|4|8|16|32)\.0')
    return {path: measured.sub(b'"reference_s":0', data) for path, data in found.items()}


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
    with pytest.raises(DataError, match="do not pass"):
        build_until(engine, root, out, options(RANDOM_SETUP, command="false"))
    again = build_until(engine, root, out, options(RANDOM_SETUP))
    assert names(again) == {"project", "reach"}


# --- processes that are killed -----------------------------------------------------------------------------------

_DRIVER = """
import sys, time
from pathlib import Path
from caretbench.execution.workspaces.workspace_executor import WorkspaceExecutor
from caretbench.suites.project_tasks.task_builder import TaskBuilder
from caretbench.suites.project_tasks.task_folder import TaskFolder
from tests.support.shop_project import SETUP, options

root, out, language, last, share = sys.argv[1:]
order = ["setup", "tests as they are", "reach", "candidates"]
decided, candidates = 0, 0

def is_past(step):
    if not last or step not in order:
        return False
    if last == step == "candidates":
        return decided > 0 and decided >= float(share) * candidates
    return order.index(step) > order.index(last)

def progress(step, added, total):
    global decided, candidates
    if step == "candidates":
        decided, candidates = decided + added, total or candidates
    print(step, flush=True)
    if is_past(step):
        time.sleep(600)

engine = WorkspaceExecutor(1)
TaskBuilder(engine, progress=progress).build(Path(root), TaskFolder(Path(out)), options(SETUP, language))
print("end", flush=True)
engine.close()
"""
# Steps in the order of a build, each with the number of stops in it.
_STOPS = {"setup": 2, "tests as they are": 3, "reach": 2, "candidates": 3}


def start(root: Path, out: Path, language: str, cache: Path, last: str = "", share: float = 0) -> subprocess.Popen[str]:
    """A build in a process; past the step ``last`` it waits to be killed, however fast the machine is.

    Among candidates it waits when this share of them is decided, so that it never comes to its end.
    """
    environment = {**os.environ, "CARETBENCH_CACHE": str(cache), "PYTHONPATH": str(Path(__file__).parents[3])}
    if language == "csharp" and (sdk := find_dotnet_sdk()) is not None:
        environment["DOTNET_ROOT"] = str(sdk.root)  # the other cache has none
    return subprocess.Popen(
        [sys.executable, "-c", _DRIVER, str(root), str(out), language, last, str(share)],
        env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip


def lengths(process: subprocess.Popen[str]) -> dict[str, float]:
    """Run a build to its end; return the seconds of each step of ``_STOPS``."""
    assert process.stdout is not None
    begins: dict[str, float] = {}
    for line in process.stdout:
        if (step := line.strip()) in (*_STOPS, "end"):
            begins.setdefault(step, time.monotonic())
    process.communicate()
    assert process.returncode == 0
    times = [begins[step] for step in (*_STOPS, "end")]
    return {step: after - before for step, before, after in zip(_STOPS, times, times[1:], strict=False)}


def kill_in(process: subprocess.Popen[str], step: str, delay: float) -> None:
    """Kill a build's process group some time after a step has begun; the build must not have ended."""
    assert process.stdout is not None
    later = list(_STOPS)[list(_STOPS).index(step) :]
    for line in process.stdout:
        if line.strip() in later:
            time.sleep(delay)
            break
    os.killpg(process.pid, signal.SIGKILL)
    rest, _ = process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert "end" not in rest.splitlines(), f"the build ended before the kill in {step}"


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
    whole, out = tmp_path / "whole", tmp_path / "killed"
    seconds = lengths(start(root, whole, language, place / f"unbroken-{language}"))
    seeded = random.Random(13)  # noqa: S311  moments, no secrets
    for step, count in _STOPS.items():
        for number in range(1, count + 1):
            process = start(root, out, language, place / f"killed-{language}", step, number / (count + 1))
            kill_in(process, step, seeded.uniform(0.0, seconds[step]))
    last = start(root, out, language, place / f"killed-{language}")
    last.communicate()
    assert last.returncode == 0
    assert content(out) == content(whole)
    assert TaskFolder(out).problems()
