"""Builds in processes that are killed in each of their steps, and resumed."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from caretbench.execution.toolchains.csharp import find_dotnet_sdk

_DRIVER = """
import sys, time
from pathlib import Path
from caretbench.build.package_index.index_proxy import IndexProxy
from caretbench.execution.workspaces.workspace_executor import WorkspaceExecutor
from caretbench.execution.workspaces.workspace_runner import WorkspaceRunner
from caretbench.build.project_tasks.task_builder import TaskBuilder
from caretbench.build.project_tasks.task_folder import TaskFolder
from tests.support.shop_project import *

root, out, steps, made, last, share = sys.argv[1:]
order = steps.split(",")
decided, candidates = 0, 0

def is_past(step):
    if not last or step not in order:
        return False
    if last == step == "candidates":
        return decided > 0 and decided >= float(share) * candidates
    return order.index(step) > order.index(last)

def progress(step, added, total, detail=""):
    global decided, candidates
    if step == "candidates":
        decided, candidates = decided + added, total or candidates
    print(step, flush=True)
    if is_past(step):
        time.sleep(600)

engine = WorkspaceExecutor(1, workspace_runner=WorkspaceRunner(index=IndexProxy))
TaskBuilder(engine, progress=progress).build(Path(root), TaskFolder(Path(out)), eval(made))
print("end", flush=True)
engine.close()
"""


class KilledBuilds:
    """Builds of one project, each in a process of its own.

    Args:
        root: The project.
        options: Expression of the build's options, by names of ``shop_project``.
        kills: Number of kills in each step, by the names of steps in the order of a build.
        caches: Folder for the caches of unbroken and killed builds, which must share nothing.
    """

    def __init__(self, root: Path, options: str, kills: Mapping[str, int], caches: Path) -> None:
        self._root, self._options, self._kills, self._caches = root, options, kills, caches
        self._seconds: dict[str, float] = {}

    def build_unbroken(self, out: Path) -> None:
        """Build to the end, and measure the seconds of each step."""
        process = self._start(out, self._caches / "unbroken")
        assert process.stdout is not None
        begins: dict[str, float] = {}
        for line in process.stdout:
            if (step := line.strip()) in (*self._kills, "end"):
                begins.setdefault(step, time.monotonic())
        process.communicate()
        assert process.returncode == 0
        times = [begins[step] for step in (*self._kills, "end")]
        self._seconds = {
            step: after - before for step, before, after in zip(self._kills, times, times[1:], strict=False)
        }

    def build_with_kills(self, out: Path) -> None:
        """Build, killed at a random moment of a step as often as it says, then to the end."""
        seeded = random.Random(13)  # noqa: S311  moments, no secrets
        for step, count in self._kills.items():
            for number in range(1, count + 1):
                process = self._start(out, self._caches / "killed", step, number / (count + 1))
                self._kill(process, step, seeded.uniform(0.0, self._seconds[step]))
        last = self._start(out, self._caches / "killed")
        last.communicate()
        assert last.returncode == 0

    def _start(self, out: Path, cache: Path, last: str = "", share: float = 0) -> subprocess.Popen[str]:
        """Start a build; past the step ``last`` it waits to be killed, however fast the machine is.

        Among candidates it waits when this share of them is decided, so that it never comes to its end.
        """
        environment = {**os.environ, "CARETBENCH_CACHE": str(cache), "PYTHONPATH": str(Path(__file__).parents[2])}
        if (sdk := find_dotnet_sdk()) is not None:
            environment["DOTNET_ROOT"] = str(sdk.root)  # the other cache has none
        arguments = [str(self._root), str(out), ",".join(self._kills), self._options, last, str(share)]
        return subprocess.Popen(
            [sys.executable, "-c", _DRIVER, *arguments],
            env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip

    def _kill(self, process: subprocess.Popen[str], step: str, delay: float) -> None:
        """Kill a build's process group some time after a step has begun; the build must not have ended."""
        assert process.stdout is not None
        later = list(self._kills)[list(self._kills).index(step) :]
        for line in process.stdout:
            if line.strip() in later:
                time.sleep(delay)
                break
        os.killpg(process.pid, signal.SIGKILL)
        rest, _ = process.communicate()
        assert process.returncode == -signal.SIGKILL
        assert "end" not in rest.splitlines(), f"the build ended before the kill in {step}"


def content(folder: Path) -> dict[str, bytes]:
    """Return the bytes of all files, without the measured CPU time: on a busy machine two builds measure two."""
    found = {
        str(path.relative_to(folder)): bytes(path.readlink()) if path.is_symlink() else path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() or path.is_symlink()
    }
    measured = re.compile(rb'"reference_s":(?:2|4|8|16|32)\.0')
    return {path: measured.sub(b'"reference_s":0', data) for path, data in found.items()}
