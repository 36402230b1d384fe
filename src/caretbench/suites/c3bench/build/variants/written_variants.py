"""Contexts, implementations and instructions that people wrote: a JSONL or TOML file."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

from pydantic import Field, ValidationError, model_validator

from caretbench.files import DataError, describe_validation_error, replace_surrogates
from caretbench.languages import languages
from caretbench.problem import Provenance, Row
from caretbench.suites.c3bench.build.variants.code_context import CodeContext, FunctionTest, Variant, function_tests
from caretbench.suites.c3bench.implementations.features import FeatureRule, has_features
from caretbench.suites.c3bench.implementations.rewrite import Category

_TEXTS = re.compile(r'"""(?:\\.|[^\\])*?"""|' r"'''.*?'''|" r'"(?:\\.|[^"\\\n])*"|' r"'[^'\n]*'|" r"#[^\n]*", re.DOTALL)


def table_lines(text: str, name: str) -> list[int]:
    """Return the line of each header ``[[name]]``, from 1; headers inside of strings and comments do not count."""
    # Code of an implementation may contain a header of TOML; blanked, it keeps the number of lines.
    plain = _TEXTS.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    parts = r"\s*\.\s*".join(re.escape(part) for part in name.split("."))
    return [plain.count("\n", 0, match.end()) + 1 for match in re.finditer(rf"(?m)^[ \t]*\[\[\s*{parts}\s*\]\]", plain)]


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


class _RawContext(NamedTuple):
    """A context before validation: line, lines of its implementations (empty in JSONL), and fields."""

    line: int
    inner_lines: tuple[int, ...]
    fields: Mapping[str, Any] | str


def read_variants(path: Path) -> WrittenVariants:
    """Return the contexts of a file: TOML with ``[[contexts]]`` if its name ends in ``.toml``, else JSONL.

    A malformed row is a line of ``faults``, with file and line; the other rows are returned.

    Raises:
        DataError: the file cannot be read.
    """
    written = WrittenVariants([], [], [])
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 ({error})") from None
    seen: dict[str, int] = {}
    for raw in _toml_contexts(text) if path.suffix == ".toml" else _json_contexts(text):
        fault = raw.fields if isinstance(raw.fields, str) else _context_fault(raw.fields, raw, path, written, seen)
        if fault:
            written.faults.append(f"{path}:{raw.line}: {fault}")
    return written


def _context_fault(
    fields: Mapping[str, Any], raw: _RawContext, path: Path, written: WrittenVariants, seen: dict[str, int]
) -> str:
    """Add a context with its implementations; return why it cannot be used, empty if it can."""
    try:
        row = WrittenContext.model_validate(dict(fields))
    except ValidationError as error:
        return describe_validation_error(error)
    if row.id in seen:
        return f"the id {row.id!r} occurs in line {seen[row.id]} already"
    variants = []
    for number, values in enumerate(row.implementations, 1):
        # Inline arrays have no headers: then the place is that of the context, which is right if less exact.
        known_line = len(raw.inner_lines) == len(row.implementations)
        place = f"{path}:{raw.inner_lines[number - 1] if known_line else raw.line}"
        implementation = _implementation(values, row.language)
        if isinstance(implementation, str):
            written.faults.append(f"{place}: implementation {number} of {row.id}: {implementation}")
        else:
            variants.append(_variant(row.id, number, implementation, place))
    if not variants:
        return f"{row.id}: no implementation is left"
    seen[row.id] = raw.line
    written.contexts.append(_context(row, variants[0].text, f"{path}:{raw.line}"))
    written.variants.extend(variants)
    return ""


def _json_contexts(text: str) -> Iterator[_RawContext]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            value = replace_surrogates(json.loads(line))
        # One line nested too deep must not cost the others.
        except (ValueError, RecursionError) as error:
            yield _RawContext(number, (), f"not JSON ({error})")
            continue
        yield _RawContext(number, (), value if isinstance(value, dict) else "expected a JSON object")


def _toml_contexts(text: str) -> Iterator[_RawContext]:
    try:
        rows = tomllib.loads(text).get("contexts")
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        yield _RawContext(1, (), f"not TOML ({error})")
        return
    if not isinstance(rows, list) or not rows:
        yield _RawContext(1, (), "no [[contexts]]")
        return
    starts, inner = table_lines(text, "contexts"), table_lines(text, "contexts.implementations")
    for number, value in enumerate(rows):
        line = starts[number] if number < len(starts) else 1  # an inline array has no headers
        end = starts[number + 1] if number + 1 < len(starts) else text.count("\n") + 2
        lines = tuple(one for one in inner if line < one < end)
        yield _RawContext(line, lines, value if isinstance(value, dict) else "expected a table")


def _implementation(values: object, language: str) -> WrittenImplementation | str:
    """Return an implementation, or why it cannot be used."""
    try:
        implementation = WrittenImplementation.model_validate(values)
    except ValidationError as error:
        return describe_validation_error(error)
    if (implementation.requires or implementation.forbids) and not has_features(language):
        return f"no features for requires and forbids in {language}"
    return implementation


def _variant(context: str, number: int, one: WrittenImplementation, place: str) -> Variant:
    return Variant(
        context=context,
        name=f"hand-{number}",
        origin="hand",
        author=one.author,
        category=one.category,
        instruction=one.instruction,
        text=one.code,
        rule=FeatureRule(one.requires, one.forbids) if one.requires or one.forbids else None,
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
        tests=function_tests(function) if function else f"\n{row.tests}",
        provenance=Provenance(source=row.source, licence=row.licence, revision=row.revision, date=row.date),
        before=row.before,
        function=function if row.compare == "values" else None,
        cluster=row.id,
        place=place,
    )
