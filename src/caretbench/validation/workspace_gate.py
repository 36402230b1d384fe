"""The gate for problems inside projects: the same questions, asked with the project's own tests.

Questions that cost nothing come first, then the project's tests as they are, what they reach, answers that are none,
and at last mutants, one at a time until one is killed. Each problem waits for its own answer only; many are on the way
at a time. A problem's row is given as soon as it is decided.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from caretbench.errors import DataError
from caretbench.execution.types import Status
from caretbench.execution.workspace import WorkspaceRequest, WorkspaceResult
from caretbench.execution.workspace_engine import WorkspaceEngine
from caretbench.extraction.policies import Policy
from caretbench.files import Appender, read_rows
from caretbench.problem import FileSplice, InlineSplice, Problem
from caretbench.runs import Validity
from caretbench.syntax.faults import fault_count
from caretbench.syntax.parser import parse
from caretbench.syntax.testing import is_test_path
from caretbench.validation.duplicates import THRESHOLD, shingles
from caretbench.validation.mutants import REACH_ONLY, Mutant, mutants, stub
from caretbench.validation.project_check import ProjectCheck, check_project

NOTHING: Final = frozenset({"empty", "stub", "closers"})
"""Answers that hold nothing: no problem may be solved by them."""

_THROWS: Final = frozenset({"throw"})
_KILLED: Final = frozenset(
    {Status.FAILED, Status.RUNTIME_ERROR, Status.TIMEOUT, Status.INCOMPLETE, Status.OUT_OF_MEMORY,
     Status.OUTPUT_LIMIT}
)  # fmt: skip
_OURS: Final = frozenset({Status.SKIPPED, Status.SANDBOX_ERROR})
_CLOSERS = re.compile(r"[\s})\];]*\Z")
_MOST_CLOSERS = 8
_WINDOW_LINES = 5

Reached = Callable[[WorkspaceRequest, Sequence[Problem]], Collection[str]]
"""From a project's command and problems in it to the ids of those that its tests reach, as far as can be told."""


@dataclass
class _Trial:
    """One problem under way."""

    problem: Problem
    project: ProjectCheck
    answers: Iterator[Mutant]
    tried: int = 0
    runs: int = 0
    cpu_s: float = 0.0
    throw_passes: bool = False
    reach_only: str = ""


