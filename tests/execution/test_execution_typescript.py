from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from caretbench.execution.bundles.bundle_model import Bundle
from caretbench.execution.bundles.bundle_store import installed_bundle
from caretbench.execution.cache.result_cache import ResultCache
from caretbench.execution.execution_types import ExecutionRequest, ExecutionResult, Limits, Status
from caretbench.execution.local_executor import LocalExecutor
from caretbench.execution.toolchains import typescript
from caretbench.execution.toolchains.base_runtime import harness_file
from caretbench.runs.verdict import execution_details
from tests.support.compiled_programs import need_toolchain, run_programs

ASSERT = "import * as assert from 'assert';\n"
PROGRAMS = {
    "passed": ASSERT + "const x: number = 41;\nassert.strictEqual(x + 1, 42);\n",
    "failed": ASSERT + "assert.strictEqual(1 as number, 2);\n",
    "syntax": "const x: = 1;\n",
    "type": "const x: number = 'one';\nexport {};\n",
    "type, fails": ASSERT + "const x: string = 1;\nassert.strictEqual(x as unknown, 2);\n",
    "type, exits early": "const x: string = 1;\nprocess.exit(0);\n",
    "type, hangs": "const x: string = 1;\nsetTimeout(() => x, 3_600_000);\n",
    "half a character": "const x: '\\ud800' = '\\ud801';\nexport {};\n",
    "early exit": ASSERT + "process.exit(0);\nassert.strictEqual(1 as number, 2);\n",
    "missing module": "import { a } from 'no-such-module';\nconsole.log(a);\n",
    "missing module and type error": "import { a } from 'no-such-module';\nconst x: number = 'one';\na(x);\n",
    "type of a missing module": "import { A } from 'no-such-module';\nconst a: A = 1;\n",
    "thrown": "throw new RangeError('beyond');\n",
    "asynchronous": ASSERT + "async function f() { await null; assert.ok(false); }\nf();\n",
    "printed sentinel": "console.log(process.env.CARETBENCH_SENTINEL, 'D');\nprocess.exit(0);\n",
    # Global scripts, which would clash if one program saw another.
    "global one": "interface Shape { side: number }\nconst shared = 1;\nconst shape: Shape = { side: 1 };\n",
    "global two": "interface Shape { radius: number }\nconst shared = 'a';\nconst shape: Shape = { radius: 1 };\n",
    # Here the JavaScript depends on other files: TypeScript 5.9 compiles the whole program.
    "constant of another file": ASSERT + "declare const enum E { A = 3 }\nassert.strictEqual(E.A as number, 3);\n",
    "type exported again": "import { PathLike } from 'fs';\nexport { PathLike };\n",
    "namespace": ASSERT + "namespace N { export const a = 1 as number; }\nassert.strictEqual(N.a, 1);\n",
    "global namespace": "namespace N { export const a = 1 as number; }\nif (N.a !== 1) throw new Error();\n",
    "computed members": "const s = 'a';\nenum E { A = s.length, B = `${s}b` }\nenum F { A = E.A, B = 2 }\nF.B;\n",
    "writes beside itself": "import * as fs from 'fs';\nfs.writeFileSync(__dirname + '/note', 'x');\n",
}


@pytest.fixture(scope="module", params=["native", "5.9"])
def results(request: pytest.FixtureRequest) -> Mapping[str, ExecutionResult]:
    """Results with types checked by each of the compilers: with the native one built, and as if it were not."""
    native = request.param == "native"
    if native and installed_bundle(typescript.NATIVE_BUNDLE) is None:
        pytest.skip(f"bundle {typescript.NATIVE_BUNDLE} is not built")

    def bundles(name: str) -> Bundle | None:
        return installed_bundle(name) if native or name != typescript.NATIVE_BUNDLE else None

    sources = {name: source for name, source in PROGRAMS.items() if name != "type, hangs"}
    return run_programs("typescript", sources, bundles=bundles)


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("passed", Status.PASSED),
        ("failed", Status.FAILED),
        ("syntax", Status.COMPILE_ERROR),
        ("type", Status.TYPE_ERROR),
        ("type, fails", Status.TYPE_ERROR),
        ("half a character", Status.TYPE_ERROR),
        ("early exit", Status.INCOMPLETE),
        ("missing module", Status.UNRESOLVED_IMPORT),
        ("missing module and type error", Status.TYPE_ERROR),
        ("type of a missing module", Status.UNRESOLVED_IMPORT),
        ("thrown", Status.RUNTIME_ERROR),
        ("asynchronous", Status.FAILED),
        ("printed sentinel", Status.INCOMPLETE),
        ("constant of another file", Status.PASSED),
        ("type exported again", Status.PASSED),
        ("namespace", Status.PASSED),
        ("global namespace", Status.PASSED),
        ("computed members", Status.PASSED),
        ("global one", Status.PASSED),
        ("global two", Status.PASSED),
        ("writes beside itself", Status.PASSED),
    ],
)
def test_outcome(results: Mapping[str, ExecutionResult], name: str, status: Status) -> None:
    assert results[name].status is status, results[name]


def test_a_missing_module_is_named(results: Mapping[str, ExecutionResult]) -> None:
    assert results["missing module"].missing_module == "no-such-module"
    assert "TS2322" in results["missing module and type error"].diagnostics


