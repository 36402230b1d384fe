"""Features of a Python implementation, which predicates require or forbid."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from caretbench.syntax.parser import PythonPositions, python_module

ANY_NAME = "*"
"""Name in ``bound:NAME:FEATURE`` and ``matches:NAME`` that stands for any."""
_DISPLAYS: dict[type[ast.AST], str] = {
    ast.Dict: "dict", ast.DictComp: "dict", ast.List: "list", ast.ListComp: "list", ast.Tuple: "tuple", ast.Set: "set",
    ast.SetComp: "set",
}  # fmt: skip
_CONTAINER_KINDS = ("dict", "list", "tuple", "deque", "set")
_DICTIONARIES = ("fromkeys", "defaultdict", "Counter", "OrderedDict")
_GROWING = ("append", "appendleft", "extend", "add", "update", "setdefault", "insert")
_LOOP_NODES = (ast.For, ast.AsyncFor, ast.While)


def name_uses(statements: Sequence[ast.stmt]) -> set[str]:
    """Return the features of an implementation that describe the use of names and values.

    ``updated_in_loop:NAME``
        Assigned, or changed by an item or a method, in a loop's body.
    ``fills:KIND``, ``fills:KIND:NAME``
        A name is bound to a container of a kind, by a literal or a call, and that changes later.
    ``bound:NAME:FEATURE``, ``returned:FEATURE``
        A value with a simple feature, or a call, is assigned to a name or extends it; it is returned.
    ``matches:NAME``
        The subject of a ``match`` statement contains a name.
    ``constant:NAME``
        A constant is assigned to a name.
    ``lambda_argument:FUNCTION``
        A lambda, also by its name, is an argument of a call.
    ``function:NAME``
        A name is that of a function, or of a lambda.
    ``in_loop:FEATURE``
        A call or ``return`` in a loop's body.
    """
    nodes = [inner for one in statements for inner in ast.walk(one)]
    bindings = [pair for node in nodes for pair in _bindings(node)]
    lambdas = {name for name, value in bindings if isinstance(value, ast.Lambda)}
    found = {name for node in nodes for name in _uses(node, lambdas)} | {f"function:{name}" for name in lambdas}
    found |= {feature for name, value in bindings for feature in _binding_features(name, value)}
    loops = [node for node in nodes if isinstance(node, _LOOP_NODES)]
    found |= {feature for loop in loops for feature in _in_loop(loop)}
    return found.union(_filled_containers(nodes))


def _filled_containers(nodes: Sequence[ast.AST]) -> Iterator[str]:
    changed = {name for node in nodes for name in _changed(node)}
    for name, kind in _bound_containers(nodes):
        if name in changed:
            yield from (f"fills:{kind}", f"fills:{kind}:{name}")


def _binding_features(name: str, value: ast.expr) -> Iterator[str]:
    if isinstance(value, ast.Constant):
        yield f"constant:{name}"
    yield from (f"bound:{each}:{one}" for one in _value_features(value) for each in (name, ANY_NAME))


def _value_features(value: ast.AST) -> set[str]:
    nodes = list(ast.walk(value))
    return {name for node in nodes for name in (*_simple(node), *_named(node))}


def _bindings(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names that a node binds, or a list that it extends, each with its value."""
    match node:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                yield from _paired(target, value)
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            yield name, value
        case ast.AugAssign(target=ast.Name(id=name)) | ast.NamedExpr(target=ast.Name(id=name)):
            yield name, node.value
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="extend"), args=[value]):
            yield name, value


