from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from caretbench.execution.execution_types import ExecutionRequest, ExecutionResult, Status
from caretbench.execution.toolchains import csharp
from caretbench.runs.verdict import answer_result, reference_result
from tests.support.compiled_programs import run_programs


def main(body: str, usings: str = "using System.Diagnostics;\n") -> str:
    return f"{usings}class Program\n{{\n    static void Main()\n    {{\n{body}\n    }}\n}}\n"


ASYNC = """using System.Diagnostics;
class Program
{
    static async Task<int> Main() { await Task.Delay(10); Debug.Assert(1 + 1 == 2); return 0; }
}
"""
PROGRAMS = {
    "passed": main("Debug.Assert(1 + 1 == 2);"),
    "failed": main('Debug.Assert(1 + 1 == 3, "wrong");'),
    "caught": main("try { Debug.Assert(false); } catch (Exception) { }"),
    "thrown": main('throw new InvalidOperationException("no");'),
    "syntax": main("int x = ;"),
    "type": main('int x = "one";'),
    "early exit": main("Environment.Exit(0); Debug.Assert(false);"),
    "exit code": main("Environment.ExitCode = 3;"),
    "missing package": main("", "using No.Such.Package;\n"),
    "missing part of a namespace": main("", "using System.Nowhere;\n"),
    "unknown type": main("Frobnicator f = null;"),
    "printed sentinel": main('Console.WriteLine("D"); Environment.Exit(0);'),
    "no sentinel to be seen": main('Debug.Assert(Environment.GetEnvironmentVariable("CARETBENCH_SENTINEL") == null);'),
    "listeners cleared": main("Trace.Listeners.Clear(); Debug.Assert(false);"),
    "listener silenced": main(
        "((DefaultTraceListener)Trace.Listeners[0]).AssertUiEnabled = false; Debug.Assert(false);"
    ),
    "listener added": main('Trace.Listeners.Add(new TextWriterTraceListener(Console.Out)); Trace.WriteLine("x");'),
    "implicit usings": main("var all = new List<int> { 1, 2 }; Debug.Assert(all.Where(x => x > 1).Count() == 1);"),
    "asynchronous": ASYNC,
    "thread fails": main("new Thread(() => { Thread.Sleep(50); Debug.Assert(false); }).Start();"),
    "thread passes": main("new Thread(() => Thread.Sleep(50)).Start();"),
    "memory": main("var all = new List<long[]>(); while (true) all.Add(new long[1 << 20]);"),
    "writes a file": main('File.WriteAllText("note", "x");'),
}


@pytest.fixture(scope="module")
def results() -> Mapping[str, ExecutionResult]:
    return run_programs("csharp", PROGRAMS)


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("passed", Status.PASSED),
        ("failed", Status.FAILED),
        ("caught", Status.FAILED),
        ("thrown", Status.RUNTIME_ERROR),
        ("syntax", Status.COMPILE_ERROR),
        ("type", Status.COMPILE_ERROR),
        ("early exit", Status.INCOMPLETE),
        ("exit code", Status.RUNTIME_ERROR),
        ("missing package", Status.UNRESOLVED_IMPORT),
        ("missing part of a namespace", Status.UNRESOLVED_IMPORT),
        ("unknown type", Status.COMPILE_ERROR),
        ("printed sentinel", Status.INCOMPLETE),
        ("no sentinel to be seen", Status.PASSED),
        ("listeners cleared", Status.INCOMPLETE),
        ("listener silenced", Status.INCOMPLETE),
        ("listener added", Status.PASSED),
        ("implicit usings", Status.PASSED),
        ("asynchronous", Status.PASSED),
        ("thread fails", Status.FAILED),
        ("thread passes", Status.PASSED),
        ("memory", Status.OUT_OF_MEMORY),
        ("writes a file", Status.PASSED),
    ],
)
def test_outcome(results: Mapping[str, ExecutionResult], name: str, status: Status) -> None:
    assert results[name].status is status, results[name]


def test_a_missing_package_is_named_and_lines_are_the_programs(results: Mapping[str, ExecutionResult]) -> None:
    assert results["missing package"].missing_module == "No.Such.Package"
    assert "program.cs(6," in results["type"].diagnostics


