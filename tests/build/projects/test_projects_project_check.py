"""A project's own tests, before anything is put into it."""

import json
from collections.abc import Callable, Iterable, Iterator

import pytest

from caretbench.build.projects.project_check import check_project
from caretbench.build.projects.reference_runs import run_checks
from caretbench.build.projects.setup.command_detection import NamedCheck
from caretbench.build.projects.test_outcomes import TEST_LOG
from caretbench.execution.execution_types import CapturedOutput, Isolation, ResultFile, Status
from caretbench.execution.workspaces.runner_reports import TestOutcome
from caretbench.execution.workspaces.workspace_runner import WorkspaceRequest, WorkspaceResult
from caretbench.problem import TestsCheck
from caretbench.projects.runner_options import with_test_files
from tests.support.fakes import ISOLATION

PYTEST = WorkspaceRequest(id="p", snapshot="s", command=("python3", "-m", "pytest", "-x"), junit=("r.xml",))


class Engine:
    def __init__(self, answer: Callable[[WorkspaceRequest], WorkspaceResult]) -> None:
        self.answer = answer
        self.asked: list[WorkspaceRequest] = []

    def submit(self, requests: Iterable[WorkspaceRequest]) -> Iterator[WorkspaceResult]:
        for request in requests:
            self.asked.append(request)
            yield self.answer(request).model_copy(update={"id": request.id})

    def isolation(self) -> Isolation:
        return ISOLATION


def result(status: Status = Status.PASSED, said: str = "", **fields: object) -> WorkspaceResult:
    return WorkspaceResult.model_validate(
        {"id": "", "status": status, "stderr": CapturedOutput(text=said), "isolation": ISOLATION, "cpu_s": 0.5,
         **fields}
    )  # fmt: skip


def test_a_good_project_passes_three_times_and_bounds_follow_from_its_time() -> None:
    engine = Engine(lambda _request: result(said="Ran 7 tests in 0.4s", cpu_s=9.0))
    found = check_project(engine, PYTEST.model_copy(update={"junit": ()}))
    assert (found.fault, found.test_count, found.cpu_s) == ("", 7, 9.0)
    assert sorted(request.repeat for request in engine.asked) == [0, 1, 2]
    assert (found.request.limits.cpu_s, found.request.minimum_tests) == (45.0, 7)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (result(Status.FAILED, "AssertionError: 3 != 4"), "tests_fail: AssertionError: 3 != 4"),
        (
            result(Status.FAILED, tests=[TestOutcome(name="b", outcome="failed", message="> b()\nE   NameError: b")]),
            "tests_fail: b (NameError: b)",
        ),
        (
            result(
                Status.FAILED,
                stdout=CapturedOutput(
                    text='INTERNALERROR>   File "/tmp/work/.deps/a.py", line 1, in f\n'
                    'INTERNALERROR>   File "/tmp/work/shop/odd.py", line 7, in <module>\nINTERNALERROR> SystemExit: no'
                ),
                tests=[TestOutcome(name="pytest::internal", outcome="error", message="internal error\nTraceback")],
            ),
            "tests_fail: pytest::internal (SystemExit: no, at shop/odd.py:7)",
        ),
        (
            result(Status.FAILED, stdout=CapturedOutput(text="ok 1 - a\nnot ok 2 - b.js # time=3\n✖ c (2ms)\n1..3")),
            "tests_fail: b.js, c",
        ),
        (result(Status.TIMEOUT, reason="it ran for longer than 60 s"), "tests_hang: it ran for longer than 60 s"),
        (result(Status.FAILED, "socket.gaierror: Temporary failure in name resolution"), "tests_need_network: "),
        (result(Status.FAILED, "getaddrinfo EAI_AGAIN a.example.org", stdout=CapturedOutput(text="not ok 1 - b c")),
         "tests_need_network: a test (b c) needs the network (a.example.org), which a sandbox does not have; exclude "
         "it with --exclude-test 'b c', or name a --test-command without it"),
        (result(Status.FAILED, "java.net.UnknownHostException: a.example.org: Name or service not known"),
         "tests_need_network: a test needs the network (a.example.org), which a sandbox does not have; exclude it "
         "with --exclude-test NAME"),
        (result(Status.UNRESOLVED_IMPORT, missing_module="numpy"), "missing_dependency: numpy is not installed"),
        (result(Status.UNRESOLVED_IMPORT, missing_module=".."), "missing_file: ..: a file of the project"),
        (result(Status.TIMEOUT, "✔ sums\n", reason="it ran for longer than 9 s"),
         "tests_hang: it ran for longer than 9 s, the limit for the whole test command; the last line that it printed"),
        (result(Status.FAILED, "Ran 0 tests in 0.0s\nNO TESTS RAN"), "no_tests: "),
        (result(Status.PASSED, "Ran 0 tests in 0.0s\nOK"), "no_tests: "),
        (result(Status.COMPILE_ERROR, "A.java:1: error: x"), "does_not_compile: A.java:1: error: x"),
        (result(Status.RUNTIME_ERROR, "sh: 1: mvn: not found", exit_code=127), "command_not_found: sh: 1: mvn"),
        (
            result(Status.RUNTIME_ERROR, "cannot enter /tmp/work/nope: No such file or directory", exit_code=126),
            "no_directory: nope is no folder of the project",
        ),
        (result(Status.SKIPPED, reason="the bundle b is not built"), "not_run: the bundle b is not built"),
    ],
)  # fmt: skip
def test_every_fault_is_said(given: WorkspaceResult, says: str) -> None:
    found = check_project(Engine(lambda _request: given), PYTEST)
    assert found.fault.startswith(says)
    assert found.is_machine_fault is (given.status is Status.SKIPPED)


