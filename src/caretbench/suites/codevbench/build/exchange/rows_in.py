"""Problems of rows in the published layout, for users who have such a file and the repository."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from pydantic import ValidationError

from caretbench.errors import DataError
from caretbench.execution.workspaces.snapshot_store import Snapshot
from caretbench.files import describe_validation_error, read_lines
from caretbench.problem import Caret, Label, Problem, Provenance, TestsCheck
from caretbench.projects.answer_requests import file_splice
from caretbench.projects.file_spans import BOM, span_splice, visible_text
from caretbench.projects.runner_options import runs_pytest
from caretbench.suites.codevbench.build.exchange.published_layout import (
    KINDS,
    MODES,
    OWN_FIELD,
    TEST_FIELDS,
    line_span,
    lines_of_key,
)
from caretbench.suites.codevbench.code_blocks import BlockKind, block_rules
from caretbench.suites.codevbench.scenario_names import BLOCK_SPAN, FULL_BLOCK, INCOMPLETE_SUFFIX, INNER_BLOCK, RAG
from caretbench.suites.codevbench.tables.parts import CUTS, SUFFIX_CUTS
from caretbench.syntax import Span
from caretbench.syntax.source import language_of

_TEXTS: Final = ("prefix", "suffix", "middle", "test_prefix", "test_suffix", "test_middle")
_CUTS: Final[Mapping[str, frozenset[str]]] = {
    FULL_BLOCK: frozenset({"block"}), RAG: frozenset({"block"}), INNER_BLOCK: frozenset({*CUTS, "any"}),
    INCOMPLETE_SUFFIX: frozenset(SUFFIX_CUTS),
}  # fmt: skip


class RowSource(NamedTuple):
    """The repository of rows, and how its tests run.

    Args:
        project: Name of the repository; rows about others are skipped.
        snapshot: Its stored files.
        check: Command of its tests; the names of the tests come from the rows.
        test_names: Names of tests for the runner by id in the rows; other ids are names themselves.
        scenario: Scenario and cut of the rows, such as ``("full_block", "block")``; None: by the name of the file. The
            cut ``any`` of an inner block follows from the text before the caret.
    """

    project: str
    snapshot: Snapshot
    check: TestsCheck
    test_names: Mapping[str, str] = {}
    scenario: tuple[str, str] | None = None


def from_rows(path: Path, source: RowSource) -> Iterator[Problem]:
    """Yield the problems of a JSONL file about one repository, in its order.

    The prompt in a row is not read; shown texts (``prefix``, ``suffix``) and executed ones (``test_prefix``,
    ``test_suffix``) stay apart.

    Raises:
        DataError: a row is malformed, names no test or an unknown file, or its texts are not those of the file; no row
            is about the repository. Messages have file and line.
    """
    others: dict[str, None] = {}
    found = False
    for number, row in read_lines(path):
        try:
            problem = _own_problem(row, source) if OWN_FIELD in row else _published_problem(path, row, source)
        except ValidationError as error:
            raise DataError(f"{path}:{number}: {describe_validation_error(error)}") from None
        except (ValueError, DataError) as error:
            raise DataError(f"{path}:{number}: {error}") from None
        if problem is None:
            others[str(row.get("block_key"))] = None
        else:
            found = True
            yield problem
    if not found and others:
        raise DataError(f"{path}: no row is about {source.project!r}; the first one is about {next(iter(others))!r}")


def _own_problem(row: Mapping[str, Any], source: RowSource) -> Problem | None:
    """Return the problem of a row that :func:`to_rows` made; None if it is about another repository."""
    fields = row[OWN_FIELD]
    _check_texts(row)
    hidden = fields.get("shown") if isinstance(fields, Mapping) else None
    if not isinstance(hidden, Mapping):
        raise ValueError(f"{OWN_FIELD}: expected the fields of a problem")  # noqa: TRY004  reported with its line
    shown = {**hidden, "prefix": row["prefix"], "suffix": row["suffix"]}
    problem = Problem.model_validate({**fields, "shown": shown, "reference": row["middle"]})
    if problem.labels.get("project", problem.cluster) != source.project:
        return None
    splice = file_splice(problem)
    span = _file_span(row, splice.path, source.snapshot.read(splice.path))
    if span != (splice.start, splice.end):
        raise ValueError(f"the texts are bytes {span.start} to {span.end} of {splice.path}, the splice is another span")
    return problem.model_copy(update={"splice": splice.model_copy(update={"snapshot": source.snapshot.id})})


def _published_problem(file: Path, row: Mapping[str, Any], source: RowSource) -> Problem | None:
    _check_texts(row)
    absolute, first, last = lines_of_key(str(row.get("block_key", "")))
    path = _project_path(absolute, source)
    if path is None:
        return None
    data = source.snapshot.read(path)
    span = _file_span(row, path, data)
    scenario, cut = _scenario(file, row, source)
    kind = _kind(row)
    block = line_span(data, first, last)
    language = language_of(path)
    if language is None:
        raise ValueError(f"{path}: no language has this suffix")
    digest = hashlib.sha256(data).hexdigest()[:8]
    middle = str(row["middle"])
    return Problem(
        id=f"{source.project}/{path}#{digest}:{span.start}-{span.end}:{scenario}.{kind}.{cut}",
        suite="codevbench",
        shown=Caret(language=language, prefix=row["prefix"], suffix=row["suffix"], path=path),
        splice=span_splice(path, span, source.snapshot.id, data),
        reference=middle,
        checks=(source.check.model_copy(update={"tests": _tests(row, source)}),),
        labels=_labels(row, source, language, kind) | {"scenario": scenario, "cut": cut},
        cluster=source.project,
        overlap_group=f"{source.project}/{path}:{block[0]}",
        provenance=Provenance(source=source.project),
        released={BLOCK_SPAN: f"{block[0]}-{block[1]}"},
    )


def _labels(row: Mapping[str, Any], source: RowSource, language: str, kind: BlockKind) -> dict[str, Label]:
    _, first, last = lines_of_key(row["block_key"])
    middle, column = row["middle"], len(row["prefix"].rpartition("\n")[2])
    return {
        "language": language, "block": kind, "block_class": block_rules().classes[kind],
        "answer": "code" if middle else "empty", "project": source.project, "tests_by": "project",
        "line": "partial" if row["prefix"].rpartition("\n")[2].strip() and middle else "whole",
        "block_lines": float(last - first + 1), "cursor_column": float(column),
        "reference_lines": float(middle.count("\n") + 1 if middle else 0),
    }  # fmt: skip


def _check_texts(row: Mapping[str, Any]) -> None:
    wrong = [name for name in _TEXTS if not isinstance(row.get(name), str)]
    if wrong:
        raise ValueError(f"{wrong[0]}: expected a text")
    if _lines(row["middle"]) != _lines(row["test_middle"]):
        raise ValueError("middle and test_middle differ: the right answer must be the text of the file")


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n")


def _file_span(row: Mapping[str, Any], path: str, data: bytes) -> Span:
    """Return the bytes of ``test_middle`` in the file."""
    parts = [_lines(row[name]) for name in ("test_prefix", "test_middle", "test_suffix")]
    if "".join(parts) != visible_text(data):
        raise ValueError(
            f"test_prefix, test_middle and test_suffix are not the text of {path}; take the repository at the revision "
            "of the rows"
        )
    raw = data.removeprefix(BOM)
    offset = len(data) - len(raw)
    ends = [_raw_position(raw, len("".join(parts[:count]).encode())) for count in (1, 2)]
    return Span(offset + ends[0], offset + ends[1])


def _raw_position(raw: bytes, position: int) -> int:
    """Return the byte at a position of the text with line feeds alone."""
    passed = 0
    for line in raw.split(b"\r\n"):
        if position <= len(line):
            return passed + position
        position -= len(line) + 1
        passed += len(line) + 2
    return len(raw)


def _project_path(absolute: str, source: RowSource) -> str | None:
    """Return the path in the repository; None if the path is not below a folder with the repository's name."""
    parts = absolute.split("/")
    below = ["/".join(parts[place + 1 :]) for place, name in enumerate(parts) if name == source.project]
    known = [path for path in (*below, absolute) if path in source.snapshot.entries]
    if not known and below:
        raise ValueError(f"block_key: {source.project} has no file {below[0]!r}")
    return known[0] if known else None


