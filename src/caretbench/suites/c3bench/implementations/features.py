"""Features of a Python implementation, which predicates require or forbid."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from caretbench.suites.c3bench.implementations.idle.idle_statements import without_idle_parts
from caretbench.syntax.parser import PythonPositions, python_module

_DISPLAYS: dict[type[ast.AST], str] = {ast.Dict: "dict", ast.DictComp: "dict", ast.List: "list", ast.Tuple: "tuple"}
_CONTAINER_KINDS = ("dict", "list", "tuple", "deque", "set")
_DICTIONARIES = ("defaultdict", "Counter", "OrderedDict")
_GROWING = ("append", "appendleft", "extend", "add", "update", "setdefault", "insert")
_LOOP_NODES = (ast.For, ast.AsyncFor, ast.While)


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
    if isinstance(node, _LOOP_NODES):
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
            case ast.Call(func=ast.Name(id=kind) | ast.Attribute(attr=kind)) if kind in _CONTAINER_KINDS:
                yield name, kind
            case ast.Call(func=ast.Name(id=kind) | ast.Attribute(attr=kind)) if kind in _DICTIONARIES:
                yield name, "dict"
            case _ if type(value) in _DISPLAYS:
                yield name, _DISPLAYS[type(value)]


_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_SIMPLE: dict[str, tuple[type[ast.AST], ...]] = {
    "for": (ast.For, ast.AsyncFor),
    "while": (ast.While,),
    "comprehension": _COMPREHENSIONS,
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
    "yield": (ast.Yield, ast.YieldFrom),
    "assignment_expression": (ast.NamedExpr,),
}


def features(statements: Sequence[ast.stmt], function: str | None = None) -> frozenset[str]:
    """Return the features of an implementation.

    Simple features are the kinds of nodes in it: ``for``, ``while``, ``comprehension``, ``lambda``, ``try``, ``match``,
    ``if``, ``function`` and others. Others contain a name: ``call:NAME``, ``name:NAME`` (assigned), ``handler:NAME``,
    ``import:NAME``, ``keyword:NAME`` (an argument of a call), ``base:NAME`` (of a class), ``decorator:NAME``, and those
    of :func:`name_uses`.
    ``recursion`` is a call of a function by itself (``function`` is the enclosing one), ``returns:N`` the number of
    return statements (nested functions excluded), ``nesting:N`` the depth of nested ``if`` statements. ``else``,
    ``early_return`` (an ``if`` that returns, without ``else``, before other statements) and
    ``range_from_one`` are shapes.
    """
    found = set()
    for statement in statements:
        for node in ast.walk(statement):
            found |= {name for name, types in _SIMPLE.items() if isinstance(node, types)}
            found.update(_named(node))
    found |= name_uses(statements)
    if _is_recursive(statements, function):
        found.add("recursion")
    found |= {name for name, holds in _SHAPES.items() if holds(statements)}
    found.add(f"returns:{sum(1 for node in _own_nodes(statements) if isinstance(node, ast.Return))}")
    found.add(f"nesting:{max((_nesting(statement) for statement in statements), default=0)}")
    return frozenset(found)


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


def _has_range_from_one(statements: Sequence[ast.stmt]) -> bool:
    for node in _own_nodes(statements):
        match node:
            case ast.Call(func=ast.Name(id="range"), args=[ast.Constant(value=1), _, *_]):
                return True
    return False


_SHAPES: dict[str, Callable[[Sequence[ast.stmt]], bool]] = {
    "else": _has_else,
    "early_return": _has_early_return,
    "range_from_one": _has_range_from_one,
}


class FoundFeatures(NamedTuple):
    """Features of a text: ``present`` are all of them, ``effective`` those of the parts that its result depends on."""

    present: frozenset[str]
    effective: frozenset[str]


def features_of_text(text: str, start: int, end: int) -> FoundFeatures | None:
    """Return the features of the statements that begin in a span of a Python program; None if it does not parse.

    The innermost function around the span counts for ``recursion``. Numbers (``returns``, ``nesting``) are those of the
    whole span.
    """
    module = python_module(text)
    if module is None:
        return None
    position = PythonPositions(text)
    around, roots = _statements_in(module, position, start, end)
    scope = around[0] if around else module
    function = around[-1].name if around else None
    present = features(roots, function)
    used = features(_statements_in(without_idle_parts(scope), position, start, end)[1], function)
    # Counts are those of all statements: without an idle return, a version with two of them would be one with a single
    # return.
    numbers = filter(_is_number, present)
    return FoundFeatures(present, frozenset(one for one in used if not _is_number(one)).union(numbers))


def _is_number(feature: str) -> bool:
    return feature.startswith(("returns:", "nesting:"))


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
        yield f"call:{_last_name(node.func)}"
        yield from (f"keyword:{keyword.arg}" for keyword in node.keywords if keyword.arg)
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


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Call):
        return _last_name(node.func)
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _is_recursive(statements: Sequence[ast.stmt], function: str | None) -> bool:
    def calls(node: ast.AST, name: str) -> bool:
        return any(isinstance(one, ast.Call) and _last_name(one.func) == name for one in ast.walk(node))

    if function is not None and any(calls(statement, function) for statement in statements):
        return True
    defined = (one for statement in statements for one in ast.walk(statement) if isinstance(one, ast.FunctionDef))
    return any(calls(part, one.name) for one in defined for part in one.body)


def _own_nodes(statements: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    """Yield the nodes outside of nested functions and classes."""
    waiting: list[ast.AST] = list(statements)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            waiting.extend(ast.iter_child_nodes(node))


def _nesting(node: ast.AST) -> int:
    """Return the depth of nested ``if`` statements; an ``elif`` is as deep as its ``if``."""
    deepest = 0
    waiting = [(node, 0)]
    while waiting:
        one, depth = waiting.pop()
        deepest = max(deepest, depth + isinstance(one, ast.If))
        for child in ast.iter_child_nodes(one):
            # A chain of five `elif` is flat for a reader, and nested five deep in the tree.
            is_elif = isinstance(one, ast.If) and one.orelse == [child] and isinstance(child, ast.If)
            waiting.append((child, depth + (isinstance(one, ast.If) and not is_elif)))
    return deepest


class FeatureRule(NamedTuple):
    """Predicate on the features of an implementation: all of ``requires``, none of ``forbids``."""

    requires: tuple[str, ...]
    forbids: tuple[str, ...]

    def holds(self, found: FoundFeatures) -> bool:
        """Return whether the features satisfy the rule: each required one has an effect, no forbidden one occurs."""
        return found.effective.issuperset(self.requires) and found.present.isdisjoint(self.forbids)

    def faults(self, found: FoundFeatures) -> list[str]:
        """Return a line for each feature that is missing, idle or forbidden."""
        missing = [name for name in self.requires if name not in found.effective]
        idle = [f"idle {name}" if name in found.present else f"no {name}" for name in missing]
        return [*idle, *(f"has {name}" for name in self.forbids if name in found.present)]
