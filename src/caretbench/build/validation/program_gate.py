"""Gate for problems whose answers are programs.

Every problem gets a verdict with its reasons:

* ``invalid``: the reference does not pass three times (alone, if it failed once among others), extraction changes it,
  the empty answer, a stub or the caret's line again passes, a layout of the reference is wrong at its place, the
  reference does what is forbidden (:mod:`~caretbench.build.validation.forbidden_access`), or the problem repeats
  another;
* ``unverified``: there is no objection, but no mutant was killed, or this machine cannot run it;
* ``valid``: the reference passes, and a wrong answer that compiles fails at run time.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from caretbench.build.validation.duplicates import near_duplicates
from caretbench.build.validation.forbidden_access import forbidden_access
from caretbench.build.validation.mutants import (
    REACH_ONLY_MUTANTS,
    STRENGTHS,
    Mutant,
    is_only_comment,
    mutants,
    strength,
)
from caretbench.build.validation.resumable_gate import ResumableGate
from caretbench.build.validation.workspace_gate import LAYOUTS, LINE_AGAIN, written_otherwise
from caretbench.errors import UsageError
from caretbench.execution.execution_types import ExecutionRequest, ExecutionResult, Executor, Status
from caretbench.extraction.policies import Policy
from caretbench.files import sha256_text
from caretbench.problem import Caret, Problem
from caretbench.suites.baselines import stub
from caretbench.suites.validity import UNSEEN, Validity

# A reference with time, order or chance in it passes once; three runs show most of these.
REFERENCE_RUNS = 3
# The last one: the first has the key of the reference's run in scores, which is not watched.
WATCHED_RUN = REFERENCE_RUNS - 1
"""Number of the reference's repetition whose accesses are noted."""
# Further mutants run only for problems that the first two do not decide.
MUTANTS_PER_ROUND = 2
STRICT_MUTANTS = 8
"""Number of mutants that the strict gate tries for each problem."""
MIN_KILLED = 0.5
"""Share of them that must fail. Of 120 problems with careful assertions, the lowest share is 0.5, the median 1."""
# Number of problems whose verdicts are stored together. A round ends with its slowest answer, so batches are large;
# after an interruption, the cache has the results of earlier programs.
_BATCH = 300
# Limit of a mutant: a multiple of the reference's time, and a minimum in seconds.
# A mutant that loops for ever costs its whole limit; three times the reference's time is enough for one that ends.
_PATIENCE, _MIN_WALL_S = 3.0, 10.0

_RIGHT = frozenset({"reference", LINE_AGAIN, *LAYOUTS})
"""Answers whose failure shows nothing about the checks."""
_EMPTY = frozenset({"empty", "stub"})
"""Trivial answers whose failure shows that the checks reach the place."""
_NO_VALUE = frozenset({"default_return", "throw"})
"""Mutants that change no value."""


class GateAnswer(NamedTuple):
    """One answer that the gate tries: name, text, number of the repetition; ``layout_is_wrong`` as in a project.

    ``trivial`` answers must not pass; none of them is a mutant.
    """

    name: str
    text: str
    repeat: int = 0
    layout_is_wrong: bool = False
    trivial: bool = False

    @property
    def is_mutant(self) -> bool:
        """Return whether it is a changed reference."""
        return not self.trivial and self.name not in _RIGHT


class GateOutcome(NamedTuple):
    """Result of an answer: execution status, failed predicates, missing module, wall and CPU time.

    ``access`` is the forbidden access of a watched run, empty if there was none; None if it was not watched.
    """

    status: Status
    failed_predicates: tuple[str, ...]
    missing_module: str | None
    wall_s: float = 0.0
    cpu_s: float = 0.0
    access: str | None = None

    @property
    def passed(self) -> bool:
        """Return whether all checks hold."""
        return self.status is Status.PASSED and not self.failed_predicates

    @property
    def fails(self) -> bool:
        """Return whether the answer has a verdict, and it does not pass."""
        return not self.passed and not self.status.is_machine_fault

    @property
    def killed(self) -> bool:
        """Return whether the answer compiled and then failed."""
        return self.status.kills_mutant or (self.status is Status.PASSED and bool(self.failed_predicates))


GateOutcomes = Mapping[GateAnswer, GateOutcome]
_Tried = dict[str, dict[GateAnswer, GateOutcome]]
"""Outcomes by problem."""


