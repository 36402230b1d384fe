"""Which tests run for a task and in which order, with pytest and unittest in real sandboxes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from caretbench.build.project_tasks.task_builder import TaskBuilder
from caretbench.build.project_tasks.task_folder import TaskFolder
from caretbench.build.projects.project_check import check_project
from caretbench.build.projects.reference_runs import ReferenceRuns, run_checks
from caretbench.build.projects.setup.command_detection import project_checks
from caretbench.build.projects.test_outcomes import with_reach_recording, with_reversed_order
from caretbench.errors import DataError
from caretbench.execution.execution_types import Status
from caretbench.execution.sandbox.program_sandbox import display_server
from caretbench.execution.workspaces.workspace_executor import WorkspaceExecutor
from caretbench.execution.workspaces.workspace_runner import WorkspaceRequest
from caretbench.problem import TestsCheck
from caretbench.progress import Progress
from caretbench.projects.answer_requests import check_request, file_splice, get_tests_check
from caretbench.projects.runner_options import runs_pytest, with_selected_tests
from caretbench.projects.settings import CheckSettings
from caretbench.suites.simcopilot.build.builder import SimCopilotOptions
from caretbench.suites.simcopilot.build.tasks import TaskSampling
from tests.support.pytest_copy import copy_pytest

PRICES = """\
def total(orders, limit):
    found = 0
    for order in orders:
        if order > limit:
            found += round(order * 9 / 10)
        else:
            found += order
    return found


def words(text):
    found = {}
    for word in text.split():
        found[word] = found.get(word, 0) + 1
    return sorted(found.items())
"""
TESTS = """\
import pytest
from prices import total, words


@pytest.fixture(scope="module")
def counted():
    return words("a b a")


@pytest.mark.parametrize("given,cost", [([10, 200, 30], 220), ([], 0)])
def test_total(given, cost):
    assert total(given, 100) == cost


def test_counted(counted):
    assert counted == [("a", 2), ("b", 1)]


def test_words():
    assert words("x y x") == [("x", 2), ("y", 1)]
"""
_PYTEST = CheckSettings(command="python3 -m pytest -q -x -p no:cacheprovider", environment={"PYTHONPATH": ".deps"})


def project(root: Path, files: dict[str, str], *, with_pytest: bool = True) -> Path:
    root.mkdir()
    for path, text in files.items():
        (root / path).write_text(text)
    if with_pytest:
        copy_pytest(root / ".deps")
    return root


def base(engine: WorkspaceExecutor, root: Path, check: CheckSettings) -> ReferenceRuns:
    snapshot = engine.workspace_runner.store.add(root)
    return run_checks(engine, snapshot.id, project_checks(snapshot, ["python"], from_user=check))


def test_a_task_is_decided_by_the_tests_that_reach_it(engine: WorkspaceExecutor, tmp_path: Path) -> None:
    root = project(tmp_path / "shop", {"prices.py": PRICES, "test_prices.py": TESTS})
    options = SimCopilotOptions(sampling=TaskSampling(modes=("infill",), limit=None), check=_PYTEST)
    built = TaskBuilder(engine, validate=False).build(root, TaskFolder(tmp_path / "tasks"), options)
    chosen = {problem.reference.split("\n")[0]: get_tests_check(problem) for problem in built.candidates}
    large = ("test_prices.py::test_total[given0-220]",)
    assert chosen["found += round(order * 9 / 10)"].tests == large
    assert chosen["found += round(order * 9 / 10)"].minimum_tests == 1
    assert chosen["order in orders"].tests == (*large, "test_prices.py::test_total[given1-0]")
    shared = chosen["found[word] = found.get(word, 0) + 1"]  # in a fixture that other tests may use, too
    assert (shared.tests, shared.minimum_tests) == ((), 4)
    assert built.manifest.order_dependent == {}

    snapshot = built.manifest.snapshot
    request = check_request(chosen["order in orders"], snapshot)
    wrong = PRICES.replace("found.get(word, 0) + 1", "0").encode()
    results = {
        result.id: result
        for result in engine.submit(
            [
                request.model_copy(update={"id": "wrong elsewhere", "patch": {**request.patch, "prices.py": wrong}}),
                with_selected_tests(
                    check_request(shared, snapshot, identity="not there"), ["test_prices.py::test_gone"]
                ),
            ]
        )
    }
    assert results["wrong elsewhere"].status is Status.PASSED
    assert "2 passed" in results["wrong elsewhere"].stdout.text
    assert "not there" in results["not there"].stderr.text + results["not there"].stdout.text
    assert results["not there"].status is not Status.PASSED


ORDER = """\
import unittest
import prices

SEEN = []


