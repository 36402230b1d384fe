"""Rewrites of loops: comprehensions, other kinds of loops, recursion, generators."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from caretbench.suites.c3bench.implementations.rewrite import (
    PythonMiddle,
    Rewritten,
    contains,
    leaves_loop,
    loaded,
    rewrite,
    stored,
    text_of,
)


@rewrite
def loop_to_comprehension(middle: PythonMiddle) -> Iterator[Rewritten]:
    """Append in a loop → a list comprehension."""
    for index, (first, second) in enumerate(pairwise(middle.statements)):
        match first, second:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=ast.List(elts=[])),
                ast.For(target=target, iter=items, body=[inner], orelse=[]),
            ):
                condition, element = _appended(inner, name)
                outside = middle.read_outside([second])
                if element is None or name in loaded([items, element]) or stored(target) & outside:
                    continue
                suffix = f" if {text_of(condition)}" if condition else ""
                text = f"{name} = [{text_of(element)} for {text_of(target)} in {text_of(items)}{suffix}]"
                yield Rewritten(middle.replaced(index, index + 2, text), {"name": name})


def _appended(statement: ast.stmt, name: str) -> tuple[ast.expr | None, ast.expr | None]:
    """Return condition and element of a statement that appends to a list; the element is None if it does not."""
    match statement:
        case ast.If(test=test, body=[inner], orelse=[]):
            _, element = _appended(inner, name)
            return (None, None) if isinstance(inner, ast.If) or name in loaded(test) else (test, element)
        case ast.Expr(
            value=ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr="append"), args=[element], keywords=[])
        ) if owner == name:
            return None, element
        case _:
            return None, None


@rewrite
def comprehension_to_loop(middle: PythonMiddle) -> Iterator[Rewritten]:
    """A list comprehension that is assigned or returned → a loop that appends."""
    for index, statement in enumerate(middle.statements):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.ListComp() as value):
                returned = ""
            case ast.Return(value=ast.ListComp() as value):
                name, returned = middle.fresh("collected") or "", "\nreturn collected"
            case _:
                continue
        if not name or name in loaded(value) or stored(value) & (middle.read_outside([statement]) | middle.parameters):
            continue
        if any(one.is_async for one in value.generators):
            continue
        lines, margin = [f"{name} = []"], 0
        for generator in value.generators:
            lines.append("    " * margin + f"for {text_of(generator.target)} in {text_of(generator.iter)}:")
            margin += 1
            for test in generator.ifs:
                lines.append("    " * margin + f"if {text_of(test)}:")
                margin += 1
        lines.append("    " * margin + f"{name}.append({text_of(value.elt)})")
        yield Rewritten(middle.replaced(index, index + 1, "\n".join(lines) + returned))


def _range_bounds(items: ast.expr) -> tuple[str, str] | None:
    """Return the texts of the two bounds of ``range``; None if it is another call, or has a step."""
    match items:
        case ast.Call(args=[*_, ast.Starred()]):
            return None
        case ast.Call(func=ast.Name(id="range"), args=[stop], keywords=[]):
            return "0", text_of(stop)
        case ast.Call(func=ast.Name(id="range"), args=[start, stop], keywords=[]):
            return text_of(start), text_of(stop)
        case _:
            return None


@rewrite
def for_to_while(middle: PythonMiddle) -> Iterator[Rewritten]:
    """A ``for`` loop over a range or a sequence → a ``while`` loop with an index."""
    for index, statement in enumerate(middle.statements):
        match statement:
            case ast.For(target=ast.Name(id=name), iter=items, body=body, orelse=[]):
                pass
            case _:
                continue
        if contains(body, ast.Continue) or name in middle.read_outside([statement]):
            continue
        text = _range_loop(middle, name, items, body) or _sequence_loop(middle, name, items, body)
        if text:
            yield Rewritten(middle.replaced(index, index + 1, text))


def _range_loop(middle: PythonMiddle, name: str, items: ast.expr, body: list[ast.stmt]) -> str:
    """Return the text of a ``while`` loop over a range; empty if the loop is over something else."""
    bounds = _range_bounds(items)
    changed = stored(body)
    if bounds is None or name in changed:
        return ""
    before, stop = "", bounds[1]
    if _may_change(items, changed):
        if middle.fresh("stop") is None:
            return ""
        before, stop = f"stop = {stop}\n", "stop"
    return f"{before}{name} = {bounds[0]}\nwhile {name} < {stop}:\n{text_of(body, 1)}\n    {name} += 1"


def _sequence_loop(middle: PythonMiddle, name: str, items: ast.expr, body: list[ast.stmt]) -> str:
    """Return the text of a ``while`` loop over a sequence that has a name; empty if the loop is over something else."""
    if not isinstance(items, ast.Name) or items.id in stored(body) or _calls_on(body, items.id):
        return ""
    position = middle.fresh("position")
    if position is None:
        return ""
    head = f"{position} = 0\nwhile {position} < len({items.id}):\n    {name} = {items.id}[{position}]\n"
    return f"{head}    {position} += 1\n{text_of(body, 1)}"


def _may_change(items: ast.expr, changed: set[str]) -> bool:
    """Return whether the bounds of a range could change between rounds."""
    inner = [one for one in ast.walk(items) if isinstance(one, ast.Call)][1:]
    pure = all(isinstance(one.func, ast.Name) and one.func.id in {"len", "int", "abs", "min", "max"} for one in inner)
    return not pure or bool(loaded(items) & changed)


def _calls_on(body: list[ast.stmt], name: str) -> bool:
    """Return whether a method of a name is called, or one of its items is assigned or deleted."""
    owners = [one.value for part in body for one in ast.walk(part) if isinstance(one, ast.Attribute)]
    owners += [
        one.value
        for part in body
        for one in ast.walk(part)
        if isinstance(one, ast.Subscript) and not isinstance(one.ctx, ast.Load)
    ]
    return any(isinstance(one, ast.Name) and one.id == name for one in owners)


@rewrite
def loop_to_recursion(middle: PythonMiddle) -> Iterator[Rewritten]:
    """A loop that updates one accumulator → a nested function that calls itself."""
    for index, statement in enumerate(middle.statements):
        match statement:
            case ast.For(target=target, iter=items, body=body, orelse=[]) if not leaves_loop(body):
                # "Not a loop" would refuse the reference.
                if contains(body, ast.For, ast.While):
                    continue
                changed = stored(body) - stored(target)
            case _:
                continue
        names = [middle.fresh(name) for name in ("fold", "items", "position")]
        outside = middle.read_outside([statement])
        kept = changed & outside
        if None in names or stored(target) & outside or not kept or changed & loaded(items):
            continue
        if not kept <= _assigned_before(middle, index) or not all(_is_set_first(body, one) for one in changed - kept):
            continue
        listed = ", ".join(sorted(kept))
        text = (
            f"def fold(items, position, {listed}):\n    if position == len(items):\n        return {listed}\n"
            f"    {text_of(target)} = items[position]\n{text_of(body, 1)}\n"
            f"    return fold(items, position + 1, {listed})\n"
            f"{listed} = fold(list({text_of(items)}), 0, {listed})"
        )
        yield Rewritten(middle.replaced(index, index + 1, text))


def _assigned_before(middle: PythonMiddle, index: int) -> set[str]:
    return stored(middle.statements[:index]) | middle.parameters | (stored(middle.function) - stored(middle.statements))


def _is_set_first(body: list[ast.stmt], name: str) -> bool:
    """Return whether the first statement of a body that mentions a name assigns it."""
    for statement in body:
        if name in loaded(statement):
            return False
        if name in stored(statement):
            return isinstance(statement, ast.Assign)
    return True


@rewrite
def loop_to_generator(middle: PythonMiddle) -> Iterator[Rewritten]:
    """Append in a loop → a nested generator function, and a list of what it yields."""
    for index, (first, second) in enumerate(pairwise(middle.statements)):
        match first, second:
            case (ast.Assign(targets=[ast.Name(id=name)], value=ast.List(elts=[])), ast.For(orelse=[]) as loop):
                produce = middle.fresh("produce")
            case _:
                continue
        yielding = ast.parse(text_of(loop)).body
        count = _appends_to_yields(yielding[0], name)
        changed = stored(loop)
        if produce is None or not count or name in loaded(yielding) or contains(loop, ast.Return):
            continue
        if changed & (middle.read_outside([loop]) | middle.parameters) or not all(
            _is_set_first(list(loop.body), one) for one in changed - stored(loop.target)
        ):
            continue
        text = f"def {produce}():\n{text_of(yielding, 1)}\n{name} = list({produce}())"
        yield Rewritten(middle.replaced(index, index + 2, text))


def _appends_to_yields(node: ast.AST, name: str) -> int:
    """Replace the calls of a list's ``append`` by ``yield``, and return their number."""
    count = 0
    for one in ast.walk(node):
        match one:
            case ast.Expr(
                value=ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr="append"), args=[element], keywords=[])
            ) if owner == name:
                one.value = ast.Yield(value=element)
                count += 1
    return count
