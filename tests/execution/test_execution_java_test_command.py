"""Java projects under our own command: the same verdicts with everything compiled, one file, or a warm compiler."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from caretbench.build.projects.project_check import check_project
from caretbench.execution.bundles.bundle_store import installed_bundle
from caretbench.execution.execution_types import Status
from caretbench.execution.sandbox import bubblewrap as walls
from caretbench.execution.sandbox.program_sandbox import Sandbox, SandboxUnavailable
from caretbench.execution.toolchains.java import usable_jdk
from caretbench.execution.workspaces import workspace_runner as workspace_module
from caretbench.execution.workspaces.project_tools import (
    has_default_compiler_options,
    java_tools_fingerprint,
    uses_java_tools,
)
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.execution.workspaces.warm import warm_java_compiler
from caretbench.execution.workspaces.workspace_executor import WorkspaceExecutor
from caretbench.execution.workspaces.workspace_runner import (
    WORKSPACE_LIMITS,
    WorkspaceRequest,
    WorkspaceResult,
    WorkspaceRunner,
)
from caretbench.projects.runner_options import with_excluded_tests

sandboxed = pytest.mark.skipif(
    walls.find_bubblewrap() is None or usable_jdk() is None, reason="bubblewrap or a JDK is not installed"
)
_JARS = [Path("/usr/share/java") / name for name in ("junit4.jar", "hamcrest-core.jar")]

SHOP = """package shop;
public class Shop {
    static final int FEE = 2;
    static int price(Object one) { return 3; }
    public static int total(int... prices) {
        int sum = FEE;
        for (int price : prices) {
            sum += price;
        }
        Runnable told = new Runnable() { public void run() { System.out.println("told"); } };
        told.run();
        return sum;
    }
}
"""
ALL = """package shop;
public class AllTests {
    public static void main(String[] arguments) {
        assert Shop.FEE == 2 : "fee " + Shop.FEE;
        if (Shop.price("text") != 3) throw new IllegalStateException("price");
        if (Shop.total(1, 2) != 5) throw new IllegalStateException("total");
        System.out.println("3 tests passed");
    }
}
"""
FILES = {"src/shop/Shop.java": SHOP, "test/shop/AllTests.java": ALL}
TEST = ("/caretbench/java/test", "--sources", "src", "test", "--main", "shop.AllTests")
PREPARE = ("/caretbench/java/test", "--prepare", "--sources", "src", "test")

CHANGES = {
    "as it is": ({}, Status.PASSED),
    "another body": ({"src/shop/Shop.java": SHOP.replace("sum += price", "sum = sum + price")}, Status.PASSED),
    "a wrong body": ({"src/shop/Shop.java": SHOP.replace("sum += price", "sum -= price")}, Status.FAILED),
    "a class fewer": (
        {"src/shop/Shop.java": SHOP.replace("new Runnable() { public void run() { System.out.println(\"told\"); } }",
                                            "() -> {}")}, Status.PASSED,
    ),
    "does not compile": ({"src/shop/Shop.java": SHOP.replace("sum += price", "sum += cost")}, Status.COMPILE_ERROR),
    "does not parse": ({"src/shop/Shop.java": SHOP.replace("sum += price;", "sum += (;")}, Status.COMPILE_ERROR),
    # What another file's classes depend on: its compiler wrote the old value, or chose the old method.
    "another constant": ({"src/shop/Shop.java": SHOP.replace("FEE = 2", "FEE = 3")}, Status.FAILED),
    "a closer method": (
        {"src/shop/Shop.java": SHOP.replace("static int price(",
                                            "static int price(String one) { return 4; }\n    static int price(")},
        Status.FAILED,
    ),
    "another name": ({"src/shop/Shop.java": SHOP.replace("int total(", "int sum(")}, Status.COMPILE_ERROR),
    "a new file": ({"src/shop/More.java": "package shop;\nclass More {\n"}, Status.COMPILE_ERROR),
    "a file fewer": ({"src/shop/Shop.java": None}, Status.COMPILE_ERROR),
    "two files": (
        {"src/shop/Shop.java": SHOP.replace("+= price", "+= 2 * price"),
         "test/shop/AllTests.java": ALL.replace("!= 5", "!= 8")}, Status.PASSED,
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def workspace_runner() -> Iterator[WorkspaceRunner]:
    folder = Path(tempfile.mkdtemp(prefix="caretbench-test-", dir="/var/tmp"))
    folder.chmod(0o755)
    found = WorkspaceRunner(Sandbox(), SnapshotStore(folder / "store"))
    try:
        found.sandbox.probe()
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    yield found
    found.close()
    shutil.rmtree(folder)


def taken(workspace_runner: WorkspaceRunner, files: dict[str, str]) -> str:
    with tempfile.TemporaryDirectory() as folder:
        for path, text in files.items():
            (Path(folder) / path).parent.mkdir(parents=True, exist_ok=True)
            (Path(folder) / path).write_text(text)
        return workspace_runner.store.add(Path(folder)).id


def run(workspace_runner: WorkspaceRunner, snapshot: str, **fields: object) -> WorkspaceResult:
    given = {"id": "", "snapshot": snapshot, "command": TEST, "limits": WORKSPACE_LIMITS, "minimum_tests": 3}
    return workspace_runner.run(WorkspaceRequest.model_validate(given | fields))


@sandboxed
@pytest.mark.parametrize("change", CHANGES)
def test_verdicts_are_the_same_whatever_is_compiled_again(
    workspace_runner: WorkspaceRunner, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = taken(workspace_runner, FILES)
    patch, status = CHANGES[change]
    warm = run(workspace_runner, snapshot, patch=patch, prepare=PREPARE)
    monkeypatch.setattr(warm_java_compiler, "has_default_compiler_options", lambda _command: False)
    cold = run(workspace_runner, snapshot, patch=patch, prepare=PREPARE)
    assert (warm.status, cold.status) == (status, status)
    assert warm.stdout.text == cold.stdout.text
    if change in ("another body", "another constant", "does not compile"):
        whole = run(workspace_runner, snapshot, patch=patch)
        assert (whole.status, whole.stdout.text) == (status, cold.stdout.text)


@sandboxed
def test_the_usual_answer_is_compiled_beforehand_and_leaves_no_old_class(workspace_runner: WorkspaceRunner) -> None:
    snapshot = taken(workspace_runner, FILES)
    patch, _ = CHANGES["a class fewer"]
    request = WorkspaceRequest(id="", snapshot=snapshot, command=TEST, prepare=PREPARE, patch=patch)
    prepared = workspace_runner.snapshot(workspace_runner._preparer.prepared_snapshot(request))
    added = workspace_runner._java.compile_patch(request, prepared, None).patch
    place = ".caretbench-java/classes/shop/Shop"
    assert added[f"{place}$1.class"] is None
    assert isinstance(added[f"{place}.class"], bytes)
    source = added[".caretbench-java/sources/src/shop/Shop.java"]
    assert isinstance(source, bytes)
    assert b"+= price" in source


@sandboxed
@pytest.mark.parametrize("other", ["", "static int more() { return 1; }"])
def test_what_was_there_before_is_nothing_for_tests_to_find(
    workspace_runner: WorkspaceRunner, other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looking = (
        'try (var found = java.nio.file.Files.walk(java.nio.file.Path.of("."))) {\n'
        'for (var one : found.filter(java.nio.file.Files::isRegularFile).toList()) System.out.println(one + ": " + '
        "new String(java.nio.file.Files.readAllBytes(one), java.nio.charset.StandardCharsets.ISO_8859_1));\n"
        "} catch (java.io.IOException error) { throw new IllegalStateException(error); }\nsum = sum + price;"
    )
    text = SHOP.replace("sum += price;", looking).replace("    static int price", f"    {other}\n    static int price")
    snapshot = taken(workspace_runner, FILES)
    for warm in (not other, False):
        monkeypatch.setattr(warm_java_compiler, "has_default_compiler_options", lambda _command, usual=warm: usual)
        result = run(workspace_runner, snapshot, patch={"src/shop/Shop.java": text}, prepare=PREPARE)
        assert (result.status, "shop/Shop.java" in result.stdout.text) == (Status.PASSED, True)
        assert "sum += price" not in result.stdout.text


@sandboxed
@pytest.mark.skipif(not all(jar.exists() for jar in _JARS), reason="JUnit 4 is not installed")
def test_junit_stops_at_the_first_class_with_a_failure_and_counts_tests(workspace_runner: WorkspaceRunner) -> None:
    tests = "package shop;\nimport org.junit.Test;\npublic class {name} {{\n    @Test public void total() {{ "
    tests += "System.out.close(); org.junit.Assert.assertEquals({wanted}, Shop.total(1, 2)); }}\n}}\n"
    files = {"src/shop/Shop.java": SHOP} | {
        f"test/shop/{name}.java": tests.format(name=name, wanted=5) for name in ("ATest", "BTest", "Helper")
    }
    files["test/shop/AbstractTest.java"] = "package shop;\npublic abstract class AbstractTest {}\n"
    options = {
        "command": (*TEST[:4], "--junit"),
        "prepare": PREPARE,
        "environment": {"CLASSPATH": ":".join(map(str, _JARS))},
        "minimum_tests": 2,
    }
    snapshot = taken(workspace_runner, files)
    good = run(workspace_runner, snapshot, **options)
    assert (good.status, good.stdout.text.splitlines()[-1]) == (Status.PASSED, "OK (2 tests)")
    bad = run(
        workspace_runner, snapshot, patch={"test/shop/ATest.java": tests.format(name="ATest", wanted=6)}, **options
    )
    assert bad.status is Status.FAILED
    assert "shop.ATest::total" in bad.stdout.text
    assert "1,  Failures: 1" in bad.stdout.text


_JUPITER = [
    Path("/usr/share/java") / f"{name}.jar"
    for name in (
        "junit-jupiter-api", "junit-jupiter-engine", "junit-platform-commons", "junit-platform-engine",
        "junit-platform-launcher", "opentest4j", "apiguardian-api",
    )
]  # fmt: skip


@sandboxed
@pytest.mark.skipif(not all(jar.exists() for jar in _JUPITER), reason="JUnit 5 is not installed")
def test_junit_5_runs_by_the_launcher_of_its_platform(workspace_runner: WorkspaceRunner) -> None:
    tests = (
        "package shop;\nimport org.junit.jupiter.api.*;\nclass ShopTest {\n"
        "    @Test void total() { Assertions.assertEquals(5, Shop.total(1, 2)); }\n"
        "    @Nested class More { @Test void none() { Assertions.assertEquals(2, Shop.total()); } }\n}\n"
    )
    options = {
        "command": (*TEST[:4], "--junit"),
        "environment": {"CLASSPATH": ":".join(map(str, _JUPITER))},
        "minimum_tests": 2,
    }
    snapshot = taken(workspace_runner, {"src/shop/Shop.java": SHOP, "test/shop/ShopTest.java": tests})
    good = run(workspace_runner, snapshot, **options)
    assert (good.status, good.stdout.text.splitlines()[-1]) == (Status.PASSED, "OK (2 tests)")
    wrong = SHOP.replace("sum += price", "sum -= price")
    bad = run(workspace_runner, snapshot, patch={"src/shop/Shop.java": wrong}, **options)
    assert bad.status is Status.FAILED
    assert "shop.ShopTest::total" in bad.stdout.text
    assert "2,  Failures: 1" in bad.stdout.text


FAILING = {
    "t/p/FourTest.java": (
        "package p;\nimport org.junit.Test;\nimport static org.junit.Assert.*;\npublic class FourTest {\n"
        "  @Test public void good() {}\n  @Test public void bad() { fail(); }\n}\n"
    ),
    "t/p/FiveTest.java": (
        "package p;\nimport org.junit.jupiter.api.*;\nimport org.junit.jupiter.params.*;\n"
        "import org.junit.jupiter.params.provider.*;\nclass FiveTest {\n"
        "  @ParameterizedTest @ValueSource(ints = {1, 2, 3}) void odd(int n) { Assertions.assertEquals(1, n % 2); }\n"
        '  @Nested class Inner { @Test void good() {} @Test void bad() { Assertions.fail("no"); } }\n}\n'
    ),
}
NAMES = ["p.FiveTest$Inner::bad", "p.FiveTest::odd", "p.FourTest::bad"]


@sandboxed
@pytest.mark.skipif(installed_bundle("tools/junit") is None, reason="the bundle tools/junit is not built")
@pytest.mark.long
def test_failing_tests_are_named_and_excluded_ones_count_for_nothing(workspace_runner: WorkspaceRunner) -> None:
    snapshot = taken(workspace_runner, FAILING)
    command = ("/caretbench/java/test", "--sources", "t", "--junit")
    base = {"command": command, "bundle": "tools/junit", "minimum_tests": 0}
    first = run(workspace_runner, snapshot, **base)
    failed = re.findall(r"^not ok \d+ - (.*)$", first.stdout.text, re.MULTILINE)
    assert sorted(failed) == NAMES[:2], "up to the first class"
    everything = run(workspace_runner, snapshot, **base | {"command": (*command, "--all-failures")})
    assert sorted(re.findall(r"^not ok \d+ - (.*)$", everything.stdout.text, re.MULTILINE)) == NAMES
    assert everything.status is Status.FAILED
    excluded = {"environment": {"CARETBENCH_JAVA_EXCLUDED": "\n".join(NAMES)}}
    without = run(workspace_runner, snapshot, **base | excluded)
    assert without.status is Status.PASSED, without.stdout.text
    assert "OK (4 tests)" in without.stdout.text
    excluded = {"environment": {"CARETBENCH_JAVA_EXCLUDED": "\n".join(NAMES[:2])}}
    fewer = run(workspace_runner, snapshot, **base | excluded)
    assert fewer.status is Status.FAILED
    assert "not ok 5 - p.FourTest::bad" in fewer.stdout.text


@sandboxed
@pytest.mark.skipif(installed_bundle("tools/junit") is None, reason="the bundle tools/junit is not built")
@pytest.mark.long
def test_a_file_that_needs_what_is_missing_blinds_only_itself(workspace_runner: WorkspaceRunner) -> None:
    files = {
        "t/p/GoodTest.java": GOOD,
        "t/p/MockTest.java": "package p;\nimport org.rare.Mock;\npublic class MockTest { Mock mock; }\n",
        "t/p/MoreTest.java": "package p;\npublic class MoreTest extends MockTest { Object a = mock; }\n",
    }
    _check_blinded(workspace_runner, files, "missing_dependency: org.rare is not installed")


@sandboxed
@pytest.mark.skipif(installed_bundle("tools/junit") is None, reason="the bundle tools/junit is not built")
@pytest.mark.long
def test_a_file_that_does_not_compile_here_blinds_only_itself(workspace_runner: WorkspaceRunner) -> None:
    files = {
        "t/p/GoodTest.java": GOOD,
        "t/p/MockTest.java": (
            "package p;\nimport sun.reflect.generics.reflectiveObjects.*;\npublic class MockTest {}\n"
        ),
        "t/p/MoreTest.java": 'package p;\npublic class MoreTest { int a = "text"; }\n',
    }
    _check_blinded(workspace_runner, files, "does_not_compile: ")


GOOD = (
    "package p;\nimport org.junit.Test;\npublic class GoodTest {\n  @Test public void a() {}\n"
    "  @Test public void b() {}\n  @Test public void c() {}\n}\n"
)


def _check_blinded(workspace_runner: WorkspaceRunner, files: dict[str, str], fault: str) -> None:
    command = ("/caretbench/java/test", "--sources", "t", "--junit")
    request = WorkspaceRequest(
        id="p", snapshot=taken(workspace_runner, files), command=command, bundle="tools/junit",
        prepare=("/caretbench/java/test", "--prepare", "--sources", "t"), minimum_tests=1,
    )  # fmt: skip
    engine = WorkspaceExecutor(1, workspace_runner=workspace_runner)
    assert check_project(engine, request).fault.startswith(fault)
    found = check_project(engine, request, exclude_failing=True)
    assert (found.fault, found.test_count) == ("", 3)
    assert sorted(found.failing_tests) == ["t/p/MockTest.java", "t/p/MoreTest.java"]
    assert found.request.prepare == request.prepare, "the same files are left out where it is compiled beforehand"


@sandboxed
@pytest.mark.skipif(installed_bundle("tools/junit") is None, reason="the bundle tools/junit is not built")
@pytest.mark.long
def test_the_file_of_a_class_that_hangs_is_named_and_can_be_excluded(workspace_runner: WorkspaceRunner) -> None:
    one = (
        "package p;\nimport org.junit.Test;\npublic class {name} {{\n"
        "  @Test public void a() throws Exception {{ {body} }}\n}}\n"
    )
    files = {
        "t/p/GoodTest.java": one.format(name="GoodTest", body=""),
        "t/p/HangingTest.java": one.format(name="HangingTest", body="Thread.sleep(600_000);"),
    }
    request = WorkspaceRequest(
        id="p", snapshot=taken(workspace_runner, files), bundle="tools/junit",
        command=("/caretbench/java/test", "--sources", "t", "--junit"),
        limits=WORKSPACE_LIMITS.model_copy(update={"wall_s": 40.0}),
    )  # fmt: skip
    engine = WorkspaceExecutor(1, workspace_runner=workspace_runner)
    found = check_project(engine, request)
    assert found.fault.startswith("tests_hang: ")
    assert found.fault.endswith("t/p/HangingTest.java did not end: exclude it with --exclude-test t/p/HangingTest.java")
    without = with_excluded_tests(request, ["t/p/HangingTest.java"])
    assert without is not None
    assert check_project(engine, without).test_count == 1


@pytest.mark.smoke
@sandboxed
def test_one_project_is_prepared_once_and_what_fails_to_prepare_stays_as_it_is(
    workspace_runner: WorkspaceRunner,
) -> None:
    snapshot = taken(workspace_runner, {"seed": "1"})
    options = {"minimum_tests": 0, "prepare": ("/bin/sh", "-c", "date +%N > made; mkdir -p a; echo > a/b")}
    said = [
        run(workspace_runner, snapshot, command=("/bin/sh", "-c", "cat made"), repeat=n, **options).stdout.text
        for n in (0, 1)
    ]
    assert said[0] == said[1] != ""
    older = ("/bin/sh", "-c", "echo > new; test -e a/b && test new -nt made && ! test made -nt seed")
    assert run(workspace_runner, snapshot, command=older, **options).status is Status.PASSED
    others = run(workspace_runner, snapshot, command=("cat", "made"), environment={"A": "1"}, **options)
    assert others.stdout.text not in ("", said[0])
    fails = {"minimum_tests": 0, "prepare": ("/bin/sh", "-c", "echo 1 > made; exit 1")}
    assert run(workspace_runner, snapshot, command=("test", "!", "-e", "made"), **fails).status is Status.PASSED


def test_without_a_jdk_it_is_said(workspace_runner: WorkspaceRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace_module, "java_project_tools", lambda: None)
    result = run(workspace_runner, taken(workspace_runner, FILES))
    assert (result.status, "JDK" in result.reason) == (Status.SKIPPED, True)


def test_our_command_is_known_by_its_name() -> None:
    assert uses_java_tools(("/bin/sh", "-c", "cd a && /caretbench/java/test --junit4"))
    assert not uses_java_tools(("java", "-cp", "build", "Tests"))
    assert java_tools_fingerprint(("make", "test")) == ""
    assert has_default_compiler_options(TEST)
    assert not has_default_compiler_options((*TEST, "--javac=-parameters"))


def test_what_is_declared_is_all_but_bodies_of_methods() -> None:
    nested = "class A {\n  A() { int x; }\n  int f = 1;\n  class B { void m() { new Object() { void n() {} }; } }\n}\n"
    assert warm_java_compiler._declared(nested) == "class A {\n  A() {}\n  int f = 1;\n  class B { void m() {} }\n}\n"
    assert warm_java_compiler._declared(SHOP) != warm_java_compiler._declared(SHOP.replace("FEE = 2", "FEE = 3"))
    assert warm_java_compiler._declared(SHOP) == warm_java_compiler._declared(
        SHOP.replace("sum += price", "sum -= price")
    )
    assert warm_java_compiler._declared("class A { void m() {") is None
    assert warm_java_compiler._declared("class A { char c() { return '\\u007d'; } }") is None
