"""The gate for problems inside projects: the same questions, asked with the project's own tests.

Questions that cost nothing come first, then the project's tests as they are, what they reach, answers that are none,
and at last mutants, one at a time until one is killed. Each problem waits for its own answer only; many are on the way
at a time. A problem's row is given as soon as it is decided.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from caretbench.errors import DataError
from caretbench.execution.workspaces.engine import WorkspaceEngine
from caretbench.execution.workspaces.workspace import WorkspaceRequest
from caretbench.extraction.policies import Policy
from caretbench.problem import Problem
from caretbench.projects.project_check import ProjectCheck, check_project
from caretbench.syntax.testing import is_test_path
from caretbench.validation.gate_loop import GateLoop
from caretbench.validation.repeats import repeats, splice_in_file
from caretbench.validation.trials import Trial, TrialAnswer, answers, judge, next_answer, undecided
from caretbench.validation.validity import Validity

Reached = Callable[[WorkspaceRequest, Sequence[Problem]], Collection[str]]
"""From a project's command and problems in it to the ids of those that its tests reach, as far as can be told."""


@dataclass
class WorkspaceGate(GateLoop):
    """The gate for problems that a project's tests check.

    Args:
        engine: Runs the tests.
        policy: The extraction that must leave golden answers unchanged.
        request: The command for an answer, with the patched file.
        original: The file that holds a problem's span, as it is.
        reached: Which problems the tests reach; None: it is left to the mutants.
        known: What became of a project's own tests, where they ran already; None: they run.
        progress: Called with the number of problems decided.
    """

    engine: WorkspaceEngine
    policy: Policy
    request: Callable[[Problem, str], WorkspaceRequest | None]
    original: Callable[[Problem], bytes]
    reached: Reached | None = None
    known: Callable[[WorkspaceRequest], ProjectCheck | None] = field(default=lambda _request: None)
    progress: Callable[[int], None] = field(default=lambda _count: None)
    _projects: dict[str, ProjectCheck] = field(default_factory=dict, repr=False)

    def decide(self, problems: Sequence[Problem], beside: Sequence[Problem] = ()) -> Iterator[Validity]:
        """Yield the verdicts, each when it is there.

        Raises:
            DataError: a project is not here, or damaged, or a problem is not in a file.
        """
        repeated = repeats(beside or problems)
        trials = deque[Trial]()
        for group in self._by_project(problems).values():
            left = []
            for problem in group:
                objections = self._before_running(problem, repeated.get(problem.id))
                if objections:
                    yield Validity(problem_id=problem.id, verdict="invalid", reasons=tuple(objections))
                else:
                    left.append(problem)
            if left:
                yield from self._with_project(left, trials)
        yield from self._try(trials)

    def project(self, problem: Problem) -> ProjectCheck:
        """The project's own tests, run once for all its problems.

        Raises:
            DataError: the project is not here, or damaged.
        """
        command = self._command(problem)
        key = repr(command)
        if key not in self._projects:
            self._projects[key] = self.known(command) or check_project(self.engine, command)
        return self._projects[key]

    def _command(self, problem: Problem) -> WorkspaceRequest:
        """The command in the project as it is."""
        request = self.request(problem, problem.reference)
        if request is None:
            raise DataError(f"{problem.id}: no command checks its golden answer")
        path = splice_in_file(problem).path
        beside = {name: content for name, content in request.patch.items() if name != path}
        return request.model_copy(update={"id": "project", "patch": beside})

    def _by_project(self, problems: Sequence[Problem]) -> Mapping[str, list[Problem]]:
        groups: dict[str, list[Problem]] = defaultdict(list)
        for problem in problems:
            groups[repr(self._command(problem))].append(problem)
        return groups

    # --- what costs nothing -------------------------------------------------------------------------------------

    def _before_running(self, problem: Problem, repeated: str | None) -> list[str]:
        splice = splice_in_file(problem)
        found = []
        if splice.content(self.original(problem), problem.reference) != self.original(problem):
            found.append("golden_not_in_place: the reference is not what stands in the span")
        if self.policy.apply(problem.reference, problem.caret).text != problem.reference:
            found.append("extraction_changes_golden")
        if is_test_path(splice.path, problem.caret.language):
            found.append(f"in_test_code: {splice.path}")
        if repeated is not None:
            found.append(f"near_duplicate: {repeated}")
        return found

    # --- what the tests say -------------------------------------------------------------------------------------

    def _with_project(self, problems: Sequence[Problem], trials: deque[Trial]) -> Iterator[Validity]:
        """The verdicts that the project's own tests decide; what is left has to be tried."""
        project = self.project(problems[0])
        if project.fault:
            for problem in problems:
                yield Validity(
                    problem_id=problem.id,
                    verdict="unverified" if project.machine else "invalid",
                    reasons=(project.fault,),
                )
            return
        ids = self.reached(project.request, problems) if self.reached is not None else None
        for problem in problems:
            if ids is not None and problem.id not in ids:
                yield Validity(
                    problem_id=problem.id, verdict="invalid", reasons=("not_reached: no test runs it",)
                )
            else:
                trials.append(Trial(problem, project, answers(problem, self.original(problem))))

    def _try(self, waiting: deque[Trial]) -> Iterator[Validity]:
        """Keep the engine fed: an answer's result puts its problem's next answer in the queue."""
        under_way: dict[str, tuple[Trial, TrialAnswer]] = {}
        decided: list[Validity] = []

        def requests() -> Iterator[WorkspaceRequest]:
            while waiting:
                trial = waiting.popleft()
                answer = next_answer(trial)
                request = self._request(trial, answer) if answer is not None else None
                if answer is None or request is None:
                    decided.append(undecided(trial))
                    continue
                under_way[request.id] = (trial, answer)
                yield request

        while waiting:
            for result in self.engine.submit(requests()):
                trial, answer = under_way.pop(result.id)
                verdict = judge(trial, answer, result)
                if verdict is None:
                    waiting.append(trial)
                else:
                    yield verdict
                yield from _taken(decided)
            yield from _taken(decided)

    def _request(self, trial: Trial, answer: TrialAnswer) -> WorkspaceRequest | None:
        request = self.request(trial.problem, answer.text)
        if request is None:
            return None
        golden = trial.project.request
        trial.runs += 1
        return request.model_copy(
            update={
                "id": f"{trial.problem.id} {trial.runs}",
                "command": golden.command,
                "prepare": golden.prepare,
                "limits": golden.limits,
                "minimum_tests": golden.minimum_tests,
            }
        )


def _taken(decided: list[Validity]) -> Iterator[Validity]:
    while decided:
        yield decided.pop()
