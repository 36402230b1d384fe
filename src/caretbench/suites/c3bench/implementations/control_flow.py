"""Rewrites of branches (returns, guard clauses, chains, conditional expressions, handlers), comprehensions and keys."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from itertools import pairwise

from caretbench.suites.c3bench.implementations.rewrite import (
    PythonMiddle,
    Rewritten,
    clause_lines,
    contains,
    loaded,
    rewrite,
    stored,
    text_of,
)


@rewrite
def single_return(middle: PythonMiddle) -> Iterator[Rewritten]:
    """Several returns outside of loops → one, at the end, of a variable."""
    answer = middle.fresh("answer")
    if answer is None or not middle.is_tail or _return_count(middle.statements) < 2:
        return
    nested = _assigning(middle.statements, answer)
    if nested is not None:
        yield Rewritten(ast.parse(f"{text_of(nested)}\nreturn {answer}").body)


def _always_returns(statements: Sequence[ast.stmt]) -> bool:
    """Return whether statements end by returning or raising, in every branch of an ``if`` at their end."""
    match statements:
        case [*_, ast.If(body=body, orelse=other)]:
            return _always_returns(body) and _always_returns(other)
        case [*_, ast.Return() | ast.Raise()]:
            return True
    return False


def _return_count(statements: Sequence[ast.stmt]) -> int:
    return sum(isinstance(one, ast.Return) for statement in statements for one in ast.walk(statement))


def _assigning(statements: Sequence[ast.stmt], name: str) -> list[ast.stmt] | None:
    """Return the statements with an assignment in the place of each return; None if a return is within a loop."""
    kept: list[ast.stmt] = []
    for index, statement in enumerate(statements):
        if isinstance(statement, ast.Return):
            kept.append(ast.parse(f"{name} = {text_of(statement.value) if statement.value else 'None'}").body[0])
            return kept
        if not contains(statement, ast.Return) or isinstance(statement, ast.FunctionDef):
            kept.append(statement)
            continue
        if not isinstance(statement, ast.If):
            return None
        rest = list(statements[index + 1 :])
        yes = _assigning([*statement.body, *([] if _always_returns(statement.body) else rest)], name)
        no = _assigning([*statement.orelse, *([] if _always_returns(statement.orelse) else rest)], name)
        if yes is None or no is None:
            return None
        kept.append(ast.If(test=statement.test, body=yes, orelse=no))
        return kept
    return None


@rewrite
def guard_clauses(middle: PythonMiddle) -> Iterator[Rewritten]:
    """A final ``if`` with ``else`` that return → a guard clause with an early return, and no ``else``."""
    for index, statement in enumerate(middle.statements):
        match statement:
            case ast.If(test=test, body=body, orelse=[_, *_] as other) if _always_returns(body):
                text = f"if {text_of(test)}:\n{text_of(body, 1)}\n{text_of(other)}"
                yield Rewritten(middle.replaced(index, index + 1, text))


@rewrite
def else_after_return(middle: PythonMiddle) -> Iterator[Rewritten]:
    """A guard clause → ``if`` and ``else`` with all that follows."""
    for index, statement in enumerate(middle.statements[:-1]):
        match statement:
            case ast.If(test=test, body=body, orelse=[]) if _always_returns(body):
                rest = middle.statements[index + 1 :]
                text = f"if {text_of(test)}:\n{text_of(body, 1)}\nelse:\n{text_of(rest, 1)}"
                yield Rewritten(middle.replaced(index, len(middle.statements), text))


@rewrite
def branch_to_conditional_expression(middle: PythonMiddle) -> Iterator[Rewritten]:
    """``if`` and ``else`` that assign one name, or return → a conditional expression."""
    for index, statement in enumerate(middle.statements):
        match statement:
            case ast.If(
                test=test,
                body=[ast.Assign(targets=[ast.Name(id=first)], value=yes)],
                orelse=[ast.Assign(targets=[ast.Name(id=second)], value=no)],
            ) if first == second:
                text = f"{first} = {text_of(yes)} if {text_of(test)} else {text_of(no)}"
            case ast.If(
                test=test, body=[ast.Return(value=ast.expr() as yes)], orelse=[ast.Return(value=ast.expr() as no)]
            ):
                text = f"return {text_of(yes)} if {text_of(test)} else {text_of(no)}"
            case _:
                continue
        yield Rewritten(middle.replaced(index, index + 1, text))
    for index, (first_one, second_one) in enumerate(pairwise(middle.statements)):
        match first_one, second_one:
            case (
                ast.If(test=test, body=[ast.Return(value=ast.expr() as yes)], orelse=[]),
                ast.Return(value=ast.expr() as no),
            ):
                text = f"return {text_of(yes)} if {text_of(test)} else {text_of(no)}"
                yield Rewritten(middle.replaced(index, index + 2, text))


@rewrite
def conditional_expression_to_branch(middle: PythonMiddle) -> Iterator[Rewritten]:
    """A conditional expression that is assigned or returned → ``if`` and ``else``."""
    for index, statement in enumerate(middle.statements):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.IfExp(test=test, body=yes, orelse=no)):
                lead = f"{name} ="
            case ast.Return(value=ast.IfExp(test=test, body=yes, orelse=no)):
                lead = "return"
            case _:
                continue
        text = f"if {text_of(test)}:\n    {lead} {text_of(yes)}\nelse:\n    {lead} {text_of(no)}"
        yield Rewritten(middle.replaced(index, index + 1, text))


def chain_of(statement: ast.stmt) -> tuple[ast.Name, list[tuple[ast.Constant, list[ast.stmt]]], list[ast.stmt]] | None:
    """Return subject, cases and final branch of a chain of comparisons of a name with constants; None if it is none."""
    cases: list[tuple[ast.Constant, list[ast.stmt]]] = []
    subject: ast.Name | None = None
    other: list[ast.stmt] = [statement]
    while len(other) == 1:
        match other[0]:
            case ast.If(
                test=ast.Compare(left=ast.Name() as name, ops=[ast.Eq()], comparators=[ast.Constant() as value]),
                body=body,
                orelse=rest,
            ) if subject is None or name.id == subject.id:
                subject = name
                cases.append((value, body))
                other = rest
            case _:
                break
    return (subject, cases, other) if subject is not None and cases else None


@rewrite
def chain_to_match(middle: PythonMiddle) -> Iterator[Rewritten]:
    """A chain of comparisons of one name with constants → ``match``."""
    for index, statement in enumerate(middle.statements):
        chain = chain_of(statement)
        if chain is None:
            continue
        subject, cases, other = chain
        if not all(isinstance(value.value, str | int) and not isinstance(value.value, bool) for value, _ in cases):
            continue  # a pattern of None, True or False compares by identity
        lines = [f"match {subject.id}:"]
        for value, body in cases:
            lines += [f"    case {text_of(value)}:", text_of(body, 2)]
        if other:
            lines += ["    case _:", text_of(other, 2)]
        yield Rewritten(middle.replaced(index, index + 1, "\n".join(lines)), {"name": subject.id})


@rewrite
def check_to_handler(middle: PythonMiddle) -> Iterator[Rewritten]:
    """A check whether a key is in a dictionary → a handler of ``KeyError``."""
    for index, statement in enumerate(middle.statements):
        match statement:
            case ast.If(
                test=ast.Compare(left=key, ops=[ast.In()], comparators=[ast.Name(id=owner)]),
                body=[ast.AugAssign(target=ast.Subscript(value=ast.Name(id=name), slice=item)) as update],
                orelse=[ast.Assign() as start],
            ) if name == owner and text_of(item) == text_of(key):
                pass
            case _:
                continue
        text = f"try:\n    {text_of(update)}\nexcept KeyError:\n    {text_of(start)}"
        yield Rewritten(middle.replaced(index, index + 1, text))


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
        heads = clause_lines(value)
        lines = [f"{name} = []", *heads, "    " * len(heads) + f"{name}.append({text_of(value.elt)})"]
        yield Rewritten(middle.replaced(index, index + 1, "\n".join(lines) + returned))
