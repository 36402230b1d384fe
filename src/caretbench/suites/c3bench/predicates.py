"""Predicates of problems: rules about an implementation, and specifications of scale."""

from __future__ import annotations

from pydantic import TypeAdapter

from caretbench.problem import InlineSplice, PredicateCheck, Problem
from caretbench.suites.c3bench.implementations.equivalents import FeatureRule
from caretbench.suites.c3bench.implementations.features import features_of_text
from caretbench.suites.c3bench.problem_building import FEATURES_PREDICATE, SCALE_PREDICATE
from caretbench.suites.c3bench.scale import ScaleSpecification, verify
from caretbench.suites.c3bench.scale.published_check import verify_published
from caretbench.suites.c3bench.scale.scale_types import Level

_NAMES: TypeAdapter[tuple[str, ...]] = TypeAdapter(tuple[str, ...])


def failed_predicates(problem: Problem, text: str, level: Level = "strict") -> list[str]:
    """Return a line for each predicate of a problem that an answer does not satisfy.

    Raises:
        ValueError: a predicate has a name that this suite does not know.
    """
    checks = [check for check in problem.checks if isinstance(check, PredicateCheck)]
    return [fault for check in checks if (fault := _fault(problem, check, text, level))]


def published_fault(problem: Problem, text: str) -> str:
    """Return the reason why an answer fails the paper's check of scale; empty if it does not."""
    caret = problem.caret
    for check in problem.checks:
        if isinstance(check, PredicateCheck) and check.name == SCALE_PREDICATE:
            specification = ScaleSpecification.model_validate(check.arguments["specification"])
            verdict = verify_published(caret.prefix, text, caret.suffix, specification)
            if not verdict.ok:
                return verdict.reason
    return ""


def _fault(problem: Problem, check: PredicateCheck, text: str, level: Level) -> str:
    caret = problem.caret
    if check.name == SCALE_PREDICATE:
        specification = ScaleSpecification.model_validate(check.arguments["specification"])
        return verify(caret.prefix, text, caret.suffix, specification.model_copy(update={"level": level})).reason
    if check.name != FEATURES_PREDICATE or not isinstance(problem.splice, InlineSplice):
        raise ValueError(f"{problem.id}: no predicate {check.name!r}")
    program = caret.prefix + text + caret.suffix
    found = features_of_text(program, len(caret.prefix), len(caret.prefix) + len(text))
    if found is None:
        return "the completed file does not parse"
    rule = FeatureRule(*(_NAMES.validate_python(check.arguments[name]) for name in ("requires", "forbids")))
    return ", ".join(rule.faults(found))
