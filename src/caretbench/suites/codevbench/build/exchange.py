"""Exchange of problems as JSON in the layout of the paper (its Figure 3): :func:`to_rows` and :func:`from_rows`."""

from __future__ import annotations

import bisect
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from pydantic import ValidationError

from caretbench.errors import DataError
from caretbench.execution.workspaces.snapshot_store import Snapshot, SnapshotStore
from caretbench.files import describe_validation_error, read_lines, write_atomically
from caretbench.problem import Caret, Label, Problem, Provenance, TestsCheck
from caretbench.projects.answer_requests import file_splice, tests_check
from caretbench.projects.file_spans import BOM, span_splice, visible_text
from caretbench.projects.runner_options import runs_pytest
from caretbench.suites.codevbench.build.code_blocks import BlockKind
from caretbench.suites.codevbench.scenario_names import (
    BLOCK_SPAN,
    CUTS,
    FULL_BLOCK,
    INCOMPLETE_SUFFIX,
    INNER_BLOCK,
    RAG,
    SUFFIX_CUTS,
)
from caretbench.suites.codevbench.similar_functions import block_rules, enclosing_function
from caretbench.syntax import ProjectAnalysis, SourceFile, Span, analyse
from caretbench.syntax.source import language_of

OWN_FIELD: Final = "caretbench"
"""Additional field with what the published layout has no place for; other readers skip it."""

TEST_FIELDS: Final = ("unit_test_ids", "item_dids", "item_ids")
"""Fields with the ids of tests: the paper prints ``item_ids``, its data have ``item_dids``."""

BLOCK_TYPES: Final[Mapping[BlockKind, str]] = {
    "method": "METHOD", "if": "IF", "for": "FOR", "while": "WHILE", "try": "TRY", "catch": "CATCH",
    "statement": "STATEMENT", "argument_list": "ARGUMENT_LIST", "partial_line": "PARTIAL_LINE", "comment": "COMMENT",
}  # fmt: skip
"""Types of blocks in rows, by kind; the last three are not among the paper's."""

KINDS: Final[Mapping[str, BlockKind]] = {name: kind for kind, name in BLOCK_TYPES.items()} | {
    "EXPRESSION": "statement", "BLOCK_COMMENT": "comment", "LINE_COMMENT": "comment",
}  # fmt: skip
"""Kinds of blocks, by type in rows."""

_ANY: Final = "any"
MODES: Final[Mapping[str, tuple[str, str]]] = {
    "prefix_suffix_full_complete_current_block_no_evidence": (FULL_BLOCK, "block"),
    "complete_current_header_inner_block_completion": (INNER_BLOCK, _ANY),
    "complete_current_header_empty_completion": (INNER_BLOCK, "empty"),
    "prefix_full_suffix_empty_complete_current_block_no_evidence": (INCOMPLETE_SUFFIX, "file_emptied"),
    "prefix_full_suffix_func_empty_complete_current_block_no_evidence": (INCOMPLETE_SUFFIX, "function_emptied"),
    "prefix_suffix_full_complete_current_block_with_repo_rag_oracle": (RAG, "block"),
}
"""Scenario and cut of the published files, by name without suffix."""


def line_key(path: str, data: bytes, start: int, end: int) -> str:
    """Return the key of bytes of a file: ``PATH#L3-L7``, lines counted from 1."""
    starts = [0, *(place + 1 for place, byte in enumerate(data) if byte == ord("\n"))]
    first, last = bisect.bisect_right(starts, start), bisect.bisect_right(starts, max(start, end - 1))
    return f"{path}#L{first}-L{last}"


def lines_of_key(key: str) -> tuple[str, int, int]:
    """Return path, first and last line of a key.

    Raises:
        ValueError: it is no key.
    """
    path, _, lines = key.rpartition("#L")
    first, _, last = lines.partition("-L")
    if not path or not first.isdecimal() or not last.isdecimal() or not 1 <= int(first) <= int(last):
        raise ValueError(f"{key!r} is no key of lines like a.py#L3-L7")
    return path, int(first), int(last)