@pytest.mark.parametrize(
    ("line", "version"),
    [
        ("List<int> rows = new();", "C# 9"),
        ("var sign = 3 switch { > 0 => 1, _ => 0 };", "C# 9"),
        ("int number = text;", None),  # wrong in each version
        ("List<int> rows = new(; var sign = 3 switch { > 0 => 1 };", None),
    ],
)
def test_a_program_in_a_newer_version_is_no_fault_of_a_reference(line: str, version: str | None) -> None:
    source = f"using System.Collections.Generic;\nclass Program {{ static void Main() {{ {line} }} }}\n"
    sdk = csharp.find_dotnet_sdk()
    if sdk is None or not sdk.version.startswith(".NET SDK 3."):
        pytest.skip("this machine's SDK compiles C# 9")
    [result] = run_programs("csharp", {"a": source}).values()
    assert (result.status, result.missing_module) == (Status.COMPILE_ERROR, version)
    expected = Status.MISSING_DEPENDENCY if version else Status.COMPILE_ERROR
    assert reference_result(result).result.status is expected
    assert answer_result(result).result.status is Status.COMPILE_ERROR


@pytest.mark.smoke
def test_paper_leaves_assertions_out_of_releases_only() -> None:
    programs = {name: PROGRAMS[name] for name in ("failed", "early exit", "passed")}
    debug = run_programs("csharp", programs, profile="paper")
    assert {name: result.status for name, result in debug.items()} == {
        "failed": Status.FAILED, "early exit": Status.PASSED, "passed": Status.PASSED,
    }  # fmt: skip
    release = run_programs("csharp", programs, profile="paper", variant="release")
    assert {result.status for result in release.values()} == {Status.PASSED}


def test_default_never_builds_a_release() -> None:
    request = ExecutionRequest(id="1", language="csharp", source="", variant="release")
    assert csharp.build_configuration(request) == "debug"
    assert csharp.build_configuration(request.model_copy(update={"profile": "paper"})) == "release"


@pytest.mark.long
def test_a_program_that_hangs_the_compiler_harms_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csharp, "CPU_PER_PROGRAM_S", 3.0)
    overloads = "".join(
        f"    static {kind} M(Func<{kind}, {kind}> f) => default;\n" for kind in ("int", "string", "char")
    )
    nested = "M(x => " * 14 + "x.Nothing" + ")" * 14
    hang = f"class Program\n{{\n{overloads}    static void Main() {{ {nested}; }}\n}}\n"
    results = run_programs("csharp", {"a": PROGRAMS["passed"], "hang": hang, "b": PROGRAMS["passed"]})
    assert [results[name].status for name in ("a", "hang", "b")] == [Status.PASSED, Status.TIMEOUT, Status.PASSED]


@pytest.mark.long
def test_brackets_without_end_are_ended_with_their_cpu_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csharp, "CPU_PER_PROGRAM_S", 3.0)
    nested = main(f"int value = {'(' * 50_000}1{')' * 50_000};")
    results = run_programs("csharp", {"a": PROGRAMS["passed"], "nested": nested, "b": PROGRAMS["passed"]})
    assert [results[name].status for name in ("a", "b")] == [Status.PASSED] * 2
    assert results["nested"].status in {Status.TIMEOUT, Status.COMPILE_ERROR}


def test_an_sdk_is_found_by_its_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOTNET_ROOT", str(tmp_path))
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("CARETBENCH_CACHE", str(tmp_path / "nothing"))
    assert csharp.find_dotnet_sdk() is None
    for version in ("6.0.400", "10.0.100"):
        (tmp_path / "sdk" / version / "Roslyn" / "bincore").mkdir(parents=True)
        (tmp_path / "sdk" / version / "Roslyn" / "bincore" / "csc.dll").touch()
    for version in ("9.0.1", "10.0.0"):
        (tmp_path / "shared" / "Microsoft.NETCore.App" / version).mkdir(parents=True)
    (tmp_path / "dotnet").touch()
    found = csharp.find_dotnet_sdk()
    assert found is not None
    assert found.version == ".NET SDK 10.0.100, framework 10.0.0"
    assert found.references.name == "10.0.0"  # no targeting pack: the framework itself
    (tmp_path / "packs" / "Microsoft.NETCore.App.Ref" / "10.0.0" / "ref" / "net10.0").mkdir(parents=True)
    found = csharp.find_dotnet_sdk()
    assert found is not None
    assert found.references.name == "net10.0"
