"""Programs in rows of JSONL files, by layout: HumanEval-Infilling, DevBench's release, SAFIM."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from caretbench.languages import language_of_grammar
from caretbench.problem import Provenance
from caretbench.suites.c3bench.checked_functions import CheckedFunction
from caretbench.syntax.parser import python_module

_HOLE = re.compile(r"\{\{\s*completion\s*\}\}")
_HUMANEVAL = frozenset({"task_id", "entry_point", "prompt", "canonical_solution", "test"})
_DEVBENCH = frozenset({"prefix", "golden_completion", "suffix", "assertions"})
_SAFIM = frozenset({"task_id", "lang", "eval_prompt", "ground_truth"})

LAYOUTS = {"HumanEval-Infilling": _HUMANEVAL, "DevBench": _DEVBENCH, "SAFIM": _SAFIM}
"""Fields that tell the layouts of rows apart."""


class ProgramRow(NamedTuple):
    """Complete program of a row, its language, and its tests: a text with assertions, empty if there are none."""

    id: str
    language: str
    text: str
    tests: str = ""


def layout_of(row: Mapping[str, Any]) -> str | None:
    """Return the name of a row's layout; None if it is none of these."""
    return next((name for name, fields in LAYOUTS.items() if fields <= row.keys()), None)


def program_row(row: Mapping[str, Any], layout: str, default_language: str) -> ProgramRow:
    """Return the program of a row of DevBench's or SAFIM's layout.

    Raises:
        ValueError: a field has another type, the language is unknown, or the row has no hole.
    """
    names = LAYOUTS[layout]
    wrong = sorted(name for name in names if not isinstance(row[name], str))
    if wrong:
        raise ValueError(f"{wrong[0]}: expected a text")
    if layout == "SAFIM":
        before, hole, after = _split(row["eval_prompt"])
        if not hole:
            raise ValueError("eval_prompt: no {{completion}}")
        name = str(row["lang"])
        return ProgramRow(str(row["task_id"]), _language(name), before + row["ground_truth"] + after)
    name = str(row.get("language") or default_language)
    text = f"{row['prefix']}{row['golden_completion']}{row['suffix']}"
    return ProgramRow(str(row.get("id") or row.get("testcase_id") or ""), _language(name), text, row["assertions"])


def _split(text: str) -> tuple[str, bool, str]:
    parts = _HOLE.split(text, maxsplit=1)
    return parts[0], len(parts) == 2, parts[-1]


def _language(name: str) -> str:
    try:
        return language_of_grammar(name.lower()).name
    except KeyError:
        raise ValueError(f"unknown language {name!r}") from None


def checked_function(program: ProgramRow, provenance: Provenance) -> CheckedFunction | None:
    """Return the function that the assertions of a Python program call; None if they use anything else of it.

    The assertions become the body of a function ``check`` whose parameter has the function's name.
    """
    module, tests = python_module(program.text), python_module(program.tests)
    if program.language != "python" or module is None or tests is None or not tests.body:
        return None
    functions = {one.name for one in module.body if isinstance(one, ast.FunctionDef)}
    names = {one.id for one in ast.walk(tests) if isinstance(one, ast.Name)}
    defined = {
        name
        for one in module.body
        for name in ([one.name] if isinstance(one, ast.FunctionDef | ast.ClassDef) else _targets(one))
    }
    used = names & defined
    if len(used) != 1 or not used <= functions:
        return None
    (name,) = used
    body = "\n".join(f"    {line}" if line.strip() else line for line in program.tests.strip("\n").split("\n"))
    return CheckedFunction(program.id, name, program.text, f"def check({name}):\n{body}\n", provenance)


def _targets(statement: ast.stmt) -> set[str]:
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {(one.asname or one.name).partition(".")[0] for one in statement.names}
    return {one.id for one in ast.walk(statement) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
