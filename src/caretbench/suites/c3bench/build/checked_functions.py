"""Functions with tests: from rows of known layouts, and from pairs of Python files.

Layouts of rows are HumanEval-Infilling, DevBench's release and SAFIM, whose programs have input and output cases. Of
a pair, ``check_NAME.py`` has a function ``check_FUNCTION(candidate)`` for each tested function of ``NAME.py``. The
program of a function contains the imports of its file and the definitions that it refers to.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from caretbench.conventional.descriptions import SAFIM
from caretbench.conventional.rows import DataRow, read_problems
from caretbench.errors import UsageError
from caretbench.files import DataError, describe_validation_error
from caretbench.languages import language_of_grammar
from caretbench.problem import CasesCheck, ProgramCheck, Provenance
from caretbench.syntax.parser import PythonPositions, python_module


class FunctionTest(NamedTuple):
    """Test of a Python function: a text that defines ``check(candidate)``, and the function's name."""

    text: str
    entry_point: str

    @property
    def hidden(self) -> str:
        """Text behind a program that tests its function."""
        return f"\n\n{self.text}\n\ncheck({self.entry_point})\n"


class CheckedFunction(NamedTuple):
    """A function in a program, and the text that defines ``check(candidate)``, its tests, or the program's cases.

    ``program`` names the program that it is a part of, ``cluster`` what its program was written for; both are ``id``
    where they are empty.
    """

    id: str
    entry_point: str
    text: str
    test: str
    provenance: Provenance
    cases: CasesCheck | None = None
    program: str = ""
    cluster: str = ""

    @property
    def hidden_tests(self) -> str:
        """Text behind the program that runs its tests; empty if it has cases."""
        return "" if self.cases else self.function_test.hidden

    @property
    def function_test(self) -> FunctionTest:
        """Its test."""
        return FunctionTest(self.test, self.entry_point)

    @property
    def check(self) -> ProgramCheck | CasesCheck:
        """Check of the program."""
        return self.cases or ProgramCheck()


class SourceText(NamedTuple):
    """Text of a source file, or of a program; ``id`` names it in problems, ``tests`` is hidden behind the text.

    ``cases`` are the program's inputs and outputs, ``cluster`` names what it was written for; by default it is ``id``.
    """

    id: str
    language: str
    text: str
    provenance: Provenance
    tests: str = ""
    cases: CasesCheck | None = None
    cluster: str = ""

    @property
    def checks(self) -> tuple[ProgramCheck | CasesCheck, ...]:
        """Check of the program; none where it has no tests."""
        return (self.cases,) if self.cases else (ProgramCheck(),) if self.tests else ()


