"""Scorer behind Inspect's solver and scorer: problems by id, and verdicts by CaretBench's rules."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

from pydantic import JsonValue

from caretbench.errors import UsageError
from caretbench.execution.dispatcher import AnyExecutor, AnyRequest, open_executor
from caretbench.execution.execution_types import ExecutionResult, Status
from caretbench.extraction.policies import Policy, get_policy
from caretbench.files import sha256_text
from caretbench.problem import Problem, Profile, Question
from caretbench.profiles import profile_named, rules_of
from caretbench.runs import verdict as verdicts
from caretbench.runs.reductions import ReducedAnswer, shorter_request
from caretbench.runs.verdict import CheckOutcome, combine_checks, needs_execution
from caretbench.suites import load_problems
from caretbench.suites import load_suite as find_suite
from caretbench.suites.answer_kinds import measured_prefix
from caretbench.suites.base import Suite
from caretbench.suites.suite_types import ProblemSet

LANES = 2
"""Maximum number of parallel batches: a program that hangs in one does not delay all others."""

BATCH_DELAY_S = 0.05
"""Seconds that a batch is left to fill."""


@dataclass
class _Waiting:
    key: str
    request: AnyRequest
    future: Future[ExecutionResult]


class ProgramBatcher:
    """Collector of programs from concurrent callers that runs them in batches; equal programs run once."""

    def __init__(self, executor: Callable[[], AnyExecutor], *, batch_delay_s: float = BATCH_DELAY_S) -> None:
        self._make = executor
        self._batch_delay_s = batch_delay_s
        self._lock = threading.Lock()
        self._executor: AnyExecutor | None = None
        self._pending: list[_Waiting] = []
        self._in_flight: dict[str, Future[ExecutionResult]] = {}
        self._lanes = 0

    def submit(self, request: AnyRequest) -> Future[ExecutionResult]:
        """Return the future result of ``request``; the result does not contain the request's id."""
        # Without the id, equal programs of different samples run once.
        key = sha256_text(repr(request.model_copy(update={"id": ""})))
        with self._lock:
            future = self._in_flight.get(key)
            if future is not None:
                return future
            future = Future()
            self._in_flight[key] = future
            self._pending.append(_Waiting(key, request, future))
            if self._lanes < LANES:
                self._lanes += 1
                threading.Thread(target=self._lane, name="caretbench-scoring", daemon=True).start()
            return future

    def check(self) -> None:
        """Check that programs can be run here.

        Raises:
            MachineError: they cannot; the message says what is missing.
        """
        self._get_executor().isolation()

    def _lane(self) -> None:
        while True:
            # Compilers serve many programs at once: samples that are scored together come within this time.
            time.sleep(self._batch_delay_s)
            batch = self._take()
            if not batch:
                return
            self._run(batch)

    def _take(self) -> list[_Waiting]:
        """Return the collected requests; without any, the thread ends."""
        with self._lock:
            batch, self._pending = self._pending, []
            if not batch:
                self._lanes -= 1
            return batch

    def _run(self, batch: list[_Waiting]) -> None:
        given: dict[str, _Waiting] = {}

        def requests() -> Iterator[AnyRequest]:
            more = batch
            while more:
                for waiting in more:
                    identity = str(len(given))
                    given[identity] = waiting
                    yield waiting.request.model_copy(update={"id": identity})
                with self._lock:  # what came meanwhile
                    more, self._pending = self._pending, []

        fault: BaseException | None = None
        try:
            for result in self._get_executor().submit(requests()):
                self._settle(given[result.id], result)
        # Whatever it is, those who wait must hear of it: a coroutine would wait for ever.
        except BaseException as error:
            fault = error
        for waiting in (*batch, *given.values()):
            # An executor that gives fewer results than requests would leave its callers waiting.
            if not waiting.future.done():
                self._settle(waiting, fault or RuntimeError("the executor gave no result"))

    def _get_executor(self) -> AnyExecutor:
        with self._lock:
            if self._executor is None:
                self._executor = self._make()
            return self._executor

    def _settle(self, waiting: _Waiting, outcome: ExecutionResult | BaseException) -> None:
        with self._lock:
            self._in_flight.pop(waiting.key, None)
        if isinstance(outcome, ExecutionResult):
            waiting.future.set_result(outcome)
        else:
            waiting.future.set_exception(outcome)


