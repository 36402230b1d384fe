"""Bounds of programs that hold at every isolation level, with real processes."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator

import pytest

from caretbench.execution.execution_types import Limits
from caretbench.execution.sandbox.program_sandbox import Invocation, Sandbox
from caretbench.execution.sandbox.supervisor import SandboxResult
from tests.support.sandbox_boxes import PYTHON, daemons, left_over, opened, params, still_runs

SMALL = Limits(wall_s=30, cpu_s=5, memory_mb=200, pids=24, tmp_mb=16, fsize_mb=8)


@pytest.fixture(scope="module", params=params("cold", "warm", "own-user", "caller", "abi-4"))
def box(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    with opened(request.param) as sandbox:
        yield sandbox


def run(box: Sandbox, program: str, limits: Limits = SMALL) -> SandboxResult:
    return box.run(Invocation([PYTHON, "-I", "attack.py"], limits=limits, files={"attack.py": program}))


def test_forks_are_bounded(box: Sandbox) -> None:
    result = run(
        box,
        "import os, time\n"
        "for _ in range(3000):\n"
        "    if os.fork() == 0: time.sleep(60); os._exit(0)\n"
        "print('UNBOUNDED'); time.sleep(5)",
    )
    assert "UNBOUNDED" not in result.stdout.text
    assert result.killed == "processes" or "BlockingIOError" in result.stderr.text
    assert not left_over()


def test_private_memory_is_bounded(box: Sandbox) -> None:
    result = run(box, "hoard = []\nwhile True: hoard.append(bytearray(1 << 20))")
    assert result.killed == "memory" or "MemoryError" in result.stderr.text


def test_shared_memory_of_all_processes_is_bounded(box: Sandbox) -> None:
    shared = (
        "import mmap, os, time\n"
        "for _ in range(3):\n"
        "    if os.fork() == 0:\n"
        "        parts = [mmap.mmap(-1, 40 << 20) for _ in range(3)]\n"
        "        for part in parts:\n"
        "            for at in range(0, len(part), 4096): part[at] = 1\n"
        "        time.sleep(20)\n"
        "        os._exit(0)\n"
        "time.sleep(20)"
    )
    result = run(box, shared)
    assert result.killed == "memory"
    assert result.memory_mb > SMALL.memory_mb
    assert result.wall_s < 15


def test_a_flood_of_output_ends_the_program_and_keeps_head_and_tail(box: Sandbox) -> None:
    limits = SMALL.model_copy(update={"output_kb": 8, "output_kill_mb": 1})
    result = run(box, "import os\nos.write(1, b'head')\nwhile True: os.write(1, b'x' * 65536)", limits)
    assert result.killed == "output"
    assert result.stdout.truncated
    assert result.stdout.text.startswith("head")
    assert len(result.stdout.text) < 9000
    assert result.stdout.bytes_total > 1 << 20


def test_an_endless_loop_is_ended_by_its_cpu_time(box: Sandbox) -> None:
    result = run(box, "while True: pass", SMALL.model_copy(update={"cpu_s": 1}))
    assert result.signal == signal.SIGXCPU
    assert 0.5 <= result.cpu_s < 2.5


@pytest.mark.parametrize(("then", "killed"), [("os._exit(0)", None), ("time.sleep(60)", "wall")])
def test_daemons_do_not_outlive_their_program(box: Sandbox, then: str, killed: str | None) -> None:
    marker = f"caretbench-{os.getpid()}-daemon"
    begin = time.monotonic()
    result = run(box, daemons(marker, then), SMALL.model_copy(update={"wall_s": 2}))
    assert result.killed == killed
    assert time.monotonic() - begin < 25
    assert not still_runs(marker)
    assert not left_over()


def test_the_sentinel_needs_the_word(box: Sandbox) -> None:
    harness = (
        "import os\na, b = map(int, os.environ['CARETBENCH_SENTINEL'].split(':'))\nword = os.read(a, 64)\n"
        "os.write(b, {})"
    )
    for sent, reached in (("word", True), ("b'guess'", False), ("word + b'x'", False)):
        result = box.run(Invocation([PYTHON, "-c", harness.format(sent)], limits=SMALL, sentinel=True))
        assert (result.exit_code, result.sentinel) == (0, reached)
