"""Rewrites of parameters: names of accumulators and loop variables, start values, key functions, named constants."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from caretbench.suites.c3bench.implementations.rewrite import (
    PythonMiddle,
    Rewritten,
    contains,
    loaded,
    renamed,
    rewrite,
    stored,
    text_of,
)

_ACCUMULATOR_NAMES = ("running_value", "collected_items", "partial_answer")
_LOOP_NAMES = ("current", "candidate_value")


def _is_own(middle: PythonMiddle, name: str) -> bool:
    """Return whether a name is used in the middle alone."""
    used = sum(isinstance(one, ast.Name) and one.id == name for one in ast.walk(middle.module))
    own = sum(isinstance(one, ast.Name) and one.id == name for part in middle.statements for one in ast.walk(part))
    scoped = (ast.Global, ast.Nonlocal, ast.FunctionDef, ast.Lambda)
    return used == own and name not in middle.parameters and not contains(middle.statements, *scoped)


@rewrite
def accumulator_name(middle: PythonMiddle) -> Iterator[Rewritten]:
    """A variable that a loop updates gets another name."""
    for statement in middle.statements:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)]) if _is_own(middle, name) and _is_updated(middle, name):
                new = next((one for one in _ACCUMULATOR_NAMES if middle.fresh(one)), None)
                if new is not None:
                    yield Rewritten(renamed(middle.statements, {name: new}), {"name": new})
                return


def _is_updated(middle: PythonMiddle, name: str) -> bool:
    loops = (one for part in middle.statements for one in ast.walk(part) if isinstance(one, ast.For | ast.While))
    return any(name in stored(one) or name in loaded(one) for one in loops)


@rewrite
def loop_variable_name(middle: PythonMiddle) -> Iterator[Rewritten]:
    """The variable of a loop gets another name."""
    for statement in middle.statements:
        match statement:
            case ast.For(target=ast.Name(id=name)) if _is_own(middle, name) and name != "_":
                new = next((one for one in _LOOP_NAMES if middle.fresh(one)), None)
                if new is not None:
                    yield Rewritten(renamed(middle.statements, {name: new}), {"name": new})
                return


@rewrite
def enumerate_start(middle: PythonMiddle) -> Iterator[Rewritten]:
    """``enumerate`` from 0 → from 1, with positions that are one smaller where they are used."""
    for index, statement in enumerate(middle.statements):
        match statement:
            case ast.For(
                target=ast.Tuple(elts=[ast.Name(id=name), other]),
                iter=ast.Call(func=ast.Name(id="enumerate"), args=[items], keywords=[]),
                body=body,
                orelse=[],
            ) if name not in stored(body) and name not in middle.read_outside([statement]):
                pass
            case _:
                continue
        shifted = _shifted(body, name)
        text = f"for {name}, {text_of(other)} in enumerate({text_of(items)}, start=1):\n{shifted}"
        yield Rewritten(middle.replaced(index, index + 1, text), {"name": name})


def _shifted(body: list[ast.stmt], name: str) -> str:
    class _Replace(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.AST:
            return ast.parse(f"{name} - 1", mode="eval").body if node.id == name else node

    return text_of([_Replace().visit(one) for one in ast.parse(text_of(body)).body], 1)


@rewrite
def range_from_one(middle: PythonMiddle) -> Iterator[Rewritten]:
    """``range`` from 0 → from 1, with an index that is one smaller where it is used."""
    for index, statement in enumerate(middle.statements):
        match statement:
            case ast.For(
                target=ast.Name(id=name),
                iter=ast.Call(func=ast.Name(id="range"), args=[stop], keywords=[]),
                body=body,
                orelse=[],
            ) if name in loaded(body) and name not in stored(body) | middle.read_outside([statement]):
                text = f"for {name} in range(1, {text_of(stop)} + 1):\n{_shifted(body, name)}"
                yield Rewritten(middle.replaced(index, index + 1, text), {"name": name})


@rewrite
def key_function(middle: PythonMiddle) -> Iterator[Rewritten]:
    """A ``key`` given as a lambda → a named function."""
    for index, statement in enumerate(middle.statements):
        if not isinstance(statement, ast.Assign | ast.Return | ast.Expr) or middle.fresh("sort_key") is None:
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.keyword) and node.arg == "key" and isinstance(node.value, ast.Lambda):
                function = f"def sort_key({text_of(node.value.args)}):\n    return {text_of(node.value.body)}"
                text = text_of(statement).replace(text_of(node.value), "sort_key", 1)
                yield Rewritten(middle.replaced(index, index + 1, f"{function}\n{text}"))
                break


@rewrite
def explicit_key(middle: PythonMiddle) -> Iterator[Rewritten]:
    """``sorted``, ``min`` or ``max`` of one iterable → with an explicit key, the identity."""
    for index, statement in enumerate(middle.statements):
        if not isinstance(statement, ast.Assign | ast.Return | ast.AugAssign):
            continue
        copy = ast.parse(text_of(statement)).body[0]
        for node in ast.walk(copy):
            match node:
                case ast.Call(func=ast.Name(id=("sorted" | "min" | "max") as name), args=[_], keywords=keywords) if all(
                    one.arg == "reverse" for one in keywords
                ):
                    node.keywords.insert(0, ast.keyword("key", ast.parse("lambda entry: entry", mode="eval").body))
                    text = text_of(ast.fix_missing_locations(copy))
                    yield Rewritten(middle.replaced(index, index + 1, text), {"name": name})
                    break


@rewrite
def named_constant(middle: PythonMiddle) -> Iterator[Rewritten]:
    """A number or text in a comparison → a variable that is assigned first."""
    if middle.fresh("reference_value") is None or contains(middle.statements, ast.FunctionDef, ast.Lambda):
        return
    module = ast.parse(text_of(middle.statements))
    for node in ast.walk(module):
        match node:
            case ast.Compare(comparators=[ast.Constant(value=(int() | float() | str()) as value)]) if (
                value not in (True, False) or value == 0
            ):
                if isinstance(value, bool):
                    continue
                node.comparators = [ast.Name(id="reference_value", ctx=ast.Load())]
                text = f"reference_value = {value!r}\n{text_of(ast.fix_missing_locations(module).body)}"
                yield Rewritten(ast.parse(text).body, {"value": repr(value)})
                return
