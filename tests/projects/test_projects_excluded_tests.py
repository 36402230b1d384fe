"""Exclusion of single tests by the options of their runners."""

import re
import shutil

import pytest

from caretbench.build.projects.project_check import check_project
from caretbench.build.projects.setup.package_json import runner_command
from caretbench.build.projects.test_outcomes import failing_names, unknown_tests, with_all_failures
from caretbench.execution.execution_types import CapturedOutput, Status
from caretbench.execution.workspaces.workspace_executor import WorkspaceExecutor
from caretbench.execution.workspaces.workspace_runner import WorkspaceRequest, WorkspaceResult, WorkspaceRunner
from caretbench.projects.runner_options import SEARCH_PATH, with_excluded_tests, without_tests
from tests.support.project_files import open_folder

SHELL = ("/bin/sh", "-c")
TESTS = """
const { test, describe, it } = require('node:test');
const assert = require('node:assert');
test('adds (numbers)', () => assert.equal(1 + 1, 2));
test('looks at the clock', () => assert(false));
describe('lists', () => {
  it('is empty', () => assert.deepEqual([], []));
  it("needs 'a server'", () => assert(false));
});
"""
UNITTESTS = """
import socket
import unittest


class ShopTest(unittest.TestCase):
    def test_adds(self):
        self.assertEqual(1 + 1, 2)

    def test_sorts(self):
        self.assertEqual(sorted("ba"), ["a", "b"])

    def test_counts(self):
        self.assertEqual(len("ab"), 2)

    def test_clock(self):
        self.assertTrue(False)

    def test_server(self):
        socket.create_connection(("shop.example", 80))

    def test_end(self):
        next(iter(()))
"""
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
    names = ["p.ATest::odd[2]", "p.ATest$Inner::bad", "t/p/BTest.java"]
    request = WorkspaceRequest(id="r", snapshot="s", command=command, environment={"A": "b"})
    found = with_excluded_tests(request, names)
    assert found is not None
    named = "p.ATest$Inner::bad\np.ATest::odd\nt/p/BTest.java"
    assert found.environment == {"A": "b", "CARETBENCH_JAVA_EXCLUDED": named}
    main = request.model_copy(update={"command": ("/caretbench/java/test", "--main", "p.AllTests")})
    assert with_excluded_tests(main, names) is None


def line(command: str) -> tuple[str, ...]:
    return (*SHELL, SEARCH_PATH + " && ".join(runner_command(part, {}).line for part in command.split(" && ")))


@pytest.mark.parametrize(
    ("said", "names"),
    [
        ("TAP version 13\nok 1 - a › b\nnot ok 2 - a › c's\nnot ok 3 - d # TODO later\n1..3", ("a › c's",)),  # noqa: RUF001
        ("# parses\nok 1 one\nnot ok 2 should be equal\n", ("should be equal",)),
        ("✔ a (1ms)\n✖ b (2ms)\n✖ failing tests:\n\n✖ b (2ms)", ("b",)),
        ('  FAIL  parse  "handles a list"\n', ('parse  "handles a list"',)),
        (
            "  3 passing (9ms)\n  2 failing\n\n  1) List\n       of lists\n         is empty:\n\n      Error: a:\n"
            '  2) "before each" hook:\n     Error: 1) b\n',
            ("List of lists is empty", '"before each" hook'),
        ),
        ("3 passing", ()),
    ],
)
def test_failed_tests_are_named_in_the_output_of_runners(said: str, names: tuple[str, ...]) -> None:
    result = WorkspaceResult(id="r", status=Status.FAILED, stdout=CapturedOutput(text=said))
    assert failing_names(result) == names


def test_failed_tests_on_standard_error_are_named_where_standard_output_names_none() -> None:
    said = "⎯⎯ Failed Tests 1 ⎯⎯\n\n FAIL  src/list.spec.ts > list > sums\nError: no\n"
    counted = CapturedOutput(text="Tests  1 failed | 3 passed (4)\n")
    result = WorkspaceResult(id="r", status=Status.FAILED, stdout=counted, stderr=CapturedOutput(text=said))
    assert failing_names(result) == ("src/list.spec.ts > list > sums",)


@pytest.mark.parametrize(
    ("command", "names", "expected", "excluded", "kept"),
    [
        ("mocha", ["Suite inner::handles a 'b'"], "--grep '", "Suite inner handles a 'b'", "Suite inner handles c"),
        ("jest", ["test/a.test.js::suite adds 1 + 1"], "-t '", "suite adds 1 + 1", "suite adds"),
        ("vitest run", ["test/a.test.ts::suite > adds"], "-t '", "suite adds", "other suite adds"),
    ],
)
def test_tests_are_excluded_by_the_words_of_their_names(
    command: str, names: list[str], expected: str, excluded: str, kept: str
) -> None:
    found = without_tests(line(command), names)
    assert found is not None
    assert expected in found[2]
    pattern = re.search(r"'(\^.*)'", found[2])
    assert pattern is not None
    assert re.search(pattern[1], excluded) is None
    assert re.search(pattern[1], kept)


