"""Contexts with a middle to be written, and the variants of the middle."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from caretbench.problem import CasesCheck, InlineSplice, ProgramCheck, Provenance, Row
from caretbench.suites.c3bench.build.checked_functions import CheckedFunction
from caretbench.suites.c3bench.implementations.features import FeatureRule, FoundFeatures, found_features
from caretbench.suites.c3bench.implementations.rewrite import Category, Equivalent

Origin = Literal["hand", "model"]


class FunctionTest(NamedTuple):
    """Test of a Python function: a text that defines ``check(candidate)``, and the function's name."""

    text: str
    entry_point: str


@dataclass(frozen=True)
class CodeContext:
    """Text around a middle, with a known middle and tests.

    Args:
        id: Identifier, unique in a build.
        language: Name of the language.
        prefix: Shown text before the middle.
        suffix: Shown text after it.
        reference: A middle that passes.
        tests: Text behind the suffix that makes the program check itself; never shown.
        provenance: Origin.
        before: Text before the prefix that is never shown.
        function: Test of a Python function, by which implementations are also compared on mutated inputs.
        cluster: Name of the source function; by default the identifier.
        others: Implementations from elsewhere, with the rules that their instructions state.
        place: File and line, for messages.
        check: Check of the program; with cases there are no ``tests``.
        extraction: Label of a middle that was chosen: a node of the tree, or a run of lines.
    """

    id: str
    language: str
    prefix: str
    suffix: str
    reference: str
    tests: str
    provenance: Provenance
    before: str = ""
    function: FunctionTest | None = None
    cluster: str = ""
    others: tuple[Equivalent, ...] = ()
    place: str = ""
    check: ProgramCheck | CasesCheck = field(default_factory=ProgramCheck)
    extraction: str = ""

    @property
    def splice(self) -> InlineSplice:
        """Splice of an answer into the program that checks it."""
        return InlineSplice(before=self.before + self.prefix, after=self.suffix + self.tests)

    def source(self, middle: str) -> str:
        """Return the program with a middle, without its tests."""
        return self.before + self.prefix + middle + self.suffix

    def features(self, middle: str) -> FoundFeatures | None:
        """Return the features of a middle; None if its program does not parse, or its language has none."""
        return found_features(self.prefix, middle, self.suffix, self.language)


def function_context(
    function: CheckedFunction, start: int, end: int, others: tuple[Equivalent, ...] = (), extraction: str = ""
) -> CodeContext:
    """Return the context of a span of a tested Python function."""
    return CodeContext(
        id=f"{function.id}/{start}-{end}",
        language="python",
        prefix=function.text[:start],
        suffix=function.text[end:],
        reference=function.text[start:end],
        tests=function.hidden_tests,
        provenance=function.provenance,
        function=None if function.cases else FunctionTest(function.test, function.entry_point),
        cluster=function.cluster or function.id,
        others=others,
        check=function.check,
        extraction=extraction,
    )


def function_tests(test: FunctionTest) -> str:
    """Return the text that checks a function, to be put behind its program."""
    return f"\n\n{test.text}\n\ncheck({test.entry_point})\n"


@dataclass(frozen=True)
class Variant:
    """One middle of a context with the instruction that it follows.

    ``name`` is unique in the context. ``author`` is a person or the name of a model, ``rule`` the predicate that was
    given with it, ``place`` a file and line or the key of a model's answer.
    """

    context: str
    name: str
    origin: Origin
    author: str
    category: Category
    instruction: str
    text: str
    rule: FeatureRule | None = None
    place: str = ""


Verdict = Literal[
    "kept", "malformed", "hostile", "style", "wrong", "slow", "duplicate", "instruction", "reference", "not_run"
]
"""Verdict on a variant: kept, or the reason why it is not (their meanings are in ``docs/reference/c3bench.md``)."""


class ExaminedVariant(Row):
    """Variant with its verdict: ``kept``, or the reason why it is not kept, with details.

    ``requires`` and ``forbids`` are its predicate, empty if it has none.
    """

    context: str
    name: str
    origin: Origin
    author: str
    category: Category | None
    instruction: str
    text: str
    place: str
    verdict: Verdict
    detail: str = ""
    requires: tuple[str, ...] = ()
    forbids: tuple[str, ...] = ()