def _paired(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    match target, value:
        case ast.Name(id=name), _:
            yield name, value
        case ast.Tuple(elts=names), ast.Tuple(elts=values) if len(names) == len(values):
            for one, part in zip(names, values, strict=True):
                yield from _paired(one, part)


def _uses(node: ast.AST, lambdas: set[str]) -> Iterator[str]:
    match node:
        case ast.FunctionDef(name=name):
            yield f"function:{name}"
        case ast.Return(value=ast.expr() as value):
            yield from (f"returned:{one}" for one in _value_features(value))
        case ast.Match(subject=subject):
            yield from (f"matches:{one.id}" for one in ast.walk(subject) if isinstance(one, ast.Name))
            yield f"matches:{ANY_NAME}"
        case ast.Call(func=function, args=arguments):
            for one in arguments:
                if isinstance(one, ast.Lambda) or (isinstance(one, ast.Name) and one.id in lambdas):
                    yield f"lambda_argument:{_last_name(function)}"


def _in_loop(loop: ast.For | ast.AsyncFor | ast.While) -> Iterator[str]:
    for node in _own_nodes(loop.body):
        yield from (f"updated_in_loop:{name}" for name in _changed(node))
        match node:
            case ast.Assign(targets=targets):
                yield from (f"updated_in_loop:{one.id}" for one in targets if isinstance(one, ast.Name))
            case ast.Call(func=function):
                yield f"in_loop:call:{_last_name(function)}"
            case ast.Delete():
                yield "in_loop:delete"
            case ast.Return():
                yield "in_loop:return"


def _changed(node: ast.AST) -> Iterator[str]:
    """Yield the names whose values a node changes."""
    match node:
        case ast.AugAssign(target=ast.Name(id=name)):
            yield name
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.BinOp(left=ast.Name(id=first))) if name == first:
            yield name
        case ast.Subscript(ctx=ast.Store() | ast.Del()):
            # `table[i][j] = 0` fills `table`.
            while isinstance(node, ast.Subscript):
                node = node.value
            if isinstance(node, ast.Name):
                yield node.id
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
        # `[1] + [0] * n` is a list.
        while isinstance(value, ast.BinOp):
            value = value.left if type(value.left) in (*_DISPLAYS, ast.BinOp) else value.right
        match value:
            case ast.Call(func=ast.Name(id=kind) | ast.Attribute(attr=kind)) if kind in _CONTAINER_KINDS:
                yield name, kind
            case ast.Call(func=ast.Name(id=kind) | ast.Attribute(attr=kind)) if kind in _DICTIONARIES:
                yield name, "dict"
            case _ if type(value) in _DISPLAYS:
                yield name, _DISPLAYS[type(value)]


_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.LShift: "<<",
    ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "bitor", ast.BitXor: "^",
}  # fmt: skip
_SIMPLE: dict[str, tuple[type[ast.AST], ...]] = {
    "for": (ast.For, ast.AsyncFor),
    "while": (ast.While,),
    "list_comprehension": (ast.ListComp,),
    "dict_comprehension": (ast.DictComp,),
    "lambda": (ast.Lambda,),
    "try": (ast.Try,),
    "match": (ast.Match,),
    "if": (ast.If,),
    "conditional_expression": (ast.IfExp,),
    "function": (ast.FunctionDef, ast.AsyncFunctionDef),
    "class": (ast.ClassDef,),
    "dict_literal": (ast.Dict,),
    "break": (ast.Break,),
    "continue": (ast.Continue,),
    "set_comprehension": (ast.SetComp,),
    "slice": (ast.Slice,),
    "yield": (ast.Yield, ast.YieldFrom),
    "yield_from": (ast.YieldFrom,),
    "assignment_expression": (ast.NamedExpr,),
}


def _simple(node: ast.AST) -> Iterator[str]:
    yield from (name for name, types in _SIMPLE.items() if isinstance(node, types))
    match node:
        case ast.BinOp(op=operator) | ast.AugAssign(op=operator) if type(operator) in _OPERATORS:
            yield f"operator:{_OPERATORS[type(operator)]}"
        case ast.Subscript(slice=ast.Constant() | ast.UnaryOp()):
            yield f"subscript:{ast.unparse(node)}"
        case ast.Lambda(body=ast.Tuple()):
            yield "lambda_tuple"
        case ast.Compare(ops=operators) if any(isinstance(one, ast.In | ast.NotIn) for one in operators):
            yield "membership"
        # `[value for _ in [0]]` goes through nothing.
        case ast.ListComp(generators=[first, *_]) | ast.SetComp(generators=[first, *_]) if not _is_single(first.iter):
            yield "comprehension"
        case ast.DictComp(generators=[first, *_]) | ast.GeneratorExp(generators=[first, *_]) if not _is_single(
            first.iter
        ):
            yield "comprehension"


def _is_single(items: ast.expr) -> bool:
    return isinstance(items, ast.List | ast.Tuple | ast.Set) and len(items.elts) < 2