class T(unittest.TestCase):
    def test_a(self):
        SEEN.append(prices.total([200], 100))

    def test_b(self):
        self.assertEqual(SEEN, [180])
"""


@pytest.mark.parametrize("with_pytest", [True, False])
def test_tests_that_depend_on_their_order_are_named(
    engine: WorkspaceExecutor, tmp_path: Path, with_pytest: bool
) -> None:
    files = {"prices.py": PRICES, "test_prices.py": ORDER}
    root = project(tmp_path / "shop", files, with_pytest=with_pytest)
    check = _PYTEST if with_pytest else CheckSettings(command="python3 -m unittest -f")
    found = base(engine, root, check)
    assert found.excluded_checks == {}
    assert found.order_dependent["tests"].startswith("in another order ")


def test_tests_in_any_order_are_not(engine: WorkspaceExecutor, tmp_path: Path) -> None:
    free = ORDER.replace("self.assertEqual(SEEN, [180])", "self.assertEqual(prices.total([], 3), 0)")
    root = project(tmp_path / "shop", {"prices.py": PRICES, "test_prices.py": free}, with_pytest=False)
    assert base(engine, root, CheckSettings(command="python3 -m unittest -f")).order_dependent == {}


FAILING = (
    TESTS
    + """

def test_locale():
    assert total([1234], 9) == "1,234", "no locale"


def test_locale_of_words():
    assert words("a b")


@pytest.mark.parametrize("n", [1, 2])
def test_number(n):
    assert n == 1
"""
)


def test_pytest_tests_that_fail_on_the_unchanged_project_are_excluded(
    engine: WorkspaceExecutor, tmp_path: Path
) -> None:
    files = {"prices.py": PRICES, "test_prices.py": FAILING, "test_more.py": "import not_installed\n"}
    root = project(tmp_path / "shop", files)
    found = base(engine, root, _PYTEST)
    assert found.excluded_checks == {}
    assert found.failing_tests["tests"] == {
        "test_more.py": "ModuleNotFoundError: No module named 'not_installed'",
        "test_prices.py::test_locale": "AssertionError: no locale",
        "test_prices.py::test_number[2]": "assert 2 == 1",
    }
    [check] = found.checks
    assert check.check.excluded_tests == tuple(sorted(found.failing_tests["tests"]))
    options = SimCopilotOptions(sampling=TaskSampling(modes=("infill",), limit=None), check=_PYTEST)
    built = TaskBuilder(engine, validate=False).build(root, TaskFolder(tmp_path / "tasks"), options)
    assert dict(built.manifest.failing_tests["tests"]) == found.failing_tests["tests"]
    chosen = {problem.reference.split("\n")[0]: get_tests_check(problem) for problem in built.candidates}
    assert len(chosen["found += round(order * 9 / 10)"].tests) == 1
    insists = SimCopilotOptions(check=_PYTEST, all_tests=True)
    with pytest.raises(DataError, match="not pass"):
        TaskBuilder(engine).build(root, TaskFolder(tmp_path / "all"), insists)


UNITTESTS = {
    "prices.py": PRICES,
    "test_a.py": ORDER.replace("self.assertEqual(SEEN, [180])", "with self.subTest(n=1):\n            self.fail('no')")
    + "\n    def test_c(self):\n        self.assertEqual(prices.total([], 3), 0)\n",
    "test_b.py": "import not_installed\n",
    "test_c.py": "import unittest\nimport prices\n\n\nclass T(unittest.TestCase):\n    @classmethod\n"
    "    def setUpClass(cls):\n        raise OSError('Name or service not known')\n\n"
    "    def test_a(self):\n        pass\n",
}


def test_unittest_tests_that_fail_on_the_unchanged_project_are_excluded(
    engine: WorkspaceExecutor, tmp_path: Path
) -> None:
    more = "    def test_d(self):\n        self.assertEqual(prices.words('a'), [('a', 1)])\n"
    files = {**UNITTESTS, "test_a.py": UNITTESTS["test_a.py"] + "\n" + more}
    root = project(tmp_path / "shop", files, with_pytest=False)
    found = base(engine, root, CheckSettings(command="python3 -m unittest -f"))
    assert found.excluded_checks == {}
    assert found.failing_tests["tests"] == {
        "test_a.T.test_b": "AssertionError: no",
        "test_b": "ModuleNotFoundError: No module named 'not_installed'",
        "test_c.T": "OSError: Name or service not known",
    }
    assert found.checks[0].check.minimum_tests == 3


HANGS = {
    True: "import time\n\n\ndef test_waits():\n    time.sleep(60)\n",
    False: "import time\nimport unittest\n\n\nclass T(unittest.TestCase):\n    def test_waits(self):\n"
    "        time.sleep(60)\n",
}


@pytest.mark.long
@pytest.mark.parametrize("with_pytest", [True, False])
def test_a_test_that_hangs_is_named(engine: WorkspaceExecutor, tmp_path: Path, with_pytest: bool) -> None:
    files = {"prices.py": PRICES, "test_prices.py": HANGS[with_pytest]}
    root = project(tmp_path / "shop", files, with_pytest=with_pytest)
    check = TestsCheck(command=tuple(_PYTEST.command.split()) if with_pytest else ("python3", "-m", "unittest"))
    if with_pytest:
        check = check.model_copy(update={"environment": dict(_PYTEST.environment)})
    request = check_request(check, engine.workspace_runner.store.add(root).id)
    short = request.limits.model_copy(update={"wall_s": 14.0})
    found = check_project(engine, request.model_copy(update={"limits": short}))
    name = "test_prices.py::test_waits" if with_pytest else "test_prices.T.test_waits"
    assert found.fault.endswith(f"; {name} did not end: exclude it with --exclude-test {name}")


MARKS_FAIL = (
    TESTS
    + """

