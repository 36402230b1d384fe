"""Removal of branches that are never taken, of loops that never go round, and of handlers that catch nothing."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from typing import Any

from caretbench.suites.c3bench.implementations.idle.call_effects import SCOPES, may_raise

_LEAVING = (ast.Return, ast.Raise, ast.Break, ast.Continue)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], object]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}
_SOURCES: dict[str, tuple[type[ast.AST], ...]] = {
    "KeyError": (ast.Subscript, ast.Call, ast.Raise),
    "IndexError": (ast.Subscript, ast.Call, ast.Raise),
    "LookupError": (ast.Subscript, ast.Call, ast.Raise),
    "StopIteration": (ast.Call, ast.Raise),
    "ZeroDivisionError": (ast.Div, ast.Mod, ast.FloorDiv, ast.Call, ast.Raise),
}
"""Nodes that can raise an exception; :func:`may_raise` decides about exceptions that are not here."""


# Long: one case for each kind of node.
def truth(node: ast.expr) -> bool | None:
    """Return the truth of a condition that is the same each time; None if it is not, or is not known."""
    match node:
        case ast.Constant(value=value):
            return bool(value)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            value = truth(operand)
            return None if value is None else not value
        case ast.BoolOp(op=op, values=values):
            deciding = isinstance(op, ast.Or)
            found = [truth(one) for one in values]
            return deciding if deciding in found else None if None in found else not deciding
        case ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.Set(elts=elements):
            return None if any(isinstance(one, ast.Starred) for one in elements) else bool(elements)
        case ast.Dict(keys=keys):
            return None if None in keys else bool(keys)
        case ast.Compare(left=ast.Constant(value=left), ops=[op], comparators=[ast.Constant(value=right)]):
            compare = _COMPARISONS.get(type(op))
            try:
                return None if compare is None else bool(compare(left, right))
            except TypeError:
                return None
    return None


def _rounds(items: ast.expr) -> int | None:
    """Return the number of items that a loop goes through, if it is 0 or 1; None if it is not known."""
    match items:
        case ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.Set(elts=elements) if len(elements) < 2:
            return None if any(isinstance(one, ast.Starred) for one in elements) else len(elements)
        case ast.Dict(keys=[]) | ast.Constant(value="" | b""):
            return 0
        case ast.Call(
            func=ast.Name(id="list" | "tuple" | "set" | "dict" | "iter" | "sorted" | "reversed" | "enumerate"),
            args=arguments,
            keywords=[],
        ):
            return _rounds(arguments[0]) if arguments else 0
        case ast.Call(func=ast.Name(id="range"), args=[ast.Constant(value=int() as stop)]) if stop < 2:
            return max(stop, 0)
    return None


def _leaves(statements: Sequence[ast.stmt]) -> bool:
    """Return whether nothing after the statements is reached."""
    if not statements:
        return False
    last = statements[-1]
    if isinstance(last, ast.If):
        return _leaves(last.body) and _leaves(last.orelse)
    return isinstance(last, _LEAVING)


def _jumps(statements: Sequence[ast.stmt], *kinds: type[ast.stmt]) -> bool:
    """Return whether statements of a loop's body break or continue that loop."""
    waiting: list[ast.AST] = list(statements)
    while waiting:
        node = waiting.pop()
        if isinstance(node, kinds):
            return True
        if not isinstance(node, (*_LOOPS, *SCOPES)):
            waiting.extend(ast.iter_child_nodes(node))
        elif isinstance(node, _LOOPS):
            waiting.extend(node.orelse)
    return False


