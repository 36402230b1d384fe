"""Reasons to refuse a written test by its text alone, without running it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import Final

from caretbench.build.project_tasks.tester.answer_tests import MAX_NAME, WrittenTest, redacted_name
from caretbench.syntax.parser import python_module

_RUNNER_TEXT: Final = re.compile(
    r"\b(?:os\._exit|os\.abort|os\.kill(?:pg)?|_exit|settrace|setprofile|ctypes|sitecustomize|conftest|PYTEST_ADDOPTS"
    r"|_pytest|pytest\.(?:Function|Item|Module|Class|Session|Config|main|hookimpl|hookspec)"
    r"|pluggy|def\s+pytest_\w+|setattr\(\s*(?:pytest|unittest)"
    r"|sys\.modules|builtins\.(?:exec|eval|__import__))\b|\bTestCase\.\w+\s*=(?!=)|caretbench",
    re.IGNORECASE,
)
"""Texts by which a test could end or forge the run of the others."""
_RUNNER_NAMES: Final = frozenset({"exec", "eval", "__import__", "__builtins__", "importlib", "gc"})
_SOURCE_TEXT: Final = re.compile(
    r"\b(?:__code__|__globals__|linecache|getsource\w*|findsource|_getframe|(?:f|gi|cr|ag)_code"
    r"|co_(?:names|consts|varnames|code|cellvars|freevars|lines|linetable|firstlineno))\b|\.__file__\b"
)
"""Texts by which a test could read how the code is written."""
_SOURCE_MODULES: Final = frozenset({"inspect", "dis", "tokenize"})
_ASSERTING: Final = re.compile(r"assert.*|fail|raises|warns|deprecated_call", re.IGNORECASE)


def refusal(test: WrittenTest) -> str:
    """Return the reason to refuse a test without running it, as ``kind: explanation``; empty if there is none."""
    if unfit := name_fault(test.name):
        return unfit
    module = python_module(test.source)
    if module is None:
        return "asserts_nothing: it does not parse"
    nodes = list(ast.walk(module))
    names = set(_names(nodes))
    if runner := [*_found(_RUNNER_TEXT, test), *sorted(names & _RUNNER_NAMES)]:
        return f"touches_the_runner: it names {runner[0]}"
    if source := [*_found(_SOURCE_TEXT, test), *sorted(set(_imported(nodes)) & _SOURCE_MODULES)]:
        return f"reads_the_source: it names {source[0]}"
    return "" if any(map(_asserts, nodes)) else "asserts_nothing: it has no assertion"


def name_fault(name: str) -> str:
    """Return the reason why files and terminals should not show a test's name whole; empty if they may."""
    if len(name) > MAX_NAME:
        return f"unfit_name: it has more than {MAX_NAME} characters, with the values of parameters"
    return "unfit_name: it contains what looks like a key" if redacted_name(name) != name else ""


def _found(texts: re.Pattern[str], test: WrittenTest) -> Iterator[str]:
    found = texts.search(test.source)
    if found is not None:
        yield found[0]


def _names(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the names that a module reads and the modules that it imports; ``eval`` of ``shop.eval`` is none."""
    nodes = list(nodes)
    yield from (node.id for node in nodes if isinstance(node, ast.Name))
    yield from _imported(nodes)


def _imported(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the first parts of the names of imported modules."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (one.name.partition(".")[0] for one in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def _asserts(node: ast.AST) -> bool:
    if isinstance(node, ast.Assert):
        return True
    called = node.func if isinstance(node, ast.Call) else None
    name = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
    return _ASSERTING.fullmatch(name) is not None
