"""Functions with tests from pairs of Python files: ``NAME.py`` and ``check_NAME.py``.

``check_NAME.py`` has a function ``check_FUNCTION(candidate)`` for each tested function of ``NAME.py``. The program of a
function contains the imports of its file and the definitions that it refers to.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import PurePosixPath

from caretbench.problem import Provenance
from caretbench.suites.c3bench.checked_functions import CheckedFunction
from caretbench.syntax.python_module import PythonPositions, python_module

CHECKS_PREFIX = "check_"


def paired_functions(identity: str, text: str, checks: str, provenance: Provenance) -> Iterator[CheckedFunction]:
    """Yield the tested functions of a file; nothing if one of the two texts does not parse.

    Args:
        identity: Name of the file in problems.
        text: Text of the file.
        checks: Text of the file with the checks.
        provenance: Origin.
    """
    module, checking = python_module(text), python_module(checks)
    if module is None or checking is None:
        return
    functions = {one.name for one in module.body if isinstance(one, ast.FunctionDef)}
    for one in checking.body:
        if isinstance(one, ast.FunctionDef) and one.name.removeprefix(CHECKS_PREFIX) in functions:
            name = one.name.removeprefix(CHECKS_PREFIX)
            if name != one.name:
                test = f"{_reduced(checks, checking, one.name)}\n\ncheck = {one.name}\n"
                stem = PurePosixPath(identity).with_suffix("")
                yield CheckedFunction(f"{stem}/{name}", name, _reduced(text, module, name), test, provenance)


def _reduced(text: str, module: ast.Module, name: str) -> str:
    """Return a program with one function of a module: imports, what the function refers to, and the function."""
    needed = _needed(module, name)
    used = {one.id for statement in needed for one in ast.walk(statement) if isinstance(one, ast.Name)}
    position = PythonPositions(text)
    parts = []
    for one in module.body:
        if one in needed or (isinstance(one, ast.Import | ast.ImportFrom) and _imports(one, used)):
            line = min([one.lineno, *(each.lineno for each in getattr(one, "decorator_list", ()))])
            end = position(one.end_lineno or line, 0)
            parts.append((one, text[position(line, 0) : end] + text[end:].split("\n", 1)[0]))
    return _joined(parts)


def _needed(module: ast.Module, name: str) -> set[ast.stmt]:
    """Return the definitions of a module that a function refers to, the function among them."""
    defined = {found: one for one in module.body for found in _defined(one)}
    needed: set[ast.stmt] = set()
    waiting = [name]
    while waiting:
        statement = defined[waiting.pop()]
        if statement not in needed:
            needed.add(statement)
            names = {one.id for one in ast.walk(statement) if isinstance(one, ast.Name)}
            waiting += sorted(names & defined.keys())
    return needed


def _imports(statement: ast.Import | ast.ImportFrom, used: set[str]) -> bool:
    return any((one.asname or one.name).partition(".")[0] in used for one in statement.names)


def _joined(parts: list[tuple[ast.stmt, str]]) -> str:
    text = ""
    before: ast.stmt | None = None
    for one, part in parts:
        if before is not None:
            apart = isinstance(one, _DEFINITIONS) or isinstance(before, _DEFINITIONS)
            same = isinstance(one, ast.Import | ast.ImportFrom) == isinstance(before, ast.Import | ast.ImportFrom)
            text += "\n\n\n" if apart else "\n" if same else "\n\n"
        text += part
        before = one
    return text + "\n"


_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _defined(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, _DEFINITIONS):
        yield statement.name
    elif isinstance(statement, ast.Assign | ast.AnnAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        yield from (one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name))
