"""Rewrites: changes of an implementation that keep its behaviour, and the middles that they change.

A middle is a list of statements of a Python function. Each rewrite has guards, which ask questions about the middle,
and a category.
"""

from __future__ import annotations

import ast
import builtins
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Literal, NamedTuple

from pydantic import TypeAdapter

from caretbench.files import read_packaged_toml
from caretbench.problem import Row

Nodes = ast.AST | Sequence[ast.AST]


def nodes_of(nodes: Nodes) -> Iterable[ast.AST]:
    """Yield a node, or several, and all nodes in them."""
    for node in [nodes] if isinstance(nodes, ast.AST) else nodes:
        yield from ast.walk(node)


def stored(nodes: Nodes) -> set[str]:
    """Return the names that are assigned, deleted or defined."""
    names = {one.id for one in nodes_of(nodes) if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load)}
    return names | {one.name for one in nodes_of(nodes) if isinstance(one, ast.FunctionDef | ast.ClassDef)}


def loaded(nodes: Nodes) -> set[str]:
    """Return the names that are read."""
    return set(_loads(nodes))


def _loads(nodes: Nodes) -> Counter[str]:
    return Counter(one.id for one in nodes_of(nodes) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load))


def contains(nodes: Nodes, *types: type[ast.AST]) -> bool:
    """Return whether a node of one of the types is in the nodes."""
    return any(isinstance(one, types) for one in nodes_of(nodes))


class PythonMiddle(NamedTuple):
    """Run of statements of a function: ``function`` and ``module`` contain it, ``is_tail`` if nothing follows it."""

    statements: tuple[ast.stmt, ...]
    function: ast.FunctionDef
    module: ast.Module
    is_tail: bool

    def fresh(self, name: str) -> str | None:
        """Return the name, or None if the module uses it already."""
        used = {one.id for one in ast.walk(self.module) if isinstance(one, ast.Name)}
        used |= {one.arg for one in ast.walk(self.module) if isinstance(one, ast.arg)}
        used |= {one.name for one in ast.walk(self.module) if isinstance(one, ast.FunctionDef | ast.ClassDef)}
        return None if name in used or hasattr(builtins, name) else name

    def read_outside(self, nodes: Sequence[ast.stmt]) -> set[str]:
        """Return the names that the function reads outside of some of its statements."""
        return set(_loads(self.function) - _loads(nodes))

    @property
    def parameters(self) -> set[str]:
        """Names of the function's parameters."""
        return {one.arg for one in ast.walk(self.function.args) if isinstance(one, ast.arg)}

    def replaced(self, start: int, end: int, text: str) -> list[ast.stmt]:
        """Return the statements with those from ``start`` to ``end`` replaced by a text's statements."""
        return [*self.statements[:start], *ast.parse(text).body, *self.statements[end:]]


def text_of(node: ast.AST | Sequence[ast.AST], margin: int = 0) -> str:
    """Return the text of a node, or of statements one below the other, each line indented by ``margin`` steps."""
    nodes = [node] if isinstance(node, ast.AST) else node
    lines = "\n".join(ast.unparse(one) for one in nodes).split("\n")
    return "\n".join("    " * margin + line if line else line for line in lines)


Category = Literal["structural", "algorithmic", "control_flow", "parameter"]
_MODULES = ("control_flow", "algorithms")


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
    table = read_packaged_toml("caretbench.suites.c3bench.implementations", "rewrites.toml")
    return TypeAdapter(dict[str, RewriteEntry]).validate_python(table)
