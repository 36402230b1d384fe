"""Trials of equivalent implementations: style and distance, then agreement with the reference in the sandbox.

:func:`examined_contexts` takes contexts with implementations of any origin and returns what is kept, with the reason
for everything else. Verdicts are stored one by one, so that an interrupted build runs no program again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from caretbench.errors import MachineError
from caretbench.execution.execution_types import ExecutionRequest, ExecutionResult, Executor, Status
from caretbench.files import RowAppender, read_rows, sha256_text
from caretbench.problem import Row
from caretbench.suites.c3bench.build.build_types import ImplementationContext, Reject
from caretbench.suites.c3bench.checked_functions import CheckedFunction
from caretbench.suites.c3bench.implementations.agreement import agreement_fault, agreement_program
from caretbench.suites.c3bench.implementations.equivalents import Equivalent
from caretbench.suites.c3bench.implementations.quality import quality_reject

_PASSING = ("", "few_inputs")
"""Reasons of a comparison of a function with itself if it passes its tests."""


class TrialVerdict(Row):
    """Outcome of one comparison: ``reason`` is empty if the implementations agree."""

    program: str
    reason: str = ""
    detail: str = ""

    @property
    def key(self) -> tuple[str]:
        """Unique key of the row in its file."""
        return (self.program,)


class ExaminedContexts(NamedTuple):
    """Contexts with the implementations that are kept, and the reason for each other one."""

    contexts: tuple[ImplementationContext, ...]
    rejects: tuple[Reject, ...]


def examined_contexts(
    contexts: Sequence[ImplementationContext],
    executor: Executor,
    stored: Path,
    progress: Callable[[int], None] = lambda _count: None,
) -> ExaminedContexts:
    """Return the contexts whose implementations are legible, distinct and equivalent; those without one are dropped.

    A function that does not pass its own tests is one reject, and no implementation of it is tried.

    Args:
        contexts: Contexts with implementations.
        executor: Runs the comparisons.
        stored: File of verdicts, by which a build resumes.
        progress: Called with the number of newly decided implementations.

    Raises:
        MachineError: a program cannot run on this machine.
    """
    references = {one.function.id: _program(one.function, one.function.text) for one in contexts}
    outcomes = _verdicts(references.values(), executor, stored)
    broken = {name: outcomes[sha256_text(program)] for name, program in references.items()}
    broken = {name: verdict for name, verdict in broken.items() if verdict.reason not in _PASSING}
    rejects = [
        Reject(stage="tests", place=name, reason="reference_fails", detail=verdict.detail or verdict.reason)
        for name, verdict in broken.items()
    ]
    legible = [
        context._replace(equivalents=tuple(_legible(context, rejects)))
        for context in contexts
        if context.function.id not in broken
    ]
    programs = [_variant_program(context, one) for context in legible for one in context.equivalents]
    verdicts = _verdicts(programs, executor, stored, progress)
    kept = []
    for context in legible:
        agreeing = []
        for one in context.equivalents:
            verdict = verdicts[sha256_text(_variant_program(context, one))]
            if not verdict.reason:
                agreeing.append(one)
            else:
                rejects.append(
                    Reject(stage="tests", place=f"{context.place}/{one.rewrite}", reason=verdict.reason,
                           detail=verdict.detail)
                )  # fmt: skip
        if agreeing:
            kept.append(context._replace(equivalents=tuple(agreeing)))
    return ExaminedContexts(tuple(kept), tuple(rejects))


def _legible(context: ImplementationContext, rejects: list[Reject]) -> Iterator[Equivalent]:
    others = [context.original]
    for one in context.equivalents:
        reason = quality_reject(context.prefix, one.text, context.suffix, others)
        if reason:
            kind, _, detail = reason.partition(": ")
            rejects.append(
                Reject(stage="implementation", place=f"{context.place}/{one.rewrite}", reason=kind, detail=detail)
            )
        else:
            others.append(one.text)
            yield one


def _variant_program(context: ImplementationContext, one: Equivalent) -> str:
    return _program(context.function, context.prefix + one.text + context.suffix)


def _program(function: CheckedFunction, variant: str) -> str:
    return agreement_program(function.text, variant, function.test, function.entry_point)


def _verdicts(
    sources: Iterable[str], executor: Executor, stored: Path, progress: Callable[[int], None] = lambda _count: None
) -> dict[str, TrialVerdict]:
    """Return the verdicts on programs by the hashes of their texts; those that are stored do not run again."""
    rows = read_rows(stored, TrialVerdict, allow_partial_last_line=True) if stored.exists() else ()
    known = {row.program: row for row in rows}
    programs = {sha256_text(source): source for source in sources}
    progress(sum(key in known for key in programs))
    requests = (
        ExecutionRequest(id=key, language="python", source=program)
        for key, program in programs.items()
        if key not in known
    )
    with RowAppender(stored) as appender:
        for result in executor.submit(requests):
            if result.status.is_machine_fault:
                raise MachineError(f"a comparison did not run: {result.reason or result.status}; see caretbench doctor")
            known[result.id] = _verdict(result)
            appender.append(known[result.id])
            progress(1)
    return known


def _verdict(result: ExecutionResult) -> TrialVerdict:
    if result.status is Status.PASSED:
        return TrialVerdict(program=result.id)
    if not result.status.is_own_failure:
        return TrialVerdict(program=result.id, reason=result.status.value)
    fault = agreement_fault(result)
    return TrialVerdict(program=result.id, reason=fault.reason, detail=fault.detail)
