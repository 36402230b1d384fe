"""Rewrites of branches, comprehensions, keys and algorithms (heaps, insertion, built-in functions), and back."""

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
    nodes_of,
    rewrite,
    stored,
    text_of,
)


@rewrite
def single_return(middle: PythonMiddle) -> Iterator[Rewritten]:
    """Several returns outside of loops → one, at the end, of a variable."""
    answer = middle.fresh("answer")
    returns = sum(isinstance(node, ast.Return) for node in nodes_of(middle.statements))
    if answer is None or not middle.is_tail or returns < 2:
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
        if any(clause.is_async for clause in value.generators):
            continue
        heads = clause_lines(value)
        lines = [f"{name} = []", *heads, "    " * len(heads) + f"{name}.append({text_of(value.elt)})"]
        yield Rewritten(middle.replaced(index, index + 1, "\n".join(lines) + returned))


def _calls(statement: ast.stmt, name: str) -> list[ast.Call]:
    """Return the calls of a function outside of nested functions, comprehensions and loops' bodies."""
    calls: list[ast.Call] = []
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        match node:
            case ast.Call(func=ast.Name(id=called)) if called == name:
                calls.append(node)
        if not isinstance(node, ast.Lambda | ast.FunctionDef | ast.comprehension | ast.ListComp | ast.GeneratorExp):
            waiting.extend(child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt))
    return calls


def _with_call_replaced(statement: ast.stmt, call: ast.Call, name: str) -> str:
    """Return the text of a statement with a name in the place of a call."""
    text = text_of(call)
    copy = ast.parse(text_of(statement)).body[0]

    class _Replace(ast.NodeTransformer):
        def visit_Call(self, node: ast.Call) -> ast.AST:
            return ast.Name(id=name, ctx=ast.Load()) if text_of(node) == text else self.generic_visit(node)

    return text_of(_Replace().visit(copy))


def _ordered(middle: PythonMiddle, names: Sequence[str], lines: str) -> Iterator[Rewritten]:
    """Yield the middle with a sort by hand: ``lines`` put the values ``@`` in order, and use new names."""
    if not all(middle.fresh(name) for name in (*names, "ordered")):
        return
    for index, statement in enumerate(middle.statements):
        if not isinstance(statement, ast.Assign | ast.Return | ast.AugAssign | ast.Expr):
            continue
        for call in _calls(statement, "sorted"):
            if len(call.args) == 1 and not call.keywords and not isinstance(call.args[0], ast.Starred):
                made = lines.replace("@", text_of(call.args[0]))
                text = f"{made}\n{_with_call_replaced(statement, call, 'ordered')}"
                yield Rewritten(middle.replaced(index, index + 1, text))


@rewrite
def sorted_to_heap(middle: PythonMiddle) -> Iterator[Rewritten]:
    """``sorted`` of values → a heap from which the smallest is taken."""
    lines = (
        "import heapq\nheap = list(@)\nheapq.heapify(heap)\nordered = [heapq.heappop(heap) for _ in range(len(heap))]"
    )
    return _ordered(middle, ("heap", "heapq"), lines)


@rewrite
def sorted_to_insertion(middle: PythonMiddle) -> Iterator[Rewritten]:
    """``sorted`` of values → insertion of each into an ordered list."""
    lines = "import bisect\nordered = []\nfor entry in @:\n    bisect.insort(ordered, entry)"
    return _ordered(middle, ("entry", "bisect"), lines)


@rewrite
def sorted_to_selection(middle: PythonMiddle) -> Iterator[Rewritten]:
    """``sorted`` of values → repeated removal of the smallest one."""
    lines = (
        "remaining = list(@)\nordered = []\nwhile remaining:\n"
        "    smallest = remaining.index(min(remaining))\n    ordered.append(remaining.pop(smallest))"
    )
    return _ordered(middle, ("remaining",), lines)


def _accumulation(
    middle: PythonMiddle, first: ast.stmt, second: ast.stmt
) -> tuple[str, ast.expr, ast.For, ast.expr | None, ast.AugAssign] | None:
    """Return name, start value, loop, condition and update of an accumulation; None if the statements are none."""
    match first, second:
        case (ast.Assign(targets=[ast.Name(id=name)], value=start), ast.For(body=[inner], orelse=[]) as loop):
            pass
        case _:
            return None
    condition = None
    match inner:
        case ast.If(test=test, body=[ast.AugAssign() as update], orelse=[]):
            condition = test
        case ast.AugAssign() as update:
            pass
        case _:
            return None
    used = loaded([loop.iter, update.value, *([condition] if condition else [])])
    if not (isinstance(update.target, ast.Name) and update.target.id == name) or name in used:
        return None
    return None if stored(loop.target) & middle.read_outside([loop]) else (name, start, loop, condition, update)