@dataclass
class ProgramGate(ResumableGate):
    """Gate for problems whose answers are executed as programs.

    ``request`` returns the program of an answer (None if it fails without execution), ``failed_predicates`` a line for
    each predicate that the answer does not satisfy. ``policy`` must leave references unchanged. ``strict``: see
    :func:`weak_checks`. ``duplicates`` returns
    the problems that repeat an earlier one, ``trivial_answers`` answers that must not pass, named as baselines.
    """

    executor: Executor
    policy: Policy
    request: Callable[[Problem, str], ExecutionRequest | None]
    failed_predicates: Callable[[Problem, str], Sequence[str]]
    progress: Callable[[int], None] = field(default=lambda _count: None)
    duplicates: Callable[[Sequence[Problem]], Mapping[str, str]] = near_duplicates
    strict: bool = False
    trivial_answers: Callable[[Problem], Sequence[GateAnswer]] = field(default=lambda problem: trivial_answers(problem))

    def decide(self, problems: Sequence[Problem], all_problems: Sequence[Problem] = ()) -> Iterator[Validity]:
        """Yield the verdicts, batch by batch.

        Raises:
            UsageError: a problem is a question.
        """
        if question := next((problem for problem in problems if not isinstance(problem.shown, Caret)), None):
            raise UsageError(f"{question.id}: this gate is for answers at a caret; questions need another gate")
        repeated = self.duplicates(all_problems or problems)
        for start in range(0, len(problems), _BATCH):
            yield from self._decide(problems[start : start + _BATCH], repeated)

    def _decide(self, problems: Sequence[Problem], repeated: Mapping[str, str]) -> Iterator[Validity]:
        outcomes: _Tried = defaultdict(dict)
        # References first: their CPU time bounds the answers after them.
        for answers_of in (
            _repeated_reference,
            lambda problem: [*self.trivial_answers(problem), *self._otherwise(problem)],
        ):
            self._try([(problem, answer) for problem in problems for answer in answers_of(problem)], outcomes)
        # A reference that failed under load would be called flaky; alone, nothing else can be the cause.
        self._repeat_alone([problem for problem in problems if _may_be_unlucky(outcomes[problem.id])], outcomes)
        queues = {
            problem.id: iter(self._mutants(problem))
            for problem in problems
            if not self._objections(problem, outcomes[problem.id]) and not _machine_faults(outcomes[problem.id])
        }
        waiting = [problem for problem in problems if problem.id in queues]
        while waiting:
            answers = [
                (problem, GateAnswer(mutant.name, mutant.text))
                for problem in waiting
                for mutant in islice(queues[problem.id], STRICT_MUTANTS if self.strict else MUTANTS_PER_ROUND)
            ]
            self._try(answers, outcomes)
            tried = {problem.id for problem, _ in answers}
            waiting = [problem for problem in waiting if problem.id in tried and not _is_decided(outcomes[problem.id])]
        for problem in problems:
            yield self._verdict(problem, outcomes[problem.id], repeated.get(problem.id))

    def _otherwise(self, problem: Problem) -> list[GateAnswer]:
        """Return the caret's line again and right answers in other layouts; execution shows nothing about comments."""
        if not problem.reference.strip() or not problem.runs_as_program or is_only_comment(problem):
            return []
        layouts = written_otherwise(problem, problem.caret, self.policy)
        return [GateAnswer(layout.name, layout.text, layout_is_wrong=layout.layout_is_wrong) for layout in layouts]

    def _mutants(self, problem: Problem) -> Sequence[Mutant]:
        """Return the mutants in the order of trial: the strongest first, but for the strict gate all kinds in turn."""
        all_mutants = mutants(problem)
        if self.strict:
            return all_mutants
        return sorted(all_mutants, key=lambda mutant: STRENGTHS.index(strength(mutant.name)))

    def _verdict(self, problem: Problem, outcomes: GateOutcomes, repeats: str | None) -> Validity:
        objections, doubts = self._objections(problem, outcomes), _machine_faults(outcomes)
        if repeats is not None:
            objections.append(f"near_duplicate: {repeats}")
        killing_mutant = _killing_mutant(outcomes)
        tried = sum(answer.is_mutant for answer in outcomes)
        if not objections and not doubts:
            doubts += _no_kill(killing_mutant, tried)
        if not objections and not doubts and self.strict and (weak := weak_checks(outcomes)):
            doubts.append(weak)
        return Validity(
            problem_id=problem.id,
            verdict="invalid" if objections else "unverified" if doubts else "valid",
            reasons=tuple(objections + doubts),
            details=_details(problem, outcomes, killing_mutant, tried),
        )

    def _objections(self, problem: Problem, outcomes: GateOutcomes) -> list[str]:
        references = _references(outcomes)
        reasons = [] if _machine_faults(outcomes) else _failed_references(references)
        if self.refuses_accesses:
            accesses = (outcome.access for outcome in references)
            reasons += [f"forbidden: it {access}" for access in accesses if access and access != UNSEEN]
        if self.policy.apply(problem.reference, problem.caret).text != problem.reference:
            reasons.append("extraction_changes_reference")
        # In one cell of the released DevBench 14 % of the problems pass with an empty answer.
        passing = [answer.name for answer, outcome in outcomes.items() if answer.trivial and outcome.passed]
        if passing:
            reasons.append(f"answerable_without_answer: {', '.join(passing)}")
        return reasons + [objection for tried in outcomes.items() for objection in _layout_objections(*tried)]

    def _try(self, answers: Sequence[tuple[Problem, GateAnswer]], outcomes: _Tried) -> None:
        submitted: dict[str, tuple[Problem, GateAnswer, ExecutionRequest]] = {}

        def requests() -> Iterator[ExecutionRequest]:
            for problem, answer in answers:
                request = self.request(problem, answer.text)
                if request is None:
                    outcomes[problem.id][answer] = self._unrun(problem, answer)
                    continue
                identity = sha256_text(problem.id, answer.name, answer.text, str(answer.repeat))
                submitted[identity] = (problem, answer, request)
                changes: dict[str, object] = {"id": identity, "repeat": answer.repeat}
                if answer.name == "reference" and answer.repeat == WATCHED_RUN:
                    changes["watched"] = True
                if answer.is_mutant:
                    wall_s = _mutant_limit_s(outcomes[problem.id], request.limits.wall_s)
                    changes["limits"] = request.limits.model_copy(update={"wall_s": wall_s})
                if answer.name != "reference" and request.rules.bounded_by_reference:
                    references = _references(outcomes[problem.id])
                    changes["reference_cpu_s"] = max((outcome.cpu_s for outcome in references), default=None)
                yield request.model_copy(update=changes)

        for result in self.executor.submit(requests()):
            problem, answer, made = submitted[result.id]
            outcome = self._outcome(problem, answer, result)
            if answer.name == "reference" and answer.repeat == WATCHED_RUN:
                outcome = outcome._replace(access=forbidden_access(made.source, made.language, result.accesses))
            outcomes[problem.id][answer] = outcome
        for problem, answer in answers:  # results come as they end; the answers keep the order in which they were made
            tried = outcomes[problem.id]
            if answer in tried:
                tried[answer] = tried.pop(answer)

    def _repeat_alone(self, problems: Sequence[Problem], outcomes: _Tried) -> None:
        """Replace the outcomes of references that failed by those of three runs in which nothing else runs.

        Those that passed stay: a reference that then fails alone is flaky.
        """
        for problem in problems:
            tried = outcomes[problem.id]
            for answer in [answer for answer in tried if answer.name == "reference"]:
                if not tried[answer].passed:
                    del tried[answer]
                again = answer._replace(repeat=answer.repeat + REFERENCE_RUNS)
                self._try([(problem, again)], outcomes)

    def _unrun(self, problem: Problem, answer: GateAnswer) -> GateOutcome:
        """Return the outcome of an answer without a program: it fails, unless the problem has only predicates."""
        if problem.runs_as_program:
            return GateOutcome(Status.RUNTIME_ERROR, (), None)
        return GateOutcome(Status.PASSED, tuple(self.failed_predicates(problem, answer.text)), None)

    def _outcome(self, problem: Problem, answer: GateAnswer, result: ExecutionResult) -> GateOutcome:
        faults = self.failed_predicates(problem, answer.text) if result.status is Status.PASSED else ()
        return GateOutcome(result.status, tuple(faults), result.missing_module, result.run_s, result.cpu_s)


