"""Literal values in Python sources, read from the syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
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


def keyword_texts(
    text: str | None, arguments: Collection[str], only: str | None = None
) -> Iterator[tuple[str, list[str]]]:
    """Yield the literal texts of keyword arguments with some names, of all calls or of those of one function."""
    module = parsed_module(text)
    names = module_names(module) if module else {}
    for keyword in _keywords(module, only):
        if keyword.arg in arguments:
            yield str(keyword.arg), literal_texts(keyword.value, names)


def keyword_tables(text: str | None, argument: str) -> Iterator[tuple[str, list[str]]]:
    """Yield keys and texts of the literal dictionaries that keyword arguments of a name have."""
    module = parsed_module(text)
    names = module_names(module) if module else {}
    for keyword in _keywords(module, None):
        if keyword.arg == argument:
            yield from literal_table(keyword.value, names)


def _keywords(module: ast.Module | None, only: str | None) -> Iterator[ast.keyword]:
    """Yield the keyword arguments of all calls, or only of those of one function."""
    for call in ast.walk(module) if module else ():
        if isinstance(call, ast.Call) and only in {None, getattr(call.func, "id", getattr(call.func, "attr", ""))}:
            yield from call.keywords
