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
from caretbench.syntax.parser import PythonPositions, python_module

CHECKS_PREFIX = "check_"


def unpaired_functions(text: str, checks: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the functions without a check, and of the checks without a function, in order."""
    names, checking = _function_names(text), _function_names(checks)
    tested = {one.removeprefix(CHECKS_PREFIX) for one in checking if one.startswith(CHECKS_PREFIX)}
    unchecked = tuple(one for one in names if one not in tested)
    unknown = (one for one in checking if one.startswith(CHECKS_PREFIX))
    return unchecked, tuple(one for one in unknown if one.removeprefix(CHECKS_PREFIX) not in names)


def _function_names(text: str) -> list[str]:
    module = python_module(text)
    return [] if module is None else [one.name for one in module.body if isinstance(one, ast.FunctionDef)]


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
    defined: dict[str, list[ast.stmt]] = {}
    for one in module.body:
        for found in _defined(one):
            defined.setdefault(found, []).append(one)
    needed: set[ast.stmt] = set()
    waiting = list(defined[name])
    while waiting:
        statement = waiting.pop()
        if statement not in needed:
            needed.add(statement)
            names = {one.id for one in ast.walk(statement) if isinstance(one, ast.Name)}
            waiting += [each for found in sorted(names & defined.keys()) for each in defined[found]]
    return needed


def _imports(statement: ast.Import | ast.ImportFrom, used: set[str]) -> bool:
    if isinstance(statement, ast.ImportFrom) and (statement.module == "__future__" or statement.names[0].name == "*"):
        return True
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
    """Yield the names that a statement of a module binds or changes; an import alone is looked at by itself."""
    if isinstance(statement, _DEFINITIONS):
        yield statement.name
        return
    if isinstance(statement, ast.Import | ast.ImportFrom) or _is_main_guard(statement):
        return
    for one in ast.walk(statement):
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
            yield one.id
        elif isinstance(one, ast.Subscript | ast.Attribute) and isinstance(one.value, ast.Name):
            if isinstance(one.ctx, ast.Store) or isinstance(statement, ast.Expr):  # TABLE["a"] = 1, TABLE.update(…)
                yield one.value.id
        elif isinstance(one, ast.Import | ast.ImportFrom):  # below try or if
            yield from ((each.asname or each.name).partition(".")[0] for each in one.names)


def _is_main_guard(statement: ast.stmt) -> bool:
    test = statement.test if isinstance(statement, ast.If) else None
    return isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__"
