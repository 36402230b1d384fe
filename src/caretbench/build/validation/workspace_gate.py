"""Gate for problems that are checked by a project's tests, and the trial of one problem by it.

Order of examination: static checks, the tests on the unchanged project, reach, empty answers, then mutants one at a
time until one is killed. Many problems are examined in parallel; each verdict is yielded as soon as it is decided.
"""

from __future__ import annotations

import re
import textwrap
import zipfile
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from caretbench.build.projects.project_check import ProjectCheck, check_project
from caretbench.build.projects.reach.measurement import measure_reach
from caretbench.build.projects.reach.statement_reach import StatementReach
from caretbench.build.validation.duplicates import near_duplicate_spans
from caretbench.build.validation.forbidden_access import forbidden_access
from caretbench.build.validation.mutants import (
    ADDED_THROW,
    REACH_ONLY_MUTANTS,
    STRENGTHS,
    added_code,
    in_file,
    mutants,
    parses_as_reference,
    program_splice,
    strength,
    throw_at_start,
    value_mutants,
)
from caretbench.build.validation.mutation_target import mutation_table
from caretbench.build.validation.resumable_gate import ResumableGate
from caretbench.errors import DataError
from caretbench.execution.execution_types import Status
from caretbench.execution.workspaces.project_tools import CLASSPATH_FIRST
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.execution.workspaces.workspace_executor import WorkspaceEngine
from caretbench.execution.workspaces.workspace_runner import WorkspaceRequest, WorkspaceResult
from caretbench.extraction.policies import Policy
from caretbench.grouping import grouped
from caretbench.languages import get_language
from caretbench.problem import Caret, FileSplice, Problem, TestsCheck
from caretbench.projects.answer_requests import file_splice, get_tests_check, original_file, workspace_request
from caretbench.suites.baselines import stub
from caretbench.suites.validity import UNSEEN, Validity, Verdict
from caretbench.syntax import Span
from caretbench.syntax.analysis import FileAnalysis, analyse
from caretbench.syntax.parser import captures, encode, parse
from caretbench.syntax.scopes import is_test_path
from caretbench.syntax.source import SourceFile, language_of

THROW: Final = "throw"
"""Name of mutants that throw."""
EMPTY_ANSWERS: Final = frozenset({"empty", "stub", "closers", "no value"})
"""Names of answers without content."""
LINE_AGAIN: Final = "line again"
"""Name of the answer that writes the caret's line again before it goes on."""

_CLOSERS = re.compile(r"[\s})\];]*\Z")
_MAX_CLOSERS = 8


_AT_START: Final = "throw at start"
"""Name of the answer that throws before its first statement."""


class TrialAnswer(NamedTuple):
    """An answer to try: empty, or a mutant. ``throw_name`` is ``throw`` or ``crash`` for a throw at the start."""

    name: str
    text: str
    throw_name: str = ""
    layout_is_wrong: bool = False
    """The layout changes a text of several lines, so that no policy can forgive it."""


@dataclass
class Trial:
    """State of one problem's trial."""

    problem: Problem
    project: ProjectCheck
    answers: Iterator[TrialAnswer]
    mutants_tried: int = 0
    runs: int = 0
    killed_at_start: str = ""
    """Name of the throw at the start, if the tests failed on it."""
    throw_passes: bool = False
    reach_only_kill: str = ""
    failed_layouts: list[str] = field(default_factory=list)
    """Names of right answers in another layout that fail after the policy."""


