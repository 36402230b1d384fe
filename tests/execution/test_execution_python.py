"""End of a Python program: as under an interpreter that finalizes, although it does not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from caretbench.execution.execution_types import ExecutionRequest, ExecutionResult, Status
from caretbench.execution.local_executor import LocalExecutor
from caretbench.execution.sandbox.program_sandbox import Invocation, Sandbox
from caretbench.execution.sandbox.supervisor import SandboxResult


class ColdSandbox(Sandbox):
    """Walls and an interpreter of its own for every program."""

    def run(self, invocation: Invocation) -> SandboxResult:
        return super().run(replace(invocation, warm=None))


ENDS = {
    "plain": ("print('said')", Status.PASSED, "said\n"),
    "no newline": ("import sys\nsys.stdout.write('said')", Status.PASSED, "said"),
    "objects": (
        "class Thing:\n    def __del__(self):\n        print('released')\nthing = Thing()",
        Status.PASSED,
        "released\n",
    ),
    # As programs of contests write: 26 of 1,555 references of SAFIM failed, since globals were gone before the flush.
    "output of its own class": (
        "import io, os, sys\n"
        "class Output(io.IOBase):\n"
        "    def __init__(self):\n        self.held = b''\n"
        "    def write(self, text):\n        self.held += text.encode()\n"
        "    def flush(self):\n        os.write(1, self.held)\n        self.held = b''\n"
        "sys.stdout = Output()\nprint('held')",
        Status.PASSED,
        "held\n",
    ),
    "file": ("stream = open(1, 'w', closefd=False)\nstream.write('buffered')", Status.PASSED, "buffered"),
    "exit handler": ("import atexit\natexit.register(print, 'left')\nprint('ran')", Status.PASSED, "ran\nleft\n"),
    "exit handler that fails": ("import atexit\natexit.register(lambda: 1 / 0)", Status.PASSED, ""),
    "exit handler that leaves": ("import atexit, os\natexit.register(os._exit, 3)", Status.RUNTIME_ERROR, ""),
    "thread": (
        "import threading, time\n"
        "def work():\n    time.sleep(0.3)\n    print('late')\n"
        "threading.Thread(target=work).start()",
        Status.PASSED,
        "late\n",
    ),
    "daemon thread": (
        "import threading, time\nthreading.Thread(target=time.sleep, args=(99,), daemon=True).start()",
        Status.PASSED,
        "",
    ),
    "closed output": ("import sys\nsys.stdout.close()", Status.PASSED, ""),
    "full output": ("import sys\nsys.stdout = open('/dev/full', 'w')\nprint(1)", Status.RUNTIME_ERROR, ""),
    "assertion": ("assert 1 == 2, 'said so'", Status.FAILED, ""),
    "failure swallowed by a hook": (
        "import sys\nsys.excepthook = lambda *_: None\nassert False",
        Status.RUNTIME_ERROR,
        "",
    ),
    "failure swallowed on leaving": (
        "import atexit, os\natexit.register(os._exit, 0)\nassert False",
        Status.INCOMPLETE,
        "",
    ),
    "leaving replaced": ("import os\nos._exit = print\nassert False", Status.FAILED, ""),
    "exit": ("import sys\nsys.exit(0)", Status.INCOMPLETE, ""),
    "assertion in a thread": (
        "import threading\ndef check():\n    assert 1 == 2\nthreading.Thread(target=check).start()", Status.FAILED, "",
    ),
    "assertion in a task": (
        "import asyncio\nasync def check():\n    assert 1 == 2\n"
        "async def main():\n    asyncio.create_task(check())\n    await asyncio.sleep(0.01)\nasyncio.run(main())",
        Status.FAILED,
        "",
    ),
    "assertion in a child": (
        "import os\nif not os.fork():\n    assert 1 == 2\nos.wait()", Status.FAILED, "",
    ),
    "assertion in a process": (
        "from multiprocessing import Process\ndef check():\n    assert 1 == 2\n"
        "child = Process(target=check)\nchild.start()\nchild.join()",
        Status.FAILED,
        "",
    ),
    "assertion in __del__": (
        "class Thing:\n    def __del__(self):\n        assert 1 == 2\nthing = Thing()", Status.FAILED, "",
    ),
    "assertion in an exit handler": (
        "import atexit\ndef check():\n    assert 1 == 2\natexit.register(check)", Status.FAILED, "",
    ),
    "assertion that a task's caller catches": (
        "import asyncio\nasync def check():\n    assert 1 == 2\nasync def main():\n"
        "    return await asyncio.gather(check(), return_exceptions=True)\nassert asyncio.run(main())",
        Status.PASSED,
        "",
    ),
    "error in a thread": (
        "import threading\nthreading.Thread(target=lambda: 1 / 0).start()", Status.PASSED, "",
    ),
    "interrupt": ("raise KeyboardInterrupt", Status.RUNTIME_ERROR, ""),
}  # fmt: skip


@pytest.fixture(scope="module", params=[Sandbox, ColdSandbox], ids=["warm", "cold"])
def results(request: pytest.FixtureRequest) -> Iterator[dict[str, ExecutionResult]]:
    sandbox: Sandbox = request.param()
    programs = [ExecutionRequest(id=name, language="python", source=source) for name, (source, _, _) in ENDS.items()]
    yield {result.id: result for result in LocalExecutor(use_cache=False, sandbox=sandbox).submit(programs)}
    sandbox.close()


@pytest.mark.parametrize("name", ENDS)
def test_an_end(results: dict[str, ExecutionResult], name: str) -> None:
    _, status, said = ENDS[name]
    assert (results[name].status, results[name].stdout.text) == (status, said)


def test_a_traceback_begins_in_the_program(results: dict[str, ExecutionResult]) -> None:
    lines = results["assertion"].stderr.text.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert "main.py" in lines[1]
    assert lines[-1] == "AssertionError: said so"