@pytest.mark.parametrize("passes", [True, False])
def test_what_is_prepared_is_used_if_the_tests_pass_with_it_too(passes: bool) -> None:
    def answer(request: WorkspaceRequest) -> WorkspaceResult:
        if not request.prepare:
            return result(said="Ran 7 tests in 0.4s", cpu_s=20.0)
        return result(Status.PASSED if passes else Status.FAILED, said="Ran 7 tests in 0.4s", cpu_s=1.0)

    engine = Engine(answer)
    request = PYTEST.model_copy(update={"junit": (), "prepare": ("make",)})
    found = check_project(engine, request)
    assert found.fault == ""
    # A full build once and what is prepared twice; else three times without it.
    assert [bool(asked.prepare) for asked in engine.asked] == [False, True, True, *([] if passes else [False] * 3)]
    assert found.request.prepare == (("make",) if passes else ())
    # One and a half times what everything takes, five times what is left of it; else five times everything.
    assert found.request.limits.cpu_s == (30.0 if passes else 120.0)


def flaky(request: WorkspaceRequest) -> WorkspaceResult:
    bad = request.repeat % 3 == 1 and b"test_clock" not in request.patch.get(".caretbench-tools/excluded.json", b"")
    clock = TestOutcome(name="t.Clock::test_clock[3]", outcome="failed" if bad else "passed")
    other = TestOutcome(name="t.Clock::test_other", outcome="passed")
    return result(Status.FAILED if bad else Status.PASSED, tests=(clock, other))


def test_flaky_tests_are_named_and_left_out_where_the_runner_can() -> None:
    found = check_project(Engine(flaky), PYTEST)
    assert (found.fault, found.flaky_tests) == ("", ("t.Clock::test_clock[3]",))
    assert found.excluded_tests == ("t.Clock::test_clock[3]",)


def test_a_project_whose_runner_cannot_leave_them_out_is_refused() -> None:
    found = check_project(Engine(flaky), PYTEST.model_copy(update={"command": ("make", "test")}))
    assert found.fault == "tests_flaky: 4 of 6 runs pass; not always: t.Clock::test_clock[3]"


def test_a_flaky_test_that_fails_at_first_is_found_by_further_runs() -> None:
    def at_first(request: WorkspaceRequest) -> WorkspaceResult:
        later = 0 if request.id == "project failures" else request.repeat + 1
        return flaky(request.model_copy(update={"repeat": later}))

    turned = Engine(at_first)
    found = check_project(turned, PYTEST, exclude_failing=True)
    assert (found.fault, found.flaky_tests, dict(found.failing_tests)) == ("", ("t.Clock::test_clock[3]",), {})


def test_what_a_busy_machine_held_up_runs_again_alone_and_is_named() -> None:
    sizes: list[int] = []

    class Busy(Engine):
        def submit(self, requests: Iterable[WorkspaceRequest]) -> Iterator[WorkspaceResult]:
            asked = list(requests)
            sizes.append(len(asked))
            yield from super().submit(asked)

    engine = Busy(lambda request: flaky(request) if len(sizes) == 2 else flaky(PYTEST))
    found = check_project(engine, PYTEST)
    assert (found.fault, found.flaky_tests, found.passed_alone) == ("", (), ("t.Clock::test_clock[3]",))
    assert sizes == [1, 2, 1, 1, 1]
    assert sorted(request.repeat for request in engine.asked) == [0, 1, 2, 3, 4, 5]


def test_a_sandbox_that_fails_at_times_is_no_fault_of_the_tests() -> None:
    bad = result(Status.SANDBOX_ERROR, reason="no memory")
    found = check_project(Engine(lambda request: bad if request.repeat % 2 else result()), PYTEST)
    assert (found.fault, found.is_machine_fault) == ("not_run: no memory", True)


