"""The test commands that projects really have, each in a small project: passing, failing, not building."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from caretbench.execution.execution_types import Status
from caretbench.execution.sandbox import bubblewrap as walls
from caretbench.execution.sandbox.program_sandbox import Sandbox, SandboxUnavailable
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.execution.workspaces.workspace_executor import WorkspaceExecutor
from caretbench.execution.workspaces.workspace_runner import (
    WORKSPACE_LIMITS,
    WorkspaceRequest,
    WorkspaceResult,
    WorkspaceRunner,
)

pytestmark = pytest.mark.skipif(walls.find_bubblewrap() is None, reason="bubblewrap is not installed")

LIMITS = WORKSPACE_LIMITS.model_copy(update={"tmp_mb": 512})


@pytest.fixture(scope="module")
def workspace_runner(place: Path) -> Iterator[WorkspaceRunner]:
    workspace_runner = WorkspaceRunner(Sandbox(), SnapshotStore(place / "store"))
    try:
        workspace_runner.sandbox.probe()
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    yield workspace_runner
    workspace_runner.close()


def need(*programs: str) -> None:
    for program in programs:
        if shutil.which(program, path=walls.PATH) is None:
            pytest.skip(f"{program} is not installed")


def run(
    workspace_runner: WorkspaceRunner,
    files: Mapping[str, str],
    patches: Mapping[str, Mapping[str, str]],
    command: tuple[str, ...],
    **options: object,
) -> dict[str, WorkspaceResult]:
    """Results by the patch's name, of a project with these files."""
    with tempfile.TemporaryDirectory() as folder:
        for path, text in files.items():
            (Path(folder) / path).parent.mkdir(parents=True, exist_ok=True)
            (Path(folder) / path).write_text(textwrap.dedent(text))
        snapshot = workspace_runner.store.add(Path(folder)).id
    fields = {"snapshot": snapshot, "command": command, "limits": LIMITS, **options}
    requests = [
        WorkspaceRequest.model_validate(fields | {"id": name, "patch": patch}) for name, patch in patches.items()
    ]
    executor = WorkspaceExecutor(2, workspace_runner=workspace_runner, use_cache=False)
    return {result.id: result for result in executor.submit(requests)}


def told(result: WorkspaceResult) -> tuple[Status, int, int, int]:
    counts = result.test_counts
    return result.status, counts.passed, counts.failed, counts.errors


# --- JavaScript -----------------------------------------------------------------------------------------------

NODE = {
    "package.json": '{"type": "module", "scripts": {"test": "node --test"}}',
    "total.js": "export const total = (prices) => prices.reduce((a, b) => a + b, 0);\n",
    "test/total.test.js": """
        import test from "node:test";
        import assert from "node:assert";
        import { total } from "../total.js";
        test("sum", () => assert.equal(total([1, 2, 3]), 6));
        test("nothing", () => assert.equal(total([]), 0));
    """,
}


def test_node(workspace_runner: WorkspaceRunner) -> None:
    need("node")
    version = subprocess.run(["/usr/bin/env", "node", "--version"], capture_output=True, text=True).stdout
    if int(version[1:].split(".")[0]) < 20:
        pytest.skip(f"node {version.strip()} has no JUnit reporter")
    results = run(
        workspace_runner,
        NODE,
        {
            "as it is": {},
            "wrong": {"total.js": "export const total = (prices) => prices.length;\n"},
            "no JavaScript": {"total.js": "export const total = (\n"},
            "leaves early": {"total.js": "process.exit(0);\nexport const total = 1;\n"},
        },
        ("node", "--test", "--test-reporter=junit", "--test-reporter-destination=report.xml", "test/"),
        junit=("report.xml",),
        minimum_tests=2,
    )
    assert told(results["as it is"]) == (Status.PASSED, 2, 0, 0), results["as it is"]
    assert told(results["wrong"]) == (Status.FAILED, 1, 1, 0)
    assert results["no JavaScript"].status in (Status.FAILED, Status.COMPILE_ERROR)
    assert results["leaves early"].status is not Status.PASSED


# --- Java -----------------------------------------------------------------------------------------------------

JAVA = {
    "src/shop/Prices.java": """
        package shop;
        public class Prices {
            public static int total(int... prices) { int sum = 0; for (int price : prices) sum += price; return sum; }
        }
    """,
    "test/shop/PricesTest.java": """
        package shop;
        public class PricesTest {
            public static void main(String[] arguments) {
                if (Prices.total(1, 2, 3) != 6) throw new AssertionError("sum");
                System.out.println("2 tests");
            }
        }
    """,
}
WRONG_JAVA = "package shop;\npublic class Prices { public static int total(int... prices) { return prices.length; } }\n"


def test_java_with_a_main_class(workspace_runner: WorkspaceRunner) -> None:
    need("java", "javac")
    build = "javac -d out $(find src test -name '*.java') && java -ea -cp out shop.PricesTest"
    results = run(
        workspace_runner,
        JAVA,
        {
            "as it is": {},
            "wrong": {"src/shop/Prices.java": WRONG_JAVA},
            "no Java": {"src/shop/Prices.java": "package shop;\nclass {"},
        },
        ("/bin/sh", "-c", build),
    )
    assert {name: result.status for name, result in results.items()} == {
        "as it is": Status.PASSED,
        "wrong": Status.FAILED,
        "no Java": Status.COMPILE_ERROR,
    }
    assert "AssertionError: sum" in results["wrong"].stderr.text