def trial_answers(
    problem: Problem, content: bytes, policy: Policy, *, mutates_values: bool = False
) -> Iterator[TrialAnswer]:
    """Yield the answers to try: empty ones, right ones in another layout, then mutants, the strongest first.

    Where the right answer is empty, these are answers with code that is not due.

    ``content`` is the unchanged file with the problem's span. With ``mutates_values``, a reference without
    other mutants has those of its values.
    """
    in_program = in_file(problem, content)
    if not problem.reference.strip():
        yield from (TrialAnswer(mutant.name, mutant.text) for mutant in added_code(in_program))
        return
    yield from _trivial_answers(in_program)
    yield from written_otherwise(in_program, problem.caret, policy)
    # Early, though it shows little: if it is killed, all other throws can be skipped.
    if (throw := throw_at_start(in_program)) is not None:
        yield TrialAnswer(_AT_START, throw.text, throw.name)
    changed = mutants(in_program)
    if mutates_values and all(mutant.name in {THROW, *REACH_ONLY_MUTANTS} for mutant in changed):
        changed = [*value_mutants(in_program), *changed]
    # Strongest first: 80 of 103 killed candidates of SimCopilot fell to `default_return`, with nothing stronger tried.
    mutant_answers = [TrialAnswer(mutant.name, mutant.text) for mutant in changed]
    yield from sorted(mutant_answers, key=lambda answer: STRENGTHS.index(strength(answer.name)))


def _trivial_answers(problem: Problem) -> Iterator[TrialAnswer]:
    """Yield the answers without content; only those that parse, if the reference does."""
    splice = program_splice(problem)
    is_sound = parses_as_reference(splice, problem.reference, problem.caret.language)
    seen = {problem.reference.strip()}
    value = mutation_table(get_language(problem.caret.language).name).default_value
    # A call whose argument may as well be missing says nothing about it: in asgiref `None` passed for a lock.
    values = [("no value", value)] if problem.labels.get("block") == "argument_list" else []
    # `pass` was never tried where a comment stands between header and caret: 4 % of all blocks.
    for name, text in (("empty", ""), ("stub", stub(problem)), *values, *_closers(problem.reference)):
        if text.strip() not in seen and is_sound(text):
            seen.add(text.strip())
            yield TrialAnswer(name, text)
            # Only the longest text that parses: shorter ones are parts of it.
            if name == "closers":
                return


def written_otherwise(problem: Problem, caret: Caret, policy: Policy) -> Iterator[TrialAnswer]:
    """Yield the caret's line again and the reference in other layouts, after the policy; equal texts once.

    ``problem`` is spliced into its program; ``caret`` is what a model is shown.
    """
    seen = {problem.reference.strip()}
    for answer in (*_line_again(problem), *right_answers(problem)):
        text = policy.apply(answer.text, caret).text
        if text.strip() not in seen:  # most are the reference after the policy
            seen.add(text.strip())
            yield answer._replace(text=text)


def _line_again(problem: Problem) -> Iterator[TrialAnswer]:
    """Yield the answer that writes the caret's line again: ``total = `` and then ``total = a * b``, if it parses."""
    splice = program_splice(problem)
    line = splice.before.rpartition("\n")[2].lstrip()
    if line and parses_as_reference(splice, problem.reference, problem.caret.language)(line + problem.reference):
        yield TrialAnswer(LINE_AGAIN, line + problem.reference)


LAYOUTS: Final = ("fence", "tabs", "comment in column 0", "other quotes")
"""Names of right answers in another layout."""
_BLANKS = re.compile(r"^(?: {4})+", re.MULTILINE)


