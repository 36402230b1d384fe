"""Literal values in Python sources, read from the syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Final

_DEPTH: Final = 20
"""Maximum depth of an expression, and of names that stand for others."""

LiteralNames = Mapping[str, ast.expr]
"""Expressions by the name that a module gives them."""


def parsed_module(text: str | None) -> ast.Module | None:
    """Return the syntax tree of a source; None if there is none, or if it cannot be parsed."""
    try:
        return ast.parse(text) if text else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def module_names(module: ast.Module) -> LiteralNames:
    """Return the expressions that a module assigns to plain names, the last one of each."""
    found: dict[str, ast.expr] = {}
    for statement in module.body:
        if isinstance(statement, ast.Assign):
            found |= {one.id: statement.value for one in statement.targets if isinstance(one, ast.Name)}
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and statement.value:
            found[statement.target.id] = statement.value
    return found


def literal_texts(value: ast.expr, names: LiteralNames, depth: int = 0) -> list[str]:
    """Return the texts of a literal list, of sums of them, and of names for them; a text alone is a list of one."""
    if depth > _DEPTH:
        return []
    if isinstance(value, ast.Constant):
        return [value.value] if isinstance(value.value, str) else []
    if isinstance(value, ast.Starred):
        return literal_texts(value.value, names, depth + 1)
    if isinstance(value, ast.List | ast.Tuple | ast.Set):
        return [text for one in value.elts for text in literal_texts(one, names, depth + 1)]
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        sides = (value.left, value.right)
        return [text for one in sides for text in literal_texts(one, names, depth + 1)]
    if isinstance(value, ast.Name) and value.id in names:
        return literal_texts(names[value.id], names, depth + 1)
    return []


def literal_table(value: ast.expr, names: LiteralNames, depth: int = 0) -> Iterator[tuple[str, list[str]]]:
    """Yield keys and texts of a literal dictionary, ``dict(key=…)`` included."""
    if isinstance(value, ast.Name) and value.id in names and depth < _DEPTH:
        yield from literal_table(names[value.id], names, depth + 1)
    elif isinstance(value, ast.Dict):
        for key, one in zip(value.keys, value.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield key.value, literal_texts(one, names)
    elif isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "dict":
        yield from ((one.arg, literal_texts(one.value, names)) for one in value.keywords if one.arg)
