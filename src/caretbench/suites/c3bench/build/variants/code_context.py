"""Contexts with a middle to be written, the variants of the middle, and files of both that people wrote."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

from pydantic import Field, ValidationError, model_validator

from caretbench.execution.execution_types import ExecutionRequest
from caretbench.files import DataError, describe_validation_error, read_lines, read_toml
from caretbench.languages import languages
from caretbench.problem import CasesCheck, InlineSplice, ProgramCheck, Provenance, Row
from caretbench.suites.base import case_fields
from caretbench.suites.c3bench.build.checked_functions import CheckedFunction, FunctionTest
from caretbench.suites.c3bench.implementations.features import FeatureRule, FoundFeatures, found_features, has_features
from caretbench.suites.c3bench.implementations.quality import agreement_program
from caretbench.suites.c3bench.implementations.rewrite import Category, Equivalent

Origin = Literal["hand", "model"]


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

    @property
    def span(self) -> tuple[int, int]:
        """Span of the middle in the shown text."""
        return len(self.prefix), len(self.prefix) + len(self.reference)

    def source(self, middle: str) -> str:
        """Return the program with a middle, without its tests."""
        return self.before + self.prefix + middle + self.suffix

    def comparison(self, middle: str, identity: str) -> ExecutionRequest:
        """Return the comparison of a middle with the reference; cases alone decide, where there are any."""
        program = self.source(middle)
        if self.function is not None:
            program = agreement_program(self.source(self.reference), program, *self.function)
        return ExecutionRequest(id=identity, language=self.language, source=program, **case_fields([self.check]))

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
        function=None if function.cases else function.function_test,
        cluster=function.cluster or function.id,
        others=others,
        check=function.check,
        extraction=extraction,
    )


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


class WrittenImplementation(Row):
    """One implementation of a written context; ``requires`` and ``forbids`` are a predicate on its features."""

    code: str = Field(min_length=1)
    category: Category
    instruction: str = Field(min_length=1, max_length=1000)
    requires: tuple[str, ...] = ()
    forbids: tuple[str, ...] = ()
    author: str = ""


class WrittenContext(Row):
    """One context of a file of variants; ``docs/reference/c3bench.md`` has the meaning of its fields."""

    id: str = Field(pattern=r"^[\w.@/+-]+$")
    language: str
    prefix: str
    suffix: str = ""
    before: str = ""
    tests: str = Field(min_length=1)
    entry_point: str | None = Field(default=None, pattern=r"^[A-Za-z_]\w*$")
    compare: Literal["values", "tests"] = "values"
    reference: str | None = None
    implementations: tuple[Any, ...] = Field(min_length=1)
    source: str = "written by hand"
    licence: str | None = None
    revision: str | None = None
    date: str | None = None

    @model_validator(mode="after")
    def _is_possible(self) -> Self:
        if self.language not in languages():
            raise ValueError(f"no language {self.language!r}; languages: {', '.join(sorted(languages()))}")
        if self.entry_point is not None and self.language != "python":
            raise ValueError("entry_point is for Python; in other languages, tests call the function themselves")
        return self


class WrittenVariants(NamedTuple):
    """Contexts and variants of a file, and a line for each row that cannot be used."""

    contexts: list[CodeContext]
    variants: list[Variant]
    faults: list[str]


def read_variants(path: Path) -> WrittenVariants:
    """Return the contexts of a file: TOML with ``[[contexts]]`` if its name ends in ``.toml``, else JSONL.

    A malformed context is a line of ``faults``, with its place in the file; the other ones are returned.

    Raises:
        DataError: the file cannot be read, or is neither TOML nor JSONL.
    """
    written = WrittenVariants([], [], [])
    seen: dict[str, str] = {}
    lines = ((f"{path}:{number}", row) for number, row in read_lines(path))
    for place, fields in _toml_contexts(path) if path.suffix == ".toml" else lines:
        fault = _context_fault(fields, place, written, seen)
        if fault:
            written.faults.append(f"{place}: {fault}")
    return written


def _context_fault(fields: object, place: str, written: WrittenVariants, seen: dict[str, str]) -> str:
    """Add a context with its implementations; return why it cannot be used, empty if it can."""
    try:
        row = WrittenContext.model_validate(fields)
    except ValidationError as error:
        return describe_validation_error(error)
    if row.id in seen:
        return f"the id {row.id!r} occurs in {seen[row.id]} already"
    variants = []
    for number, values in enumerate(row.implementations, 1):
        variant = _variant(row, number, values, place)
        if isinstance(variant, str):
            written.faults.append(f"{place}: implementation {number} of {row.id}: {variant}")
        else:
            variants.append(variant)
    if not variants:
        return f"{row.id}: no implementation is left"
    seen[row.id] = place
    written.contexts.append(_context(row, variants[0].text, place))
    written.variants.extend(variants)
    return ""


def _toml_contexts(path: Path) -> Iterator[tuple[str, object]]:
    rows = read_toml(path).get("contexts")
    if not isinstance(rows, list) or not rows:
        raise DataError(f"{path}: no [[contexts]]")
    return ((f"{path}, context {number}", row) for number, row in enumerate(rows, 1))


def _variant(context: WrittenContext, number: int, values: object, place: str) -> Variant | str:
    """Return an implementation, or why it cannot be used."""
    try:
        implementation = WrittenImplementation.model_validate(values)
    except ValidationError as error:
        return describe_validation_error(error)
    if (implementation.requires or implementation.forbids) and not has_features(context.language):
        return f"no features for requires and forbids in {context.language}"
    return Variant(
        context=context.id,
        name=f"hand-{number}",
        origin="hand",
        author=implementation.author,
        category=implementation.category,
        instruction=implementation.instruction,
        text=implementation.code,
        rule=FeatureRule(implementation.requires, implementation.forbids)
        if implementation.requires or implementation.forbids
        else None,
        place=place,
    )


def _context(row: WrittenContext, first: str, place: str) -> CodeContext:
    function = FunctionTest(row.tests, row.entry_point) if row.entry_point else None
    return CodeContext(
        id=row.id,
        language=row.language,
        prefix=row.prefix,
        suffix=row.suffix,
        reference=first if row.reference is None else row.reference,
        tests=function.hidden if function else f"\n{row.tests}",
        provenance=Provenance(source=row.source, licence=row.licence, revision=row.revision, date=row.date),
        before=row.before,
        function=function if row.compare == "values" else None,
        cluster=row.id,
        place=place,
    )