def right_answers(problem: Problem) -> Iterator[TrialAnswer]:
    """Yield the reference in other layouts: dedented in a fence, with tabs, a comment in column 0, and other quotes."""
    splice = program_splice(problem)
    reference, language = problem.reference, get_language(problem.caret.language).name
    start, program = len(encode(splice.before)), encode(splice.program(reference))
    end = start + len(encode(reference))
    nodes = captures(parse(program, language).root_node, language, "mutations").get("string", [])
    strings = [(node.start_byte, node.end_byte, program[node.start_byte : node.end_byte]) for node in nodes]
    # The caret may be inside a text that begins above it.
    in_text = any(first < end and start < last and b"\n" in text for first, last, text in strings)
    line = splice.before.rpartition("\n")[2]
    dedented = textwrap.dedent((line if not line.strip() else "") + reference)
    yield TrialAnswer("fence", f"```{language}\n{dedented}\n```", layout_is_wrong=in_text)
    yield TrialAnswer("tabs", _BLANKS.sub(lambda hit: "\t" * (len(hit[0]) // 4), reference), layout_is_wrong=in_text)
    first_line, newline, rest = reference.partition("\n")
    mark = mutation_table(language).vague_line_comment
    commented = f"{first_line}{newline}{mark}\n{rest}"
    if rest.strip() and parses_as_reference(splice, reference, language)(commented):
        yield TrialAnswer("comment in column 0", commented, layout_is_wrong=in_text)
    if language in _TWO_QUOTES:
        data = bytearray(encode(reference))
        for first, last, text in strings:
            is_plain = text[:1] + text[-1:] in (b"''", b'""') and not re.search(rb"[\'\"\\\n]", text[1:-1])
            if is_plain and start <= first and last <= end:
                data[first - start] = data[last - start - 1] = 39 + 34 - text[0]
        yield TrialAnswer("other quotes", data.decode("utf-8", "surrogatepass"))


_TWO_QUOTES = frozenset({"python", "javascript", "typescript"})
"""Languages in which both kinds of quotes mean the same."""


def _closers(reference: str) -> Iterator[tuple[str, str]]:
    """Yield the closing brackets at the end of a reference, the longest text first."""
    closers = _CLOSERS.search(reference)
    tail = closers[0] if closers else ""
    starts = [n for n, mark in enumerate(tail) if mark in "})]"]
    for start in starts[-_MAX_CLOSERS:]:
        yield "closers", tail[start:]


def next_answer(trial: Trial) -> TrialAnswer | None:
    """Return the next answer to try; throws are skipped if the one at the start was killed."""
    skipped = {THROW, *REACH_ONLY_MUTANTS} if trial.killed_at_start else set()
    return next((answer for answer in trial.answers if answer.name not in skipped), None)


def verdict_of_result(trial: Trial, answer: TrialAnswer, result: WorkspaceResult) -> Validity | None:
    """Return the verdict that follows from an answer's result; None if another answer must be tried."""
    if result.status.is_machine_fault:
        return _row(trial, "unverified", f"not_run: {result.reason or result.status.value}")
    passes = result.status is Status.PASSED
    if answer.name in EMPTY_ANSWERS:
        return _row(trial, "invalid", f"answerable_without_answer: {answer.name}") if passes else None
    if answer.name in LAYOUTS:
        if not passes and answer.layout_is_wrong:
            return _row(trial, "invalid", f"right_answer_fails: {answer.name} in a string")
        trial.failed_layouts += [] if passes else [answer.name]
        return None
    if answer.name == LINE_AGAIN:
        return _row(trial, "invalid", f"wrong_answer_passes: {LINE_AGAIN}") if passes else None
    return _verdict_of_mutant(trial, answer, result)


def _verdict_of_mutant(trial: Trial, answer: TrialAnswer, result: WorkspaceResult) -> Validity | None:
    passes = result.status is Status.PASSED
    trial.mutants_tried += 1
    if answer.name == _AT_START:
        if passes:
            return _row(trial, "invalid", f"answerable_without_answer: {THROW}")
        trial.killed_at_start = answer.throw_name if result.status.kills_mutant else ""
        return None
    if passes:
        trial.throw_passes |= answer.name == THROW
        return None
    if not result.status.kills_mutant:
        return None
    if answer.name in {*REACH_ONLY_MUTANTS, ADDED_THROW}:
        trial.reach_only_kill = answer.name
        return None
    return _row(trial, "valid", killed_by=answer.name, strength=strength(answer.name))


def verdict_without_kill(trial: Trial) -> Validity:
    """Return the verdict after all answers, if no mutant was killed except throws."""
    start = trial.killed_at_start
    if start and start not in REACH_ONLY_MUTANTS:
        return _row(trial, "valid", killed_by=start, strength=strength(start))
    if trial.reach_only_kill or trial.killed_at_start:
        return _row(trial, "unverified", f"only_reached: killed by {trial.reach_only_kill or trial.killed_at_start}")
    passes = "; even a throw passes" if trial.throw_passes else ""
    return _row(trial, "unverified", f"no_killing_mutant: {trial.mutants_tried} tried{passes}")


def _row(trial: Trial, verdict: Verdict, *reasons: str, **details: str) -> Validity:
    # No measured times: a build that is stopped and resumed writes the same bytes as an unbroken one.
    counts = {"mutants_tried": str(trial.mutants_tried), "runs": str(trial.runs)}
    if trial.project.flaky_tests:
        counts["flaky_tests_left_out"] = ", ".join(trial.project.flaky_tests)
    if trial.project.passed_alone:
        counts["passed_alone_only"] = ", ".join(trial.project.passed_alone)
    if trial.project.accesses is None:
        counts["accesses"] = UNSEEN
    if trial.failed_layouts:
        counts["right_answers_failed"] = ", ".join(trial.failed_layouts)
    details = counts | details
    return Validity(problem_id=trial.problem.id, verdict=verdict, reasons=reasons, details=details)


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
        shadowing_jar = next((jar for jar in jars if around in _classes(folder, splice.snapshot, jar)), None)
        if shadowing_jar is not None:
            yield f"shadowed: {shadowing_jar} contains {around}, and is before the project on the class path"


@lru_cache(maxsize=64)
def _analysed(path: str, content: bytes) -> FileAnalysis:
    return analyse([SourceFile(path, content)])[path]


@lru_cache(maxsize=64)
def _classes(folder: Path, snapshot: str, jar: str) -> frozenset[str]:
    """Return the classes without a package in a jar of a project."""
    path = SnapshotStore(folder).get(snapshot).tree / jar
    try:
        with zipfile.ZipFile(path) as archive:
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
        for group in grouped((repr(self._command(problem)), problem) for problem in problems).values():
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
        if reach is None and all(get_tests_check(problem).tests for problem in problems):
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

    def _before_running(self, problem: Problem, repeated: str | None) -> list[str]:
        splice = file_splice(problem)
        faults = []
        if splice.content(self.original_file(problem), problem.reference) != self.original_file(problem):
            faults.append("reference_not_in_place: the reference differs from the text of the span")
        if self.policy.apply(problem.reference, problem.caret).text != problem.reference:
            faults.append("extraction_changes_reference")
        faults += span_faults(splice, self.original_file(problem), get_tests_check(problem), self.store)
        if repeated is not None:
            faults.append(f"near_duplicate: {repeated}")
        return faults

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
                # 42 % of SimCopilot's released tasks in Java do not test the generated code.
                reasons = ("not_reached: no test runs it",)
                yield Validity(problem_id=problem.id, verdict="invalid", reasons=reasons)
            elif self.refuses_accesses and (access := self._forbidden(problem, project)) not in ("", UNSEEN):
                yield Validity(problem_id=problem.id, verdict="invalid", reasons=(f"forbidden: it {access}",))
            else:
                content = self.original_file(problem)
                answers = trial_answers(problem, content, self.policy, mutates_values=self.mutates_values)
                trials.append(Trial(problem, project, answers))

    def _forbidden(self, problem: Problem, project: ProjectCheck) -> str:
        """Return the forbidden access of the tests that decide; an opened file counts if the problem's file names it.

        It is empty if there is none.
        """
        text = self.original_file(problem).decode("utf-8", "replace")
        return forbidden_access(text, problem.caret.language, project.accesses)

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
        kept = {name: getattr(reference, name) for name in ("command", "prepare", "minimum_tests")}
        # By the deciding tests where these are quicker than all: one candidate of pyasn1's decoder, whose wrong answers
        # loop, stood for 445 s by the clock, next to deciding tests of 2 s.
        kept["limits"] = min(reference.limits, request.limits, key=lambda limits: limits.cpu_s)
        bound = {"reference_cpu_s": trial.project.cpu_s or None}
        return request.model_copy(update={"id": f"{trial.problem.id} {trial.runs}", **kept, **bound})


def _taken(decided: list[Validity]) -> Iterator[Validity]:
    while decided:
        yield decided.pop()
