"""Middles of Python functions as lists of statements, and questions that guards of rewrites ask about them."""

from __future__ import annotations

import ast
import builtins
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

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


def leaves_loop(body: Sequence[ast.stmt]) -> bool:
    """Return whether a loop's body ends the loop or the function, or skips to the next round."""
    return contains(body, ast.Break, ast.Continue, ast.Return, ast.Yield, ast.YieldFrom)


def is_plain_name(node: ast.expr) -> bool:
    """Return whether an expression is a name."""
    return isinstance(node, ast.Name)


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


def renamed(nodes: Sequence[ast.stmt], names: dict[str, str]) -> list[ast.stmt]:
    """Return copies of statements in which names are replaced."""
    module = ast.parse(text_of(nodes))
    for one in ast.walk(module):
        if isinstance(one, ast.Name):
            one.id = names.get(one.id, one.id)
    return module.body
