"""Examination of variants: which are kept, and why the others are not."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, Final, NamedTuple, get_args

from caretbench.build.build_models import BuildModels
from caretbench.build.validation.forbidden_access import forbidden_access
from caretbench.build.validation.program_gate import REFERENCE_RUNS, WATCHED_RUN
from caretbench.execution.execution_types import ExecutionRequest, ExecutionResult, Executor, Status
from caretbench.execution.scan.tamper import tamper_flags
from caretbench.grouping import grouped
from caretbench.languages import language_of_grammar
from caretbench.suites.base import case_fields
from caretbench.suites.c3bench.build.hidden_facts import unused_import
from caretbench.suites.c3bench.build.variants.code_context import CodeContext, ExaminedVariant, Variant, Verdict
from caretbench.suites.c3bench.build.variants.demands import demand_faults, demanded_rule, demands_of
from caretbench.suites.c3bench.build.variants.model_roles import CHECKER_ROLE, checked_readings
from caretbench.suites.c3bench.implementations.features import FeatureRule
from caretbench.suites.c3bench.implementations.quality import agreement_fault, packaged_template, quality_reject
from caretbench.syntax.parser import PythonPositions, is_well_formed_text, python_module

_MARK: Final = "effect outside of the program: "
# A status that Python (1, 2, 120), shells (126, 127) and signals (128 and more) do not end with.
_STATUS: Final = 97


def watched_program(source: str) -> str:
    """Return a Python program that runs another one and ends at its first effect outside of it."""
    template = packaged_template(__package__, "effects_harness.txt")
    return template.substitute(source=repr(source), mark=_MARK, status=_STATUS)


def watched_effect(result: ExecutionResult) -> str:
    """Return the effect at which a watched program was ended; empty if it was not."""
    # Both, since a program may end with any status, and print anything.
    if result.exit_code != _STATUS or _MARK not in result.stderr.text:
        return ""
    return result.stderr.text.rpartition(_MARK)[2].split("\n")[0][:60] or "unknown"


_LAST_ERROR = re.compile(r"(?m)^(\w*(?:Error|Exception)\b[^\n]{0,160})")


class Fault(NamedTuple):
    """Verdict on a variant that is not kept, with its details."""

    verdict: Verdict
    detail: str


def results_of(executor: Executor, requests: Iterable[ExecutionRequest]) -> dict[str, ExecutionResult]:
    """Return the results of programs by request id."""
    return {result.id: result for result in executor.submit(requests)}


def reference_faults(contexts: Sequence[CodeContext], executor: Executor) -> dict[str, str]:
    """Return the outcome of each context whose reference does not pass its tests three times, by context."""
    requests = [
        _request(context, context.reference, f"{number}/{repeat}", repeat=repeat, is_reference=True)
        for number, context in enumerate(contexts)
        for repeat in range(REFERENCE_RUNS)
    ]
    results = results_of(executor, requests)
    faults = {}
    for number, context in enumerate(contexts):
        outcomes = [results[f"{number}/{repeat}"] for repeat in range(REFERENCE_RUNS)]
        failed = next((outcome for outcome in outcomes if outcome.status is not Status.PASSED), None)
        if failed is not None:
            faults[context.id] = f"{failed.status}{_explained(failed)}"
    return faults


def trial_faults(
    contexts: Mapping[str, CodeContext], variants: Sequence[Variant], executor: Executor
) -> dict[int, Fault]:
    """Return the faults of variants by index; the references of their contexts pass.

    The more expensive runs are those of variants that pass once.
    """
    plain = [_repeated(contexts[variant.context], variant.text, index, 0) for index, variant in enumerate(variants)]
    first = results_of(executor, plain)
    indexes = range(len(variants))
    faults = {index: fault for index in indexes if (fault := _fault(first[f"{index}/0"])) is not None}
    used = [contexts[name] for name in dict.fromkeys(variant.context for variant in variants)]
    watched, usual = _reference_effects(used, executor)
    further = []
    for index, variant in enumerate(variants):
        if index in faults:
            continue
        context = contexts[variant.context]
        further += [_repeated(context, variant.text, index, repeat) for repeat in range(1, REFERENCE_RUNS)]
        # Only functions can be called with other inputs; programs are decided by their tests.
        if context.function is not None and variant.text != context.reference:
            further.append(context.comparison(variant.text, f"{index}/agreement"))
        if context.id in watched:
            further.append(_watched_request(context, variant.text, f"{index}/watched"))
    results = results_of(executor, further)
    for request in further:
        index, result = int(request.id.partition("/")[0]), results[request.id]
        fault = _fault(result) or _access_fault(contexts[variants[index].context], variants[index].text, result, usual)
        # An effect outweighs a wrong result: it is what a person should look at.
        if fault is not None and (index not in faults or fault.verdict == "hostile"):
            faults[index] = fault
    return faults


def _request(context: CodeContext, text: str, identity: str, **changes: Any) -> ExecutionRequest:
    source = context.splice.program(text)
    return ExecutionRequest(
        id=identity, language=context.language, source=source, **case_fields([context.check]), **changes
    )


def _repeated(context: CodeContext, text: str, index: int, repeat: int) -> ExecutionRequest:
    return _request(context, text, f"{index}/{repeat}", repeat=repeat, watched=repeat == WATCHED_RUN)


def _watched_request(context: CodeContext, text: str, identity: str) -> ExecutionRequest:
    request = _request(context, text, identity)
    return request.model_copy(update={"source": watched_program(request.source)})


def _reference_effects(
    contexts: Sequence[CodeContext], executor: Executor
) -> tuple[frozenset[str], Mapping[str, Sequence[str]]]:
    """Return the contexts whose references have no effect, and the accesses of all, which versions may make too."""
    requests = [_repeated(context, context.reference, number, WATCHED_RUN) for number, context in enumerate(contexts)]
    # Where the reference itself opens files or sockets, a version may, and watching would end both.
    requests += [
        _watched_request(context, context.reference, f"{number}/watched")
        for number, context in enumerate(contexts)
        if context.language == "python"
    ]
    results = results_of(executor, requests)
    passed = {key for key, result in results.items() if result.status is Status.PASSED}
    return (
        frozenset(context.id for number, context in enumerate(contexts) if f"{number}/watched" in passed),
        {context.id: results[f"{number}/{WATCHED_RUN}"].accesses or () for number, context in enumerate(contexts)},
    )


def _access_fault(
    context: CodeContext, text: str, result: ExecutionResult, usual: Mapping[str, Sequence[str]]
) -> Fault | None:
    source = context.splice.program(text)
    for access in result.accesses or ():
        is_forbidden = access.startswith("starts ") or forbidden_access(source, context.language, [access])
        if is_forbidden and access not in usual[context.id]:
            return Fault("hostile", f"effect while it runs: it {access}")
    return None


def _fault(result: ExecutionResult) -> Fault | None:
    if result.status is Status.PASSED:
        return None
    effect = watched_effect(result)
    if effect:
        return Fault("hostile", f"effect while it runs: {effect}")
    if result.status is Status.INCOMPLETE:
        # `exit(0)` before the checks is how a version passes without being right.
        return Fault("hostile", "ends the program before its end")
    if result.status.is_machine_fault and result.status is not Status.MISSING_DEPENDENCY:
        return Fault("not_run", f"{result.status}: {result.reason}"[:200])
    fault = agreement_fault(result)
    if fault.reason == "slow":
        return Fault("slow", fault.detail.partition(" for ")[0])
    if result.status.hits_limit:
        return Fault("slow", str(result.status))
    return Fault("wrong", f"{result.status}{_explained(result)}")


def _explained(result: ExecutionResult) -> str:
    errors = _LAST_ERROR.findall(result.stderr.text) or _LAST_ERROR.findall(result.diagnostics)
    text = errors[-1] if errors else result.reason
    return f": {text}"[:200] if text else ""


MAX_VARIANT_CHARACTERS = 20_000


class Examination(NamedTuple):
    """Verdicts on all variants, and the kept ones with their predicates, in the order of the variants."""

    rows: tuple[ExaminedVariant, ...]
    kept: tuple[Variant, ...]


Faults = dict[int, Fault]


def examine(
    contexts: Sequence[CodeContext], variants: Sequence[Variant], executor: Executor, models: BuildModels
) -> Examination:
    """Return the verdicts on variants. Nothing that a variant contains runs outside of the sandbox.

    The role ``checker`` of the models reads the instructions of what passed.
    """
    by_id = {context.id: context for context in contexts}
    faults: Faults = {}
    used = [by_id[name] for name in dict.fromkeys(variant.context for variant in variants)]
    # Of a context whose own reference fails nothing could be compared, and every run for it would be wasted.
    broken = reference_faults(used, executor)
    for index, variant in enumerate(variants):
        if variant.context in broken:
            faults[index] = Fault("reference", broken[variant.context])
        elif (fault := _static_fault(by_id[variant.context], variant)) is not None:
            faults[index] = fault
    tried = [index for index in range(len(variants)) if index not in faults]
    trials = trial_faults(by_id, [variants[index] for index in tried], executor)
    faults |= {tried[place]: fault for place, fault in trials.items()}
    # After the trials: a version that fails must not take the place of a right one that is like it.
    _drop_duplicates(by_id, variants, faults)
    # Last, because it may cost money: only what passed everything else is sent to the checker.
    _drop_misread(by_id, variants, faults, models)
    rules = _distinct_rules(by_id, variants, faults)
    rows, kept = [], []
    for index, variant in enumerate(variants):
        verdict, detail = faults.get(index, Fault("kept", ""))
        variant = replace(variant, rule=rules.get(index))
        rows.append(_row(variant, verdict, detail))
        if verdict == "kept":
            kept.append(variant)
    return Examination(tuple(rows), tuple(kept))


def verdict_counts(rows: Sequence[ExaminedVariant]) -> Mapping[str, int]:
    """Return the number of variants by verdict; ``kept`` first."""
    counts = Counter(row.verdict for row in rows)
    return {name: counts[name] for name in get_args(Verdict) if counts[name]}


def _row(variant: Variant, verdict: Verdict, detail: str) -> ExaminedVariant:
    rule = variant.rule or FeatureRule((), ())
    known = {field.name: getattr(variant, field.name) for field in fields(variant) if field.name != "rule"}
    return ExaminedVariant(**known, verdict=verdict, detail=detail, requires=rule.requires, forbids=rule.forbids)


def _static_fault(context: CodeContext, variant: Variant) -> Fault | None:
    """Return the fault of a variant that is found without a run."""
    if not variant.text.strip() or len(variant.text) > MAX_VARIANT_CHARACTERS or "\0" in variant.text:
        return Fault("malformed", "empty, too long, or with a null character")
    if flags := tamper_flags(variant.text, context.reference, context.language):
        return Fault("hostile", flags[0])
    fault = misplaced(context.prefix, variant.text, context.suffix, context.reference, context.language)
    if fault:
        return Fault("malformed", fault)
    if language_of_grammar(context.language).unused_imports_fail:
        unused = unused_import(context.prefix, variant.text, context.suffix, context.language)
        if unused:
            return Fault("malformed", f"does not compile as shown: {unused} is imported and not used")
    style = quality_reject(context.prefix, variant.text, context.suffix, (), context.language)
    if style:
        return Fault("style", style.partition(": ")[2])
    fault = _instruction_fault(context, variant)
    return Fault("instruction", fault) if fault else None


def _instruction_fault(context: CodeContext, variant: Variant) -> str:
    """Return the reason why an instruction does not describe its version; a rule reads it."""
    features = context.features(variant.text)
    demands = demands_of(variant.instruction)
    faults = demand_faults(demands, variant.text, context.prefix + context.suffix, features)
    if faults:
        return f"the code lacks what its instruction demands: {', '.join(faults)}"
    # In languages without features a rule could not be checked at all.
    if variant.rule is not None and (features is None or not variant.rule.holds(features)):
        return "the given predicate does not hold for the version"
    return ""


def _drop_duplicates(contexts: Mapping[str, CodeContext], variants: Sequence[Variant], faults: Faults) -> None:
    """Add the fault of each variant that is near to the reference or an earlier one, or follows another's rule."""
    kept: dict[str, list[str]] = defaultdict(list)
    for index, variant in enumerate(variants):
        if index in faults:
            continue
        context = contexts[variant.context]
        others = [other.text for other in context.others] + kept[variant.context]
        if variant.text != context.reference:
            others.insert(0, context.reference)
        features = context.features(variant.text)
        described = [other.rewrite for other in context.others if features is not None and other.rule.holds(features)]
        reason = quality_reject(context.prefix, variant.text, context.suffix, others, context.language)
        if reason or described:
            faults[index] = Fault("duplicate", reason or f"does what the instruction of {described[0]} demands")
        else:
            kept[variant.context].append(variant.text)


