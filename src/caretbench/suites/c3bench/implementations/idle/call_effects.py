"""Effects of Python expressions: the names that they read and change, and calls that may do anything."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import NamedTuple

from caretbench.files import read_packaged_toml

Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)

_MAY_RAISE = (
    *(ast.Call, ast.Subscript, ast.Attribute, ast.BinOp, ast.Compare, ast.Starred, ast.Await, ast.comprehension),
    *(ast.For, ast.AsyncFor, ast.With, ast.AsyncWith, ast.Raise, ast.Assert, ast.Import, ast.ImportFrom),
)
_PACKAGE = "caretbench.suites.c3bench.implementations.idle"


@cache
def _listed(name: str) -> frozenset[str]:
    """Return a list of the table of calls."""
    return frozenset(str(read_packaged_toml(_PACKAGE, "calls.toml")[name]).split())


class Effects(NamedTuple):
    """Names that an expression reads and changes; ``unknown`` if it may do anything else."""

    reads: frozenset[str] = frozenset()
    changes: frozenset[str] = frozenset()
    unknown: bool = False


class KnownNames(NamedTuple):
    """Names of a scope: ``own`` hold only values made there; ``functions`` say if a call has effects of its own."""

    own: frozenset[str]
    functions: Mapping[str, bool]


def effects_of(nodes: Iterable[ast.AST | None], names: KnownNames) -> Effects:
    """Return the effects of expressions, those of the functions in them included."""
    changes: set[str] = set()
    unknown = False
    given = [node for node in nodes if node is not None]
    for node in (inner for one in given for inner in ast.walk(one)):
        changed = _changed_by(node, names)
        unknown |= changed is None
        changes.update(changed or ())
    return Effects(frozenset().union(*map(read_names, given)), frozenset(changes), unknown)


def _changed_by(node: ast.AST, names: KnownNames) -> tuple[str, ...] | None:
    """Return the names whose values a node changes; None if it may change anything."""
    match node:
        case ast.Yield() | ast.YieldFrom() | ast.Await():
            return None
        case ast.NamedExpr(target=ast.Name(id=name)):
            return (name,)
        case ast.Call():
            return _changed_by_call(node, names)
        case ast.Attribute(attr=method, value=owner, ctx=ast.Load()) if method in _listed("changing_methods"):
            return _change_of(owner, names)
        case ast.Name(id=name, ctx=ast.Load()) if names.functions.get(name, False):
            return None
    return ()


def _changed_by_call(call: ast.Call, names: KnownNames) -> tuple[str, ...] | None:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name) if name in _listed("first_argument") and call.args:
            return _change_of(call.args[0], names)
        case ast.Name(id=name):
            return () if name in _listed("new_values") | _listed("selections") | names.functions.keys() else None
        case ast.Attribute(value=ast.Name(id=module)) if module in _listed("modules") and module not in names.own:
            return ()
        case ast.Attribute(attr=method) if method in _listed("methods") | _listed("changing_methods"):
            return ()  # a changing method is found at its attribute
        case ast.Lambda():
            return ()
    return None


def _change_of(owner: ast.expr, names: KnownNames) -> tuple[str, ...] | None:
    """Return the name whose value is changed through an expression; None if the value may be used elsewhere."""
    while isinstance(owner, ast.Subscript | ast.Attribute):
        owner = owner.value
    if isinstance(owner, ast.Name):
        return (owner.id,) if owner.id in names.own else None
    return () if is_new_value(owner, frozenset()) else None


def changed_by_target(target: ast.expr, names: KnownNames) -> tuple[str, ...] | None:
    """Return the names that an assignment to a target changes; None if the target may be used elsewhere."""
    if isinstance(target, ast.Name):
        return (target.id,)
    if isinstance(target, ast.Tuple | ast.List | ast.Starred):
        parts = [target.value] if isinstance(target, ast.Starred) else target.elts
        found = [changed_by_target(part, names) for part in parts]
        return None if None in found else tuple(name for part in found for name in part or ())
    return _change_of(target, names)


def is_new_value(value: ast.expr | None, classes: frozenset[str]) -> bool:
    """Return whether an expression makes a value that nothing else refers to; ``classes`` are local ones."""
    match value:
        case ast.Call(func=ast.Name(id=name)) | ast.Call(func=ast.Attribute(attr=name)):
            return name in _listed("new_values") or name in classes
        case ast.Constant() | ast.List() | ast.Tuple() | ast.Dict() | ast.Set() | ast.JoinedStr() | ast.BinOp():
            return True
        case ast.Compare() | ast.UnaryOp() | ast.Lambda():
            return True
        case ast.IfExp(body=first, orelse=second):
            return is_new_value(first, classes) and is_new_value(second, classes)
    return isinstance(value, _COMPREHENSIONS)


def may_raise(nodes: Iterable[ast.AST | None]) -> bool:
    """Return whether evaluation may raise an exception; names are taken to be bound."""
    return any(isinstance(inner, _MAY_RAISE) for one in nodes if one is not None for inner in ast.walk(one))


def read_names(node: ast.AST) -> frozenset[str]:
    """Return the names that a node reads from the scope around it; an assignment to an item reads none."""
    if isinstance(node, ast.Name):
        return frozenset({node.id}) if isinstance(node.ctx, ast.Load) else frozenset()
    inner = frozenset[str]().union(*map(read_names, ast.iter_child_nodes(node)))
    if isinstance(node, _COMPREHENSIONS):
        return (inner - bound_names(node.generators)) | read_names(node.generators[0].iter)
    if isinstance(node, ast.Lambda):
        return (inner - _arguments(node.args)) | read_names(node.args)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        own = (bound_names(node.body) | _arguments(node.args) | {node.name}) - outer_names(node)
        outside = frozenset[str]().union(*map(read_names, [node.args, *node.decorator_list]))
        return (inner - own) | outside
    return inner


def _arguments(arguments: ast.arguments) -> frozenset[str]:
    return frozenset(one.arg for one in ast.walk(arguments) if isinstance(one, ast.arg))


def own_nodes(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield nodes and those in them, without what is in nested functions, classes and lambdas."""
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, (*SCOPES, ast.Lambda)):
            waiting.extend(ast.iter_child_nodes(node))


def bound_names(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """Return the names that nodes bind in their scope."""
    found: set[str] = set()
    for node in own_nodes(nodes):
        match node:
            case ast.Name(id=name, ctx=ast.Store()):
                found.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.alias():
                found.add((node.asname or node.name).partition(".")[0])
            case ast.ExceptHandler(name=str() as name) | ast.MatchAs(name=str() as name):
                found.add(name)
            case ast.MatchStar(name=str() as name) | ast.MatchMapping(rest=str() as name):
                found.add(name)
    return frozenset(found)


def outer_names(node: ast.AST) -> frozenset[str]:
    """Return the names that are declared global or nonlocal anywhere in a node."""
    return frozenset(
        name for inner in ast.walk(node) if isinstance(inner, ast.Global | ast.Nonlocal) for name in inner.names
    )