EXCLUDED = "excluded"
NO_ANSWER = "no_answer"


class PreparedAnswer(NamedTuple):
    """Answer before its run: inserted text, program, and results that need no run."""

    text: str | None
    request: AnyRequest | None
    similarity: Mapping[str, float]
    checks: tuple[float, ...]
    flags: tuple[str, ...]
    refusal: str | None = None
    error_kinds: tuple[str, ...] = ()


class AnswerVerdict(NamedTuple):
    """Verdict on an answer. ``passed`` is None without one, ``excluded`` if the problem is excluded."""

    outcome: str
    passed: bool | None
    excluded: bool
    values: Mapping[str, float]
    details: Mapping[str, JsonValue]


@dataclass(eq=False, repr=False)
class AnswerScorer:
    """Problem set with the policy and profile by which Inspect's answers are scored.

    Without ``batcher`` nothing is run.
    """

    suite: Suite
    data: ProblemSet
    policy: Policy
    profile: Profile
    variants: Mapping[str, str]
    batcher: ProgramBatcher | None

    def __post_init__(self) -> None:
        """Begin without a reference's result."""
        self._lock = threading.Lock()
        self._references: dict[str, Future[ExecutionResult]] = {}

    @property
    def executes(self) -> bool:
        """Return whether programs are run."""
        return self.batcher is not None

    def check(self) -> None:
        """Check that answers can be scored on this machine.

        Raises:
            MachineError: no sandbox can be built.
        """
        if self.batcher is not None:
            self.batcher.check()

    @cached_property
    def problems(self) -> Mapping[str, Problem]:
        """Problems by id."""
        return {problem.id: problem for problem in self.data.problems}

    @property
    def asks_questions(self) -> bool:
        """Return whether the problems are questions."""
        return all(isinstance(problem.shown, Question) for problem in self.data.problems)

    def problem(self, identity: str) -> Problem:
        """Return the problem with this id.

        Raises:
            UsageError: there is none.
        """
        try:
            return self.problems[identity]
        except KeyError:
            raise UsageError(f"{self.data.name} has no problem {identity!r}") from None

    def reference(self, problem: Problem) -> Future[ExecutionResult] | None:
        """Return the run of the problem's reference, which decides whether it is excluded; each runs once.

        None where nothing is run.
        """
        if self.batcher is None or not needs_execution(problem):
            return None
        with self._lock:
            future = self._references.get(problem.id)
            if future is None:
                request = self.suite.request(problem, problem.reference, self.profile, self.variants)
                if request is None:
                    future = Future()
                    future.set_result(verdicts.result_without_program(problem))
                else:
                    future = self.batcher.submit(request.model_copy(update={"is_reference": True}))
                self._references[problem.id] = future
            return future

    def prepare(self, problem: Problem, raw: str | None) -> PreparedAnswer:
        """Return the inserted text, the program and the scores that need no run, for a raw answer."""
        text = verdicts.inserted_text(raw, problem, self.policy)
        similarity: dict[str, float] = {}
        checks: list[float] = []
        refusal = verdicts.refusal(raw, problem, self.policy)
        of_raw = [] if raw is None or refusal else self.suite.measure_raw(problem, raw)
        of_text = self.suite.measure(problem, text, self.profile)
        for measured in (*of_text, *of_raw, *measured_prefix(problem, text)):
            numbers = dict(measured.values)
            if "passed" in numbers:
                checks.append(numbers.pop("passed"))
            # Reports count errors by it; it is no similarity.
            numbers.pop("parses", None)
            similarity |= numbers
        request = (
            self.suite.request(problem, text, self.profile, self.variants)
            if needs_execution(problem) and not refusal
            else None
        )
        flags = verdicts.answer_flags(text, problem, self.profile)
        measured_kinds = self.suite.measure_error_kinds(problem, text)
        kinds = tuple(name for measured in measured_kinds for name, value in measured.values.items() if value)
        return PreparedAnswer(text, request, similarity, tuple(checks), flags, refusal, kinds)

    def reduced(self, problem: Problem, prepared: PreparedAnswer) -> ReducedAnswer | None:
        """Return the reduction of an answer that passes; None if it has none, or nothing is run."""
        steps = self.suite.reduction(problem, prepared.text, self.profile) if self.executes else None
        return None if steps is None else ReducedAnswer(steps)

    def shorter(self, problem: Problem, prepared: PreparedAnswer, text: str) -> PreparedAnswer:
        """Return a prepared answer with a shorter text."""
        made = self.suite.request(problem, text, self.profile, self.variants)
        return prepared._replace(request=None if made is None else shorter_request(made))

    def start(self, prepared: PreparedAnswer, reference: ExecutionResult | None) -> Future[ExecutionResult] | None:
        """Start the answer's program, its CPU time bounded by the reference's; None if there is none."""
        if self.batcher is None or prepared.request is None:
            return None
        bounded = reference is not None and rules_of(self.profile).bounded_by_reference
        cpu_s = reference.cpu_s if reference is not None and bounded else None
        return self.batcher.submit(prepared.request.model_copy(update={"reference_cpu_s": cpu_s}))

    def exclusion_cause(self, reference: ExecutionResult) -> str | None:
        """Return the cause for which a problem is excluded, by its reference's result; None if it is not."""
        result, counted = verdicts.reference_result(reference)
        if counted and result.status is Status.PASSED:
            return None
        return verdicts.exclusion_cause(result.status.value, verdicts.execution_details(result))

    def verdict(
        self,
        problem: Problem,
        prepared: PreparedAnswer,
        result: ExecutionResult | None,
        exclusion: str | None,
        reference: ExecutionResult | None = None,
    ) -> AnswerVerdict:
        """Return the verdict on an answer, as computed by score stage and report."""
        values = prepared.similarity
        if exclusion is not None:
            return AnswerVerdict(EXCLUDED, None, True, values, {"cause": exclusion})
        read = [CheckOutcome(counted=True, value=value) for value in prepared.checks]
        if not (self.executes and needs_execution(problem)):
            if not read or needs_execution(problem):
                return AnswerVerdict("not_executed", None, True, values, {})
            decision = combine_checks(read)
            return AnswerVerdict(decision.outcome, decision.passed, False, values, {})
        result, counted = verdicts.answer_result(
            result or verdicts.result_without_program(problem, prepared.refusal), verdicts.waits_forever(reference)
        )
        ran = CheckOutcome(counted, float(result.status is Status.PASSED), result.status.value)
        decision = combine_checks([*read, ran])
        details = verdicts.execution_details(result, prepared.flags)
        return AnswerVerdict(decision.outcome, decision.passed, False, values, details)

    @cached_property
    def similarity_names(self) -> tuple[str, ...]:
        """Names of all numbers that need no run; they may differ by the suite's first label."""
        label = self.suite.strata[0]
        kinds = {problem.label(label): problem for problem in reversed(self.data.problems)}
        similarities = (self.prepare(problem, problem.reference).similarity for problem in kinds.values())
        names = dict.fromkeys(name for names in similarities for name in names)
        return (*names, *(self.suite.reduction_values if self.executes else ()))


