"""Exclusion of single tests by the options of their runners."""

from caretbench.execution.workspaces.workspace_runner import WorkspaceRequest
from caretbench.projects.excluded_tests import with_all_failures, with_excluded_tests, without_tests

_BUILD = "cmake --build b > /dev/null && ctest --test-dir b --stop-on-failure"


def test_ctest_excludes_tests_by_an_option_also_behind_a_build() -> None:
    assert without_tests(("ctest",), ["ctest::a.b", "x"]) == ("ctest", "-E", r"^(a\.b|x)$")
    assert without_tests(("/bin/sh", "-c", _BUILD), ["a"]) == ("/bin/sh", "-c", f"{_BUILD} -E '^(a)$'")
    assert without_tests(("ctest", "-E", "slow"), ["a"]) is None
    assert without_tests(("make", "test"), ["a"]) is None


def test_a_command_runs_on_after_the_first_failure() -> None:
    assert with_all_failures(("/bin/sh", "-c", _BUILD))[2] == _BUILD.removesuffix(" --stop-on-failure")
    assert with_all_failures(("ctest", "--stop-on-failure", "-V")) == ("ctest", "-V")


def test_excluded_tests_add_up() -> None:
    request = WorkspaceRequest(id="r", snapshot="s", command=("python3", "-m", "pytest"))
    first = with_excluded_tests(request, ["a"])
    assert first is not None
    both = with_excluded_tests(first, ["b"])
    assert both is not None
    assert both.patch[".caretbench-tools/excluded.json"] == b'["a", "b"]'
    assert with_excluded_tests(request, []) == request
    assert with_excluded_tests(request.model_copy(update={"command": ("make", "test")}), ["a"]) is None


def test_tests_of_java_are_excluded_by_class_and_method_and_all_failures_are_seen() -> None:
    command = ("/caretbench/java/test", "--sources", "src", "--junit")
    assert with_all_failures(command) == (*command, "--all-failures")
    names = ["p.ATest::odd[2]", "p.ATest$Inner::bad", "p.BTest"]
    assert without_tests(command, names) == (
        *command, "--exclude-test", "p.ATest$Inner::bad", "p.ATest::odd", "p.BTest",
    )  # fmt: skip
    assert without_tests(("/caretbench/java/test", "--main", "p.AllTests"), names) is None