@dataclass
class WorkspaceGate:
    """The gate for problems that a project's tests check.

    Args:
        engine: Runs the tests.
        policy: The extraction that must leave golden answers unchanged.
        request: The command for an answer, with the patched file.
        original: The file that holds a problem's span, as it is.
        reached: Which problems the tests reach; None: it is left to the mutants.
        progress: Called with the number of problems decided.
    """

    engine: WorkspaceEngine
    policy: Policy
    request: Callable[[Problem, str], WorkspaceRequest | None]
    original: Callable[[Problem], bytes]
    reached: Reached | None = None
    progress: Callable[[int], None] = field(default=lambda _count: None)
    _projects: dict[str, ProjectCheck] = field(default_factory=dict, repr=False)

    def run(self, problems: Sequence[Problem], path: Path) -> list[Validity]:
        """The verdicts on all problems; appends the missing ones to ``path`` and gives them all, in order.

        Raises:
            DataError: a project is not here, or damaged.
        """
        with Appender(path) as appender:
            known = {row.problem_id: row for row in read_rows(path, Validity, torn_tail=True)}
            waiting = [problem for problem in problems if problem.id not in known]
            self.progress(len(problems) - len(waiting))
            for verdict in self.decide(waiting, beside=problems):
                appender.append(verdict)
                known[verdict.problem_id] = verdict
                self.progress(1)
        return [known[problem.id] for problem in problems]

    def decide(self, problems: Sequence[Problem], *, beside: Sequence[Problem] = ()) -> Iterator[Validity]:
        """The verdicts on these problems, each when it is there, in no order.

        Args:
            problems: What to decide.
            beside: All problems of the set, to know what repeats what; by default ``problems`` alone.

        Raises:
            DataError: a project is not here, or damaged, or a problem is not in a file.
        """
        repeated = repeats(beside or problems)
        for group in self._by_project(problems).values():
            left = []
            for problem in group:
                objections = self._before_running(problem, repeated.get(problem.id))
                if objections:
                    yield Validity(problem_id=problem.id, verdict="invalid", reasons=tuple(objections))
                else:
                    left.append(problem)
            if left:
                yield from self._with_project(left)

    def project(self, problem: Problem) -> ProjectCheck:
        """The project's own tests, run once for all its problems.

        Raises:
            DataError: the project is not here, or damaged.
        """
        command = self._command(problem)
        key = repr(command)
        if key not in self._projects:
            self._projects[key] = check_project(self.engine, command)
        return self._projects[key]

    def _command(self, problem: Problem) -> WorkspaceRequest:
        """The command in the project as it is."""
        request = self.request(problem, problem.reference)
        if request is None:
            raise DataError(f"{problem.id}: no command checks its golden answer")
        return request.model_copy(update={"id": "project", "patch": {}})

    def _by_project(self, problems: Sequence[Problem]) -> Mapping[str, list[Problem]]:
        groups: dict[str, list[Problem]] = defaultdict(list)
        for problem in problems:
            groups[repr(self._command(problem))].append(problem)
        return groups

    # --- what costs nothing -------------------------------------------------------------------------------------

    def _before_running(self, problem: Problem, repeated: str | None) -> list[str]:
        splice = _splice(problem)
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

    def _with_project(self, problems: Sequence[Problem]) -> Iterator[Validity]:
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
        trials = deque[_Trial]()
        for problem in problems:
            if ids is not None and problem.id not in ids:
                yield Validity(
                    problem_id=problem.id, verdict="invalid", reasons=("not_reached: no test runs it",)
                )
            else:
                trials.append(_Trial(problem, project, self._answers(problem)))
        yield from self._try(trials)

    def _try(self, waiting: deque[_Trial]) -> Iterator[Validity]:
        """Keep the engine fed: an answer's result puts its problem's next answer in the queue."""
        under_way: dict[str, tuple[_Trial, str]] = {}
        decided: list[Validity] = []

        def requests() -> Iterator[WorkspaceRequest]:
            while waiting:
                trial = waiting.popleft()
                answer = next(trial.answers, None)
                request = self._request(trial, answer) if answer is not None else None
                if answer is None or request is None:
                    decided.append(_undecided(trial))
                    continue
                under_way[request.id] = (trial, answer.name)
                yield request

        while waiting:
            for result in self.engine.submit(requests()):
                trial, name = under_way.pop(result.id)
                verdict = _judge(trial, name, result)
                if verdict is None:
                    waiting.append(trial)
                else:
                    yield verdict
                yield from _taken(decided)
            yield from _taken(decided)

    def _request(self, trial: _Trial, answer: Mutant) -> WorkspaceRequest | None:
        request = self.request(trial.problem, answer.text)
        if request is None:
            return None
        golden = trial.project.request
        trial.runs += 1
        return request.model_copy(
            update={
                "id": f"{trial.problem.id} {trial.runs}",
                "command": golden.command,
                "limits": golden.limits,
                "minimum_tests": golden.minimum_tests,
            }
        )

    def _answers(self, problem: Problem) -> Iterator[Mutant]:
        """Answers that are none, and then mutants; throws, which show the least, come last."""
        inline = inline_view(problem, self.original(problem))
        yield from _nothing(inline)
        found = mutants(inline)
        yield from sorted(found, key=lambda mutant: (mutant.name in REACH_ONLY, mutant.name in _THROWS))


def inline_view(problem: Problem, content: bytes) -> Problem:
    """A problem in a file as one in a program: the file around its span, with line feeds, as mutants are made."""
    splice = _splice(problem)
    before, after = (
        part.decode("utf-8", "surrogateescape").replace("\r\n", "\n")
        for part in (content[: splice.start], content[splice.end :])
    )
    return problem.model_copy(update={"splice": InlineSplice(before=before, after=after)})


