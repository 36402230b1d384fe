"""Sandboxed runs that decide about variants: tests three times, effects, agreement with the reference."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import resources
from string import Template
from typing import Final, Literal, NamedTuple

from pydantic import TypeAdapter

from caretbench.build.validation.program_gate import REFERENCE_RUNS
from caretbench.execution.execution_types import ExecutionRequest, ExecutionResult, Executor, Status
from caretbench.execution.scan.tamper import plain_spelling, tamper_flags
from caretbench.files import read_packaged_toml
from caretbench.suites.base import case_fields
from caretbench.suites.c3bench.build.variants.code_context import CodeContext, FunctionTest, Variant
from caretbench.suites.c3bench.implementations.quality import (
    DEFAULT_LIMITS,
    AgreementLimits,
    agreement_fault,
    agreement_program,
)

_PACKAGE = "caretbench.suites.c3bench.build.variants"
_MARK: Final = "effect outside of the program: "
# A status that Python (1, 2, 120), shells (126, 127) and signals (128 and more) do not end with.
_STATUS: Final = 97


@cache
def _patterns() -> Mapping[str, tuple[re.Pattern[str], ...]]:
    table = read_packaged_toml(_PACKAGE, "effects.toml")
    return TypeAdapter(dict[str, tuple[re.Pattern[str], ...]]).validate_python(table)


def effect_in_text(text: str, reference: str, language: str) -> str:
    """Return a suspicious part of a middle; empty if there is none. What the reference has too is none."""
    plain = plain_spelling(text, language)
    for pattern in _patterns().get(language, ()):
        match = pattern.search(plain)
        # A program about files has files in all of its versions.
        if match is not None and not pattern.search(reference):
            return " ".join(match[0].split())[:60]
    flags = tamper_flags(text, reference, language)
    return flags[0] if flags else ""


@cache
def _template() -> Template:
    return Template(resources.files(_PACKAGE).joinpath("effects_harness.txt").read_text("utf-8"))


def watched_program(source: str) -> str:
    """Return a Python program that runs another one and ends at its first effect outside of it."""
    return _template().substitute(source=repr(source), mark=_MARK, status=_STATUS)


def watched_effect(result: ExecutionResult) -> str:
    """Return the effect at which a watched program was ended; empty if it was not."""
    # Both, since a program may end with any status, and print anything.
    if result.exit_code != _STATUS or _MARK not in result.stderr.text:
        return ""
    return result.stderr.text.rpartition(_MARK)[2].split("\n")[0][:60] or "unknown"


TrialReason = Literal["wrong", "slow", "hostile", "not_run"]

_LAST_ERROR = re.compile(r"(?m)^(\w*(?:Error|Exception)\b[^\n]{0,160})")


class TrialFault(NamedTuple):
    """Reason why a variant is not kept after its runs."""

    reason: TrialReason
    detail: str


def results_of(executor: Executor, requests: Iterable[ExecutionRequest]) -> dict[str, ExecutionResult]:
    """Return the results of programs by request id."""
    return {result.id: result for result in executor.submit(requests)}


def reference_faults(contexts: Sequence[CodeContext], executor: Executor) -> dict[str, str]:
    """Return the outcome of each context whose reference does not pass its tests three times, by context."""
    requests = [
        ExecutionRequest(
            id=f"{number}/{repeat}",
            language=context.language,
            source=context.splice.program(context.reference),
            repeat=repeat,
            is_reference=True,
            **case_fields([context.check]),
        )
        for number, context in enumerate(contexts)
        for repeat in range(REFERENCE_RUNS)
    ]
    results = results_of(executor, requests)
    faults = {}
    for number, context in enumerate(contexts):
        outcomes = [results[f"{number}/{repeat}"] for repeat in range(REFERENCE_RUNS)]
        failed = next((one for one in outcomes if one.status is not Status.PASSED), None)
        if failed is not None:
            faults[context.id] = f"{failed.status}{_explained(failed)}"
    return faults


def trial_faults(
    contexts: Mapping[str, CodeContext],
    variants: Sequence[Variant],
    executor: Executor,
    limits: AgreementLimits = DEFAULT_LIMITS,
) -> dict[int, TrialFault]:
    """Return the faults of variants by index. The more expensive runs are those of variants that pass once.

    Args:
        contexts: Contexts by identifier; their references pass.
        variants: Variants.
        executor: Runs the programs.
        limits: Bounds of the comparison with the reference.
    """
    plain = {f"{index}/0": _request(contexts[one.context], one, index, 0) for index, one in enumerate(variants)}
    first = results_of(executor, plain.values())
    faults = {}
    for index in range(len(variants)):
        fault = _fault(first[f"{index}/0"])
        if fault is not None:
            faults[index] = fault
    watched = _can_be_watched(contexts, variants, executor)
    further = []
    for index, one in enumerate(variants):
        if index in faults:
            continue
        context = contexts[one.context]
        further += [_request(context, one, index, repeat) for repeat in range(1, REFERENCE_RUNS)]
        if context.id in watched:
            further.append(_watched_request(context, one.text, f"{index}/watched"))
        # Only functions can be called with other inputs; programs are decided by their tests.
        if context.function is not None and one.text != context.reference:
            further.append(_agreement_request(context, context.function, one.text, f"{index}/agreement", limits))
    for identity, result in sorted(results_of(executor, further).items(), key=_order):
        index = int(identity.partition("/")[0])
        fault = _fault(result)
        # An effect outweighs a wrong result: it is what a person should look at.
        if fault is not None and (index not in faults or fault.reason == "hostile"):
            faults[index] = fault
    return faults


def _order(item: tuple[str, ExecutionResult]) -> tuple[int, str]:
    index, _, name = item[0].partition("/")
    return int(index), name


def _request(context: CodeContext, variant: Variant, index: int, repeat: int) -> ExecutionRequest:
    source = context.splice.program(variant.text)
    cases = case_fields([context.check])
    return ExecutionRequest(id=f"{index}/{repeat}", language=context.language, source=source, repeat=repeat, **cases)


def _watched_request(context: CodeContext, text: str, identity: str) -> ExecutionRequest:
    source = watched_program(context.splice.program(text))
    return ExecutionRequest(id=identity, language="python", source=source, **case_fields([context.check]))


def _agreement_request(
    context: CodeContext, function: FunctionTest, text: str, identity: str, limits: AgreementLimits
) -> ExecutionRequest:
    reference, variant = context.source(context.reference), context.source(text)
    source = agreement_program(reference, variant, function.text, function.entry_point, limits)
    return ExecutionRequest(id=identity, language="python", source=source)


def _can_be_watched(
    contexts: Mapping[str, CodeContext], variants: Sequence[Variant], executor: Executor
) -> frozenset[str]:
    """Return the contexts whose references have no effect outside of their programs."""
    used = [
        contexts[name] for name in dict.fromkeys(one.context for one in variants) if contexts[name].language == "python"
    ]
    # Where the reference itself opens files or sockets, a version may, and watching would end both.
    requests = [_watched_request(one, one.reference, f"{number}/watched") for number, one in enumerate(used)]
    results = results_of(executor, requests)
    return frozenset(one.id for number, one in enumerate(used) if results[f"{number}/watched"].status is Status.PASSED)


def _fault(result: ExecutionResult) -> TrialFault | None:
    if result.status is Status.PASSED:
        return None
    effect = watched_effect(result)
    if effect:
        return TrialFault("hostile", f"effect while it runs: {effect}")
    if result.status is Status.INCOMPLETE:
        # `exit(0)` before the checks is how a version passes without being right.
        return TrialFault("hostile", "ends the program before its end")
    if result.status.is_machine_fault and result.status is not Status.MISSING_DEPENDENCY:
        return TrialFault("not_run", f"{result.status}: {result.reason}"[:200])
    fault = agreement_fault(result)
    if fault.reason == "slow":
        return TrialFault("slow", fault.detail.partition(" for ")[0])
    if result.status.hits_limit:
        return TrialFault("slow", str(result.status))
    return TrialFault("wrong", f"{result.status}{_explained(result)}")


def _explained(result: ExecutionResult) -> str:
    errors = _LAST_ERROR.findall(result.stderr.text) or _LAST_ERROR.findall(result.diagnostics)
    text = errors[-1] if errors else result.reason
    return f": {text}"[:200] if text else ""
