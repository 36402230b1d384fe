"""Runs of new instances in the sandbox: the reference once, then the gate, then the rewritten programs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from caretbench.build.validation.program_gate import WATCHED_RUN
from caretbench.build.validation.resumable_gate import ProblemGate
from caretbench.execution.execution_types import ExecutionRequest, ExecutionResult, Executor, Status
from caretbench.languages import get_language
from caretbench.problem import InlineSplice, Problem
from caretbench.redaction import redact
from caretbench.suites.devbench.build.construction.build_folder import AttemptOutcome
from caretbench.suites.validity import UNSEEN, Validity
from caretbench.syntax.documentation import comments

_REMARK = "the same"


def rewrites(problem: Problem) -> Iterator[tuple[str, Problem]]:
    """Yield the problem with an empty line before its program, and with a comment in its reference.

    Each comes with the change in words. The comment stands at the first end of a line where it is one.
    """
    splice, caret = problem.splice, problem.caret
    if not isinstance(splice, InlineSplice):
        return
    moved = splice.model_copy(update={"before": f"\n{splice.before}"})
    yield "with an empty line before the program", problem.model_copy(update={"splice": moved})
    remark = f"{get_language(caret.language).line_comment} {_REMARK}"
    for end in _line_ends(problem.reference, splice.after):
        noted = f"{problem.reference[:end]}  {remark}{problem.reference[end:]}"
        if any(comment.text == remark for comment in comments(splice.program(noted), caret.language)):
            yield "with a comment in it", problem.model_copy(update={"reference": noted})
            return


def _line_ends(reference: str, after: str) -> Iterator[int]:
    """Yield the ends of the lines of a reference that can take a comment."""
    for line_end in re.finditer(r"\n", reference + after[:1]):
        line = reference[: line_end.start()].rpartition("\n")[2]
        # A comment behind a backslash would break the line that it continues.
        if line.strip() and not line.endswith("\\"):
            yield line_end.start()


ProgramOfAnswer = Callable[[Problem, str], ExecutionRequest | None]
"""Returns the program of an answer to a problem, or None if the answer fails without one."""


def rewrite_faults(problems: Sequence[Problem], program: ProgramOfAnswer, executor: Executor) -> dict[str, str]:
    """Return the problems whose assertions fail for the reference in a rewritten program: id → the fault."""
    rewritten: dict[str, tuple[str, str]] = {}

    def requests() -> Iterator[ExecutionRequest]:
        for problem in problems:
            for about, changed in rewrites(problem):
                request = program(changed, changed.reference)
                if request is not None:
                    identity = f"{problem.id} {about}"
                    rewritten[identity] = problem.id, about
                    yield request.model_copy(update={"id": identity})

    faults: dict[str, str] = {}
    for result in executor.submit(requests()):
        name, about = rewritten[result.id]
        # A program that reads its own source, or the line of an error, passes or fails by the layout of an answer.
        if _is_faulty(result.status.for_reference(result.missing_module)):
            faults.setdefault(name, f"the assertions fail for the reference {about}: they check the text of the code")
    return faults


def _is_faulty(status: Status) -> bool:
    return status is not Status.PASSED and not status.is_machine_fault


_DIAGNOSTIC_CHARACTERS = 600


class GateResult(NamedTuple):
    """Result of an instance: outcome, fault for its row, and with it what the program printed; the killed mutant.

    ``fault`` of an instance that this machine cannot run is the reason. ``unseen``: the sandbox could not see what the
    reference opened.
    """

    outcome: AttemptOutcome
    fault: str = ""
    detail: str = ""
    killed_by: str = ""
    unseen: bool = False


@dataclass
class GateRuns:
    """Runs of instances; ``unverified`` accepts those that this machine cannot run."""

    gate: ProblemGate
    executor: Executor
    program: ProgramOfAnswer
    verdicts: Path
    unverified: bool = False

    def results(self, problems: Sequence[Problem]) -> Mapping[str, GateResult]:
        """Return the result of each problem by id."""
        by_problem = self._failed_references(problems)
        rest = [problem for problem in problems if problem.id not in by_problem]
        verdicts = self.gate.run(rest, self.verdicts) if rest else []
        by_problem |= {verdict.problem_id: self._gate_result(verdict) for verdict in verdicts}
        passed = [problem for problem in rest if not by_problem[problem.id].fault]
        for name, fault in rewrite_faults(passed, self.program, self.executor).items():
            by_problem[name] = GateResult("gate", fault, fault)
        return by_problem

    def _failed_references(self, problems: Sequence[Problem]) -> dict[str, GateResult]:
        """Return the results of the problems whose reference fails.

        One run of each, before the gate makes ten: most faulty answers end here, and some use all time and memory.
        """
        runs = {problem.id: self.program(problem, problem.reference) for problem in problems}
        # As in the gate, which then does not run it again.
        changes = {"watched": True, "repeat": WATCHED_RUN}
        requests = (run.model_copy(update={"id": name, **changes}) for name, run in runs.items() if run is not None)
        faulty = {}
        for result in self.executor.submit(requests):
            status = result.status.for_reference(result.missing_module)
            if _is_faulty(status):
                fault, printed = f"reference_fails: {status}", _printed(result)
                faulty[result.id] = GateResult("gate", fault, f"{fault}: {printed}" if printed else fault)
        return faulty

    def _gate_result(self, verdict: Validity) -> GateResult:
        fault = "; ".join(map(_in_words, verdict.reasons))
        killed_by = verdict.details.get("killed_by", "")
        unseen = verdict.details.get("accesses") == UNSEEN
        # A missing toolchain is no fault of the instance: it waits for a machine that has one.
        if any(reason.startswith("reference_not_run") for reason in verdict.reasons):
            return GateResult("instance" if self.unverified else "unverified", fault, fault, killed_by, unseen)
        return GateResult("gate" if fault else "instance", fault, fault, killed_by, unseen)


def _in_words(reason: str) -> str:
    """Return a reason of the gate, with what it means for a generator."""
    if reason.startswith(("no_killing_mutant", "weak_checks")):
        return f"{reason}: assert results that a mistake changes, with their exact values"
    if reason.startswith("answerable_without_answer"):
        return f"{reason}: the assertions do not need the reference"
    return reason


def _printed(result: ExecutionResult) -> str:
    """Return the end of what the compiler or the program printed, without secrets."""
    text = result.diagnostics or result.stderr.text or result.stdout.text
    # The text goes to a model and into a row; a program may print what it finds in its environment.
    return redact(" ".join(text.split())[-_DIAGNOSTIC_CHARACTERS:])