def repeats(problems: Iterable[Problem]) -> dict[str, str]:
    """Problems that repeat an earlier one elsewhere: id -> id of the earlier one.

    Compared are the reference and five lines on either side. The same place in another mode, and places that overlap,
    are no repetition: the former is meant, the latter share an overlap group.
    """
    found: dict[str, str] = {}
    earlier: list[tuple[Problem, frozenset[int]]] = []
    holders: dict[int, list[int]] = defaultdict(list)
    for problem in problems:
        caret = problem.caret
        before = "\n".join(caret.prefix.split("\n")[-_WINDOW_LINES:])
        after = "\n".join(caret.suffix.split("\n")[:_WINDOW_LINES])
        grams = shingles(f"{before}{problem.reference}{after}")
        shared = Counter(index for gram in grams for index in holders[gram])
        for index, count in shared.items():
            other, theirs = earlier[index]
            if count >= THRESHOLD * (len(grams) + len(theirs) - count) and _elsewhere(problem, other):
                found[problem.id] = found.get(other.id, other.id)
                break
        for gram in grams:
            holders[gram].append(len(earlier))
        earlier.append((problem, grams))
    return found


def _elsewhere(one: Problem, other: Problem) -> bool:
    left, right = _splice(one), _splice(other)
    same_file = (left.snapshot, left.path) == (right.snapshot, right.path)
    apart = left.end <= right.start or right.end <= left.start
    return one.labels.get("mode") == other.labels.get("mode") and (not same_file or apart)


def _splice(problem: Problem) -> FileSplice:
    if not isinstance(problem.splice, FileSplice):
        raise DataError(f"{problem.id}: its answer goes into no file of a project")
    return problem.splice


# --- answers and verdicts ---------------------------------------------------------------------------------------------


def _nothing(inline: Problem) -> Iterator[Mutant]:
    """The empty answer, the stub, and closing brackets alone; not where the file would not even parse with them."""
    splice, language = inline.splice, inline.caret.language
    if not isinstance(splice, InlineSplice):
        return

    def parses(text: str) -> bool:
        return fault_count(parse(splice.program(text), language), language) == 0

    clean = parses(inline.reference)
    seen = {inline.reference.strip()}
    for name, text in (("empty", ""), ("stub", stub(inline)), *_closers(inline.reference)):
        if text.strip() in seen:
            continue
        if not clean or parses(text):
            seen.add(text.strip())
            yield Mutant(name, text)
            if name == "closers":
                return


def _closers(reference: str) -> Iterator[tuple[str, str]]:
    """Brackets and blanks at the end of a reference, the longest first: one of them closes what it leaves open."""
    found = _CLOSERS.search(reference)
    tail = found[0] if found else ""
    starts = [n for n, mark in enumerate(tail) if mark in "})]"]
    for start in starts[-_MOST_CLOSERS:]:
        yield "closers", tail[start:]


def _judge(trial: _Trial, name: str, result: WorkspaceResult) -> Validity | None:
    """The verdict that a result decides; None: the next answer is tried."""
    trial.cpu_s += result.cpu_s
    if result.status in _OURS:
        return _row(trial, "unverified", f"not_run: {result.reason or result.status.value}")
    passes = result.status is Status.PASSED
    if name in NOTHING:
        return _row(trial, "invalid", f"answerable_without_answer: {name}") if passes else None
    trial.tried += 1
    if passes:
        trial.throw_passes |= name in _THROWS
        return None
    if result.status not in _KILLED:
        return None
    if name in REACH_ONLY:
        trial.reach_only = name
        return None
    return _row(trial, "valid", killed_by=name)


def _undecided(trial: _Trial) -> Validity:
    """No mutant was killed."""
    if trial.reach_only:
        return _row(trial, "unverified", f"only_reached: killed by {trial.reach_only}")
    if trial.throw_passes:
        return _row(trial, "unverified", f"no_killing_mutant: {trial.tried} tried; even a throw passes")
    return _row(trial, "unverified", f"no_killing_mutant: {trial.tried} tried")


def _row(trial: _Trial, verdict: str, *reasons: str, **details: str) -> Validity:
    found = {"mutants_tried": str(trial.tried), "runs": str(trial.runs), "cpu_s": f"{trial.cpu_s:.2f}"}
    if trial.project.flaky:
        found["flaky_tests_left_out"] = ", ".join(trial.project.flaky)
    return Validity.model_validate(
        {
            "problem_id": trial.problem.id,
            "verdict": verdict,
            "reasons": reasons,
            "details": found | details,
        }
    )


def _taken(decided: list[Validity]) -> Iterator[Validity]:
    while decided:
        yield decided.pop()