def features(statements: Sequence[ast.stmt], function: str | None = None) -> frozenset[str]:
    """Return the features of an implementation.

    Simple features are the kinds of nodes in it: ``for``, ``while``, ``comprehension``, ``lambda``, ``try``, ``match``,
    ``if``, ``function``, ``membership`` and others. Others contain a name: ``call:NAME``, ``name:NAME`` (assigned),
    ``handler:NAME``, ``import:NAME``, ``keyword:NAME`` and ``keyword:NAME=VALUE`` (an argument of a call),
    ``call:NAME(CONSTANT)`` (its first argument), ``call:NAME/N`` (with N arguments), ``operator:SIGN`` (``bitor`` for
    ``|``), ``subscript:TEXT`` (by a constant), ``base:NAME`` (of a class), ``decorator:NAME``, and those of
    :func:`name_uses`.
    ``recursion`` is a call of a function by itself (``function`` is the enclosing one), ``returns:N`` the number of
    return statements (nested functions excluded), ``loop_depth:N`` a loop in ``N - 1`` others, clauses of
    comprehensions among them, ``sorts:N`` at least N calls that sort. ``else``, ``early_return`` (an ``if`` that
    returns, without ``else``, before other statements), ``return_at_end``, ``branches_return`` (an ``if`` all of whose
    branches, ``else`` among them, return) and ``picks_smallest`` (a loop that compares, without changing an item, in a
    loop) are shapes.
    """
    found: set[str] = set()
    for statement in statements:
        for node in ast.walk(statement):
            found.update(_simple(node))
            found.update(_named(node))
    found |= name_uses(statements)
    if _is_recursive(statements, function):
        found.add("recursion")
    found |= _under_own_names(statements, found)
    found |= {name for name, holds in _SHAPES.items() if holds(statements)}
    depth = max((_loop_depth(statement) for statement in statements), default=0)
    found |= {f"loop_depth:{number}" for number in range(1, depth + 1)}
    calls = (node for one in statements for node in ast.walk(one) if isinstance(node, ast.Call))
    sorts = sum(_last_name(call.func) in ("sorted", "sort") for call in calls)
    found |= {f"sorts:{number}" for number in range(1, sorts + 1)}
    found.add(f"returns:{sum(1 for node in _own_nodes(statements) if isinstance(node, ast.Return))}")
    return frozenset(found)


def _under_own_names(statements: Sequence[ast.stmt], found: set[str]) -> set[str]:
    """Return the features of calls by another name: `from bisect import bisect_left as find`."""
    imports = (node for one in statements for node in ast.walk(one) if isinstance(node, ast.ImportFrom))
    aliases = {alias.asname: alias.name for node in imports for alias in node.names if alias.asname}
    return {
        re.sub(rf"call:{other}\b", f"call:{name}", feature)
        for other, name in aliases.items()
        for feature in found
    }  # fmt: skip


def _has_else(statements: Sequence[ast.stmt]) -> bool:
    return any(
        isinstance(node, ast.If) and node.orelse and not isinstance(node.orelse[0], ast.If)
        for node in _own_nodes(statements)
    )


def _has_early_return(statements: Sequence[ast.stmt]) -> bool:
    """Return whether an ``if`` without ``else`` returns while a statement follows it."""
    bodies = [statements, *(getattr(node, "body", []) for node in _own_nodes(statements) if isinstance(node, ast.stmt))]
    return any(
        isinstance(one, ast.If) and not one.orelse and isinstance(one.body[-1], ast.Return)
        # Not the last statement of a body: an `if` that ends it returns early from nothing.
        for body in bodies
        for one in body[:-1]
    )


def _returns_in_branches(statements: Sequence[ast.stmt]) -> bool:
    return any(isinstance(node, ast.If) and always_returns([node]) for node in _own_nodes(statements))


def always_returns(statements: Sequence[ast.stmt]) -> bool:
    """Return whether statements end by returning or raising, in every branch of an ``if`` at their end."""
    match statements:
        case [*_, ast.If(body=body, orelse=other)]:
            return always_returns(body) and always_returns(other)
        case [*_, ast.Return() | ast.Raise()]:
            return True
    return False


def _picks_smallest(statements: Sequence[ast.stmt]) -> bool:
    loops = [node for node in _own_nodes(statements) if isinstance(node, _LOOP_NODES)]
    inner = [node for loop in loops for node in _own_nodes(loop.body) if isinstance(node, _LOOP_NODES)]
    # A swap in the inner loop is a bubble sort.
    return any(
        any(isinstance(node, ast.Compare) for node in _own_nodes(loop.body))
        and not any(name for node in _own_nodes(loop.body) for name in _changed(node))
        for loop in inner
    )


_SHAPES: dict[str, Callable[[Sequence[ast.stmt]], bool]] = {
    "else": _has_else,
    "early_return": _has_early_return,
    "return_at_end": lambda statements: isinstance(statements[-1], ast.Return) if statements else False,
    "branches_return": _returns_in_branches,
    "picks_smallest": _picks_smallest,
}


class FoundFeatures(NamedTuple):
    """Features of a text: ``present`` are all of them, ``effective`` those of what is left when it is reduced."""

    present: frozenset[str]
    effective: frozenset[str]

    def left_with(self, reduced: FoundFeatures) -> FoundFeatures:
        """Return the features of an answer of which a part is left; numbers are those of the whole."""
        # Without an idle return, an answer with two of them would be one with a single return.
        numbers = filter(_is_number, self.present)
        rest = (one for one in reduced.effective & self.effective if not _is_number(one))
        return FoundFeatures(self.present, frozenset(rest).union(numbers))