def _drop_misread(
    contexts: Mapping[str, CodeContext], variants: Sequence[Variant], faults: Faults, models: BuildModels
) -> None:
    """Add the fault of each variant whose instruction the checker reads otherwise, or that nothing can read."""
    passed = grouped((variant.context, index) for index, variant in enumerate(variants) if index not in faults)
    if CHECKER_ROLE in models.roles:
        groups = [(contexts[name], [variants[index] for index in indexes]) for name, indexes in passed.items()]
        readings = checked_readings(groups, models)
        for name, indexes in passed.items():
            for index in indexes:
                fault = readings[name, variants[index].name]
                if fault:
                    faults[index] = Fault("instruction", fault)
        return
    for indexes in passed.values():
        for index in indexes:
            # A person who writes an instruction has read it; of a model's, at least a rule must find what it demands.
            if variants[index].origin == "model" and not demands_of(variants[index].instruction):
                faults[index] = Fault("instruction", "no rule reads the instruction, and there is no checker")


def _distinct_rules(
    contexts: Mapping[str, CodeContext], variants: Sequence[Variant], faults: Faults
) -> dict[int, FeatureRule]:
    """Return the predicates of kept variants by index: given or read from the instruction, and true of no other one."""
    kept = grouped((variant.context, index) for index, variant in enumerate(variants) if index not in faults)
    rules = {}
    for name, indexes in kept.items():
        context = contexts[name]
        features = {index: context.features(variants[index].text) for index in indexes}
        of_context = [context.features(text) for text in (context.reference, *(other.text for other in context.others))]
        for index in indexes:
            own = features[index]
            if own is None:
                continue
            rule = variants[index].rule or demanded_rule(demands_of(variants[index].instruction), own)
            is_reference = variants[index].text == context.reference
            others = [features[other] for other in indexes if other != index] + of_context[int(is_reference) :]
            # A rule that is also true of another implementation would count the answer to one instruction for the
            # other.
            if (
                rule is not None
                and rule.holds(own)
                and not any(shown is not None and rule.holds(shown) for shown in others)
            ):
                rules[index] = rule
    return rules