class _FunctionRow(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    task_id: str
    entry_point: str
    prompt: str
    canonical_solution: str
    test: str
    suffix: str = ""


def function_of_row(value: Mapping[str, Any], place: str, provenance: Provenance) -> CheckedFunction:
    """Return the function of one row; ``place`` is its file and line.

    Raises:
        DataError: the row lacks a field.
    """
    try:
        # Strictly, as JSON: a number in the place of a text is a fault of the file, not to be turned into one.
        row = _FunctionRow.model_validate_json(json.dumps(value), strict=True)
    except ValidationError as error:
        raise DataError(f"{place}: {describe_validation_error(error)}") from None
    text = row.prompt + row.canonical_solution + row.suffix
    parts = row.task_id.split("/")
    # The infilling file has the same function once for each of its middles; the name of a single middle is its last
    # part.
    is_middle = len(parts) > 2 and parts[0].endswith("Infilling")
    identity = "/".join(parts[1:3]) if is_middle else row.task_id
    return CheckedFunction(identity, row.entry_point, text, row.test, provenance)


CHECKS_PREFIX = "check_"


def unpaired_functions(text: str, checks: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the functions without a check, and of the checks without a function, in order."""
    names, checking = _function_names(text), _function_names(checks)
    checked = [name.removeprefix(CHECKS_PREFIX) for name in checking if name.startswith(CHECKS_PREFIX)]
    unknown = tuple(f"{CHECKS_PREFIX}{name}" for name in checked if name not in names)
    return tuple(candidate for candidate in names if candidate not in checked), unknown


def _function_names(text: str) -> list[str]:
    module = python_module(text)
    return (
        []
        if module is None
        else [statement.name for statement in module.body if isinstance(statement, ast.FunctionDef)]
    )


def paired_functions(identity: str, text: str, checks: str, provenance: Provenance) -> Iterator[CheckedFunction]:
    """Yield the tested functions of a file, which ``identity`` names; nothing if a text does not parse."""
    module, checking = python_module(text), python_module(checks)
    if module is None or checking is None:
        return
    functions = {statement.name for statement in module.body if isinstance(statement, ast.FunctionDef)}
    for statement in checking.body:
        if isinstance(statement, ast.FunctionDef) and statement.name.removeprefix(CHECKS_PREFIX) in functions:
            name = statement.name.removeprefix(CHECKS_PREFIX)
            # A helper of the checks may have the name of a function; only `check_FUNCTION` tests it.
            if name != statement.name:
                test = f"{_reduced(checks, checking, statement.name)}\n\ncheck = {statement.name}\n"
                stem = PurePosixPath(identity).with_suffix("")
                yield CheckedFunction(f"{stem}/{name}", name, _reduced(text, module, name), test, provenance)


def _reduced(text: str, module: ast.Module, name: str) -> str:
    """Return a program with one function of a module: imports, what the function refers to, and the function."""
    needed = _needed(module, name)
    used = {node.id for statement in needed for node in ast.walk(statement) if isinstance(node, ast.Name)}
    position = PythonPositions(text)
    parts = []
    for definition in module.body:
        if definition in needed or (isinstance(definition, ast.Import | ast.ImportFrom) and _imports(definition, used)):
            line = min([definition.lineno, *(each.lineno for each in getattr(definition, "decorator_list", ()))])
            end = position(definition.end_lineno or line, 0)
            parts.append((definition, text[position(line, 0) : end] + text[end:].split("\n", 1)[0]))
    return _joined(parts)


def _needed(module: ast.Module, name: str) -> set[ast.stmt]:
    """Return the definitions of a module that a function refers to, the function among them."""
    defined: dict[str, list[ast.stmt]] = {}
    for definition in module.body:
        for defined_name in _defined(definition):
            defined.setdefault(defined_name, []).append(definition)
    needed: set[ast.stmt] = set()
    waiting = list(defined[name])
    while waiting:
        statement = waiting.pop()
        if statement not in needed:
            needed.add(statement)
            names = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
            waiting += [each for defined_name in sorted(names & defined.keys()) for each in defined[defined_name]]
    return needed


def _imports(statement: ast.Import | ast.ImportFrom, used: set[str]) -> bool:
    # What a star binds is not known without importing it, and a future import changes the syntax of the rest.
    if isinstance(statement, ast.ImportFrom) and (statement.module == "__future__" or statement.names[0].name == "*"):
        return True
    return any((alias.asname or alias.name).partition(".")[0] in used for alias in statement.names)


def _joined(parts: list[tuple[ast.stmt, str]]) -> str:
    text = ""
    before: ast.stmt | None = None
    for statement, part in parts:
        if before is not None:
            apart = isinstance(statement, _DEFINITIONS) or isinstance(before, _DEFINITIONS)
            same = isinstance(statement, ast.Import | ast.ImportFrom) == isinstance(before, ast.Import | ast.ImportFrom)
            text += "\n\n\n" if apart else "\n" if same else "\n\n"
        text += part
        before = statement
    return text + "\n"


_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _defined(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement of a module binds or changes; an import alone is looked at by itself."""
    if isinstance(statement, _DEFINITIONS):
        yield statement.name
        return
    if isinstance(statement, ast.Import | ast.ImportFrom) or _is_main_guard(statement):
        return
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.value, ast.Name):
            if isinstance(node.ctx, ast.Store) or isinstance(statement, ast.Expr):  # TABLE["a"] = 1, TABLE.update(…)
                yield node.value.id
        elif isinstance(node, ast.Import | ast.ImportFrom):  # below try or if
            yield from ((each.asname or each.name).partition(".")[0] for each in node.names)


def _is_main_guard(statement: ast.stmt) -> bool:
    test = statement.test if isinstance(statement, ast.If) else None
    return isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__"


_HOLE = re.compile(r"\{\{\s*completion\s*\}\}")
_HUMANEVAL = frozenset({"task_id", "entry_point", "prompt", "canonical_solution", "test"})
_DEVBENCH = frozenset({"prefix", "golden_completion", "suffix", "assertions"})
_SAFIM = frozenset({"task_id", "lang", "eval_prompt", "ground_truth"})

LAYOUTS = {"HumanEval-Infilling": _HUMANEVAL, "DevBench": _DEVBENCH, "SAFIM": _SAFIM}
"""Fields that tell the layouts of rows apart."""


def program_row(row: Mapping[str, Any], layout: str, default_language: str, provenance: Provenance) -> SourceText:
    """Return the program of a row of DevBench's or SAFIM's layout; its id is the row's, empty if it has none.

    Raises:
        UsageError: a field has another type, the language is unknown, or the row has no hole.
    """
    names = LAYOUTS[layout]
    wrong = sorted(name for name in names if not isinstance(row[name], str))
    if wrong:
        raise UsageError(f"{wrong[0]}: expected a text")
    if layout == "SAFIM":
        before, *after = _HOLE.split(row["eval_prompt"], maxsplit=1)
        if not after:
            raise UsageError("eval_prompt: no {{completion}}")
        identity, language = str(row["task_id"]), _language(str(row["lang"]))
        # 84 % of its programs have CRLF, some mixed with LF; its evaluator deletes it.
        text = f"{before}{row['ground_truth']}{after[0]}".replace("\r\n", "\n")
        # Its API calls, and rows that somebody wrote in its layout, may have neither a statement nor cases.
        if not row.get("unit_tests") or not isinstance(row.get("prompt"), str):
            return SourceText(identity, language, text, provenance)
        [problem] = read_problems(SAFIM, iter([DataRow("unit_tests", {"split": "block", **row})]))
        cases = next(check for check in problem.checks if isinstance(check, CasesCheck))
        return SourceText(identity, language, text, provenance, cases=cases, cluster=problem.cluster)
    name = str(row.get("language") or default_language)
    text = f"{row['prefix']}{row['golden_completion']}{row['suffix']}"
    identity = str(row.get("id") or row.get("testcase_id") or "")
    return SourceText(identity, _language(name), text, provenance, row["assertions"])


def _language(name: str) -> str:
    try:
        return language_of_grammar(name.lower()).name
    except UsageError:
        raise UsageError(f"unknown language {name!r}") from None


def case_functions(program: SourceText) -> list[CheckedFunction]:
    """Return the functions of a Python program with cases: each is decided by the cases of the whole program."""
    module = python_module(program.text) if program.language == "python" and program.cases else None
    functions = (statement for statement in module.body if isinstance(statement, ast.FunctionDef)) if module else ()
    known = (program.provenance, program.cases, program.id, program.cluster)
    # Of two functions with one name the program has the last.
    names = dict.fromkeys(function.name for function in functions)
    return [CheckedFunction(f"{program.id}/{name}", name, program.text, "", *known) for name in names]


def checked_function(program: SourceText) -> CheckedFunction | None:
    """Return the function that the assertions of a Python program call; None if they use anything else of it.

    The assertions become the body of a function ``check`` whose parameter has the function's name.
    """
    module, tests = python_module(program.text), python_module(program.tests)
    if program.language != "python" or module is None or tests is None or not tests.body:
        return None
    functions = {statement.name for statement in module.body if isinstance(statement, ast.FunctionDef)}
    names = {node.id for node in ast.walk(tests) if isinstance(node, ast.Name)}
    defined = {
        name
        for statement in module.body
        for name in ([statement.name] if isinstance(statement, ast.FunctionDef | ast.ClassDef) else _targets(statement))
    }
    used = names & defined
    # Assertions that also use a class or a constant of the program check more than one function, and could not be
    # called with another one.
    if len(used) != 1 or not used <= functions:
        return None
    (name,) = used
    # The parameter has the function's name, so that the assertions call what is given to `check` without a change.
    body = "\n".join(f"    {line}" if line.strip() else line for line in program.tests.strip("\n").split("\n"))
    return CheckedFunction(program.id, name, program.text, f"def check({name}):\n{body}\n", program.provenance)


def _targets(statement: ast.stmt) -> set[str]:
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {(alias.asname or alias.name).partition(".")[0] for alias in statement.names}
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