@pytest.mark.parametrize(
    ("said", "nothing"),
    [
        ("make: 'test' is up to date.\n", True),
        ("make[1]: Nothing to be done for 'check'.\n", True),
        ("make: 'lib' is up to date.\n./t\nall well\n", False),
    ],
)
def test_a_make_that_finds_nothing_to_do_runs_no_test(said: str, nothing: bool) -> None:
    request = PYTEST.model_copy(update={"command": ("make", "test"), "junit": ()})
    found = check_project(Engine(lambda _request: result(stdout=CapturedOutput(text=said))), request)
    assert found.fault.startswith("no_tests: ") is nothing


@pytest.mark.parametrize(
    ("said", "nothing"),
    [
        ("no tests ran in 0.02s\n", True),
        ("...: PytestConfigWarning: No files were found in testpaths\n1 warning in 0.02s\n", True),
        ("2 failed, 1 warning in 0.02s\n", False),
        ("1 error in 0.10s\n", False),
    ],
)
def test_pytest_that_collects_nothing_runs_no_test(said: str, nothing: bool) -> None:
    ended = result(Status.RUNTIME_ERROR, stdout=CapturedOutput(text=said), exit_code=5)
    assert check_project(Engine(lambda _request: ended), PYTEST).fault.startswith("no_tests: ") is nothing


def test_what_does_not_compile_runs_once() -> None:
    engine = Engine(lambda _request: result(Status.COMPILE_ERROR, "a.cpp:1:1: error: expected ';'\n"))
    found = check_project(engine, PYTEST.model_copy(update={"command": ("make", "test")}))
    assert found.fault.startswith("does_not_compile: ")
    assert len(engine.asked) == 1


def test_a_test_that_hangs_ends_the_runs_and_is_named() -> None:
    said = "caretbench: a test runs for more than 10 s: tests/test_a.py::test_b[x y]\n"
    engine = Engine(lambda _request: result(Status.TIMEOUT, said, reason="it ran for longer than 300 s"))
    found = check_project(engine, PYTEST, exclude_failing=True)
    assert len(engine.asked) == 1
    assert found.fault.startswith("tests_hang: it ran for longer than 300 s")
    assert found.fault.endswith("exclude it with --exclude-test 'tests/test_a.py::test_b[x y]'")


def test_a_test_that_hangs_under_ctest_is_the_last_that_began_and_did_not_end() -> None:
    said = "    Start 1: adds up\n1/3 Test #1: adds up ...........   Passed    0.01 sec\n    Start 2: waits for ever\n"
    command = WorkspaceRequest(id="p", snapshot="s", command=("ctest", "--stop-on-failure"))
    hangs = result(Status.TIMEOUT, reason="it ran for longer than 300 s", stdout=CapturedOutput(text=said))
    found = check_project(Engine(lambda _request: hangs), command)
    assert found.fault.endswith("; waits for ever did not end: exclude it with --exclude-test 'waits for ever'")
    ended = hangs.model_copy(update={"stdout": CapturedOutput(text=said + "2/3 Test #2: waits for ever ..  Passed\n")})
    assert "--exclude-test" not in check_project(Engine(lambda _request: ended), command).fault


def with_failures(*names: str, passing: int = 3) -> Callable[[WorkspaceRequest], WorkspaceResult]:
    """Answers of a runner whose tests of these names fail; with a log of all tests if one is asked for."""

    def answer(request: WorkspaceRequest) -> WorkspaceResult:
        excluded = json.loads(request.patch.get(".caretbench-tools/excluded.json", b"[]"))
        bad = [name for name in names if name not in excluded]
        rows = [{"test": f"t{n}", "outcome": "passed", "message": "\ud83d"} for n in range(passing)]
        rows += [{"test": name, "outcome": "failed", "message": f"E   OSError: {name}"} for name in bad]
        lines = "\n".join([*map(json.dumps, rows), '{"test": "torn by a k'])
        log = ResultFile(path=TEST_LOG, pattern=TEST_LOG, data=lines.encode())
        files = (log,) if TEST_LOG in request.results else ()
        tests = tuple(TestOutcome(name=f"j.{name}", outcome="failed") for name in bad[:1])  # it stops at the first
        tests = tests or tuple(TestOutcome(name=f"t{n}", outcome="passed") for n in range(passing))
        return result(Status.FAILED if bad else Status.PASSED, files=files, tests=tests)

    return answer


def test_tests_that_fail_on_the_unchanged_project_are_excluded_and_listed() -> None:
    engine = Engine(with_failures("a", "b"))
    found = check_project(engine, PYTEST, exclude_failing=True)
    assert (found.fault, dict(found.failing_tests)) == ("", {"a": "OSError: a", "b": "OSError: b"})
    assert (found.excluded_tests, found.test_count) == (("a", "b"), 3)
    assert len(engine.asked) == 1 + 1 + 3, "one run fails, one names all failures, three pass"
    insisted = check_project(engine, PYTEST)
    assert (insisted.fault, insisted.failing_tests) == ("tests_fail: j.a", {})


