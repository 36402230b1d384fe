"""Problems of both kinds, from equivalent implementations and from middles with a specification."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from caretbench.files import sha256_text
from caretbench.problem import Caret, CriterionCheck, InlineSplice, PredicateCheck, Problem, ProgramCheck, Provenance
from caretbench.suites.c3bench.checked_functions import CheckedFunction
from caretbench.suites.c3bench.implementations.equivalents import Equivalent
from caretbench.suites.c3bench.scale.scale_instructions import scale_instructions
from caretbench.suites.c3bench.scale.scale_middles import ScaleMiddle

SUITE = "c3bench"
FEATURES_PREDICATE = "features"
SCALE_PREDICATE = "scale"

JUDGED = CriterionCheck(name="c3-instruction", maximum=1.0)
"""Judged criterion of problems about the implementation, next to their predicates or in their place."""

OTHER_VARIANT = "other_variant"
"""Hidden field of a problem: the right answer to another instruction of its context."""

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
    tests = f"{suffix}\n\n{function.test}\n\ncheck({function.entry_point})\n"
    problems = []
    for number, one in enumerate(context.equivalents):
        other = context.equivalents[(number + 1) % len(context.equivalents)]
        identity = f"icc/{function.id}/{context.start}-{context.end}/{one.rewrite}"
        rule = {"requires": list(one.rule.requires), "forbids": list(one.rule.forbids)}
        problems.append(
            Problem(
                id=identity,
                suite=SUITE,
                shown=Caret(
                    language="python", prefix=prefix, suffix=suffix, instruction=_chosen(one.instructions, identity)
                ),
                splice=InlineSplice(before=prefix, after=tests),
                reference=one.text,
                checks=(ProgramCheck(), PredicateCheck(name=FEATURES_PREDICATE, arguments=rule, counts=False), JUDGED),
                labels={"task": "icc", "language": "python", "category": one.category, "rewrite": one.rewrite},
                cluster=function.id,
                overlap_group=f"{function.id}/{context.start}-{context.end}",
                provenance=function.provenance,
                released={} if other is one else {OTHER_VARIANT: other.text},
            )
        )
    return problems


def scale_problem(source: str, text: str, middle: ScaleMiddle, provenance: Provenance) -> Problem:
    """Return the problem of a middle; ``source`` names its file."""
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
        splice=InlineSplice(before=prefix, after=suffix),
        reference=text[middle.start : middle.end],
        checks=(
            PredicateCheck(
                name=SCALE_PREDICATE,
                arguments={"specification": specification.model_dump(exclude_defaults=True)},
                counts=False,
            ),
        ),
        labels={"task": "scc", "language": specification.language, "category": middle.type},
        cluster=source,
        overlap_group=source,
        provenance=provenance,
    )


def _chosen(texts: Sequence[TextT], key: str) -> TextT:
    """Return one of several texts, chosen by the hash of a key."""
    return texts[int(sha256_text(key), 16) % len(texts)]
