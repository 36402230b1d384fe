"""Contexts of ICC: middles of functions, and the trials of their equivalent implementations.

Trials are style and distance, then agreement with the reference in the sandbox. The cache of executions has their
outcomes, so that an interrupted build runs no program again.
"""

from __future__ import annotations

import ast
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from caretbench.errors import MachineError
from caretbench.execution.execution_types import ExecutionRequest, Executor, Status
from caretbench.files import sha256_text
from caretbench.suites.c3bench.build.build_folder import Reject
from caretbench.suites.c3bench.build.checked_functions import CheckedFunction
from caretbench.suites.c3bench.build.hidden_facts import hidden_fact
from caretbench.suites.c3bench.build.variants.code_context import CodeContext, function_context
from caretbench.suites.c3bench.implementations.quality import AgreementFault, agreement_fault, quality_reject
from caretbench.suites.c3bench.implementations.rewrite import Equivalent, EquivalentContext, equivalent_contexts
from caretbench.syntax.parser import python_module

# As in the paper: runs of lines for 30 % of the instances.
LINE_SHARE = 0.3
"""Share of middles that are runs of lines; the others are nodes of the syntax tree."""

LINES = range(3, 6)
"""Number of lines of a run."""


def implementation_middles(
    function: CheckedFunction, max_share: float, per_function: int, seed: int
) -> tuple[list[CodeContext], list[Reject]]:
    """Return the chosen middles of a function, and the reasons why the others are not used.

    Middles of a function do not overlap. Three of ten functions prefer a run of lines to a node. ``max_share`` is the
    maximum length of a middle, as a share of the text around it.
    """
    contexts = equivalent_contexts(function.text, function.entry_point)
    if not contexts:
        return [], [_reject(function.id, "no_rewrite", "no middle with an equivalent implementation")]
    text = function.text
    unused: Counter[tuple[str, str]] = Counter()
    usable: list[CodeContext] = []
    for context in contexts:
        length = context.end - context.start
        kind = _extraction(function, context)
        if length > max_share * (len(text) - length):
            unused["long", f"longer than {max_share:.0%} of the text around it"] += 1
        elif kind is None:
            unused["no_unit", "neither a node nor a run of 3 to 5 lines"] += 1
        elif hidden_fact(text[: context.start], text[context.start : context.end], text[context.end :], "python"):
            unused["hidden", "a name, text or number of it is not shown"] += 1
        else:
            usable.append(function_context(function, context.start, context.end, context.equivalents, kind))
    # By the function's name: the share holds for any set of functions, and one that is added changes no other.
    prefers_lines = int(sha256_text(str(seed), "extraction", function.id)[:8], 16) < LINE_SHARE * 16**8
    chosen = _chosen(usable, per_function, "lines" if prefers_lines else "node")
    if len(chosen) < len(usable):
        detail = f"overlaps another middle, or the function has {per_function} already"
        unused["not_needed", detail] = len(usable) - len(chosen)
    return chosen, [_reject(function.id, *reason, count) for reason, count in unused.items()]


def _reject(place: str, reason: str, detail: str, count: int = 1) -> Reject:
    return Reject(stage="middle", place=place, reason=reason, detail=detail, count=count)


def _chosen(usable: Sequence[CodeContext], per_function: int, preferred: str) -> list[CodeContext]:
    """Return middles that do not overlap: by preferred kind, then those with the most implementations."""
    ordered = sorted(usable, key=lambda context: (context.extraction != preferred, -len(context.others), *context.span))
    chosen: list[CodeContext] = []
    for context in ordered:
        start, end = context.span
        if len(chosen) < per_function and not any(start < each.span[1] and each.span[0] < end for each in chosen):
            chosen.append(context)
    return chosen


def _extraction(function: CheckedFunction, context: EquivalentContext) -> str | None:
    """Return the unit of a middle: a statement, block or whole body; a run of lines; None for another run."""
    text = function.text[context.start : context.end]
    module = python_module(textwrap.dedent(text))
    if module is None:
        return None
    lines = sum(1 for line in text.split("\n") if line.strip())
    if len(module.body) == 1 or len(module.body) in _body_lengths(function):
        return "node"
    return "lines" if lines in LINES else None


def _body_lengths(function: CheckedFunction) -> Iterator[int]:
    """Yield the number of statements of the function's body, without its docstring."""
    module = python_module(function.text)
    for node in ast.walk(module) if module else ():
        if isinstance(node, ast.FunctionDef) and node.name == function.entry_point:
            # A docstring is shown before the middle, so that a whole body begins behind it.
            documented = isinstance(node.body[0], ast.Expr) and isinstance(node.body[0].value, ast.Constant)
            yield len(node.body) - int(documented)


def examined_contexts(
    contexts: Sequence[CodeContext], executor: Executor, progress: Callable[[int], None] = lambda _count: None
) -> tuple[list[CodeContext], list[Reject]]:
    """Return the contexts with the implementations that are legible, distinct and equivalent, and the other ones.

    Contexts without such an implementation are dropped.
    """
    rejects: list[Reject] = []
    legible = [replace(context, others=tuple(_legible(context, rejects))) for context in contexts]
    outcomes = _outcomes(
        (_trial(context, each.text) for context in legible for each in context.others), executor, progress
    )
    kept = []
    for context in legible:
        agreeing = []
        for other in context.others:
            if (fault := outcomes[_trial(context, other.text).id]) is None:
                agreeing.append(other)
            else:
                place = f"{context.id}/{other.rewrite}"
                rejects.append(Reject(stage="tests", place=place, reason=fault.reason, detail=fault.detail))
        if agreeing:
            kept.append(replace(context, others=tuple(agreeing)))
    return kept, rejects


def _legible(context: CodeContext, rejects: list[Reject]) -> Iterator[Equivalent]:
    # Each kept implementation joins the list, so that no two of a context are nearly the same.
    others = [context.reference]
    for other in context.others:
        reason = quality_reject(context.prefix, other.text, context.suffix, others)
        if reason:
            kind, _, detail = reason.partition(": ")
            place = f"{context.id}/{other.rewrite}"
            rejects.append(Reject(stage="implementation", place=place, reason=kind, detail=detail))
        else:
            others.append(other.text)
            yield other


def _trial(context: CodeContext, text: str) -> ExecutionRequest:
    """Return the comparison of an implementation with the function, named by its hash."""
    made = context.comparison(text, "")
    return made.model_copy(update={"id": sha256_text(made.source, context.check.model_dump_json())})


def _outcomes(
    trials: Iterable[ExecutionRequest], executor: Executor, progress: Callable[[int], None]
) -> dict[str, AgreementFault | None]:
    """Return the faults of trials by their ids; None for those that agree."""
    outcomes: dict[str, AgreementFault | None] = {}
    for result in executor.submit({trial.id: trial for trial in trials}.values()):
        # A missing verdict must not become a reject: the same build on a machine with the toolchain would give another
        # set.
        if result.status.is_machine_fault:
            raise MachineError(f"a comparison did not run: {result.reason or result.status}; see caretbench doctor")
        fault = agreement_fault(result) if result.status.is_own_failure else AgreementFault(result.status.value, "")
        outcomes[result.id] = None if result.status is Status.PASSED else fault
        progress(1)
    return outcomes
