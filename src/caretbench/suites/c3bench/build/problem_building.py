"""Problems of both kinds: from equivalent implementations, variants, and middles with a specification."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

from caretbench.files import sha256_text
from caretbench.problem import Caret, Check, InlineSplice, Label, PredicateCheck, Problem
from caretbench.suites.c3bench.build.build_folder import SourceText
from caretbench.suites.c3bench.build.checked_functions import CheckedFunction
from caretbench.suites.c3bench.build.scale_middles import ScaleMiddle
from caretbench.suites.c3bench.build.variants.code_context import CodeContext, Variant
from caretbench.suites.c3bench.implementations.features import FeatureRule
from caretbench.suites.c3bench.implementations.rewrite import Equivalent
from caretbench.suites.c3bench.measures import FEATURES_PREDICATE, JUDGED, OTHER_VARIANT, SCALE_PREDICATE, SUITE
from caretbench.suites.c3bench.scale.scale_types import scale_instructions

TextT = TypeVar("TextT")


class ContextWithEquivalents(Protocol):
    """Middle of a function, by its character span, with its implementations."""

    @property
    def start(self) -> int:
        """Position of its first character."""
        ...

    @property
    def end(self) -> int:
        """Position after its last character."""
        ...

    @property
    def equivalents(self) -> tuple[Equivalent, ...]:
        """Implementations."""
        ...


def implementation_problems(function: CheckedFunction, context: ContextWithEquivalents) -> list[Problem]:
    """Return a problem for each implementation of a context; all show the same text under different instructions."""
    prefix, suffix = function.text[: context.start], function.text[context.end :]
    problems = []
    for number, one in enumerate(context.equivalents):
        # The baseline `other-variant` sees one problem at a time, in runs and in Inspect, so the answer travels with
        # it; hidden from models.
        other = context.equivalents[(number + 1) % len(context.equivalents)]
        identity = f"icc/{function.id}/{context.start}-{context.end}/{one.rewrite}"
        problems.append(
            Problem(
                id=identity,
                suite=SUITE,
                shown=Caret(
                    language="python", prefix=prefix, suffix=suffix, instruction=_chosen(one.instructions, identity)
                ),
                splice=InlineSplice(before=prefix, after=suffix + function.hidden_tests),
                reference=one.text,
                checks=(function.check, _features_check(one.rule), JUDGED),
                labels={"task": "icc", "language": "python", "category": one.category, "rewrite": one.rewrite},
                cluster=function.cluster or function.id,
                overlap_group=f"{function.id}/{context.start}-{context.end}",
                provenance=function.provenance,
                released={} if other is one else {OTHER_VARIANT: other.text},
            )
        )
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
            instruction=_chosen(scale_instructions(specification), identity),
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
    return [_problem(contexts[one.context], one, _other_text(contexts[one.context], one, variants)) for one in variants]


def _other_text(context: CodeContext, one: Variant, variants: Sequence[Variant]) -> str:
    """Return the right answer to another instruction of the context; empty if it has no other one."""
    texts = [each.text for each in variants if each.context == one.context]
    number = texts.index(one.text)
    texts += [each.text for each in context.others]
    return next((text for text in texts[number + 1 :] + texts[:number] if text != one.text), "")


def _problem(context: CodeContext, one: Variant, other: str) -> Problem:
    checks: tuple[Check, ...] = (context.check,)
    if one.rule is not None:
        checks += (_features_check(one.rule),)
    checks += (JUDGED,)
    labels: dict[str, Label] = {
        "task": "icc", "language": context.language, "category": one.category,
        "instruction_by": "people" if one.origin == "hand" else "model",
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
