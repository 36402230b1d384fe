"""Published layout of rows: names of fields and blocks, keys of lines, and the files of scenarios and tests."""

from __future__ import annotations

import bisect
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from caretbench.errors import DataError
from caretbench.files import read_lines
from caretbench.suites.codevbench.code_blocks import BlockKind
from caretbench.suites.codevbench.scenario_names import FULL_BLOCK, INCOMPLETE_SUFFIX, INNER_BLOCK, RAG

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