def test_java_with_the_console_of_junit(workspace_runner: WorkspaceRunner, place: Path) -> None:
    need("java", "javac")
    homes = [Path.home() / ".m2" / "repository", Path("/usr/share/java")]
    jars = [jar for home in homes for jar in home.rglob("junit-platform-console-standalone*.jar")]
    if not jars:
        pytest.skip("no junit-platform-console-standalone.jar in ~/.m2 or /usr/share/java")
    jar = shutil.copy(jars[0], place)
    test = """
        package shop;
        import static org.junit.jupiter.api.Assertions.assertEquals;
        import org.junit.jupiter.api.Test;
        class PricesTest {
            @Test void sum() { assertEquals(6, Prices.total(1, 2, 3)); }
            @Test void nothing() { assertEquals(0, Prices.total()); }
        }
    """
    command = (
        "javac -cp /junit.jar -d out $(find src test -name '*.java') && "
        "java -jar /junit.jar --class-path out --scan-class-path --reports-dir reports"
    )
    results = run(
        workspace_runner,
        JAVA | {"test/shop/PricesTest.java": test},
        {"as it is": {}, "wrong": {"src/shop/Prices.java": WRONG_JAVA}},
        ("/bin/sh", "-c", command),
        read_only={"/junit.jar": jar},
        junit=("reports/*.xml",),
        minimum_tests=2,
    )
    assert told(results["as it is"]) == (Status.PASSED, 2, 0, 0), results["as it is"]
    assert told(results["wrong"]) == (Status.FAILED, 1, 1, 0)


# --- C++ ------------------------------------------------------------------------------------------------------

CPP = {
    "prices.hpp": "inline int total(const int *p, int n) { return n ? *p + total(p + 1, n - 1) : 0; }\n",
    "test.cpp": """
        #include "prices.hpp"
        int main(int count, char **) {
            const int prices[] = {1, 2, 3};
            return count > 1 ? total(prices, 0) != 0 : total(prices, 3) != 6;
        }
    """,
    "Makefile": "check: test\n\t./test && ./test nothing\ntest: test.cpp prices.hpp\n\t$(CXX) -o test test.cpp\n",
    "CMakeLists.txt": """
        cmake_minimum_required(VERSION 3.13)
        project(prices CXX)
        enable_testing()
        add_executable(prices test.cpp)
        add_test(NAME sum COMMAND prices)
        add_test(NAME nothing COMMAND prices nothing)
    """,
}
CPP_PATCHES = {
    "as it is": {},
    "wrong": {"prices.hpp": "inline int total(const int *, int n) { return n; }\n"},
    "no C++": {"prices.hpp": "inline int total(\n"},
}


def test_make(workspace_runner: WorkspaceRunner) -> None:
    need("make", "g++")
    results = run(workspace_runner, CPP, CPP_PATCHES, ("make", "check", "CXX=g++"))
    assert results["as it is"].status is Status.PASSED, results["as it is"]
    assert results["wrong"].exit_code == results["no C++"].exit_code == 2
    assert [results[name].status for name in ("wrong", "no C++")] == [Status.RUNTIME_ERROR, Status.COMPILE_ERROR]


def test_ctest(workspace_runner: WorkspaceRunner) -> None:
    need("cmake", "ctest", "make", "g++")
    command = "cmake -S . -B build && cmake --build build && cd build && ctest --output-junit report.xml"
    results = run(
        workspace_runner, CPP, CPP_PATCHES, ("/bin/sh", "-c", command), junit=("build/report.xml",), minimum_tests=2
    )
    assert told(results["as it is"]) == (Status.PASSED, 2, 0, 0), results["as it is"]
    assert told(results["wrong"]) == (Status.FAILED, 1, 1, 0)
    assert results["no C++"].status is Status.COMPILE_ERROR
    assert results["no C++"].has_no_tests


# --- Go -------------------------------------------------------------------------------------------------------

GO = {
    "go.mod": "module shop\n\ngo 1.19\n",
    "prices.go": """
        package shop

        func Total(prices []int) (sum int) {
            for _, price := range prices {
                sum += price
            }
            return
        }
    """,
    "prices_test.go": """
        package shop

        import "testing"

        func TestSum(t *testing.T) {
            if Total([]int{1, 2, 3}) != 6 {
                t.Fatal("sum")
            }
        }

        func TestNothing(t *testing.T) {
            if Total(nil) != 0 {
                t.Fatal("nothing")
            }
        }
    """,
}


@pytest.mark.long
def test_go(workspace_runner: WorkspaceRunner) -> None:
    need("go")
    results = run(
        workspace_runner,
        GO,
        {
            "as it is": {},
            "wrong": {"prices.go": "package shop\n\nfunc Total(prices []int) int { return len(prices) }\n"},
            "no Go": {"prices.go": "package shop\n\nfunc Total(\n"},
        },
        ("/bin/sh", "-c", "go test -json ./... > report.json"),
        junit=("report.json",),
        minimum_tests=2,
        environment={"GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "local", "GOPROXY": "off", "CGO_ENABLED": "0"},
        limits=LIMITS.model_copy(update={"tmp_mb": 1024, "memory_mb": 3072}),
    )
    assert told(results["as it is"]) == (Status.PASSED, 2, 0, 0), results["as it is"]
    assert told(results["wrong"]) == (Status.FAILED, 1, 1, 0)
    assert results["no Go"].status is Status.COMPILE_ERROR