def _details(problem: Problem, outcomes: GateOutcomes, killing_mutant: str | None, tried: int) -> dict[str, str]:
    """Return the details of a verdict."""
    details = {"mutants_tried": str(tried)}
    details |= {"killed_by": killing_mutant, "strength": strength(killing_mutant)} if killing_mutant else {}
    accesses = {outcome.access for outcome in _references(outcomes)}
    # A run that fails only when it is watched is repeated unwatched.
    if problem.runs_as_program and accesses <= {None, UNSEEN}:
        details["accesses"] = UNSEEN
    elif seen := sorted(filter(None, accesses - {UNSEEN})):
        details["accesses"] = ", ".join(seen)
    if failed := [answer.name for answer, outcome in outcomes.items() if answer.name in LAYOUTS and outcome.fails]:
        details["right_answers_failed"] = ", ".join(failed)
    return details


def _mutant_limit_s(outcomes: GateOutcomes, most_s: float) -> float:
    """Return the wall time limit of mutants in seconds, rounded up so that it rarely differs between runs."""
    reference_s = max((outcome.wall_s for outcome in _references(outcomes)), default=0.0)
    return min(most_s, max(_MIN_WALL_S, 10.0 * math.ceil(_PATIENCE * reference_s / 10.0)))


def _repeated_reference(problem: Problem) -> list[GateAnswer]:
    return [GateAnswer("reference", problem.reference, run) for run in range(REFERENCE_RUNS)]


