"""Packages that the test sessions of ``noxfile.py`` install, read from its syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from caretbench.build.projects.setup.project_tables import read_text
from caretbench.build.projects.setup.python.literal_values import (
    LiteralNames,
    literal_texts,
    module_names,
    parsed_module,
)
from caretbench.build.projects.setup.python.need_names import (
    PythonNeeds,
    is_other_work,
    joined_needs,
    names_of_tests,
    need_rules,
)
from caretbench.build.projects.setup.python.pip_arguments import installer_needs, pip_arguments
from caretbench.execution.workspaces.snapshot_store import Snapshot

_INSTALL: Final = frozenset({"install"})
_RUN: Final = frozenset({"run", "run_always", "run_install"})
Session = ast.FunctionDef | ast.AsyncFunctionDef


def nox_needs(snapshot: Snapshot) -> PythonNeeds:
    """Return what test sessions install: those named after tests, else those that call a test runner."""
    module = parsed_module(read_text(snapshot, "noxfile.py"))
    if module is None:
        return PythonNeeds()
    names = module_names(module)
    sessions = dict(_sessions(module))
    chosen = names_of_tests(sessions) or [
        name for name, session in sessions.items() if not is_other_work(name) and _calls_runner(session, names)
    ]
    return joined_needs(needs for name in chosen for needs in _session_needs(sessions[name], names))


def _sessions(module: ast.Module) -> Iterator[tuple[str, Session]]:
    for statement in module.body:
        if not isinstance(statement, Session) or not statement.args.args:
            continue
        for decorator in statement.decorator_list:
            call = decorator if isinstance(decorator, ast.Call) else None
            if _last_name(call.func if call else decorator) == "session":
                stated = (one.value for one in call.keywords if one.arg == "name") if call else ()
                named = [one.value for one in stated if isinstance(one, ast.Constant)]
                yield str(named[0]) if named else statement.name, statement


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _calls(session: Session) -> Iterator[tuple[str, ast.Call]]:
    """Yield the calls of methods of a session, with their names."""
    own = session.args.args[0].arg
    for node in ast.walk(session):
        if not isinstance(node, ast.Call):
            continue
        method = node.func
        if isinstance(method, ast.Attribute) and isinstance(method.value, ast.Name) and method.value.id == own:
            yield method.attr, node


def _calls_runner(session: Session, names: LiteralNames) -> bool:
    lines = (" ".join(_words(call, names)) for method, call in _calls(session) if method in _RUN)
    return any(need_rules().runner.search(line) for line in lines)


def _words(call: ast.Call, names: LiteralNames) -> list[str]:
    return [text for argument in call.args for text in literal_texts(argument, names)]


def _session_needs(session: Session, names: LiteralNames) -> Iterator[PythonNeeds]:
    for method, call in _calls(session):
        words = _words(call, names)
        if method in _INSTALL:
            yield pip_arguments(words)
            yield PythonNeeds(groups=tuple(_group_calls(call, names)))
        elif method in _RUN:
            yield installer_needs(" ".join(f"'{word}'" for word in words if "'" not in word))


def _group_calls(call: ast.Call, names: LiteralNames) -> Iterator[str]:
    """Yield the groups of ``nox.project.dependency_groups(table, "group")`` among the arguments of a call."""
    for node in (inner for argument in call.args for inner in ast.walk(argument)):
        if isinstance(node, ast.Call) and _last_name(node.func) == "dependency_groups":
            yield from (text for argument in node.args[1:] for text in literal_texts(argument, names))