def test_a_runner_without_such_an_option_excludes_nothing() -> None:
    assert without_tests(line("tape test/*.js"), ["a"]) is None
    assert without_tests(line("mocha --grep fast"), ["a"]) is None
    assert without_tests((*SHELL, "make test"), ["a"]) is None
    assert without_tests(line("mocha"), ["日本"]) is None
    assert without_tests(("npx", "ava"), ["parse › it's 1"]) == (*SHELL, "npx ava --match='!*it*s 1'")  # noqa: RUF001


@pytest.mark.parametrize("command", ["mocha", "jest", "vitest", "ava"])
def test_all_failures_are_found_without_the_option_that_stops(command: str) -> None:
    full = line(f"tsc -p . && {command}")
    plain = with_all_failures(full)
    assert len(plain[2]) < len(full[2])
    assert "bail" not in plain[2]
    assert "fail-fast" not in plain[2]
    assert plain[2].startswith(f"{SEARCH_PATH}tsc -p . && {command}")


@pytest.mark.long
def test_failing_tests_of_node_are_named_and_excluded(workspace_runner: WorkspaceRunner) -> None:
    with open_folder() as folder:
        (folder / "a.test.js").write_text(TESTS)
        identity = workspace_runner.store.add(folder).id
    check = runner_command("node --test", {})
    assert check.report is not None
    request = WorkspaceRequest(id="p", snapshot=identity, command=(*SHELL, check.line), junit=(check.report,))
    failed = workspace_runner.run(request)
    names = failing_names(failed)
    assert set(names) == {"test::looks at the clock", "lists::needs 'a server'"}
    command = without_tests(request.command, names)
    assert command is not None
    passed = workspace_runner.run(request.model_copy(update={"command": command}))
    assert passed.status is Status.PASSED
    assert {test.name for test in passed.tests if test.outcome == "passed"} >= {
        "test::adds (numbers)",
        "lists::is empty",
    }
    assert failing_names(passed) == ()


def test_failing_unittests_and_those_that_need_the_network_are_named_and_excluded(engine: WorkspaceExecutor) -> None:
    with open_folder() as folder:
        (folder / "test_shop.py").write_text(UNITTESTS)
        identity = engine.workspace_runner.store.add(folder).id
    request = WorkspaceRequest(id="p", snapshot=identity, command=(*SHELL, "python3 -m unittest"))
    found = check_project(engine, request, exclude_failing=True)
    assert (found.fault, found.test_count) == ("", 3)
    assert len(found.failing_tests) == 3
    assert found.failing_tests["test_shop.ShopTest.test_end"] == "StopIteration"
    assert found.failing_tests["test_shop.ShopTest.test_clock"] == "AssertionError: False is not true"
    insisted = check_project(engine, request)
    assert insisted.fault.startswith("tests_need_network: a test (")
    assert "test_shop.ShopTest.test_server" in insisted.fault


RUBY_TESTS = """\
require 'minitest/autorun'
module Shop
  class ClockTest < Minitest::Test
    def test_late = assert_equal(1, 2)
    def test_lost = raise(KeyError, 'no key')
    def test_sum = assert_equal(2, 1 + 1)
    def test_difference = assert_equal(0, 1 - 1)
  end
end
"""


@pytest.mark.skipif(shutil.which("ruby") is None, reason="ruby is not installed")
def test_failing_tests_of_ruby_are_named_and_excluded(engine: WorkspaceExecutor) -> None:
    with open_folder() as folder:
        (folder / "clock_test.rb").write_text(RUBY_TESTS)
        identity = engine.workspace_runner.store.add(folder).id
    request = WorkspaceRequest(id="p", snapshot=identity, command=(*SHELL, "ruby -e 'require \"./clock_test\"'"))
    found = check_project(engine, request, exclude_failing=True)
    assert (found.fault, found.test_count) == ("", 2)
    assert set(found.failing_tests) == {"Shop::ClockTest#test_late", "Shop::ClockTest#test_lost"}


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("tests/test_a.py::Clock::test_late[x-1]", True),
        ("tests.test_a.Clock.test_late", True),
        ("tests.test_a.Clock.test_late_0_negative", True),  # composed when it runs
        ("Clock when it is late", True),
        ("org.shop.ClockTest", True),
        ("tests/test_a.py::Clock::test_lat_e", False),
        ("nope", False),
        ("test_", False),
    ],
)
def test_a_name_that_occurs_nowhere_is_unknown(name: str, known: bool) -> None:
    texts = ("it('is late')\n", "class ClockTest {}", "class Clock:\n    def test_late(self):\n        pass\n")
    assert unknown_tests([name], texts) == (() if known else (name,))
