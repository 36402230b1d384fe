"""The engine and the runtimes of Python, JavaScript and C++, with real programs."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from caretbench.execution import classification, local_executor
from caretbench.execution.bundles.bundle_model import Bundle, LinkRule
from caretbench.execution.cache.result_cache import ResultCache
from caretbench.execution.execution_types import (
    CompileResult,
    ExecutionRequest,
    ExecutionResult,
    Limits,
    Status,
    Toolchain,
)
from caretbench.execution.local_executor import LocalExecutor
from caretbench.execution.sandbox.program_sandbox import Invocation, Sandbox, SandboxUnavailable
from caretbench.execution.sandbox.supervisor import SandboxResult
from caretbench.execution.toolchains import load_runtime

LIMITS = Limits(wall_s=30, cpu_s=5)


@pytest.fixture(scope="module", autouse=True)
def _walls() -> None:
    try:
        Sandbox().probe()
    except SandboxUnavailable as error:
        pytest.skip(str(error))


@pytest.fixture
def cache(tmp_path: Path) -> ResultCache:
    return ResultCache(tmp_path / "cache")


class CountingSandbox(Sandbox):
    """Counts the programs that are really started."""

    def __init__(self) -> None:
        super().__init__()
        self.started: list[Sequence[str]] = []
        self.faults = 0

    def run(self, invocation: Invocation) -> SandboxResult:
        self.started.append(invocation.argv)
        if self.faults > 0 and invocation.argv[0] != "/bin/sh":
            self.faults -= 1
            return SandboxResult(error="planted fault")
        return super().run(invocation)


def request(source: str, language: str = "python", **fields: Any) -> ExecutionRequest:
    fields.setdefault("limits", LIMITS)
    return ExecutionRequest(id=fields.pop("id", "a"), language=language, source=source, **fields)


def execute(source: str, language: str, cache: ResultCache, **fields: Any) -> ExecutionResult:
    toolchain = load_runtime(language).toolchain()
    if not toolchain.available:
        pytest.skip(f"no toolchain for {language}: {toolchain.remedy}")
    bundles = fields.pop("bundles", lambda _name: None)
    executor = LocalExecutor(workers=1, cache=cache, bundles=bundles)
    [result] = executor.submit([request(source, language, **fields)])
    return result


HEADER = "#include <cassert>\n#include <cstdlib>\n#include <unistd.h>\n"

VERDICTS: Mapping[str, Mapping[str, tuple[str, Status]]] = {
    "python": {
        "passes": ("assert 1 + 1 == 2\nprint(__name__, __file__)", Status.PASSED),
        "assertion": ("assert 1 + 1 == 3", Status.FAILED),
        "assertion_with_lines": ("assert False, 'one\\ntwo'", Status.FAILED),
        "exit": ("import sys\nsys.exit(0)\nassert False", Status.INCOMPLETE),
        "hard_exit": ("import os\nos._exit(0)", Status.INCOMPLETE),
        "raises": ("{}['x']", Status.RUNTIME_ERROR),
        "after_caught": ("try:\n    assert 0\nexcept AssertionError:\n    {}['x']", Status.RUNTIME_ERROR),
        "status": ("import sys\nsys.exit(3)", Status.RUNTIME_ERROR),
        "syntax": ("def f(:", Status.COMPILE_ERROR),
        "import": ("import no_such_module_here", Status.UNRESOLVED_IMPORT),
        "memory": ("x = [bytearray(1 << 20) for _ in range(100_000)]", Status.OUT_OF_MEMORY),
        "optimise": ("import sys\nassert sys.flags.optimize == 0 and __debug__", Status.PASSED),
        "thread": ("import threading\nthreading.Thread(target=lambda: None).start()", Status.PASSED),
        "thread_exit": (
            "import threading, os, time\nthreading.Thread(target=lambda: (time.sleep(0.2), os._exit(0))).start()",
            Status.INCOMPLETE,
        ),
        "pickle": ("import pickle\nclass A: pass\npickle.loads(pickle.dumps(A()))", Status.PASSED),
        "dataclass": (
            "from __future__ import annotations\nfrom dataclasses import dataclass\n"
            "@dataclass\nclass A:\n    x: int\nassert A(1).x == 1",
            Status.PASSED,
        ),
        "signal": ("import os\nos.kill(os.getpid(), 11)", Status.RUNTIME_ERROR),
    },
    "javascript": {
        "passes": ("const assert = require('assert'); assert(require.main === module);", Status.PASSED),
        "later": ("setTimeout(() => console.log('late'), 20);", Status.PASSED),
        "assertion": ("require('assert').strictEqual(1, 2);", Status.FAILED),
        "assertion_later": ("setTimeout(() => require('assert')(false), 5);", Status.FAILED),
        "assertion_at_exit": ("process.on('exit', () => require('assert')(false));", Status.FAILED),
        "exit": ("process.exit(0);\nrequire('assert')(false);", Status.INCOMPLETE),
        "really_exit": ("process.reallyExit(0);", Status.INCOMPLETE),
        "raises": ("null.x;", Status.RUNTIME_ERROR),
        "rejects": ("Promise.reject(new Error('x'));", Status.RUNTIME_ERROR),
        "syntax": ("function (", Status.COMPILE_ERROR),
        "import": ("require('no-such-module-here');", Status.UNRESOLVED_IMPORT),
        "exit_code": ("process.exitCode = 4;", Status.RUNTIME_ERROR),
        "swallowed_assertion": (
            "process.on('uncaughtException', () => {}); setTimeout(() => require('assert')(false), 5);",
            Status.INCOMPLETE,
        ),
        "swallowed_rejection": (
            "process.on('unhandledRejection', () => {}); (async () => require('assert')(false))();",
            Status.INCOMPLETE,
        ),
        "swallowed_error": ("process.on('uncaughtException', () => {}); setTimeout(() => null.x, 5);", Status.PASSED),
    },
    "cpp": {
        "passes": (f"{HEADER}int main() {{ assert(1 + 1 == 2); }}", Status.PASSED),
        "assertion": (f"{HEADER}int main() {{ assert(1 + 1 == 3); }}", Status.FAILED),
        "ndebug": (f"#define NDEBUG\n{HEADER}int main() {{ assert(1 + 1 == 3); }}", Status.FAILED),
        "exit": (f"{HEADER}int main() {{ exit(0); }}", Status.INCOMPLETE),
        "hard_exit": (f"{HEADER}int main() {{ _exit(0); }}", Status.INCOMPLETE),
        "status": (f"{HEADER}int main() {{ return 2; }}", Status.RUNTIME_ERROR),
        "null": ("int main() { volatile int *p = 0; return *p; }", Status.RUNTIME_ERROR),
        "syntax": ("int main() { return }", Status.COMPILE_ERROR),
        "import": ("#include <no/such.hpp>\nint main() {}", Status.UNRESOLVED_IMPORT),
    },
}


@pytest.mark.parametrize(
    ("language", "name"), [(language, name) for language, cases in VERDICTS.items() for name in cases]
)
def test_verdicts(language: str, name: str, cache: ResultCache) -> None:
    source, status = VERDICTS[language][name]
    limits = LIMITS.model_copy(update={"memory_mb": 300})
    result = execute(source, language, cache, limits=limits)
    assert result.status is status, (result.reason, result.diagnostics, result.stderr.text)
    assert result.sentinel is (status is Status.PASSED)
    assert result.toolchain


@pytest.mark.parametrize(
    ("language", "source", "module"),
    [
        ("python", "import no_such.thing", "no_such"),
        ("javascript", "require('no-such')", "no-such"),
        ("cpp", "#include <no/such.hpp>", "no/such.hpp"),
    ],
)
def test_missing_modules_are_named_with_the_bundle_to_build(
    language: str, source: str, module: str, cache: ResultCache
) -> None:
    result = execute(source, language, cache, bundle="devbench/x")
    assert (result.status, result.missing_module) == (Status.UNRESOLVED_IMPORT, module)
    assert "build devbench/x" in result.reason


@pytest.mark.parametrize(
    ("language", "source"),
    [
        ("python", "import sys\nsys.exit(0)"),
        ("javascript", "process.exit(0)"),
        ("cpp", "#define NDEBUG\n#include <cassert>\nint main() { assert(false); }"),
    ],
)
def test_under_paper_exit_status_alone_decides(language: str, source: str, cache: ResultCache) -> None:
    assert execute(source, language, cache, profile="paper").status is Status.PASSED


@pytest.mark.long
def test_common_headers_are_a_variant(cache: ResultCache) -> None:
    source = "int main() { std::function<int()> f = [] { return 0; }; std::vector<int> v; return f(); }"
    assert execute(source, "cpp", cache).status is Status.COMPILE_ERROR
    for profile in ("default", "paper"):
        result = execute(source, "cpp", cache, variant="common_headers", profile=profile)
        assert result.status is Status.PASSED, result.diagnostics
    forged = "#define NDEBUG\n#include <cassert>\nint main() { assert(false); }"
    assert execute(forged, "cpp", cache, variant="common_headers").status is Status.FAILED


def test_a_python_bundle_is_found_and_the_distributions_packages_are_not(tmp_path: Path, cache: ResultCache) -> None:
    packages = tmp_path / "bundle" / "packages"
    packages.mkdir(parents=True)
    (packages / "bundled_module.py").write_text("ANSWER = 42\n")
    bundle = Bundle(
        name="t/python", language="python", lock_hash="h", root=packages.parent,
        read_only={"/bundle": str(packages.parent)}, environment={"PYTHONPATH": "/bundle/packages"},
    )  # fmt: skip
    source = "import sys, bundled_module\nassert not any('dist-packages' in place for place in sys.path), sys.path"
    assert execute(source, "python", cache, bundle="t/python", bundles=lambda _: bundle).status is Status.PASSED


def test_a_javascript_bundle_serves_require_and_import(tmp_path: Path, cache: ResultCache) -> None:
    package = tmp_path / "bundle" / "node_modules" / "bundled"
    package.mkdir(parents=True)
    (package / "index.js").write_text("exports.answer = 42;\n")
    bundle = Bundle(
        name="t/javascript", language="javascript", lock_hash="h", root=tmp_path / "bundle",
        read_only={"/bundle": str(tmp_path / "bundle")}, environment={"NODE_PATH": "/bundle/node_modules"},
    )  # fmt: skip
    source = (
        "if (require('bundled').answer !== 42) throw new Error();\n"
        "import('bundled').then((m) => { if (m.default.answer !== 42) throw new Error(); });"
    )
    result = execute(source, "javascript", cache, bundle="t/javascript", bundles=lambda _: bundle)
    assert result.status is Status.PASSED, result.stderr.text


def test_a_cpp_bundle_gives_flags_and_libraries(tmp_path: Path, cache: ResultCache) -> None:
    bundle = Bundle(
        name="t/cpp", language="cpp", lock_hash="h", root=tmp_path, compile_flags=("-DFROM_BUNDLE=7",),
        link_rules=(LinkRule(include="math.h", libraries=("m",)),),
    )  # fmt: skip
    source = "#include <math.h>\nint main() { return FROM_BUNDLE - 7; }"
    assert execute(source, "cpp", cache, bundle="t/cpp", bundles=lambda _: bundle).status is Status.PASSED


# --- the engine -----------------------------------------------------------------------------------------------


def test_identical_programs_run_once(cache: ResultCache) -> None:
    box = CountingSandbox()
    executor = LocalExecutor(workers=2, cache=cache, sandbox=box)
    requests = [request(f"assert {number % 3} >= 0", id=str(number)) for number in range(30)]
    first = list(executor.submit(requests))
    programs = len(box.started) - 1  # the probe
    assert programs == 3
    assert sorted(int(result.id) for result in first) == list(range(30))
    assert sum(not result.cached for result in first) == 3
    again = list(executor.submit(requests))
    assert all(result.cached and result.status is Status.PASSED for result in again)
    assert len(box.started) == 1 + 3


def test_repeats_and_a_forgetful_executor_run_again(cache: ResultCache) -> None:
    box = CountingSandbox()
    executor = LocalExecutor(workers=1, cache=cache, sandbox=box)
    results = list(executor.submit([request("pass", id=str(n), repeat=n) for n in range(3)]))
    assert [result.cached for result in results] == [False] * 3
    box.started.clear()
    forgetful = LocalExecutor(workers=1, use_cache=False, sandbox=box)
    for _ in range(2):
        [result] = forgetful.submit([request("pass")])
        assert not result.cached
    assert len(box.started) == 2


def test_a_compiled_program_is_kept(cache: ResultCache) -> None:
    if not load_runtime("cpp").toolchain().available:
        pytest.skip("no C++ compiler")
    box = CountingSandbox()
    executor = LocalExecutor(workers=1, cache=cache, sandbox=box)
    for limits in (LIMITS, Limits(cpu_s=4)):
        [result] = executor.submit([request("int main() {}", "cpp", limits=limits)])
        assert result.status is Status.PASSED
    assert sum(argv[0] == "/usr/bin/g++" for argv in box.started) == 1


def test_requests_stream_through_a_bounded_window(cache: ResultCache) -> None:
    taken = 0

    def endless() -> Iterator[ExecutionRequest]:
        nonlocal taken
        for number in itertools.count():
            taken += 1
            yield request(f"x = {number}", id=str(number))

    results = LocalExecutor(workers=1, cache=cache).submit(endless())
    for _ in range(3):
        next(results)
    assert taken < 100
    results.close()  # type: ignore[attr-defined]


def test_a_fault_of_the_sandbox_is_tried_again(cache: ResultCache) -> None:
    box = CountingSandbox()
    box.faults = 2
    [result] = LocalExecutor(workers=1, cache=cache, sandbox=box).submit([request("pass")])
    assert (result.status, result.attempt) == (Status.PASSED, 3)
    box.faults = 3
    [result] = LocalExecutor(workers=1, cache=cache, sandbox=box).submit([request("x = 1")])
    assert (result.status, result.reason) == (Status.SANDBOX_ERROR, "planted fault")
    [result] = LocalExecutor(workers=1, cache=cache, sandbox=box).submit([request("x = 1")])
    assert (result.status, result.cached) == (Status.PASSED, False)
    box.faults = 3
    results: list[ExecutionResult] = []

    def requests() -> Iterator[ExecutionRequest | None]:
        yield request("x = 2", id="first")
        while not results:
            yield None
        yield request("x = 2", id="second")

    for result in LocalExecutor(workers=1, cache=cache, sandbox=box).submit(requests()):
        results += [result]
    assert [result.status for result in results] == [Status.SANDBOX_ERROR, Status.PASSED]


def test_a_text_too_long_for_any_sandbox_is_the_programs_failure(cache: ResultCache) -> None:
    box = CountingSandbox()
    executor = LocalExecutor(workers=1, cache=cache, sandbox=box)
    [result] = executor.submit([request("#" * 5_000_000)])
    assert (result.status, len(box.started)) == (Status.COMPILE_ERROR, 1)
    [result] = executor.submit([request("#" * 1_050_000, limits=Limits(tmp_mb=1))])
    assert (result.status, len(box.started)) == (Status.COMPILE_ERROR, 1)


def test_an_artefact_that_was_pruned_away_is_our_fault(cache: ResultCache, monkeypatch: pytest.MonkeyPatch) -> None:
    def plan(*_arguments: object) -> None:
        raise FileNotFoundError("program.js")

    monkeypatch.setattr("caretbench.execution.toolchains.python.PythonRuntime.plan", plan)
    [result] = LocalExecutor(workers=1, cache=cache).submit([request("pass")])
    assert (result.status, result.reason) == (Status.SANDBOX_ERROR, "no process: program.js")


def test_a_program_that_the_machine_held_up_gets_a_second_attempt(
    cache: ResultCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(classification, "STARVED_CPU_S", 0.2)
    limits = Limits(wall_s=2.0, cpu_s=10)
    busy = "while True: pass"
    [result] = LocalExecutor(workers=1, cache=cache).submit([request(busy, limits=limits)])
    assert (result.status, result.attempt) == (Status.TIMEOUT, 2)
    waiting = "import time\ntime.sleep(30)"
    [result] = LocalExecutor(workers=1, cache=cache).submit([request(waiting, limits=limits)])
    assert (result.status, result.attempt) == (Status.TIMEOUT, 1)
    assert cache.statistics().verdicts == 0  # of so short a wait nobody can tell


@pytest.mark.parametrize("mended", [True, False])
def test_a_program_whose_compiler_was_held_up_is_compiled_again(
    cache: ResultCache, monkeypatch: pytest.MonkeyPatch, mended: bool
) -> None:
    late = CompileResult(artefact=None, status=Status.TIMEOUT, diagnostics="too long", wall_timeout=True)
    compilations: list[str] = []
    real = local_executor.ProgramRunner.compile

    def compile_late(runner: local_executor.ProgramRunner, requests: Sequence[ExecutionRequest]) -> list[CompileResult]:
        compilations.extend(one.id for one in requests)
        return real(runner, requests) if mended and len(compilations) > 1 else [late] * len(requests)

    monkeypatch.setattr(local_executor.ProgramRunner, "compile", compile_late)
    [result] = LocalExecutor(workers=1, cache=cache).submit([request("int main() {}", "cpp", id="late")])
    assert compilations == ["late", "late"]
    assert result.status is (Status.PASSED if mended else Status.TIMEOUT)
    assert (result.stage, result.attempt) == ("run" if mended else "compile", 2)


def test_what_this_machine_lacks_is_skipped_with_the_remedy(
    cache: ResultCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    executor = LocalExecutor(workers=1, cache=cache)
    monkeypatch.setattr(local_executor, "display_server", lambda: None)
    [result] = executor.submit([request("pass", needs=("display",))])
    assert result.status is Status.SKIPPED
    assert "install xvfb" in result.reason
    [result] = executor.submit([request("pass", needs=("network",))])
    assert (result.status, "network" in result.reason) == (Status.SKIPPED, True)
    [result] = executor.submit([request("pass", "cobol")])
    assert result.status is Status.SKIPPED
    absent = Toolchain(language="python", available=False, remedy="apt-get install python3")
    monkeypatch.setattr(local_executor.ProgramRunner, "toolchain", lambda *_: absent)
    [result] = executor.submit([request("pass")])
    assert (result.status, result.reason) == (Status.SKIPPED, "no toolchain for python: apt-get install python3")


def test_closing_the_results_early_ends_what_runs(cache: ResultCache) -> None:
    slow = [request(f"import time\ntime.sleep(25 + {n})", id=str(n)) for n in range(4)]
    results = LocalExecutor(workers=3, cache=cache).submit([request("pass", id="quick"), *slow])
    assert next(results).id == "quick"
    begin = time.monotonic()
    results.close()  # type: ignore[attr-defined]
    assert time.monotonic() - begin < 10
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("sandbox")]


_SECOND_ATTEMPT = """
import sys
from pathlib import Path
from caretbench.execution import local_executor
from caretbench.execution.cache.result_cache import ResultCache
from caretbench.execution.execution_types import ExecutionRequest, ExecutionResult, Limits, Status
run = local_executor.ProgramRunner.run

