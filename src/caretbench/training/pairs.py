"""Training pairs: an instruction, the text around a place, and the text that belongs there; and corpora of any rows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from caretbench.errors import DataError
from caretbench.files import read_lines
from caretbench.problem import Row
from caretbench.syntax.source import language_of

PAIRS_FILE: Final = "pairs.jsonl"
MANIFEST_FILE: Final = "pairs.json"

Boundary = Literal["character", "token", "line", "block", "instruction", "rewrite"]
"""Place where a middle begins and ends; ``instruction``: a middle with the instruction for it, by C3-Bench or a model.

``rewrite``: a rewrite of C3-Bench in the place of what the file has there, with its instruction.
"""


TOKEN: Final = re.compile(r"\w+|[^\w\s]")
"""A word, or one sign. Blanks and line ends are no tokens."""


class TrainingPair(Row):
    """A row of training data: ``prefix``, ``middle`` and ``suffix`` joined are a file of ``source`` as it stands.

    ``id`` is made of source, path and place; ``licence`` is the SPDX expression of the source. ``cut`` is True where
    the file was longer than the bound: then they are a part of it. ``author`` is the model that chose the middle.
    The middle of a ``rewrite`` is not in the file.
    """

    id: str
    language: str
    source: str
    path: str
    licence: str
    boundary: Boundary
    instruction: str | None = None
    prefix: str
    middle: str
    suffix: str
    cut: bool = False
    author: str | None = None


class CorpusRow(NamedTuple):
    """A row of a corpus: its id, its text, and its line as it stands (None for a file of source)."""

    id: str
    text: str
    line: bytes | None = None


def read_corpus(path: Path) -> Iterator[CorpusRow]:
    """Yield the rows of a corpus: of JSONL files (``.gz`` too), or else of the source files of a folder.

    The text of a row is ``prefix``, ``middle`` and ``suffix`` joined, and its other texts on lines of their own.

    Raises:
        DataError: a line is no JSON object, or there is nothing to read; the message has file and line.
    """
    if not path.exists():
        raise DataError(f"{path}: no such file or folder")
    if path.is_file():
        yield from _rows(path)
        return
    # What a decontamination wrote beside the rows is no part of the corpus.
    files = [path / PAIRS_FILE] if (path / PAIRS_FILE).is_file() else []
    files = files or sorted(one for one in path.rglob("*") if one.name.endswith((".jsonl", ".jsonl.gz")))
    if files:
        for file in files:
            yield from _rows(file)
        return
    empty = True
    for file in sorted(path.rglob("*")):
        if language_of(file.name) is not None and file.is_file():
            empty = False
            yield CorpusRow(file.relative_to(path).as_posix(), file.read_bytes().decode("utf-8", "replace"))
    if empty:
        raise DataError(f"{path}: no rows (.jsonl, .jsonl.gz) and no source files")


def _rows(path: Path) -> Iterator[CorpusRow]:
    for number, row in read_lines(path):
        yield CorpusRow(str(row.get("id", number)), _text(row), json.dumps(row, ensure_ascii=False).encode() + b"\n")


def _text(row: dict[str, Any]) -> str:
    parts = ("prefix", "middle", "suffix")
    joined = "".join(value for name in parts if isinstance(value := row.get(name), str))
    return "\n".join((joined, *(text for name, value in row.items() if name not in parts for text in _texts(value))))


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts of a JSON value, also of messages and of lists of them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one)