def _scenario(file: Path, row: Mapping[str, Any], source: RowSource) -> tuple[str, str]:
    found = source.scenario or MODES.get(file.name.partition(".")[0])
    if found is None:
        raise ValueError(f"the name of the file is no scenario of the published data; name one: {', '.join(_CUTS)}")
    scenario, cut = found
    if scenario not in _CUTS or cut not in _CUTS[scenario]:
        raise ValueError(f"{scenario}, {cut}: no such scenario and cut; cuts are {dict(_CUTS).get(scenario, '')}")
    return scenario, _inner_cut(row) if cut == "any" else cut


def _inner_cut(row: Mapping[str, Any]) -> str:
    line = row["prefix"].rpartition("\n")[2].strip()
    if not row["middle"]:
        return "empty"
    return "statement" if not line else "operator" if line[-1] in "+-*/%=<>&|^!~@" else "token"


def _kind(row: Mapping[str, Any]) -> BlockKind:
    name = str(row.get("block_type", "")).upper()
    if name not in KINDS:
        raise ValueError(f"block_type {row.get('block_type')!r}: expected one of {', '.join(KINDS)}")
    return KINDS[name]


def _tests(row: Mapping[str, Any], source: RowSource) -> tuple[str, ...]:
    ids = next((row[name] for name in TEST_FIELDS if row.get(name)), None)
    if not isinstance(ids, list) or not all(isinstance(one, str | int) for one in ids):
        raise ValueError(f"no tests decide: expected ids of tests in {' or '.join(TEST_FIELDS)}")
    names = tuple(source.test_names.get(str(one), str(one)) for one in ids)
    if runs_pytest(source.check.command):
        unknown = next((name for name in names if "::" not in name and not name.endswith(".py")), None)
        if unknown is not None:
            raise ValueError(f"{unknown!r} is no test of pytest; pass its name in test_names (read_test_names)")
    return names