def test_a_project_of_which_most_tests_fail_is_refused() -> None:
    found = check_project(Engine(with_failures("a", "b", passing=1)), PYTEST, exclude_failing=True)
    assert found.fault == "tests_fail: 2 fail and 1 pass: a (OSError: a); b (OSError: b)"
    assert found.failing_tests == {}


def test_failing_tests_of_a_runner_that_cannot_exclude_are_named() -> None:
    said = (
        "FAIL: test_a (tests.test_shop.Shop.test_a)\nERROR: tests.test_b (unittest.loader._FailedTest.tests.test_b)\n"
    )
    engine = Engine(lambda _request: result(Status.FAILED, said + "OSError: Name or service not known"))
    request = PYTEST.model_copy(update={"command": ("make", "test"), "junit": ()})
    found = check_project(engine, request, exclude_failing=True)
    assert found.fault.startswith("tests_need_network: a test (tests.test_shop.Shop.test_a, tests.test_b) needs")


def test_slow_tests_are_those_that_take_most_of_a_long_run() -> None:
    def timed(*seconds: float) -> tuple[TestOutcome, ...]:
        return tuple(TestOutcome(name=f"t{n}", outcome="passed", seconds=each) for n, each in enumerate(seconds))

    def slow(tests: tuple[TestOutcome, ...], wall_s: float = 9.0) -> tuple[str, ...]:
        return check_project(Engine(lambda _request: result(tests=tests, wall_s=wall_s)), PYTEST).slow_tests

    assert slow(timed(0.01, 0.02, 0.01, 6.0, 0.5)) == ("t3", "t4")
    assert slow(timed(0.01, 0.02, 0.01, 6.0, 0.5), wall_s=1.0) == ()
    assert slow(timed(1.0, 1.0, 1.0)) == ()
    assert slow(timed(*[0.1] * 90, 0.5)) == ()
    assert slow(()) == ()


def test_an_answer_that_waits_for_ever_ends_by_the_time_of_the_tests() -> None:
    found = check_project(Engine(lambda _request: result(cpu_s=20.0, wall_s=8.2)), PYTEST)
    assert (found.request.limits.cpu_s, found.request.limits.wall_s) == (120.0, 90.0)


def test_of_a_suite_above_the_limit_as_many_files_run_as_the_budget_holds() -> None:
    files = tuple(f"tests/test_{name}.py" for name in "abcdef")
    slow = "tests/test_c.py"

    def answer(request: WorkspaceRequest) -> WorkspaceResult:
        excluded = json.loads(request.patch.get(".caretbench-tools/excluded.json", b"[]"))
        run = [path for path in files if path not in excluded]
        if slow in run or len(run) > 4:
            return result(Status.TIMEOUT, reason="it used more CPU time", cpu_s=60.0)
        return result(said=f"{len(run)} passed in 1.0s", cpu_s=19.0 * len(run))

    check = TestsCheck(command=("python3", "-m", "pytest", "-x"), minimum_tests=1)
    entry = NamedCheck("pytest", check, ("*",), None, "the project's files")
    found = run_checks(Engine(answer), "s", (entry,), test_files=files)
    [kept] = found.checks
    assert found.excluded_checks == {}
    assert slow in found.omitted_files["pytest"]
    assert set(kept.check.excluded_tests) == set(found.omitted_files["pytest"])
    assert len(found.omitted_files["pytest"]) == 3, "three of 19 s fit into 60 s"
    other = entry._replace(check=check.model_copy(update={"command": ("make", "test")}))
    hung = run_checks(
        Engine(lambda _request: result(Status.TIMEOUT, reason="too long")), "s", (other,), test_files=files
    )
    assert hung.excluded_checks["pytest"].startswith("tests_hang: too long")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("vitest run --bail 1", "vitest run --bail 1 a.test.ts 'b c.test.ts'"),
        (
            "tsc && jest --ci --config jest.config.js",
            "tsc && jest --ci --config jest.config.js a.test.ts 'b c.test.ts'",
        ),
        ("mocha other/*.js", None),
        ("mocha -r ./a.test.ts --exit '*.test.ts' ./b", "mocha -r ./a.test.ts --exit a.test.ts 'b c.test.ts'"),
        ("tape", None),
        ("make test", None),
    ],
)
def test_a_runner_gets_files_unless_it_names_others(line: str, expected: str | None) -> None:
    every = ("a.test.ts", "b c.test.ts", "b/d.test.ts")
    command = with_test_files(("/bin/sh", "-c", line), every[:2], every)
    assert (command and command[2]) == expected
