"""Gate for problems that are checked by a project's tests.

Order of examination: static checks, the tests on the unchanged project, reach, empty answers, then mutants one at a
time until one is killed. Many problems are examined in parallel; each verdict is yielded as soon as it is decided.
"""

from __future__ import annotations

import zipfile
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from caretbench.build.projects.project_check import ProjectCheck, check_project
from caretbench.build.projects.reach.measurement import measure_reach
from caretbench.build.projects.reach.statement_reach import StatementReach
from caretbench.build.validation.duplicates import near_duplicate_spans
from caretbench.build.validation.trials import (
    Trial,
    TrialAnswer,
    next_answer,
    trial_answers,
    verdict_of_result,
    verdict_without_kill,
)
from caretbench.errors import DataError
from caretbench.execution.workspaces.project_tools import CLASSPATH_FIRST
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.execution.workspaces.workspace_executor import WorkspaceEngine
from caretbench.execution.workspaces.workspace_runner import WorkspaceRequest
from caretbench.extraction.policies import Policy
from caretbench.problem import FileSplice, Problem, TestsCheck
from caretbench.projects.answer_requests import file_splice, original_file, tests_check, workspace_request
from caretbench.suites.validity import ResumableGate, Validity, Verdict
from caretbench.syntax import FileAnalysis, Span, analyse
from caretbench.syntax.analysis import is_test_path
from caretbench.syntax.source import SourceFile, language_of

_TYPES = frozenset({"class", "interface"})


def span_faults(
    splice: FileSplice, content: bytes, check: TestsCheck, store: SnapshotStore | None = None
) -> Iterator[str]:
    """Yield the faults of a span as ``kind: explanation``: it is test code, or a jar has another version of its class.

    ``content`` is the unchanged file.

    Raises:
        DataError: a jar of the project is missing or damaged.
    """
    language = language_of(splice.path)
    if language is None:
        return
    if is_test_path(splice.path, language):
        yield f"in_test_code: {splice.path}"
        return
    analysis = _analysed(splice.path, content)
    span = Span(splice.start, splice.end)
    around = next((scope.name for scope in analysis.enclosing_scopes(span) if scope.kind in _TYPES), "")
    if analysis.is_test(span):
        yield f"in_test_code: {around or splice.path}"
    elif around and check.environment.get(CLASSPATH_FIRST):
        folder = (store or SnapshotStore()).folder
        jars = check.environment.get("CLASSPATH", "").split(":")
        found = next((jar for jar in jars if around in _classes(folder, splice.snapshot, jar)), None)
        if found is not None:
            yield f"shadowed: {found} contains {around}, and is before the project on the class path"


@lru_cache(maxsize=64)
def _analysed(path: str, content: bytes) -> FileAnalysis:
    return analyse([SourceFile(path, content)])[path]


@lru_cache(maxsize=64)
def _classes(folder: Path, snapshot: str, jar: str) -> frozenset[str]:
    """Return the classes without a package in a jar of a project."""
    place = SnapshotStore(folder).get(snapshot).tree / jar
    try:
        with zipfile.ZipFile(place) as archive:
            return frozenset(name.removesuffix(".class") for name in archive.namelist() if name.endswith(".class"))
    except (OSError, zipfile.BadZipFile) as error:
        raise DataError(f"{jar}: no jar of the project ({error})") from None


