"""Removal of statements of a Python function without which its result is the same.

A statement is kept if it returns, raises or may do anything outside of the function, or if it changes a name that a
kept statement reads. What is removed may have been a name that is never read, a loop without an effect, a helper
function that is never called. Names are compared by function, not by path: a value that is overwritten later counts.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field

from caretbench.suites.c3bench.implementations.idle.call_effects import (
    SCOPES,
    KnownNames,
    bound_names,
    changed_by_target,
    effects_of,
    is_new_value,
    may_raise,
    outer_names,
    own_nodes,
    read_names,
)
from caretbench.suites.c3bench.implementations.idle.dead_branches import DeadBranches

Function = ast.FunctionDef | ast.AsyncFunctionDef
_MAX_ROUNDS = 20


def without_idle_parts(root: ast.Module | Function) -> ast.Module | Function:
    """Return a copy of a function or a program without its idle parts; positions stay.

    All names that a program binds outside of functions count as read.
    """
    copy = deepcopy(root)
    before = ""
    for _ in range(_MAX_ROUNDS):
        DeadBranches().visit(copy)
        _sweep(copy, {})
        after = ast.dump(copy)
        if after == before:
            break
        before = after
    return ast.fix_missing_locations(copy)  # of `pass` where a body is empty now


def _sweep(root: ast.Module | Function, around: dict[str, bool]) -> None:
    """Remove the idle statements of a function, and of functions in it; ``around`` as in :class:`KnownNames`."""
    functions = dict(around)
    methods = {
        id(method): (one.name, method)
        for one in own_nodes(root.body)
        if isinstance(one, SCOPES)
        for method in ([one] if isinstance(one, Function) else [*_methods(one), one])
    }
    if isinstance(root, Function):
        methods[id(root)] = (root.name, root)
    functions |= {name: False for name, _ in methods.values()}
    _find_effects([(name, one) for name, one in methods.values() if isinstance(one, Function)], functions)
    for _, method in methods.values():
        if isinstance(method, Function) and method is not root:
            _sweep(method, functions)
    marks = _Marks(_known_names(root, functions))
    marks.needed |= bound_names(root.body) if isinstance(root, ast.Module) else outer_names(root)
    size = -1
    while size != marks.size:
        size = marks.size
        marks.mark_all(root.body)
    root.body = marks.kept(root.body, is_docstring_kept=True) or [ast.Pass()]


def _methods(one: ast.ClassDef) -> list[Function]:
    return [part for part in one.body if isinstance(part, Function)]


def _find_effects(methods: Sequence[tuple[str, Function]], functions: dict[str, bool]) -> None:
    """Set the names of functions with effects; functions may call each other."""
    is_new = True
    while is_new:
        found = {name for name, one in methods if not functions[name] and _has_effects(one, functions)}
        functions |= dict.fromkeys(found, True)
        is_new = bool(found)


def _has_effects(function: Function, functions: dict[str, bool]) -> bool:
    """Return whether a call of a function may change something besides its result."""
    names = _known_names(function, functions)
    for node in own_nodes(function.body):
        match node:
            case ast.Global() | ast.Nonlocal() | ast.With() | ast.AsyncWith() | ast.Raise():
                return True
            case ast.Assign(targets=targets):
                found = [changed_by_target(target, names) for target in targets]
            case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
                found = [changed_by_target(target, names)]
            case ast.Call() | ast.Attribute():
                found = [None] if effects_of([node], names).unknown else []
            case _:
                continue
        if None in found:
            return True
    return False


def _known_names(root: ast.Module | Function, functions: dict[str, bool]) -> KnownNames:
    """Return the names whose values are all made in a scope, and the functions."""
    classes = frozenset(one.name for one in own_nodes(root.body) if isinstance(one, ast.ClassDef))
    values: dict[str, list[ast.expr | None]] = {}
    other: set[str] = set(outer_names(root))
    if isinstance(root, Function):
        other |= {one.arg for one in ast.walk(root.args) if isinstance(one, ast.arg)}
    plain: set[int] = set()
    for node in own_nodes(root.body):
        match node:
            case ast.Assign(targets=[ast.Name(id=name) as target], value=value):
                pass
            case ast.AnnAssign(target=ast.Name(id=name) as target, value=ast.expr() as value):
                pass
            case ast.AugAssign(target=ast.Name() as target):
                plain.add(id(target))
                continue
            case _:
                continue
        values.setdefault(name, []).append(value)
        plain.add(id(target))
    for node in own_nodes(root.body):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and id(node) not in plain:
            other.add(node.id)
    own = {name for name, found in values.items() if all(is_new_value(value, classes) for value in found)}
    return KnownNames(frozenset(own - other), functions)


@dataclass
class _Marks:
    """Statements of one scope that are not idle, by identity, and the names that they read."""

    names: KnownNames
    needed: set[str] = field(default_factory=set)
    useful: set[int] = field(default_factory=set)

    @property
    def size(self) -> int:
        return len(self.needed) + len(self.useful)

    def mark_all(self, statements: Sequence[ast.stmt], loop: ast.stmt | None = None, *, guarded: bool = False) -> bool:
        """Mark statements; return whether one of them is useful. ``guarded``: what they raise is handled."""
        found = [self._mark(one, loop, guarded=guarded) for one in statements]
        return any(found)

    # Long: one case for each kind of statement.
    def _mark(self, one: ast.stmt, loop: ast.stmt | None, *, guarded: bool) -> bool:
        match one:
            case ast.Break() | ast.Continue():
                is_useful = loop is None or id(loop) in self.useful
            case ast.If(test=test):
                is_useful = self._any_of(one, [one.body, one.orelse], loop, [test], guarded=guarded)
            case ast.While(test=test):
                is_useful = self._any_of(one, [one.body], one, [test], guarded=guarded)
                is_useful |= self.mark_all(one.orelse, loop, guarded=guarded)
            case ast.For() | ast.AsyncFor():
                targets = bound_names([one.target])
                is_useful = self._any_of(one, [one.body], one, [one.iter], guarded=guarded, changed=targets)
                is_useful |= self.mark_all(one.orelse, loop, guarded=guarded)
            case ast.Match(subject=subject):
                tests = [subject, *(case.guard for case in one.cases), *(case.pattern for case in one.cases)]
                bodies = [case.body for case in one.cases]
                bound = bound_names([case.pattern for case in one.cases])
                is_useful = self._any_of(one, bodies, loop, tests, guarded=guarded, changed=bound)
            case ast.Try() | ast.TryStar():
                handlers = [self.mark_all(handler.body, loop, guarded=guarded) for handler in one.handlers]
                rest = self.mark_all([*one.orelse, *one.finalbody], loop, guarded=guarded)
                body = self.mark_all(one.body, loop, guarded=guarded or any(handlers))
                is_useful = body or rest or any(handlers)
                if is_useful:
                    self.needed |= {name for part in one.handlers if part.type for name in read_names(part.type)}
            case ast.With() | ast.AsyncWith():
                is_useful = True
                self._read(frozenset[str]().union(*map(read_names, one.items)))
                self.mark_all(one.body, loop, guarded=guarded)
            case _:
                is_useful = self._is_useful(one, guarded=guarded)
        if is_useful:
            self.useful.add(id(one))
        return is_useful

    def _any_of(
        self,
        one: ast.stmt,
        bodies: Sequence[Sequence[ast.stmt]],
        loop: ast.stmt | None,
        tests: Sequence[ast.AST | None],
        *,
        guarded: bool,
        changed: frozenset[str] = frozenset(),
    ) -> bool:
        """Return whether a compound statement is useful by its bodies or its tests; its tests are read then."""
        effects = effects_of(tests, self.names)
        inner = [self.mark_all(body, loop, guarded=guarded) for body in bodies]
        is_useful = any(inner) or effects.unknown or bool((effects.changes | changed) & self.needed)
        is_useful |= guarded and may_raise(tests)
        if is_useful or id(one) in self.useful:
            self._read(effects.reads)
        return is_useful

    def _is_useful(self, one: ast.stmt, *, guarded: bool) -> bool:
        """Return whether a statement without further statements is useful; its names are read then."""
        match one:
            case ast.Pass():
                return False
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Import() | ast.ImportFrom():
                is_useful = bool(bound_names([one]) & self.needed) or "*" in bound_names([one])
                reads = read_names(one)
            case ast.Delete(targets=targets):
                is_useful, reads = bool(frozenset[str]().union(*map(_mentioned, targets)) & self.needed), frozenset()
            case ast.Expr() | ast.Assign() | ast.AugAssign() | ast.AnnAssign():
                is_useful, reads = self._changes_needed(one, guarded=guarded)
            case _:  # return, raise, assert, global, nonlocal and type aliases
                is_useful, reads = True, read_names(one)
        if is_useful:
            self._read(reads)
        return is_useful

    def _changes_needed(
        self, one: ast.Expr | ast.Assign | ast.AugAssign | ast.AnnAssign, *, guarded: bool
    ) -> tuple[bool, frozenset[str]]:
        targets = one.targets if isinstance(one, ast.Assign) else [] if isinstance(one, ast.Expr) else [one.target]
        effects = effects_of([one.value, *(part for target in targets for part in _places(target))], self.names)
        found = [changed_by_target(target, self.names) for target in targets]
        changes = effects.changes.union(*(part or () for part in found))
        is_useful = effects.unknown or None in found or bool(changes & self.needed)
        reads = effects.reads.union(*map(read_names, targets)) if None in found else effects.reads
        if isinstance(one, ast.AugAssign) and isinstance(one.target, ast.Name):
            is_useful |= one.target.id not in self.names.own and not _is_number(one)
        return is_useful or (guarded and may_raise([one])), reads

    def _read(self, names: frozenset[str]) -> None:
        self.needed |= names

    def kept(self, statements: Sequence[ast.stmt], *, is_docstring_kept: bool = False) -> list[ast.stmt]:
        """Return the useful statements, with the useful ones in them."""
        found: list[ast.stmt] = []
        for one in statements:
            if id(one) not in self.useful and not (is_docstring_kept and one is statements[0] and _is_docstring(one)):
                continue
            if not isinstance(one, SCOPES):
                for part in [one, *getattr(one, "handlers", ()), *getattr(one, "cases", ())]:
                    for name in ("body", "orelse", "finalbody"):
                        inner = getattr(part, name, None)
                        if isinstance(inner, list) and inner:
                            setattr(part, name, self.kept(inner) or ([ast.Pass()] if name == "body" else []))
            found.append(self._without_unread_targets(one))
        return found

    def _without_unread_targets(self, one: ast.stmt) -> ast.stmt:
        """Return an assignment that is kept for the effects of its value alone as a plain expression."""
        if isinstance(one, ast.Assign):
            bound = bound_names(one.targets)
            plain = all(isinstance(target, ast.Name) for target in one.targets)
            if plain and not bound & (self.needed | outer_names(one)):
                return ast.copy_location(ast.Expr(one.value), one)
        return one


def _is_number(one: ast.AugAssign) -> bool:
    return isinstance(one.value, ast.Constant) and isinstance(one.value.value, int | float)


def _is_docstring(one: ast.stmt) -> bool:
    return isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)


def _mentioned(target: ast.expr) -> frozenset[str]:
    return frozenset(node.id for node in ast.walk(target) if isinstance(node, ast.Name))


def _places(target: ast.expr) -> list[ast.expr]:
    """Return the expressions in a target that choose its place: ``i`` in ``a[i] = 1``."""
    return [node.slice for node in ast.walk(target) if isinstance(node, ast.Subscript)]
