"""One executor for programs and for commands in projects."""

from collections.abc import Iterable, Iterator

from caretbench.execution.dispatcher import Dispatcher, as_execution_result
from caretbench.execution.execution_types import CapturedOutput, ExecutionRequest, Isolation, Status
from caretbench.execution.workspaces.runner_reports import TestOutcome
from caretbench.execution.workspaces.workspace_runner import WorkspaceRequest, WorkspaceResult
from tests.support.fakes import ISOLATION, FakeExecutor


class Projects:
    """Passes every command; keeps how many came together."""

    def __init__(self) -> None:
        self.runs: list[int] = []

    def submit(self, requests: Iterable[WorkspaceRequest]) -> Iterator[WorkspaceResult]:
        self.runs.append(0)
        for request in requests:
            self.runs[-1] += 1
            yield WorkspaceResult(id=request.id, status=Status.PASSED, isolation=ISOLATION)

    def isolation(self) -> Isolation:
        return ISOLATION


def test_every_request_goes_to_its_engine_and_none_is_taken_too_early() -> None:
    programs, projects = FakeExecutor(lambda _request: Status.FAILED), Projects()
    taken: list[str] = []

    def requests() -> Iterator[ExecutionRequest | WorkspaceRequest]:
        for name in ("p1", "w1", "w2", "p2"):
            taken.append(name)
            if name.startswith("p"):
                yield ExecutionRequest(id=name, language="python", source="")
            else:
                yield WorkspaceRequest(id=name, snapshot="s", command=("true",))

    results = Dispatcher(programs, lambda: projects).submit(requests())
    assert next(results).id == "p1"
    assert taken == ["p1"]
    assert [(result.id, result.status.value) for result in results] == [
        ("w1", "passed"), ("w2", "passed"), ("p2", "failed")
    ]  # fmt: skip
    assert projects.runs == [2]


def test_a_set_of_programs_needs_no_engine_for_projects() -> None:
    def none() -> Projects:
        raise AssertionError

    dispatcher = Dispatcher(FakeExecutor(lambda _request: Status.PASSED), none)
    assert list(dispatcher.submit([])) == []
    assert dispatcher.isolation() == ISOLATION


def test_results_of_projects_tell_of_their_tests() -> None:
    tests = [TestOutcome(name=f"T::t{n:02}", outcome="failed") for n in range(30)]
    tests += [TestOutcome(name="T::good", outcome="passed"), TestOutcome(name="T::odd", outcome="error")]
    failed = as_execution_result(
        WorkspaceResult(
            id="x", status=Status.FAILED, tests=tuple(tests), isolation=ISOLATION, cpu_s=2,
            stdout=CapturedOutput(text="E")
        )
    )  # fmt: skip
    assert failed.tests is not None
    assert (failed.tests.passed, failed.tests.failed, len(failed.tests.failing)) == (1, 31, 20)
    assert (failed.stage, failed.diagnostics, failed.cpu_s) == ("run", "E", 2)
    broken = as_execution_result(
        WorkspaceResult(
            id="x", status=Status.COMPILE_ERROR, isolation=ISOLATION, stderr=CapturedOutput(text="A.java:1: error:")
        )
    )
    assert (broken.stage, broken.diagnostics, broken.tests) == ("compile", "A.java:1: error:", None)