def features_of_text(text: str, start: int, end: int) -> FoundFeatures | None:
    """Return the features of the statements that begin in a span of a Python program; None if it does not parse.

    The innermost function around the span counts for ``recursion``. The number of returns is that of the
    whole span.
    """
    module = python_module(text)
    if module is None:
        return None
    around, roots = _statements_in(module, PythonPositions(text), start, end)
    found = features(roots, around[-1].name if around else None)
    return FoundFeatures(found, found)


def _is_number(feature: str) -> bool:
    return feature.startswith("returns:")


def _statements_in(
    scope: ast.AST, position: PythonPositions, start: int, end: int
) -> tuple[list[ast.FunctionDef | ast.AsyncFunctionDef], list[ast.stmt]]:
    """Return the functions around a span, outermost first, and the outermost statements that begin in it."""
    around: list[ast.FunctionDef | ast.AsyncFunctionDef] = []
    roots: list[ast.stmt] = []
    waiting: list[ast.AST] = [scope]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = position(node.lineno, node.col_offset)
            last = position(node.end_lineno or node.lineno, node.end_col_offset or 0)
            if first < start <= last:
                around.append(node)
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.stmt) or position(child.lineno, child.col_offset) < start:
                waiting.append(child)
            elif position(child.lineno, child.col_offset) < end:
                roots.append(child)
    by_place = {one: (one.lineno, one.col_offset) for one in (*around, *roots)}
    return sorted(around, key=by_place.__getitem__), sorted(roots, key=by_place.__getitem__)


def _named(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Call):
        yield from _call_features(node)
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield f"name:{node.id}"
    elif isinstance(node, ast.ExceptHandler):
        types = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type] if node.type else []
        yield from (f"handler:{_last_name(one)}" for one in types)
    elif isinstance(node, ast.Import | ast.ImportFrom):
        yield from (f"import:{alias.name}" for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            yield f"import:{node.module}"
    elif isinstance(node, ast.ClassDef):
        yield from (f"base:{_last_name(base)}" for base in node.bases)
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        yield from (f"decorator:{_last_name(one)}" for one in node.decorator_list)
        yield f"name:{node.name}"


def _call_features(call: ast.Call) -> Iterator[str]:
    name = f"call:{_last_name(call.func)}"
    yield from (name, f"{name}/{len(call.args)}")
    yield from (f"{name}({ast.unparse(one)})" for one in call.args[:1] if isinstance(one, ast.Constant))
    for keyword in call.keywords:
        yield from (f"keyword:{keyword.arg}", f"keyword:{keyword.arg}={ast.unparse(keyword.value)}")


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Call):
        return _last_name(node.func)
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _is_recursive(statements: Sequence[ast.stmt], function: str | None) -> bool:
    def calls(node: ast.AST, name: str) -> bool:
        return any(isinstance(one, ast.Call) and _last_name(one.func) == name for one in ast.walk(node))

    if function is not None and any(calls(statement, function) for statement in statements):
        return True
    nodes = [node for statement in statements for node in ast.walk(statement)]
    defined: list[tuple[str, ast.AST]] = [
        (one.name, part) for one in nodes if isinstance(one, ast.FunctionDef) for part in one.body
    ]
    defined += [pair for node in nodes for pair in _bindings(node) if isinstance(pair[1], ast.Lambda)]
    return any(calls(part, name) for name, part in defined)


def _own_nodes(statements: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    """Yield the nodes outside of nested functions and classes."""
    waiting: list[ast.AST] = list(statements)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            waiting.extend(ast.iter_child_nodes(node))


def _loop_depth(node: ast.AST) -> int:
    """Return the depth of nested loops; each clause of a comprehension is one."""
    own = len(getattr(node, "generators", ())) or int(isinstance(node, _LOOP_NODES))
    return own + max(map(_loop_depth, ast.iter_child_nodes(node)), default=0)


class FeatureRule(NamedTuple):
    """Predicate on the features of an implementation: all of ``requires``, none of ``forbids``.

    A required ``A|B`` is one of several features.
    """

    requires: tuple[str, ...]
    forbids: tuple[str, ...]

    def holds(self, found: FoundFeatures) -> bool:
        """Return whether the features satisfy the rule: each required one has an effect, no forbidden one occurs."""
        return not self.faults(found)

    def faults(self, found: FoundFeatures) -> list[str]:
        """Return a line for each feature that is missing, idle or forbidden."""
        missing = [name for name in self.requires if found.effective.isdisjoint(name.split("|"))]
        idle = [("no " if found.present.isdisjoint(name.split("|")) else "idle ") + name for name in missing]
        has = [f"has {name}" for name in self.forbids if name in found.present]
        return [*(one.replace("|", " or ") for one in idle), *has]