def second(self, asked, *others):
    if len(others) == 1:  # the first attempt
        return ExecutionResult(id=asked.id, status=Status.TIMEOUT)
    print("second", flush=True)
    return run(self, asked, *others)

local_executor._held_up = lambda result: result.attempt == 1
local_executor.ProgramRunner.run = second
waits = ExecutionRequest(id="0", language="python", source="import time\\ntime.sleep(150)", limits=Limits(wall_s=150))
list(local_executor.LocalExecutor(workers=1, cache=ResultCache(Path(sys.argv[1]))).submit([waits]))
"""


def test_an_interruption_ends_a_second_attempt(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _SECOND_ATTEMPT, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "second\n"
        begin = time.monotonic()
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=120)
    assert "KeyboardInterrupt" in said
    assert time.monotonic() - begin < 100


_ENGINE = """
import sys
from pathlib import Path
from caretbench.execution.cache.result_cache import ResultCache
from caretbench.execution.local_executor import LocalExecutor
from caretbench.execution.execution_types import ExecutionRequest
requests = (ExecutionRequest(id=str(n), language="python", source=f"import time\\nprint('engine-victim', {n})\\n"
            f"time.sleep(0 if {n} < 6 else 50)") for n in range(12))
for result in LocalExecutor(workers=2, cache=ResultCache(Path(sys.argv[1]))).submit(requests):
    print(result.id, flush=True)
"""


def test_a_killed_engine_leaves_a_sane_cache_and_no_program(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _ENGINE, str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for _ in range(6):
        process.stdout.readline()
    children = Path(f"/proc/{process.pid}/task").glob("*/children")
    sandboxes = [int(word) for place in children for word in place.read_text().split()]
    process.send_signal(signal.SIGKILL)
    process.communicate()
    deadline = time.monotonic() + 10
    while any(_alive(pid) for pid in sandboxes) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(_alive(pid) for pid in sandboxes)
    assert ResultCache(tmp_path).statistics().verdicts == 6


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