def test_source():
    import odd, sys
    assert len(open(odd.__file__).read()) < 60 and odd.twice(2) == 4
    assert sys.gettrace() is None
"""
)


def test_a_file_that_fails_with_instrumentation_blinds_only_itself(engine: WorkspaceExecutor, tmp_path: Path) -> None:
    odd = "def twice(x):\n    if x:\n        return 2 * x\n"
    root = project(tmp_path / "shop", {"prices.py": PRICES, "odd.py": odd, "test_prices.py": MARKS_FAIL})
    options = SimCopilotOptions(sampling=TaskSampling(modes=("infill",), limit=None), check=_PYTEST)
    built = TaskBuilder(engine, validate=False).build(root, TaskFolder(tmp_path / "tasks"), options)
    assert list(built.manifest.unknown_reach) == ["odd.py"]
    chosen = {problem.reference.split("\n")[0]: get_tests_check(problem) for problem in built.candidates}
    assert chosen["found += round(order * 9 / 10)"].tests == ("test_prices.py::test_total[given0-220]",)


def test_installed_packages_are_never_collected(engine: WorkspaceExecutor, tmp_path: Path) -> None:
    ini = "[pytest]\nnorecursedirs = build\naddopts = --cov=prices\n"
    root = project(tmp_path / "shop", {"prices.py": PRICES, "test_prices.py": TESTS, ".pytest.ini": ini})
    (root / ".deps/other").mkdir()
    (root / ".deps/other/test_other.py").write_text("def test_other():\n    assert False\n")
    snapshot = engine.workspace_runner.store.add(root)
    found = run_checks(engine, snapshot.id, project_checks(snapshot, ["python"]))
    assert (found.excluded_checks, found.failing_tests) == ({}, {})
    assert found.checks[0].check.minimum_tests == 4


BY_SCRIPT = """\
import subprocess
import unittest


class T(unittest.TestCase):
    def test_script(self):
        self.assertEqual(subprocess.run(["shop", "200"], capture_output=True, text=True, check=True).stdout, "180\\n")