@rewrite
def accumulator_to_sum(middle: PythonMiddle) -> Iterator[Rewritten]:
    """A loop that adds to an accumulator → ``sum`` of a generator expression."""
    for index, (first, second) in enumerate(pairwise(middle.statements)):
        accumulation = _accumulation(middle, first, second)
        if accumulation is None or not isinstance(accumulation[4].op, ast.Add):
            continue
        name, start, loop, condition, update = accumulation
        if not isinstance(start, ast.Constant) or not isinstance(start.value, int | float):
            continue
        suffix = f" if {text_of(condition)}" if condition else ""
        lead = "" if start.value == 0 else f"{text_of(start)} + "
        text = f"{name} = {lead}sum({text_of(update.value)} for {text_of(loop.target)} in {text_of(loop.iter)}{suffix})"
        yield Rewritten(middle.replaced(index, index + 2, text), {"name": name})


@rewrite
def sum_to_loop(middle: PythonMiddle) -> Iterator[Rewritten]:
    """``sum`` of a generator expression or a list → a loop with an accumulator."""
    for index, statement in enumerate(middle.statements):
        if not isinstance(statement, ast.Assign | ast.Return | ast.AugAssign):
            continue
        for call in _calls(statement, "sum"):
            total = middle.fresh("total")
            if total is None or len(call.args) != 1 or call.keywords:
                continue
            head = _loop_heads(middle, statement, call.args[0])
            if head is None:
                continue
            lines, margin, element = head
            text = "\n".join([f"{total} = 0", *lines, "    " * margin + f"{total} += {element}"])
            yield Rewritten(middle.replaced(index, index + 1, f"{text}\n{_with_call_replaced(statement, call, total)}"))
            break


def _loop_heads(middle: PythonMiddle, statement: ast.stmt, value: ast.expr) -> tuple[list[str], int, str] | None:
    """Return the lines of loops over a generator expression or an iterable, their depth, and the element."""
    if isinstance(value, ast.Starred):
        return None
    if not isinstance(value, ast.GeneratorExp | ast.ListComp):
        entry = middle.fresh("entry")
        return None if entry is None else ([f"for {entry} in {text_of(value)}:"], 1, entry)
    if stored(value) & (middle.read_outside([statement]) | middle.parameters):
        return None
    lines = clause_lines(value)
    return lines, len(lines), text_of(value.elt)


@rewrite
def comprehension_to_filter_and_map(middle: PythonMiddle) -> Iterator[Rewritten]:
    """A list comprehension over one loop → ``map`` and ``filter``."""
    for index, statement in enumerate(middle.statements):
        match statement:
            case (
                ast.Assign(value=ast.ListComp(elt=element, generators=[generator]) as value)
                | ast.Return(value=ast.ListComp(elt=element, generators=[generator]) as value)
            ) if isinstance(generator.target, ast.Name) and not contains(value.elt, ast.NamedExpr):
                name, items = generator.target.id, text_of(generator.iter)
            case _:
                continue
        if generator.ifs:
            items = f"filter(lambda {name}: {' and '.join(f'({text_of(test)})' for test in generator.ifs)}, {items})"
        is_same = isinstance(element, ast.Name) and element.id == name
        if is_same and not generator.ifs:
            continue
        mapped = items if is_same else f"map(lambda {name}: {text_of(element)}, {items})"
        lead = "return" if isinstance(statement, ast.Return) else f"{text_of(statement.targets)} ="
        words = {"function": "filter" if generator.ifs else "map"}
        yield Rewritten(middle.replaced(index, index + 1, f"{lead} list({mapped})"), words)


@rewrite
def loop_to_any_or_all(middle: PythonMiddle) -> Iterator[Rewritten]:
    """A loop that returns True or False at the first match → ``any`` or ``all``."""
    for index, (first, second) in enumerate(pairwise(middle.statements)):
        match second:
            case ast.Return(value=ast.Constant(value=bool() as otherwise)):
                search = _search(first)
            case _:
                continue
        if search is None or not search[0] or search[2] is otherwise:
            continue
        heads, test, _ = search
        clauses = " ".join(heads)
        text = f"return all(not ({test}) {clauses})" if otherwise else f"return any({test} {clauses})"
        yield Rewritten(middle.replaced(index, index + 2, text), {"function": "all" if otherwise else "any"})


def _search(statement: ast.stmt) -> tuple[Sequence[str], str, bool] | None:
    """Return clauses, condition and result of loops that return at the first match; None if they do more."""
    match statement:
        case ast.For(target=target, iter=items, body=[inner], orelse=[]):
            deeper = _search(inner)
            head = f"for {text_of(target)} in {text_of(items)}"
            return None if deeper is None else ([head, *deeper[0]], deeper[1], deeper[2])
        case ast.If(test=test, body=[ast.Return(value=ast.Constant(value=bool() as value))], orelse=[]):
            return [], text_of(test), value
        case ast.If(test=test, body=[inner], orelse=[]):
            deeper = _search(inner)
            return None if deeper is None or deeper[0] else ([], f"({text_of(test)}) and ({deeper[1]})", deeper[2])
        case _:
            return None
