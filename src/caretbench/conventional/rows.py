"""Rows of conventional benchmarks as problems, by a description.

Line ends become line feeds, in what is shown as in what runs: 84 % of SAFIM's programs have CRLF, which its evaluator
deletes before it compiles.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any, Final, NamedTuple

from caretbench.conventional.descriptions import DataFile, Description, Flag, Hole, Template, description
from caretbench.files import DataError, read_lines, sha256_text
from caretbench.languages import languages
from caretbench.problem import (
    Caret,
    CasesCheck,
    Check,
    ContextFile,
    InlineSplice,
    PredicateCheck,
    Problem,
    ProgramCase,
    ProgramCheck,
)

MATCH: Final = "match"
"""Name of the predicate that compares an answer with the reference."""
_FIELD: Final = re.compile(r"\{([\w.]+)\}")
_LONG: Final = 80


class DataRow(NamedTuple):
    """Row of a data file with its place (``FILE:LINE``) and the description of its file, if it has one."""

    where: str
    values: Mapping[str, Any]
    file: DataFile | None = None


def read_rows(
    path: Path, file: DataFile | None = None, values: Mapping[str, str] | None = None, rows_before: int = 0
) -> Iterator[DataRow]:
    """Yield the rows of a file in JSONL (``.gz`` too) or Parquet, with the fields ``values`` added to each.

    The field ``row`` is the number of the row, after ``rows_before`` in earlier parts of the file.

    Raises:
        DataError: the file cannot be read, or a line is no object.
    """
    added: dict[str, Any] = {**(file.values if file else {}), **(values or {})}
    if path.suffix != ".parquet":
        rows: Iterator[tuple[int, dict[str, Any]]] = read_lines(path)
    else:
        import polars as pl

        try:
            rows = enumerate(pl.read_parquet(path).iter_rows(named=True), 1)
        except (OSError, pl.exceptions.PolarsError) as error:
            raise DataError(f"{path}: no Parquet file: {error}") from None
    for number, row in rows:
        yield DataRow(f"{path}:{number}", {**row, **added, "row": rows_before + number}, file)


def read_problems(
    name: str,
    rows: Iterator[DataRow],
    complete: Callable[[str, Problem], Problem] | None = None,
    passed_over: dict[str, list[str]] | None = None,
) -> list[Problem]:
    """Return the problems of the rows, in order.

    Args:
        name: The benchmark.
        rows: Its rows.
        complete: Returns a problem with what is outside its row, whose place it gets, too.
        passed_over: Receives the places of rows by their language, if the benchmark has some that CaretBench has not.

    Raises:
        DataError: a field is missing or wrong, or an id occurs twice; the message has file and line.
    """
    about = description(name)
    problems: dict[str, Problem] = {}
    places: dict[str, str] = {}
    for row in rows:
        language = _language(about, row)
        if language not in languages():
            if about.other_languages == "refuse" or passed_over is None:
                raise DataError(f"{row.where}: unknown language {language[:_LONG]!r}")
            passed_over.setdefault(language[:_LONG], []).append(row.where)
            continue
        problem = _problem(name, about, row, language)
        if problem.id in problems:
            raise DataError(f"{row.where}: the id {problem.id[:_LONG]!r} is already used at {places[problem.id]}")
        if complete is not None:
            problem = complete(row.where, problem)
        problems[problem.id], places[problem.id] = problem, row.where
    return [*problems.values()]


def _language(about: Description, row: DataRow) -> str:
    spelled = _text(row, about.fields.language, row.values)
    # Real-FIM-Eval's are names as people write them.
    names = (about.languages.get(spelled.lower(), spelled), spelled.lower())
    return next((name for name in names if name in languages()), spelled)


def _problem(name: str, about: Description, row: DataRow, language: str) -> Problem:
    fields = about.fields
    values = {**row.values, "language": language}
    reference = _code(row, fields.reference, values)
    if fields.hole is not None:
        prefix, suffix = _halves(row, fields.hole, values)
    else:
        prefix, suffix = (_code(row, template, values) for template in (fields.prefix, fields.suffix))
    statement = _statement(row, fields.statement, values, prefix, suffix) if fields.statement else None
    checks = _checks(row, about, values)
    inputs = "\n".join(case.stdin for check in checks if isinstance(check, CasesCheck) for case in check.cases)
    values |= {"statement": statement or "", "complete_program": prefix + reference + suffix, "inputs": inputs}
    labels: dict[str, Any] = {"language": language}
    labels |= {label: _text(row, template, values) for label, template in fields.labels.items()}
    if faults := [flag.name for flag in about.flags if _is_flagged(row, flag, values, labels)]:
        labels["fault"] = faults
    before, after = _program(about, prefix, suffix, _code(row, fields.tests, values), labels)
    if not (problem_id := _text(row, fields.id, values)):
        raise DataError(f"{row.where}: the id, {fields.id}, is empty")
    return Problem(
        id=problem_id,
        suite=name,
        shown=Caret(
            language=language,
            prefix=prefix,
            suffix=suffix,
            path=_path(row, fields.path, values),
            context=tuple(_context(row, about, values)),
            repository=_path(row, fields.repository, values),
            statement=statement,
            hole=labels.get("split"),
        ),
        splice=InlineSplice(before=before, after=after),
        reference=reference,
        checks=checks,
        labels=labels,
        cluster=_cluster(row, about, values),
        overlap_group=_optional(row, fields.overlap_group, values),
        provenance=about.provenance,
    )


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n")


def _halves(row: DataRow, hole: Hole, values: Mapping[str, Any]) -> tuple[str, str]:
    """Return the program before and after its hole."""
    program = _code(row, hole.program, values)
    marks = [(mark, program.count(mark)) for mark in hole.marks if mark in program]
    if [count for _, count in marks] != [1]:
        raise DataError(f"{row.where}: {hole.program} has {sum(count for _, count in marks)} holes, 1 expected")
    before, _, after = program.partition(marks[0][0])
    return before, after


def _statement(row: DataRow, shown: Hole, values: Mapping[str, Any], prefix: str, suffix: str) -> str:
    """Return what is shown before the program; the shown program is the one that runs, with a mark at the caret."""
    text = _code(row, shown.program, values)
    for mark in shown.marks:
        program = prefix + mark + suffix
        if text.endswith(program):
            return text.removesuffix(program)
    raise DataError(f"{row.where}: {shown.program} does not end with the program that runs")


def _program(
    about: Description, before: str, shown_suffix: str, tests: str, labels: Mapping[str, Any]
) -> tuple[str, str]:
    """Return the texts around the answer in the program that runs."""
    after = shown_suffix + tests
    for rewrite in about.rewrites:
        if not _has(labels, rewrite.labels) or not re.search(rewrite.suffix, shown_suffix):
            continue
        if rewrite.part == "before":
            before = re.sub(rewrite.pattern, rewrite.text, before, count=1)
        else:
            after = re.sub(rewrite.pattern, rewrite.text, after, count=1)
    return before, after


def _checks(row: DataRow, about: Description, values: Mapping[str, Any]) -> tuple[Check, ...]:
    if about.check == "text" or (about.text_values and _has(values, about.text_values)):
        return (PredicateCheck(name=MATCH),)
    if about.check in ("program", "project"):
        return (ProgramCheck(),)
    cases = _lookup(values, about.fields.cases)
    if cases is None:
        raise DataError(f"{row.where}: the field {about.fields.cases!r} is missing")
    if isinstance(cases, str):  # in SAFIM's later releases a text in JSON
        try:
            cases = json.loads(cases)
        except ValueError:
            raise DataError(f"{row.where}: the field {about.fields.cases!r} is no JSON") from None
    if not isinstance(cases, Sequence) or isinstance(cases, str):
        raise DataError(f"{row.where}: the field {about.fields.cases!r} is no list")
    if not cases:
        raise DataError(f"{row.where}: the field {about.fields.cases!r} is empty")
    return (CasesCheck(cases=tuple(_case(row, number, case) for number, case in enumerate(cases))),)


def _case(row: DataRow, number: int, case: object) -> ProgramCase:
    outputs = case.get("output") if isinstance(case, Mapping) else None
    outputs = (outputs,) if isinstance(outputs, str) else outputs
    if (
        not isinstance(case, Mapping)
        or not isinstance(case.get("input"), str)
        or not isinstance(outputs, list | tuple)
        or not outputs
        or not all(isinstance(output, str) for output in outputs)
    ):
        raise DataError(f"{row.where}: case {number} needs a text 'input' and a list of texts 'output'")
    return ProgramCase(stdin=case["input"], outputs=tuple(outputs))


def _context(row: DataRow, about: Description, values: Mapping[str, Any]) -> Iterator[ContextFile]:
    fields = about.fields.context
    if fields is None:
        return
    # Files without retrieval have no cross-file context; others hold null where nothing was found.
    entries = _lookup(values, fields.entries) or ()
    if not isinstance(entries, list | tuple):
        raise DataError(f"{row.where}: the field {fields.entries!r} is {type(entries).__name__}, expected a list")
    for entry in reversed(entries) if fields.best_first else entries:
        path, text = _lookup(entry, fields.path), _lookup(entry, fields.text)
        if not isinstance(path, str) or not isinstance(text, str):
            raise DataError(
                f"{row.where}: an entry of {fields.entries!r} has no text {fields.path!r} or {fields.text!r}"
            )
        yield ContextFile(path=path, text=_lines(text))


def _cluster(row: DataRow, about: Description, values: Mapping[str, Any]) -> str:
    text = _text(row, (row.file.cluster if row.file else ()) or about.fields.cluster, values)
    if pattern := about.fields.cluster_pattern:
        match = re.search(pattern, text)
        text = match[0] if match else text
    return text if len(text) <= _LONG and "\n" not in text else sha256_text(text)[:12]


def _is_flagged(row: DataRow, flag: Flag, values: Mapping[str, Any], labels: Mapping[str, Any]) -> bool:
    return _has(labels, flag.labels) and _occurs(flag.pattern, _text(row, flag.text, values))


# A contest's statement stands in twenty rows of SAFIM; to search each took half of the time of loading.
@lru_cache(maxsize=4096)
def _occurs(pattern: str, text: str) -> bool:
    return re.search(pattern, text) is not None


def _has(labels: Mapping[str, Any], values: Mapping[str, str]) -> bool:
    return all(labels.get(name) == value for name, value in values.items())


# --- fields -----------------------------------------------------------------------------------------------------------


def _optional(row: DataRow, template: Template, values: Mapping[str, Any]) -> str | None:
    return _text(row, template, values) or None


def _path(row: DataRow, template: Template, values: Mapping[str, Any]) -> str | None:
    path = _optional(row, template, values)
    if path and (PurePosixPath(path).is_absolute() or not {"..", "."}.isdisjoint(path.split("/")) or "\0" in path):
        raise DataError(f"{row.where}: {template} is {path[:_LONG]!r}, expected a path below the archive")
    return path


def _code(row: DataRow, template: Template, values: Mapping[str, Any]) -> str:
    """Return a text of the program; a number is none."""
    return _lines(_text(row, template, values, str))


def _text(
    row: DataRow, template: Template, values: Mapping[str, Any], allowed: type | tuple[type, ...] = (str, int)
) -> str:
    """Return the text of the first template whose fields are all there; empty where no template is given."""
    templates = (template,) if isinstance(template, str) else template
    missing: list[str] = []
    for candidate in templates:
        parts: dict[str, str] = {}
        for name in _FIELD.findall(candidate):
            value = _lookup(values, name)
            if value is None:
                missing.append(repr(name))
                break
            if isinstance(value, bool) or not isinstance(value, allowed):
                raise DataError(f"{row.where}: the field {name!r} is {type(value).__name__}, expected text")
            parts[name] = str(value)
        else:
            return _FIELD.sub(lambda match, parts=parts: parts[match[1]], candidate)  # type: ignore[misc]
    if templates:
        raise DataError(f"{row.where}: the field {' or '.join(missing)} is missing")
    return ""


def _lookup(values: Any, name: str) -> Any:
    """Return the value at a dotted name; None where it is missing or null."""
    for part in name.split("."):
        if isinstance(values, Mapping):
            values = values.get(part)
        elif isinstance(values, list | tuple) and part.isdigit() and int(part) < len(values):
            values = values[int(part)]
        else:
            return None
    return values
