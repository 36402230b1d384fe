"""Benchmarks leave no control group behind, however they end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ACCOUNTING = Path("/sys/fs/cgroup/cpuacct")

pytestmark = pytest.mark.skipif(
    not os.access(ACCOUNTING / "cgroup.procs", os.W_OK), reason="no control groups of version 1 to write to"
)

# It leaves a child in its group, as a sandbox that was not closed would.
MEASURING = """
import signal
import subprocess, sys, time
sys.path.insert(0, sys.argv[1])
from accounting import accounted
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background inherits that it is ignored
with accounted() as usage:
    child = subprocess.Popen(["/bin/sleep", "60"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert int(usage.read_text()) >= 0
    print(usage.parent.name, child.pid, flush=True)
    if sys.argv[2] == "wait":
        time.sleep(60)
"""


def _start(how: str) -> tuple[subprocess.Popen[str], Path, int]:
    argv = [sys.executable, "-c", MEASURING, str(ROOT / "benchmarks"), how]
    running = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stdout is not None
    name, child = running.stdout.readline().split()
    return running, ACCOUNTING / name, int(child)


@pytest.mark.parametrize("number", [None, signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_group_is_removed_at_the_end_and_after_an_interruption(number: signal.Signals | None) -> None:
    running, group, child = _start("leave" if number is None else "wait")
    try:
        if number is not None:
            assert group.is_dir()
            running.send_signal(number)
        _, complaints = running.communicate(timeout=30)
        assert not group.exists(), complaints
    finally:
        os.kill(child, signal.SIGKILL)


def test_what_a_killed_benchmark_left_is_removed_by_the_next() -> None:
    running, group, child = _start("wait")
    running.kill()
    running.communicate(timeout=30)
    os.kill(child, signal.SIGKILL)
    assert group.is_dir()
    following, other, sleeper = _start("leave")
    following.communicate(timeout=30)
    os.kill(sleeper, signal.SIGKILL)
    assert not group.exists()
    assert not other.exists()


def test_no_benchmark_makes_a_group_by_other_means() -> None:
    makers = {path.name for path in (ROOT / "benchmarks").glob("*.py") if "cgroup.procs" in path.read_text()}
    assert makers == {"accounting.py"}