@dataclass
class WorkspaceGate(ResumableGate):
    """Gate for problems that are checked by a project's tests.

    ``policy`` must leave references unchanged. ``reach`` is the reach of the tests; None: measured once per project.
    ``known_checks`` returns the result of a project's own tests, if they have run already. ``mutates_values``: values
    are mutated where a reference has no other mutants.
    """

    engine: WorkspaceEngine
    policy: Policy
    store: SnapshotStore | None = None
    reach: StatementReach | None = None
    mutates_values: bool = False
    known_checks: Callable[[WorkspaceRequest], ProjectCheck | None] = field(default=lambda _request: None)
    progress: Callable[[int], None] = field(default=lambda _count: None)
    _projects: dict[str, ProjectCheck] = field(default_factory=dict, repr=False)

    def decide(self, problems: Sequence[Problem], all_problems: Sequence[Problem] = ()) -> Iterator[Validity]:
        """Yield the verdicts, each as soon as it is decided.

        Raises:
            DataError: a project is missing or damaged, or a problem is not in a file.
        """
        repeated = near_duplicate_spans(all_problems or problems)
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

    def request(self, problem: Problem, text: str) -> WorkspaceRequest:
        """Return the request that tests an answer."""
        return workspace_request(problem, text, store=self.store)

    def original_file(self, problem: Problem) -> bytes:
        """Return the unchanged file with a problem's span."""
        splice = file_splice(problem)
        return original_file(splice.snapshot, splice.path, self.store)

    def reached_problems(self, request: WorkspaceRequest, problems: Sequence[Problem]) -> Collection[str]:
        """Return the ids of the problems that the project's tests reach; unknown reach counts as reached."""
        reach = self.reach
        if reach is None and all(tests_check(problem).tests for problem in problems):
            return {problem.id for problem in problems}  # their checks list the tests that reach them
        splices = {problem.id: file_splice(problem) for problem in problems}
        if reach is None:
            paths = (splice.path for splice in splices.values())
            reach = measure_reach(self.engine, request, paths, store=self.store)
        return {name for name, span in splices.items() if reach.reaches(span.path, span.start, span.end)}

    def _project(self, problem: Problem) -> ProjectCheck:
        """Return the result of the project's own tests, which run once for all its problems."""
        command = self._command(problem)
        key = repr(command)
        if key not in self._projects:
            self._projects[key] = self.known_checks(command) or check_project(self.engine, command)
        return self._projects[key]

    def _command(self, problem: Problem) -> WorkspaceRequest:
        """Return the request that tests the unchanged project."""
        request = self.request(problem, problem.reference)
        path = file_splice(problem).path
        others = {name: content for name, content in request.patch.items() if name != path}
        return request.model_copy(update={"id": "project", "patch": others})

    def _by_project(self, problems: Sequence[Problem]) -> Mapping[str, list[Problem]]:
        groups: dict[str, list[Problem]] = defaultdict(list)
        for problem in problems:
            groups[repr(self._command(problem))].append(problem)
        return groups

    def _before_running(self, problem: Problem, repeated: str | None) -> list[str]:
        splice = file_splice(problem)
        found = []
        if splice.content(self.original_file(problem), problem.reference) != self.original_file(problem):
            found.append("reference_not_in_place: the reference differs from the text of the span")
        if self.policy.apply(problem.reference, problem.caret).text != problem.reference:
            found.append("extraction_changes_reference")
        found += span_faults(splice, self.original_file(problem), tests_check(problem), self.store)
        if repeated is not None:
            found.append(f"near_duplicate: {repeated}")
        return found

    def _with_project(self, problems: Sequence[Problem], trials: deque[Trial]) -> Iterator[Validity]:
        """Yield the verdicts that follow from the project's own tests; add a trial for every other problem."""
        project = self._project(problems[0])
        if project.fault:
            verdict: Verdict = "unverified" if project.is_machine_fault else "invalid"
            for problem in problems:
                yield Validity(problem_id=problem.id, verdict=verdict, reasons=(project.fault,))
            return
        ids = self.reached_problems(project.request, problems)
        for problem in problems:
            if problem.id not in ids:
                reasons = ("not_reached: no test runs it",)
                yield Validity(problem_id=problem.id, verdict="invalid", reasons=reasons)
            else:
                trials.append(Trial(problem, project, self._answers(problem)))

    def _answers(self, problem: Problem) -> Iterator[TrialAnswer]:
        content = self.original_file(problem)
        return trial_answers(problem, content, self.policy, mutates_values=self.mutates_values)

    def _try(self, waiting: deque[Trial]) -> Iterator[Validity]:
        """Yield the verdicts of trials; each result queues the next answer of its problem."""
        in_flight: dict[str, tuple[Trial, TrialAnswer]] = {}
        decided: list[Validity] = []

        def requests() -> Iterator[WorkspaceRequest]:
            while waiting:
                trial = waiting.popleft()
                answer = next_answer(trial)
                if answer is None:
                    decided.append(verdict_without_kill(trial))
                    continue
                request = self._request(trial, answer)
                in_flight[request.id] = (trial, answer)
                yield request

        while waiting:
            for result in self.engine.submit(requests()):
                trial, answer = in_flight.pop(result.id)
                verdict = verdict_of_result(trial, answer, result)
                if verdict is None:
                    waiting.appendleft(trial)  # before others, so that verdicts come and are stored one by one
                else:
                    yield verdict
                yield from _taken(decided)
            yield from _taken(decided)

    def _request(self, trial: Trial, answer: TrialAnswer) -> WorkspaceRequest:
        request = self.request(trial.problem, answer.text)
        reference = trial.project.request
        trial.runs += 1
        kept = {name: getattr(reference, name) for name in ("command", "prepare", "limits", "minimum_tests")}
        bound = {"reference_cpu_s": trial.project.cpu_s or None}
        return request.model_copy(update={"id": f"{trial.problem.id} {trial.runs}", **kept, **bound})


def _taken(decided: list[Validity]) -> Iterator[Validity]:
    while decided:
        yield decided.pop()