_Place = tuple[int | str, str]
"""Position of a parent before the middle, or its part of the file, and the field of the parent."""


def misplaced(prefix: str, middle: str, suffix: str, reference: str, language: str) -> str:
    """Return the reason why a middle does not fit into its place; empty if it does.

    The program must parse where it does with the reference. In Python, the statements of the middle must belong to the
    same lists as the reference's, and the statements behind it to the same ones as before.
    """
    if language != "python":
        broken = not is_well_formed_text(prefix + middle + suffix, language)
        # Shown programs need not parse by the grammar, which lacks some constructs; only a version may not make it
        # worse.
        return "does not parse" if broken and is_well_formed_text(prefix + reference + suffix, language) else ""
    expected = _places(prefix, reference, suffix)
    if expected is None:
        return ""
    actual = _places(prefix, middle, suffix)
    if actual is None:
        return "does not parse"
    if not actual[0] and expected[0]:
        return "has no statement"
    # A version that is dedented by a level may run and pass where the loop has one round.
    if actual[0] - expected[0]:
        return "leaves its place: a statement belongs to another block"
    return "changes the place of what follows" if actual[1] != expected[1] else ""


def _places(prefix: str, middle: str, suffix: str) -> tuple[set[_Place], list[_Place]] | None:
    """Return the places of the middle's outermost statements, and of the suffix's; None if the program is invalid."""
    text = prefix + middle + suffix
    module = python_module(text)
    if module is None:
        return None
    position = PythonPositions(text)
    start, end = len(prefix), len(prefix) + len(middle)
    own: set[_Place] = set()
    following: list[_Place] = []
    waiting: list[tuple[ast.AST, int | str]] = [(module, -1)]
    while waiting:
        parent, parent_place = waiting.pop()
        for field, value in ast.iter_fields(parent):
            for child in value if isinstance(value, list) else [value]:
                if not isinstance(child, ast.AST):
                    continue
                if not isinstance(child, ast.stmt):
                    waiting.append((child, parent_place))
                    continue
                begin = position(child.lineno, child.col_offset)
                part: int | str = begin if begin < start else "middle" if begin < end else "suffix"
                if part == "middle" and parent_place != "middle":
                    own.add((parent_place, field))
                elif part == "suffix":
                    following.append((parent_place, field))
                waiting.append((child, part))
    return own, sorted(following, key=str)
