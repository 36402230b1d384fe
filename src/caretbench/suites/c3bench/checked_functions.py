"""Python functions with tests, from files in the layout of HumanEval-Infilling."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

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
        try:
            row = _FunctionRow.model_validate_json(json.dumps(value), strict=True)
        except ValidationError as error:
            raise DataError(f"{path}:{number}: {describe_validation_error(error)}") from None
        name = _function_id(row.task_id)
        if name not in found:
            text = row.prompt + row.canonical_solution + row.suffix
            found[name] = CheckedFunction(name, row.entry_point, text, row.test, provenance)
    return list(found.values())


def _function_id(task_id: str) -> str:
    parts = task_id.split("/")
    if len(parts) > 2 and parts[0].endswith("Infilling"):
        return "/".join(parts[1:3])
    return task_id