def answer_scorer(
    suite: str,
    data: str,
    *,
    policy: str | None = None,
    profile: str = "default",
    variants: Mapping[str, str] | None = None,
    execute: bool = True,
    workers: int | None = None,
    use_cache: bool = True,
) -> AnswerScorer:
    """Return the scorer for the parameters of a task; one object for all samples of an evaluation.

    Raises:
        UsageError: an unknown profile; an unknown suite or policy.
        DataError: the data are wrong.
    """
    builds = tuple(sorted((variants or {}).items()))
    return cached_answer_scorer(suite, data, policy, profile, builds, execute, workers, use_cache)


@lru_cache(maxsize=8)
def cached_answer_scorer(
    suite: str,
    data: str,
    policy: str | None,
    profile: str,
    variants: tuple[tuple[str, str], ...],
    execute: bool,
    workers: int | None,
    use_cache: bool,
) -> AnswerScorer:
    """Return a cached scorer; parameters as in :func:`answer_scorer`, by position."""
    scoring_profile = profile_named(profile, "profile")
    loaded_suite = find_suite(suite)
    loaded = load_problems(loaded_suite, data)
    execute = execute and any(map(needs_execution, loaded.problems))
    batcher = ProgramBatcher(lambda: open_executor(workers, use_cache=use_cache)) if execute else None
    return AnswerScorer(
        loaded_suite,
        loaded,
        get_policy(policy or loaded_suite.rules(scoring_profile).policy),
        scoring_profile,
        dict(variants),
        batcher,
    )
