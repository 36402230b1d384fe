"""Problems of both kinds: from equivalent implementations, variants, and middles with a specification."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from caretbench.files import sha256_text
from caretbench.problem import Caret, InlineSplice, Label, PredicateCheck, Problem
from caretbench.suites.c3bench.build.build_folder import ImplementationContext
from caretbench.suites.c3bench.build.checked_functions import SourceText
from caretbench.suites.c3bench.build.scale_middles import ScaleMiddle
from caretbench.suites.c3bench.build.variants.code_context import CodeContext, Variant
from caretbench.suites.c3bench.implementations.features import FeatureRule
from caretbench.suites.c3bench.measures import FEATURES_PREDICATE, JUDGED, OTHER_VARIANT, SCALE_PREDICATE, SUITE
from caretbench.suites.c3bench.scale.scale_types import scale_instruction

TextT = TypeVar("TextT")


def implementation_problems(context: ImplementationContext) -> list[Problem]:
    """Return a problem for each implementation of a context; all show the same text under different instructions."""
    code, problems = context.code, []
    for number, one in enumerate(context.equivalents):
        other = context.equivalents[(number + 1) % len(context.equivalents)]
        instruction = _chosen(one.instructions, f"icc/{code.id}/{one.rewrite}")
        labels: dict[str, Label] = {"category": one.category, "rewrite": one.rewrite}
        other_text = "" if other is one else other.text
        problems.append(_problem(code, one.rewrite, instruction, one.text, one.rule, labels, other_text))
    return problems


def _features_check(rule: FeatureRule) -> PredicateCheck:
    arguments = {"requires": list(rule.requires), "forbids": list(rule.forbids)}
    return PredicateCheck(name=FEATURES_PREDICATE, arguments=arguments, counts=False, reduce=True)


def scale_problem(file: SourceText, middle: ScaleMiddle) -> Problem:
    """Return the problem of a middle of a file; where the file has tests, they decide, too."""
    source, text = file.id, file.text
    prefix, suffix = text[: middle.start], text[middle.end :]
    specification = middle.specification
    form = "-".join(str(part) for part in (specification.kind, specification.node, specification.n) if part)
    identity = f"scc/{source}/{middle.start}-{middle.end}/{form}"
    return Problem(
        id=identity,
        suite=SUITE,
        shown=Caret(
            language=specification.language,
            prefix=prefix,
            suffix=suffix,
            instruction=scale_instruction(specification, identity),
        ),
        splice=InlineSplice(before=prefix, after=suffix + file.tests),
        reference=text[middle.start : middle.end],
        checks=(
            *file.checks,
            PredicateCheck(
                name=SCALE_PREDICATE,
                arguments={"specification": specification.model_dump(exclude_defaults=True)},
                counts=False,
            ),
        ),
        labels={"task": "scc", "language": specification.language, "category": middle.type},
        cluster=file.cluster or source,
        overlap_group=source,
        provenance=file.provenance,
    )


def _chosen(texts: Sequence[TextT], key: str) -> TextT:
    """Return one of several texts, chosen by the hash of a key."""
    return texts[int(sha256_text(key), 16) % len(texts)]


def variant_problems(contexts: Mapping[str, CodeContext], variants: Sequence[Variant]) -> list[Problem]:
    """Return a problem for each kept variant; those of a context show the same text under different instructions.

    Answers are run with the tests. A variant with a predicate has it as a second check; all have the judge's criterion.
    """
    problems = []
    for one in variants:
        code = contexts[one.context]
        labels: dict[str, Label] = {
            "category": one.category, "instruction_by": "people" if one.origin == "hand" else "model",
        }  # fmt: skip
        if one.author:
            labels["author"] = one.author
        other = _other_text(code, one, variants)
        problems.append(_problem(code, one.name, one.instruction, one.text, one.rule, labels, other))
    return problems


def _other_text(context: CodeContext, one: Variant, variants: Sequence[Variant]) -> str:
    """Return the right answer to another instruction of the context; empty if it has no other one."""
    texts = [each.text for each in variants if each.context == one.context]
    number = texts.index(one.text)
    texts += [each.text for each in context.others]
    return next((text for text in texts[number + 1 :] + texts[:number] if text != one.text), "")


def _problem(
    code: CodeContext,
    name: str,
    instruction: str,
    text: str,
    rule: FeatureRule | None,
    labels: Mapping[str, Label],
    other: str,
) -> Problem:
    more: dict[str, Label] = {"extraction": code.extraction} if code.extraction else {}
    return Problem(
        id=f"icc/{code.id}/{name}",
        suite=SUITE,
        shown=Caret(language=code.language, prefix=code.prefix, suffix=code.suffix, instruction=instruction),
        splice=code.splice,
        reference=text,
        checks=(code.check, *([_features_check(rule)] if rule is not None else []), JUDGED),
        labels={"task": "icc", "language": code.language, **labels, **more},
        cluster=code.cluster or code.id,
        overlap_group=code.id,
        provenance=code.provenance,
        # The baseline `other-variant` sees one problem at a time, in runs and in Inspect, so the answer travels with
        # it; hidden from models.
        released={OTHER_VARIANT: other} if other else {},
    )