class DeadBranches(ast.NodeTransformer):
    """Transformer that replaces each statement and expression by what of it can be reached."""

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        """Keep the chosen value of a conditional expression."""
        self.generic_visit(node)
        value = truth(node.test)
        return node if value is None else node.body if value else node.orelse

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        """Drop the operands after one that decides, and those that change nothing."""
        self.generic_visit(node)
        deciding = isinstance(node.op, ast.Or)
        kept: list[ast.expr] = []
        for position, one in enumerate(node.values):
            value = truth(one)
            if value is (not deciding) and position < len(node.values) - 1:
                continue
            kept.append(one)
            if value is deciding:
                break
        node.values = kept
        return kept[0] if len(kept) == 1 else node

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        """Keep the branch that is always taken."""
        self.generic_visit(node)
        value = truth(node.test)
        if value is not None:
            return node.body if value else node.orelse
        node.orelse = _without_pass(node.orelse)
        return node

    def visit_While(self, node: ast.While) -> ast.AST | list[ast.stmt]:
        """Drop a loop that is never entered; one that always ends in its first round is no loop."""
        self.generic_visit(node)
        value = truth(node.test)
        if value is False:
            return node.orelse
        if _leaves(node.body) and not _jumps(node.body, ast.Continue) and not node.orelse:
            body = _without_last_break(node.body)
            if not _jumps(body, ast.Break):
                return body if value else ast.copy_location(ast.If(node.test, body or [ast.Pass()], []), node)
        return node

    def visit_For(self, node: ast.For) -> ast.AST | list[ast.stmt]:
        """Drop a loop over nothing; a loop over one item is an assignment."""
        self.generic_visit(node)
        rounds = _rounds(node.iter)
        if rounds == 0:
            return node.orelse
        if rounds == 1 and not _jumps(node.body, ast.Break, ast.Continue):
            start = ast.copy_location(ast.Assign([node.target], node.iter), node)
            return [ast.fix_missing_locations(start), *node.body, *node.orelse]
        return node

    def visit_Try(self, node: ast.Try) -> ast.AST | list[ast.stmt]:
        """Drop the handlers of exceptions that the body does not raise."""
        self.generic_visit(node)
        node.handlers = [one for one in node.handlers if _can_catch(one, node.body)]
        if node.handlers or (node.finalbody and _may_end_early(node.body)):
            return node
        return [*node.body, *node.orelse, *node.finalbody]

    def visit_Match(self, node: ast.Match) -> ast.AST | list[ast.stmt]:
        """Keep the body of a first case that fits everything."""
        self.generic_visit(node)
        match node.cases[0]:
            case ast.match_case(pattern=ast.MatchAs(pattern=None, name=None), guard=None, body=body):
                return body
        return node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Visit the children of a node, and cut its lists of statements where they are left."""
        super().generic_visit(node)
        for field in ("body", "orelse", "finalbody"):
            statements = getattr(node, field, None)
            if isinstance(statements, list):
                reached = _reached(statements)
                is_needed = field == "body" and not isinstance(node, ast.Module)
                setattr(node, field, reached or ([ast.Pass()] if is_needed else []))
        return node


def _reached(statements: Sequence[ast.stmt]) -> list[ast.stmt]:
    for position in range(len(statements)):
        if _leaves(statements[position : position + 1]) or _is_endless(statements[position]):
            return list(statements[: position + 1])
    return list(statements)


def _is_endless(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.While) and truth(statement.test) is True and not _jumps(statement.body, ast.Break)


def _without_pass(statements: Sequence[ast.stmt]) -> list[ast.stmt]:
    return [] if all(isinstance(one, ast.Pass) for one in statements) else list(statements)


def _without_last_break(statements: list[ast.stmt]) -> list[ast.stmt]:
    return statements[:-1] if isinstance(statements[-1], ast.Break) else statements


def _may_end_early(body: Sequence[ast.stmt]) -> bool:
    return may_raise(body) or any(isinstance(inner, _LEAVING) for one in body for inner in ast.walk(one))


def _can_catch(handler: ast.ExceptHandler, body: Sequence[ast.stmt]) -> bool:
    if not may_raise(body):
        return False
    types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    nodes = [inner for one in body for inner in ast.walk(one)]
    return any(
        not isinstance(one, ast.Name)
        or one.id not in _SOURCES
        or any(isinstance(part, _SOURCES[one.id]) for part in nodes)
        for one in types
    )
