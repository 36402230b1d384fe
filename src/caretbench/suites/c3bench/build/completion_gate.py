"""Gate of C3-Bench: programs decide about implementations, wrong answers about specifications of scale."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from caretbench.build.validation.duplicates import near_duplicate_texts
from caretbench.build.validation.program_gate import ProgramGate
from caretbench.execution.execution_types import ExecutionRequest, Executor
from caretbench.extraction.policies import Policy
from caretbench.problem import PredicateCheck, Problem
from caretbench.suites.c3bench.predicates import failed_predicates
from caretbench.suites.c3bench.problem_building import SCALE_PREDICATE
from caretbench.suites.c3bench.scale import ScaleSpecification, verify
from caretbench.suites.c3bench.scale.wrong_answers import wrong_answers
from caretbench.suites.validity import ResumableGate, Validity


@dataclass
class CompletionGate(ResumableGate):
    """Gate for both tasks.

    * ICC: the gate for programs. Only the tests decide about wrong answers; the reference must satisfy its predicate.
    * SCC: the reference satisfies its specification, and the six wrong answers fail.

    Problems of one source repeat its text; a whole source that repeats an earlier one is a near-duplicate.
    """

    executor: Callable[[], Executor]
    policy: Policy
    request: Callable[[Problem, str], ExecutionRequest | None]
    progress: Callable[[int], None] = field(default=lambda _count: None)

    def decide(self, problems: Sequence[Problem], all_problems: Sequence[Problem] = ()) -> Iterator[Validity]:
        """Yield the verdicts: those on scale first, since nothing runs for them."""
        repeated = repeated_sources(all_problems or problems)
        programs = [problem for problem in problems if problem.runs_as_program]
        for problem in problems:
            if not problem.runs_as_program:
                yield self._scale_verdict(problem, repeated.get(problem.id))
        if programs:
            gate = ProgramGate(
                self.executor(), self.policy, self.request, _reference_faults, duplicates=lambda _problems: repeated
            )
            yield from gate.decide(programs)

    def _scale_verdict(self, problem: Problem, repeats: str | None) -> Validity:
        reasons = [] if repeats is None else [f"near_duplicate: {repeats}"]
        if self.policy.apply(problem.reference, problem.caret).text != problem.reference:
            reasons.append("extraction_changes_reference")
        if faults := failed_predicates(problem, problem.reference):
            reasons.append(f"reference_fails: {'; '.join(faults)}")
        if passing := passing_wrong_answers(problem):
            reasons.append(f"wrong_answer_passes: {', '.join(passing)}")
        return Validity(problem_id=problem.id, verdict="invalid" if reasons else "valid", reasons=tuple(reasons))


def passing_wrong_answers(problem: Problem) -> list[str]:
    """Return the names of the six wrong answers that satisfy a problem's specification at the level ``lenient``."""
    caret = problem.caret
    found = []
    for check in problem.checks:
        if isinstance(check, PredicateCheck) and check.name == SCALE_PREDICATE:
            specification = ScaleSpecification.model_validate(check.arguments["specification"])
            lenient = specification.model_copy(update={"level": "lenient"})
            answers = wrong_answers(caret.prefix, problem.reference, caret.suffix, specification)
            found += [name for name, text in answers.items() if verify(caret.prefix, text, caret.suffix, lenient).ok]
    return found


def _reference_faults(problem: Problem, text: str) -> Sequence[str]:
    """Return the failed predicates of the reference; other answers are decided by the tests alone."""
    return failed_predicates(problem, text) if text == problem.reference else ()


def repeated_sources(problems: Sequence[Problem]) -> Mapping[str, str]:
    """Return the problems whose source repeats an earlier source, with a problem of that."""
    first: dict[str, Problem] = {}
    for problem in problems:
        first.setdefault(problem.cluster, problem)
    texts: dict[str, list[tuple[str, str]]] = {}
    for problem in first.values():
        caret = problem.caret
        texts.setdefault(caret.language, []).append(
            (problem.cluster, f"{caret.prefix}{problem.reference}{caret.suffix}")
        )
    repeated = {name: other for group in texts.values() for name, other in near_duplicate_texts(group).items()}
    return {problem.id: first[repeated[problem.cluster]].id for problem in problems if problem.cluster in repeated}
