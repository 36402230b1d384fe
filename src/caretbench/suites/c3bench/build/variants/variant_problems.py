"""Problems of variants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from caretbench.problem import Caret, Check, Label, PredicateCheck, Problem, ProgramCheck
from caretbench.suites.c3bench.build.variants.code_context import CodeContext, Variant
from caretbench.suites.c3bench.problem_building import FEATURES_PREDICATE, JUDGED, OTHER_VARIANT, SUITE


def variant_problems(contexts: Mapping[str, CodeContext], variants: Sequence[Variant]) -> list[Problem]:
    """Return a problem for each kept variant; those of a context show the same text under different instructions.

    Answers are run with the tests. A variant with a predicate has it as a second check; all have the judge's criterion.
    """
    return [_problem(contexts[one.context], one, _other_text(contexts[one.context], one, variants)) for one in variants]


def _other_text(context: CodeContext, one: Variant, variants: Sequence[Variant]) -> str:
    """Return the right answer to another instruction of the context; empty if it has no other one."""
    texts = [each.text for each in variants if each.context == one.context]
    number = texts.index(one.text)
    texts += [each.text for each in context.others]
    return next((text for text in texts[number + 1 :] + texts[:number] if text != one.text), "")


def _problem(context: CodeContext, one: Variant, other: str) -> Problem:
    checks: tuple[Check, ...] = (ProgramCheck(),)
    if one.rule is not None:
        arguments = {"requires": list(one.rule.requires), "forbids": list(one.rule.forbids)}
        checks += (PredicateCheck(name=FEATURES_PREDICATE, arguments=arguments, counts=False),)
    checks += (JUDGED,)
    labels: dict[str, Label] = {
        "task": "icc", "language": context.language, "category": one.category, "origin": one.origin,
    }  # fmt: skip
    if one.author:
        labels["author"] = one.author
    return Problem(
        id=f"icc/{context.id}/{one.name}",
        suite=SUITE,
        shown=Caret(
            language=context.language, prefix=context.prefix, suffix=context.suffix, instruction=one.instruction
        ),
        splice=context.splice,
        reference=one.text,
        checks=checks,
        labels=labels,
        cluster=context.cluster or context.id,
        overlap_group=context.id,
        provenance=context.provenance,
        released={OTHER_VARIANT: other} if other else {},
    )
