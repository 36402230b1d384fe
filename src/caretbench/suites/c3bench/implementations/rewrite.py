"""Registry of rewrites: changes of an implementation that keep its behaviour, each with guards and a category."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module, resources
from typing import Literal, NamedTuple

from pydantic import TypeAdapter

from caretbench.problem import Row
from caretbench.suites.c3bench.implementations.middle import PythonMiddle

Category = Literal["structural", "algorithmic", "control_flow", "parameter"]
_MODULES = ("control_flow", "loops", "algorithms", "structures", "parameters")


class Rewritten(NamedTuple):
    """Rewritten statements, and the words that fill the placeholders of predicate and instruction."""

    statements: list[ast.stmt]
    words: Mapping[str, str] = {}


RewriteFunction = Callable[[PythonMiddle], Iterator[Rewritten]]


class RewriteEntry(Row):
    """Table entry of a rewrite: its category, predicate and instructions.

    ``requires`` and ``forbids`` name features (:func:`features`); ``instructions`` are wordings of one instruction.
    Placeholders in braces are filled by the rewrite.
    """

    category: Category
    requires: tuple[str, ...]
    forbids: tuple[str, ...] = ()
    instructions: tuple[str, ...]


_FUNCTIONS: dict[str, RewriteFunction] = {}


def rewrite(function: RewriteFunction) -> RewriteFunction:
    """Register a rewrite under its function's name; the table must have an entry for it."""
    _FUNCTIONS[function.__name__] = function
    return function


@cache
def rewrites() -> Mapping[str, RewriteFunction]:
    """Return all rewrites by name."""
    for module in _MODULES:
        import_module(f"caretbench.suites.c3bench.implementations.{module}")
    return dict(_FUNCTIONS)


@cache
def rewrite_entries() -> Mapping[str, RewriteEntry]:
    """Return the table of rewrites by name."""
    text = resources.files("caretbench.suites.c3bench.implementations").joinpath("rewrites.toml").read_text("utf-8")
    return TypeAdapter(dict[str, RewriteEntry]).validate_python(tomllib.loads(text))