def trivial_answers(problem: Problem) -> list[GateAnswer]:
    """Return the empty answer and the stub, unless it is empty too."""
    answers = [GateAnswer("empty", "", trivial=True), GateAnswer("stub", stub(problem), trivial=True)]
    return answers if answers[1].text else answers[:1]


def _references(outcomes: GateOutcomes) -> list[GateOutcome]:
    return [outcome for answer, outcome in outcomes.items() if answer.name == "reference"]


def _may_be_unlucky(outcomes: GateOutcomes) -> bool:
    """Return whether a reference failed, and may pass alone; what timed out each time has run alone already."""
    statuses = {outcome.status for outcome in _references(outcomes)}
    return statuses != {Status.TIMEOUT} and any(status.may_be_unlucky for status in statuses)


def _machine_faults(outcomes: GateOutcomes) -> list[str]:
    """Return the reasons why this machine cannot run the reference, such as a missing toolchain or package."""
    references = [(outcome.status, outcome.missing_module) for outcome in _references(outcomes)]
    faults = [(status, module) for status, module in references if status.for_reference(module).is_machine_fault]
    return sorted({f"reference_not_run: {status}" + (f" {module}" if module else "") for status, module in faults})


def _failed_references(references: Sequence[GateOutcome]) -> list[str]:
    failing = [outcome.status for outcome in references if not outcome.passed]
    if not failing:
        return []
    failed = {"predicate" if status is Status.PASSED else status.value for status in failing}
    kind = "flaky" if len(failing) < len(references) else "fails"
    return [f"reference_{kind}: {', '.join(sorted(failed))}"]


def _layout_objections(answer: GateAnswer, outcome: GateOutcome) -> Iterator[str]:
    if answer.name == LINE_AGAIN and outcome.passed:
        yield f"wrong_answer_passes: {LINE_AGAIN}"
    # Blanks within a text of several lines are part of its value, so no policy can restore them.
    if answer.layout_is_wrong and outcome.fails:
        yield f"right_answer_fails: {answer.name} in a string"


def _killing_mutant(outcomes: GateOutcomes) -> str | None:
    """Return the name of the killed wrong answer that shows most; None if there is none."""
    shown = {answer.name: outcome for answer, outcome in outcomes.items() if answer.is_mutant or answer.name in _EMPTY}
    killed = [name for name, outcome in shown.items() if outcome.killed]
    return min(killed, key=lambda name: STRENGTHS.index(strength(name)), default=None)


def _no_kill(killing_mutant: str | None, tried: int) -> list[str]:
    """Return the reason why no mutant shows that the checks work, if that is so."""
    # The failure of an empty answer shows no assertion: `std::move(tons)` was checked by `size() == 3` alone.
    if killing_mutant is None or not tried:
        return [f"no_killing_mutant: {tried} tried"]
    # A throw at top level stops every program, whatever its assertions are.
    return [f"only_reached: killed by {killing_mutant}"] if killing_mutant in REACH_ONLY_MUTANTS else []


def _is_decided(outcomes: GateOutcomes) -> bool:
    """Return whether no further mutant can show more."""
    killing_mutant = _killing_mutant(outcomes)
    return killing_mutant is not None and strength(killing_mutant) == STRENGTHS[0]


def weak_checks(outcomes: GateOutcomes) -> str:
    """Return the reason why the checks of a problem are weak, or nothing; comments have no weak checks.

    Of the mutants that compile, :data:`MIN_KILLED` must fail, and among them one with a changed value: a program
    without assertions also fails where a throw stops it, or where the default of a type is of no use.
    """
    ran = [
        (answer.name, outcome)
        for answer, outcome in outcomes.items()
        if answer.is_mutant and answer.name not in REACH_ONLY_MUTANTS and (outcome.passed or outcome.killed)
    ]
    passing = sorted(name for name, outcome in ran if outcome.passed)
    if len(passing) > (1 - MIN_KILLED) * len(ran):
        return f"weak_checks: {len(passing)} of {len(ran)} changed references pass ({', '.join(passing)})"
    values = [(name, outcome) for name, outcome in ran if name not in _NO_VALUE]
    if values and not any(outcome.killed for _, outcome in values):
        return f"weak_checks: no changed value fails ({', '.join(sorted(name for name, _ in values))})"
    return ""
