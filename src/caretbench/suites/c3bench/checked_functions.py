"""Python functions with tests, from files in the layout of HumanEval-Infilling."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from caretbench.files import DataError, describe_validation_error, read_lines
from caretbench.problem import Provenance


class CheckedFunction(NamedTuple):
    """A function in a program, and the text that defines ``check(candidate)``, its tests."""

    id: str
    entry_point: str
    text: str
    test: str
    provenance: Provenance


class _FunctionRow(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    task_id: str
    entry_point: str
    prompt: str
    canonical_solution: str
    test: str
    suffix: str = ""


def read_functions(path: Path, provenance: Provenance) -> list[CheckedFunction]:
    """Return the functions of a JSONL file (``.gz`` too), each once; its first row counts.

    A row's program is ``prompt + canonical_solution + suffix``; its function is named by ``task_id`` without the first
    part and without the part of a single middle: ``HumanEval/0`` of ``SingleLineInfilling/HumanEval/0/L0``.

    Raises:
        DataError: a row lacks a field; the message has file and line.
    """
    found: dict[str, CheckedFunction] = {}
    for number, value in read_lines(path):
        function = function_of_row(value, f"{path}:{number}", provenance)
        found.setdefault(function.id, function)
    return list(found.values())


def function_of_row(value: Mapping[str, Any], place: str, provenance: Provenance) -> CheckedFunction:
    """Return the function of one row; ``place`` is its file and line.

    Raises:
        DataError: the row lacks a field.
    """
    try:
        row = _FunctionRow.model_validate_json(json.dumps(value), strict=True)
    except ValidationError as error:
        raise DataError(f"{place}: {describe_validation_error(error)}") from None
    text = row.prompt + row.canonical_solution + row.suffix
    return CheckedFunction(_function_id(row.task_id), row.entry_point, text, row.test, provenance)


def _function_id(task_id: str) -> str:
    parts = task_id.split("/")
    if len(parts) > 2 and parts[0].endswith("Infilling"):
        return "/".join(parts[1:3])
    return task_id
