"""The clock of the benchmarks counts everything that is started, however it ends, and without root."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import accounting
from benchmarks.accounting import accounted

BURN = "import time\nwhile time.process_time() < 0.4: pass"
"""A program that takes 0.4 s of CPU and then ends."""

UNWAITED = f"""
import signal, subprocess, sys, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", {BURN!r}])
while child.poll() is None: time.sleep(0.01)
"""
"""Its child is no longer there when it is waited for, so that the kernel adds its time to no parent."""

KILLED = f"""
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", {BURN!r} + chr(10) + "print(flush=True)\\nwhile True: time.sleep(1)"],
                         stdout=subprocess.PIPE)
child.stdout.readline()
child.kill()
"""


@pytest.fixture(autouse=True)
def _countable() -> None:
    try:
        os.close(accounting._task_clock())
    except OSError as error:
        pytest.skip(f"no events of the kernel: {error}")


@pytest.mark.parametrize("program", [BURN, UNWAITED, KILLED], ids=["plain", "unwaited", "killed"])
def test_the_clock_counts_what_is_started_however_it_ends(program: str) -> None:
    with accounted() as clock:
        begin = clock()
        subprocess.run([sys.executable, "-c", program], check=True)
        spent = clock() - begin
    assert 0.35 <= spent < 2.0


def test_the_clock_counts_what_still_runs_and_nothing_else() -> None:
    stranger = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        with accounted() as clock:
            begin = clock()
            child = subprocess.Popen([sys.executable, "-c", BURN + "\nprint(flush=True)\ntime.sleep(60)"], stdout=-1)
            assert child.stdout is not None
            child.stdout.readline()
            spent = clock() - begin
            child.kill()
            child.communicate()
        assert 0.35 <= spent < 2.0
    finally:
        stranger.kill()
        stranger.wait()


@pytest.mark.skipif(os.geteuid() != 0 or not os.access("/usr/bin/python3", os.X_OK), reason="changes the user")
@pytest.mark.skipif(
    int(Path("/proc/sys/kernel/perf_event_paranoid").read_text() or 3) > 2, reason="ordinary users may not count here"
)
def test_an_ordinary_user_may_count(tmp_path: Path) -> None:
    text = Path(accounting.__file__).read_text()
    program = text + "\nwith accounted() as clock:\n    assert clock is not machine_cpu_s\n"
    done = subprocess.run(
        ["/usr/bin/python3", "-c", program], user=65534, group=65534, extra_groups=[], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_where_the_kernel_refuses_the_machine_is_counted(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def refuse() -> int:
        raise PermissionError("no")

    monkeypatch.setattr(accounting, "_task_clock", refuse)
    with accounted() as clock:
        begin = clock()
        subprocess.run([sys.executable, "-c", BURN], check=True)
        assert clock() - begin >= 0.3
    assert "whole machine" in capfd.readouterr().err