"""


def test_tests_find_the_scripts_that_a_setup_installed(engine: WorkspaceExecutor, tmp_path: Path) -> None:
    root = project(tmp_path / "shop", {"prices.py": PRICES, "test_prices.py": BY_SCRIPT}, with_pytest=False)
    script = root / ".deps/bin/shop"
    script.parent.mkdir(parents=True)
    script.write_text(
        "#!/usr/bin/python3\nimport sys\n\nimport prices\n\nprint(prices.total([int(sys.argv[1])], 100))\n"
    )
    script.chmod(0o755)
    snapshot = engine.workspace_runner.store.add(root)
    found = run_checks(engine, snapshot.id, project_checks(snapshot, ["python"]))
    assert (found.excluded_checks, found.failing_tests) == ({}, {})
    assert found.checks[0].check.minimum_tests == 1


def test_what_a_machine_lacks_is_a_reason_to_skip(engine: WorkspaceExecutor, tmp_path: Path) -> None:
    root = project(tmp_path / "shop", {"prices.py": PRICES}, with_pytest=False)
    check = TestsCheck(command=("true",), needs=("network",))
    [result] = engine.submit([check_request(check, engine.workspace_runner.store.add(root).id)])
    assert (result.status, "'network'" in result.reason) == (Status.SKIPPED, True)
    look = ("/bin/sh", "-c", 'test -n "$DISPLAY"')
    check = check.model_copy(update={"command": look, "needs": ("display",)})
    [result] = engine.submit([check_request(check, engine.workspace_runner.store.add(root).id)])
    if display_server() is None:
        assert (result.status, "xvfb" in result.reason) == (Status.SKIPPED, True)
    else:
        assert result.status is Status.PASSED, result.reason


@pytest.mark.parametrize(
    ("command", "known"),
    [
        (("python3", "-m", "pytest", "-x"), True),
        (("/bin/sh", "-c", "cd tests && .venv/bin/pytest"), True),
        (("python3", "tests/pytest_like.py"), False),
        (("python3", "-m", "unittest", "-f"), False),
    ],
)
def test_pytest_is_known_by_what_starts_it(command: tuple[str, ...], known: bool) -> None:
    assert runs_pytest(command) is known


def test_other_orders_by_runner() -> None:
    def turned(*command: str) -> WorkspaceRequest | None:
        return with_reversed_order(WorkspaceRequest(id="r", snapshot="s", command=command))

    build = "cmake -S . -B b > /dev/null && ctest --test-dir b"
    shuffled = turned("/bin/sh", "-c", build)
    assert shuffled is not None
    assert shuffled.command == ("/bin/sh", "-c", f"{build} --schedule-random")
    plain = turned("ctest", "--test-dir", "b")
    assert plain is not None
    assert plain.command[-1] == "--schedule-random"
    assert turned("make", "test") is None
    assert turned("sh", "-c", "ctest; ./more") is None


def test_what_the_user_says_to_pytest_stays() -> None:
    said = {"PYTEST_ADDOPTS": "-q", "PYTHONPATH": ".deps"}
    check = TestsCheck(command=("pytest",), environment=said)
    assert check_request(check, "s").environment == {**said, "PYTEST_ADDOPTS": "-q -p no:randomly"}
    request = WorkspaceRequest(id="r", snapshot="s", command=("pytest",), environment=said)
    found = with_reach_recording(request, "marks")
    assert found.environment["PYTEST_ADDOPTS"] == "-q -p caretbench_tests"
    assert found.environment["PYTHONPATH"] == ".deps"
    assert found.python_path == (".caretbench-tools",)


LIST = """\
exports.sum = function (numbers, limit) {
  let total = 0
  for (const number of numbers) {
    if (number > limit) total += Math.round(number * 0.9)
    else total += number
  }
  return total
}

exports.later = function (numbers, done) {
  const found = []
  for (const number of numbers) {
    if (number > 1) found.push(exports.sum([number], 10))
  }
  setTimeout(() => done(found), 6000)
}
"""
TIMED = """\
const { test } = require('node:test')
const assert = require('node:assert')
const { sum, later } = require('./list.js')
for (let n = 0; n < 5; n++) test(`sums ${n}`, () => assert.equal(sum([10, 200, n], 100), 190 + n))
test('waits', async () => assert.deepEqual(await new Promise((done) => later([1, 2, 30], done)), [2, 27]))
"""


@pytest.mark.long
@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_slow_tests_check_only_what_faster_ones_do_not_reach(engine: WorkspaceExecutor, tmp_path: Path) -> None:
    package = '{"scripts": {"test": "node --test"}}'
    files = {"list.js": LIST, "list.test.js": TIMED, "package.json": package}
    root = project(tmp_path / "timed", files, with_pytest=False)
    steps: dict[str, str] = {}
    builder = TaskBuilder(engine, validate=False)

    class Steps(Progress):
        """Steps, with the first detail of each."""

        def __call__(self, step: str, added: int, total: int | None, detail: str = "") -> None:
            del added, total
            steps.setdefault(step, detail)

    builder.progress = Steps()
    options = SimCopilotOptions(sampling=TaskSampling(modes=("infill",), limit=None))
    built = builder.build(root, TaskFolder(tmp_path / "tasks"), options)
    kinds = set()
    for problem in built.candidates:
        check = get_tests_check(problem)
        of_later = file_splice(problem).start >= LIST.index("exports.later")
        kinds.add((of_later, check.excluded_tests, check.minimum_tests))
    assert kinds == {(False, ("test::waits",), 5), (True, (), 6)}
    assert "seconds of a run of the tests (mostly test::waits)" in steps
    assert "slow tests, excluded where faster ones reach the same lines" in steps
    assert steps["tests as they are"].startswith("node --test")
    [fast] = {check_request(get_tests_check(one), built.manifest.snapshot, identity="x").model_dump_json()
              for one in built.candidates if get_tests_check(one).minimum_tests == 5}  # fmt: skip
    [result] = engine.submit([WorkspaceRequest.model_validate_json(fast)])
    assert (result.status, result.test_counts.passed) == (Status.PASSED, 5)
    assert result.wall_s < 6
