"""Uses of names in a Python implementation, which predicates require: loops, containers that grow, comparisons."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

_DISPLAYS: dict[type[ast.AST], str] = {ast.Dict: "dict", ast.DictComp: "dict", ast.List: "list", ast.Tuple: "tuple"}
_KINDS = ("dict", "list", "tuple", "deque", "set")
_DICTIONARIES = ("defaultdict", "Counter", "OrderedDict")
_GROWING = ("append", "appendleft", "extend", "add", "update", "setdefault", "insert")
_LOOPS = (ast.For, ast.AsyncFor, ast.While)


def name_uses(statements: Sequence[ast.stmt]) -> set[str]:
    """Return the features of an implementation that describe the use of a name.

    ``loop_name:NAME``
        The variable of a loop or a comprehension.
    ``updated_in_loop:NAME``
        Assigned, or changed by an item or a method, in a loop's body.
    ``compared:NAME``
        An operand of a comparison.
    ``argument:FUNCTION.NAME``
        A keyword argument of a call.
    ``fills:KIND``, ``fills:KIND:NAME``
        A name is bound to a container of a kind, by a literal or a call, and that changes later.
    """
    nodes = [inner for one in statements for inner in ast.walk(one)]
    found = {name for node in nodes for name in _uses(node)}
    changed = {name for node in nodes for name in _changed(node)}
    for name, kind in _bound_containers(nodes):
        if name in changed:
            found |= {f"fills:{kind}", f"fills:{kind}:{name}"}
    return found


def _uses(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.For(target=target) | ast.AsyncFor(target=target) | ast.comprehension(target=target):
            yield from (f"loop_name:{one.id}" for one in ast.walk(target) if isinstance(one, ast.Name))
        case ast.Compare(left=left, comparators=others):
            yield from (f"compared:{one.id}" for one in (left, *others) if isinstance(one, ast.Name))
        case ast.Call(func=ast.Name(id=function) | ast.Attribute(attr=function), keywords=keywords):
            yield from (f"argument:{function}.{one.arg}" for one in keywords if one.arg)
    if isinstance(node, _LOOPS):
        for inner in (part for one in node.body for part in ast.walk(one)):
            yield from (f"updated_in_loop:{name}" for name in _changed(inner))
            if isinstance(inner, ast.Assign):
                yield from (f"updated_in_loop:{one.id}" for one in inner.targets if isinstance(one, ast.Name))


def _changed(node: ast.AST) -> Iterator[str]:
    """Yield the names whose values a node changes."""
    match node:
        case ast.AugAssign(target=ast.Name(id=name)):
            yield name
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.BinOp(left=ast.Name(id=first))) if name == first:
            yield name
        case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store() | ast.Del()):
            yield name
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)) if method in _GROWING:
            yield name


def _bound_containers(nodes: Sequence[ast.AST]) -> Iterator[tuple[str, str]]:
    """Yield the names that are bound to containers, with the kinds of these."""
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                pass
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                pass
            case _:
                continue
        match value:
            case ast.Call(func=ast.Name(id=kind) | ast.Attribute(attr=kind)) if kind in _KINDS:
                yield name, kind
            case ast.Call(func=ast.Name(id=kind) | ast.Attribute(attr=kind)) if kind in _DICTIONARIES:
                yield name, "dict"
            case _ if type(value) in _DISPLAYS:
                yield name, _DISPLAYS[type(value)]
