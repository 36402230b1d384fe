from __future__ import annotations

from collections.abc import Mapping

import pytest

from caretbench.execution.execution_types import ExecutionRequest, ExecutionResult, Limits, Status
from caretbench.execution.local_executor import LocalExecutor
from caretbench.execution.toolchains import go
from tests.support.compiled_programs import need_toolchain, run_programs


def main(body: str, *imports: str) -> str:
    named = "".join(f'import "{name}"\n' for name in imports)
    return f"package main\n\n{named}\nfunc main() {{\n{body}\n}}\n"


PROGRAMS = {
    "passed": main('if fmt.Sprintf("%T", struct{}{}) == "" {\n panic("assertion failed")\n }', "fmt"),
    "no imports": main('println("hello")'),
    "names its types": (
        'package main\n\nimport "fmt"\n\ntype Basket struct{}\n\nfunc main() {\n'
        'if fmt.Sprintf("%T", Basket{}) != "main.Basket" {\npanic("assertion failed")\n}\n}\n'
    ),
    "failed": main('panic("assertion failed: 1 is not 2")'),
    "failed in a function": (
        "package main\n\nfunc assertEqual(a, b int) {\nif a != b {\npanic(a)\n}\n}\n\n"
        "func main() { assertEqual(1, 2) }\n"
    ),
    "panic": main('panic("beyond")'),
    "index": main("values := []int{1}\n_ = values[len(values)]"),
    "exit status": main("os.Exit(3)", "os"),
    "early exit": main('os.Exit(0)\npanic("assertion failed")', "os"),
    "early exit in init": (
        'package main\n\nimport "os"\n\nfunc init() { os.Exit(0) }\n\nfunc main() { panic("assertion failed") }\n'
    ),
    "goroutine": main('done := make(chan bool)\ngo func() { panic("assertion failed") }()\n<-done'),
    "deadlock": main("<-make(chan bool)"),
    "main goroutine ended": main("runtime.Goexit()", "runtime"),
    "syntax": "package main\n\nfunc main( {\n",
    "type": main('var number int = "one"\n_ = number'),
    "unused": main("", "fmt"),
    "no main": "package main\n\nfunc helper() {}\n",
    "another package": "package basket\n\nfunc main() {}\n",
    "missing module": main('color.Red("x")', "github.com/fatih/color"),
    "missing module and type error": main(
        'color.Red("x")\nvar number int = "one"\n_ = number', "github.com/fatih/color"
    ),
    "internal package": main("_ = cpu.X86", "internal/cpu"),
    "the harness": main("caretbench.Ended()", "caretbench"),
    "cgo": main("C.exit(0)", "C"),
    "printed sentinel": main('println(os.Getenv("CARETBENCH_SENTINEL"), "D")\nos.Exit(0)', "os"),
    "sentinel in init": (
        'package main\n\nimport "os"\n\nvar word = os.Getenv("CARETBENCH_SENTINEL")\n\n'
        'func main() {\nif word != "" {\npanic("assertion failed: " + word)\n}\n}\n'
    ),
    "sentinel before its imports": (
        'package main\n\nimport "errors"\n\nvar ErrNone = errors.New("none")\n\nfunc main() { println(ErrNone) }\n'
    ),
    "does not return in spite of a recover": main(
        'defer func() {\nrecover()\nos.Exit(0)\n}()\npanic("assertion failed")', "os"
    ),
    "net": main('_, err := http.Get("http://192.0.2.1/")\nif err == nil {\npanic("assert")\n}', "net/http"),
}
STATUSES = {
    "passed": Status.PASSED,
    "no imports": Status.PASSED,
    "names its types": Status.PASSED,
    "failed": Status.FAILED,
    "failed in a function": Status.FAILED,
    "panic": Status.RUNTIME_ERROR,
    "index": Status.RUNTIME_ERROR,
    "exit status": Status.RUNTIME_ERROR,
    "early exit": Status.INCOMPLETE,
    "early exit in init": Status.INCOMPLETE,
    "goroutine": Status.FAILED,
    "deadlock": Status.RUNTIME_ERROR,
    "main goroutine ended": Status.RUNTIME_ERROR,
    "syntax": Status.COMPILE_ERROR,
    "type": Status.COMPILE_ERROR,
    "unused": Status.COMPILE_ERROR,
    "no main": Status.COMPILE_ERROR,
    "another package": Status.COMPILE_ERROR,
    "missing module": Status.UNRESOLVED_IMPORT,
    "missing module and type error": Status.COMPILE_ERROR,
    "internal package": Status.COMPILE_ERROR,
    "the harness": Status.UNRESOLVED_IMPORT,
    "cgo": Status.COMPILE_ERROR,
    "printed sentinel": Status.INCOMPLETE,
    "sentinel in init": Status.PASSED,
    "sentinel before its imports": Status.PASSED,
    "does not return in spite of a recover": Status.INCOMPLETE,
    "net": Status.PASSED,
}


@pytest.fixture(scope="module")
def results() -> Mapping[str, ExecutionResult]:
    return run_programs("go", PROGRAMS)


@pytest.mark.parametrize(("name", "status"), STATUSES.items())
def test_outcome(results: Mapping[str, ExecutionResult], name: str, status: Status) -> None:
    assert results[name].status is status, results[name]


def test_a_missing_module_is_named(results: Mapping[str, ExecutionResult]) -> None:
    assert results["missing module"].missing_module == "github.com/fatih/color"


def test_the_compilers_words_name_the_line(results: Mapping[str, ExecutionResult]) -> None:
    assert "main.go:5" in results["type"].diagnostics


@pytest.mark.smoke
def test_paper_takes_exit_status_0_for_a_pass() -> None:
    names = ("passed", "failed", "early exit", "missing module")
    results = run_programs("go", {name: PROGRAMS[name] for name in names}, profile="paper")
    assert {name: results[name].status for name in names} == {
        "passed": Status.PASSED,
        "failed": Status.FAILED,
        "early exit": Status.PASSED,
        "missing module": Status.UNRESOLVED_IMPORT,
    }


def test_bounds() -> None:
    need_toolchain("go")
    programs = {
        "for ever": (main("for {\n}"), Limits(cpu_s=2)),
        "memory": (
            main("var kept [][]byte\nfor {\nkept = append(kept, bytes.Repeat([]byte{1}, 1<<24))\n}", "bytes"),
            Limits(memory_mb=256),
        ),
    }
    requests = [
        ExecutionRequest(id=name, language="go", source=source, limits=limits)
        for name, (source, limits) in programs.items()
    ]
    found = {result.id: result.status for result in LocalExecutor(workers=2, use_cache=False).submit(requests)}
    assert found == {"for ever": Status.TIMEOUT, "memory": Status.OUT_OF_MEMORY}


def test_without_the_toolchain_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(go.shutil, "which", lambda _: None)
    request = ExecutionRequest(id="a", language="go", source=PROGRAMS["passed"])
    [result] = LocalExecutor(workers=1, use_cache=False).submit([request])
    assert result.status is Status.SKIPPED
    assert "install golang-go" in result.reason