@pytest.mark.parametrize(
    ("check", "code"),
    [
        ('throw new Error("no such project")', 0),  # TypeScript 5.9 decides
        ('child.kill("SIGKILL"); Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300)', 1),
    ],
)
def test_a_failing_native_compiler_gives_no_verdict(tmp_path: Path, check: str, code: int) -> None:
    """It runs in a process of its own: where that has died, the server ends, and a fresh one compiles the program."""
    need_toolchain("typescript")
    compiler = installed_bundle(typescript.COMPILER_BUNDLE)
    if compiler is None:
        pytest.skip(f"bundle {typescript.COMPILER_BUNDLE} is not built")
    api = tmp_path / "dist" / "api" / "sync" / "api.js"
    api.parent.mkdir(parents=True)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    api.write_text(
        f"""import {{ spawn }} from "node:child_process";
const child = spawn("sleep", ["60"]);
export class API {{ client = {{ channel: {{ child }} }}; updateSnapshot() {{ {check}; }} }}
process.on("exit", () => child.kill());
"""
    )
    server = harness_file("typescript", "typescript_compile.cjs")
    package = f"{compiler.root}/node_modules/typescript"
    program = b"const x: number = 1;\n"
    ended = subprocess.run(
        [*("node", "-e", server, "--", package, str(compiler.root), "30", str(tmp_path))],
        input=b"id - %d\n%s" % (len(program), program),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == code, ended.stderr
    answers = [json.loads(line) for line in ended.stdout.splitlines()[1:]]
    assert [answer["kind"] for answer in answers] == (["ok"] if code == 0 else [])


@pytest.mark.smoke
def test_paper_runs_a_program_whose_modules_are_missing() -> None:
    names = ("early exit", "missing module", "type of a missing module", "type")
    results = run_programs("typescript", {name: PROGRAMS[name] for name in names}, profile="paper")
    assert results["early exit"].status is Status.PASSED
    assert results["missing module"].status is Status.UNRESOLVED_IMPORT
    assert results["missing module"].stage == "run"
    assert results["type of a missing module"].status is Status.PASSED
    assert results["type"].status is Status.TYPE_ERROR
    assert results["type"].run_status is None  # it was not run


def test_a_program_with_a_type_error_has_both_verdicts(results: Mapping[str, ExecutionResult]) -> None:
    ran = {
        name: (result.type_check, result.run_status, result.stage)
        for name, result in results.items()
        if result.status is Status.TYPE_ERROR
    }
    assert ran == {
        "type": ("failed", Status.PASSED, "compile"),
        "type, fails": ("failed", Status.FAILED, "compile"),
        "type, exits early": ("failed", Status.INCOMPLETE, "compile"),
        "half a character": ("failed", Status.PASSED, "compile"),
        "missing module and type error": ("failed", Status.UNRESOLVED_IMPORT, "compile"),
    }
    assert "TS2322" in results["type"].diagnostics
    assert "AssertionError" in results["type, fails"].stderr.text


def test_a_program_that_the_checker_passes_says_so(results: Mapping[str, ExecutionResult]) -> None:
    checked = {name: (result.type_check, result.run_status) for name, result in results.items()}
    assert checked["passed"] == checked["failed"] == checked["early exit"] == ("passed", None)
    assert checked["syntax"] == checked["missing module"] == (None, None)


def test_the_row_holds_both_verdicts(results: Mapping[str, ExecutionResult]) -> None:
    details = execution_details(results["type"])
    assert (details["type_check"], details["run_status"]) == ("failed", "passed")
    assert "run_status" not in execution_details(results["passed"])
    assert "AssertionError" in str(execution_details(results["type, fails"])["run_stderr"])


def test_a_kept_program_keeps_its_type_error(tmp_path: Path) -> None:
    """The second run finds the JavaScript in the cache, without the compiler's answer."""
    need_toolchain("typescript")
    cache = ResultCache(tmp_path)
    executor = LocalExecutor(workers=1, cache=cache)
    first, second = (
        next(
            executor.submit(
                [ExecutionRequest(id="a", language="typescript", source=PROGRAMS["type, fails"], repeat=repeat)]
            )
        )
        for repeat in range(2)
    )
    assert cache.statistics().artefacts == 1
    assert not second.cached
    for result in (first, second):
        assert (result.status, result.run_status) == (Status.TYPE_ERROR, Status.FAILED)
        assert "TS2322" in result.diagnostics
    cache.close()


def test_a_run_that_may_end_otherwise_is_not_kept(tmp_path: Path) -> None:
    need_toolchain("typescript")
    cache = ResultCache(tmp_path)
    request = ExecutionRequest(id="a", language="typescript", source=PROGRAMS["type, hangs"], limits=Limits(wall_s=3))
    [result] = LocalExecutor(workers=1, cache=cache).submit([request])
    assert (result.status, result.run_status) == (Status.TYPE_ERROR, Status.TIMEOUT)
    assert cache.statistics().verdicts == 0
    cache.close()


@pytest.mark.long
def test_a_program_that_hangs_the_checker_harms_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(typescript, "CPU_PER_PROGRAM_S", 6.0)
    count = "type Count<N, A extends 0[] = []> = A['length'] extends N ? A : Count<N, [...A, 0]>;\n"
    hang = count + "".join(f"const c{n}: Count<{n}>['length'] = {n};\n" for n in range(200, 999))
    results = run_programs("typescript", {"a": PROGRAMS["passed"], "hang": hang, "b": PROGRAMS["passed"]})
    assert [results[name].status for name in ("a", "hang", "b")] == [Status.PASSED, Status.TIMEOUT, Status.PASSED]
