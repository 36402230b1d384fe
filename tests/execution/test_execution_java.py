from __future__ import annotations

from collections.abc import Mapping

import pytest

from caretbench.execution.bundles.bundle_store import installed_bundle
from caretbench.execution.execution_types import ExecutionResult, Status
from caretbench.execution.sandbox.program_sandbox import Sandbox
from caretbench.execution.toolchains import java
from caretbench.files import cache_folder
from tests.support.compiled_programs import run_programs


def main(body: str, name: str = "Main") -> str:
    return f"public class {name} {{\n  public static void main(String[] args) throws Exception {{\n{body}\n  }}\n}}\n"


PROGRAMS = {
    "passed": main("assert 1 + 1 == 2;"),
    "failed": main('assert 1 + 1 == 3 : "wrong";'),
    "thrown": main('throw new IllegalStateException("AssertionError: no");'),
    "syntax": main("int x = ;"),
    "type": main('int x = "one";'),
    "early exit": main("if (args.length == 0) System.exit(0); assert false;"),
    "halt": main("Runtime.getRuntime().halt(0);"),
    "missing package": "import com.nowhere.Thing;\n" + main("new Thing();"),
    "misspelt class": "import java.util.Lisst;\n" + main(""),
    "misspelt name": main("Sytem.out.println();"),
    "printed sentinel": main('System.out.println(System.getenv("CARETBENCH_SENTINEL")); System.exit(0);'),
    "thread passes": main("new Thread(() -> { try { Thread.sleep(50); } catch (Exception e) {} }).start();"),
    "thread fails": main("new Thread(() -> { assert false; }).start();"),
    "memory": main("var all = new java.util.ArrayList<long[]>(); while (true) all.add(new long[1 << 20]);"),
    "package": "package a.b;\n" + main('assert Main.class.getName().equals("a.b.Main");'),
    "second class": "class Helper { static int one() { return 1; } }\n" + main("assert Helper.one() == 1;", "Other"),
    "main in a class that is not public": "public interface Shape {}\n" + main("", "Main").removeprefix("public "),
    "two public classes": "public class A {}\n" + main("", "B"),
    "a class named Launch": "class Launch {}\n" + main("new Launch();"),
    "no main": "public class Main { }\n",
    "writes a file": main('java.nio.file.Files.writeString(java.nio.file.Path.of("note"), "x");'),
}


@pytest.fixture(scope="module")
def results() -> Mapping[str, ExecutionResult]:
    return run_programs("java", PROGRAMS)


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("passed", Status.PASSED),
        ("a class named Launch", Status.PASSED),
        ("failed", Status.FAILED),
        ("thrown", Status.RUNTIME_ERROR),
        ("syntax", Status.COMPILE_ERROR),
        ("type", Status.COMPILE_ERROR),
        ("early exit", Status.INCOMPLETE),
        ("halt", Status.INCOMPLETE),
        ("missing package", Status.UNRESOLVED_IMPORT),
        ("misspelt class", Status.COMPILE_ERROR),
        ("misspelt name", Status.COMPILE_ERROR),
        ("printed sentinel", Status.INCOMPLETE),
        ("thread passes", Status.PASSED),
        ("thread fails", Status.FAILED),
        ("memory", Status.OUT_OF_MEMORY),
        ("package", Status.PASSED),
        ("second class", Status.PASSED),
        ("main in a class that is not public", Status.PASSED),
        ("two public classes", Status.COMPILE_ERROR),
        ("no main", Status.RUNTIME_ERROR),
        ("writes a file", Status.PASSED),
    ],
)
def test_outcome(results: Mapping[str, ExecutionResult], name: str, status: Status) -> None:
    assert results[name].status is status, results[name]


def test_the_archive_of_usual_classes_is_made(results: Mapping[str, ExecutionResult]) -> None:
    assert results["passed"].status is Status.PASSED
    mark = java.JavaRuntime(Sandbox(), installed_bundle).toolchain().fingerprint
    # Without it programs run all the same, and nobody is told that they take longer.
    assert (cache_folder() / "tools" / f"java-{mark}" / "programs.jsa").stat().st_size > 1 << 20


def test_a_missing_package_is_named(results: Mapping[str, ExecutionResult]) -> None:
    assert results["missing package"].missing_module == "com.nowhere.Thing"


@pytest.mark.smoke
def test_paper_takes_the_first_public_class_and_the_exit_status() -> None:
    programs = {
        "early exit": PROGRAMS["early exit"],
        "thread fails": PROGRAMS["thread fails"],
        "public interface": PROGRAMS["main in a class that is not public"],
        "package": PROGRAMS["package"],
        "default name": main("", "TestCase").removeprefix("public "),
    }
    results = run_programs("java", programs, profile="paper")
    assert {name: result.status for name, result in results.items()} == {
        "early exit": Status.PASSED,
        "thread fails": Status.PASSED,
        "public interface": Status.COMPILE_ERROR,  # its file is TestCase.java
        "package": Status.PASSED,  # run as a.b.Main
        "default name": Status.PASSED,
    }


@pytest.mark.long
def test_a_program_that_hangs_the_compiler_harms_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "CPU_PER_PROGRAM_S", 3.0)
    # A type whose size doubles forty times.
    doubling = "record P<A, B>(A a, B b) {} static <T> P<T, T> d(T t) { return new P<>(t, t); }"
    body = "var a0 = d(1);" + "".join(f"var a{n} = d(a{n - 1});" for n in range(1, 40))
    hang = f"public class Main {{ {doubling} public static void main(String[] a) {{ {body} }} }}"
    results = run_programs("java", {"a": PROGRAMS["passed"], "hang": hang, "b": PROGRAMS["passed"]})
    assert [results[name].status for name in ("a", "hang", "b")] == [Status.PASSED, Status.TIMEOUT, Status.PASSED]
