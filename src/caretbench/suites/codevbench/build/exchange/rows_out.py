"""Rows in the published layout, of problems in files of stored projects."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.files import write_atomically
from caretbench.problem import Problem
from caretbench.projects.answer_requests import file_splice, tests_check
from caretbench.projects.file_spans import visible_text
from caretbench.suites.codevbench.build.exchange.published_layout import BLOCK_TYPES, OWN_FIELD, line_key
from caretbench.suites.codevbench.scenario_names import BLOCK_SPAN
from caretbench.suites.codevbench.similar_functions import enclosing_function
from caretbench.syntax import ProjectAnalysis, SourceFile, analyse
from caretbench.syntax.source import language_of


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
