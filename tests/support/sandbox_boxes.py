"""Sandboxes of every isolation level, and questions to the machine about the processes that run in them."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from caretbench.execution.execution_types import WarmSettings
from caretbench.execution.sandbox import bubblewrap as walls
from caretbench.execution.sandbox.kernel import landlock_sandbox
from caretbench.execution.sandbox.program_sandbox import Invocation, Sandbox, SandboxUnavailable
from caretbench.execution.sandbox.supervisor import SandboxResult

PYTHON = walls.launcher_interpreter()[0]
PREFIX = f"caretbench-box-of-{os.getpid()}-"
ORDINARY_USER = 65_300
BESIDE = """
import pickle, sys
from caretbench.execution.sandbox.kernel import landlock_sandbox
from caretbench.execution.sandbox.program_sandbox import Sandbox
landlock_sandbox._PREFIX, abi, invocation = pickle.load(sys.stdin.buffer)
box = Sandbox(level="landlock")
box._confined = landlock_sandbox.LandlockSandbox(abi)
print(box.run(invocation).model_dump_json())
"""


class OrdinaryBox(Sandbox):
    """Programs run by a process of an ordinary user, on a kernel whose Landlock is of a certain version."""

    def __init__(self, abi: int | None) -> None:
        super().__init__(level="landlock")
        self.abi = abi

    def run(self, invocation: Invocation) -> SandboxResult:
        places = [place for place in sys.path if place.endswith(("site-packages", "src"))]
        done = subprocess.run(
            [PYTHON, "-c", BESIDE], input=pickle.dumps((PREFIX, self.abi, invocation)), capture_output=True,
            env={"PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(places), "PYTHONDONTWRITEBYTECODE": "1"}, check=False,
            user=ORDINARY_USER, group=ORDINARY_USER, extra_groups=(), cwd="/",
        )  # fmt: skip
        if done.returncode:
            raise SandboxUnavailable(done.stderr.decode())
        return SandboxResult.model_validate_json(done.stdout)


class WarmSandbox(Sandbox):
    """A sandbox whose every program runs in walls inside warm ones, where nothing forbids it."""

    def run(self, invocation: Invocation) -> SandboxResult:
        return super().run(replace(invocation, warm=invocation.warm or WarmSettings()))


BOXES: dict[str, Callable[[], Sandbox]] = {
    "cold": lambda: Sandbox(level="namespaces"),
    "warm": lambda: WarmSandbox(level="namespaces"),
    "own-user": lambda: Sandbox(level="landlock"),
    "caller": lambda: OrdinaryBox(None),
    "abi-4": lambda: OrdinaryBox(4),
}
"""Namespaces, also within a warm worker; Landlock as we are, and as an ordinary user, also on an older kernel."""


def params(*names: str) -> list[object]:
    """Return the names of those boxes that can be had here, as parameters of a fixture."""
    possible = {
        "cold": walls.find_bubblewrap() is not None,
        "own-user": landlock_sandbox.landlock_abi() >= landlock_sandbox.MIN_ABI,
    }
    possible["warm"] = possible["cold"]
    possible["caller"] = possible["abi-4"] = possible["own-user"] and os.geteuid() == 0
    marks = {"abi-4": [pytest.mark.long]}
    return [pytest.param(name, marks=marks.get(name, ())) for name in names if possible[name]]


_before: set[str] = set()
"""Private folders that were there when a box was opened."""


@contextmanager
def opened(name: str) -> Iterator[Sandbox]:
    """Open a box; the test is skipped where its level cannot be had."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(landlock_sandbox, "_PREFIX", PREFIX)
        _before.update(_private_folders())  # of other test files, whose boxes were killed
        box = BOXES[name]()
        try:
            box.probe()
        except SandboxUnavailable as error:
            pytest.skip(str(error))
        yield box
        box.close()


def open_to_all(folder: Path) -> None:
    """Let other users through pytest's own folders."""
    for parent in (folder, *folder.parents):
        if parent == Path(tempfile.gettempdir()):
            break
        parent.chmod(0o755)


def give(box: Sandbox, *places: Path) -> None:
    """Let these be the user's who runs the box."""
    open_to_all(places[0].parent)
    for place in places if isinstance(box, OrdinaryBox) else ():
        os.chown(place, ORDINARY_USER, ORDINARY_USER)


def left_over() -> list[str]:
    """Return the private folders of Landlock that programs left since the last box was opened."""
    return sorted(_private_folders() - _before)


def _private_folders() -> set[str]:
    return {str(place) for place in Path(tempfile.gettempdir()).glob(f"{PREFIX}*")}


def command_lines() -> str:
    """Return the command lines of all processes."""
    return subprocess.run(["/bin/ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout


def still_runs(marker: str, patience_s: float = 30) -> bool:
    """Return whether a process with this in its command line outlives our patience."""
    deadline = time.monotonic() + patience_s
    while marker in command_lines():
        if time.monotonic() > deadline:
            return True
        time.sleep(0.1)
    return False


def daemons(marker: str, then: str) -> str:
    """Twice forked, deaf to signals, in sessions and groups of their own, with no one above them."""
    return (
        "import os, signal, time\n"
        "for _ in range(4):\n"
        "    if os.fork() == 0:\n"
        "        os.setsid()\n"
        "        if os.fork(): os._exit(0)\n"
        "        os.setpgid(0, 0)\n"
        "        for number in (1, 2, 3, 15): signal.signal(number, signal.SIG_IGN)\n"
        "        os.close(1); os.close(2)\n"
        f"        os.execv('/bin/sh', ['{marker}', '-c', 'trap \"\" TERM; sleep 60; :'])\n"
        f"{then}"
    )