def line_span(data: bytes, first: int, last: int) -> tuple[int, int]:
    """Return the bytes of lines without indentation before and line end after them.

    Raises:
        ValueError: the file has fewer lines.
    """
    lines = data.split(b"\n")
    if last > len(lines):
        raise ValueError(f"the file has {len(lines)} lines, not {last}")
    start = sum(len(line) + 1 for line in lines[: first - 1])
    text = b"\n".join(lines[first - 1 : last])
    return start + len(text) - len(text.lstrip(b" \t")), start + len(text.rstrip())


def read_test_names(path: Path) -> dict[str, str]:
    """Return the names of tests by id, of a published file ``test_metadata_funcname_passed_called.jsonl``.

    Raises:
        DataError: a row lacks ``did``, ``relative_path`` or ``func_path``.
    """
    found = {}
    for number, row in read_lines(path):
        missing = [name for name in ("did", "relative_path", "func_path") if name not in row]
        if missing:
            raise DataError(f"{path}:{number}: no {missing[0]}; expected a file of tests of the published data")
        found[str(row["did"])] = f"{row['relative_path']}::{row['func_path']}"
    return found


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


def to_rows(problems: Iterable[Problem], store: SnapshotStore | None = None) -> Iterator[dict[str, Any]]:
    """Yield one row for each problem.

    ``prefix``, ``suffix`` and ``middle`` are what is shown and the right answer; ``test_prefix``, ``test_suffix`` and
    ``test_middle`` are the file on which the tests run. The field ``caretbench`` holds labels, checks and the context.

    Raises:
        DataError: a problem is not in a file of a project that is in the store, or has no tests check.
    """
    store = store or SnapshotStore()
    for problem in problems:
        splice = file_splice(problem)
        data = store.get(splice.snapshot).read(splice.path)
        start, end = problem.released.get(BLOCK_SPAN, f"{splice.start}-{splice.end}").split("-")
        tests = list(tests_check(problem).tests)
        caret = problem.caret
        yield {
            "func_name": _function_key(splice.path, data, int(start), int(end)),
            "item_ids": tests,
            "unit_test_ids": tests,
            "block_key": line_key(splice.path, data, int(start), int(end)),
            "block_type": BLOCK_TYPES[problem.labels["block"]],  # type: ignore[index]
            "prompt": f"<filename>{splice.path}<fim_prefix>{caret.prefix}<fim_suffix>{caret.suffix}<fim_middle>",
            "prefix": caret.prefix,
            "suffix": caret.suffix,
            "middle": problem.reference,
            "test_prefix": visible_text(data[: splice.start]),
            "test_suffix": visible_text(data[splice.end :]),
            "test_middle": visible_text(data[splice.start : splice.end]),
            OWN_FIELD: problem.model_dump(mode="json", exclude={"reference": True, "shown": {"prefix", "suffix"}}),
        }


def write_rows_out(path: Path, problems: Iterable[Problem], store: SnapshotStore | None = None) -> int:
    """Write the rows of problems to a JSONL file and return their number; errors as in :func:`to_rows`."""
    rows = [json.dumps(row, ensure_ascii=False) + "\n" for row in to_rows(problems, store)]
    write_atomically(path, "".join(rows))
    return len(rows)


def _function_key(path: str, data: bytes, start: int, end: int) -> str:
    """Return the key of the function around a block; that of the block where none is known."""
    analysis = _analysed(path, data) if language_of(path) else None
    if analysis is not None:
        start, end = enclosing_function(analysis, path, (start, end))
    return line_key(path, data, start, end)


@lru_cache(maxsize=32)
def _analysed(path: str, data: bytes) -> ProjectAnalysis:
    return analyse([SourceFile(path, data)])
