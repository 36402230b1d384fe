"""Rewrites of structures: helper functions, dictionaries, data classes, key functions."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from caretbench.suites.c3bench.implementations.control_flow import chain_of
from caretbench.suites.c3bench.implementations.rewrite import (
    PythonMiddle,
    Rewritten,
    contains,
    loaded,
    rewrite,
    stored,
    text_of,
)


@rewrite
def chain_to_dictionary(middle: PythonMiddle) -> Iterator[Rewritten]:
    """A chain of comparisons with constants that assigns or returns constants → a dictionary."""
    for index, statement in enumerate(middle.statements):
        chain = chain_of(statement)
        if chain is None or middle.fresh("table") is None:
            continue
        subject, cases, other = chain
        values = [_constant(body) for _, body in cases]
        default = _constant(other)
        if default is None or None in values or len({value[0] for value in values if value} | {default[0]}) != 1:
            continue
        entries = ", ".join(
            f"{text_of(key)}: {value[1]}" for (key, _), value in zip(cases, values, strict=True) if value
        )
        text = f"table = {{{entries}}}\n{default[0]} table.get({subject.id}, {default[1]})"
        yield Rewritten(middle.replaced(index, index + 1, text))


def _constant(body: Sequence[ast.stmt]) -> tuple[str, str] | None:
    match body:
        case [ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant() as value)]:
            return f"{name} =", text_of(value)
        case [ast.Return(value=ast.Constant() as value)]:
            return "return", text_of(value)
        case _:
            return None


@rewrite
def condition_to_helper(middle: PythonMiddle) -> Iterator[Rewritten]:
    """The condition in a loop → a nested function that is called."""
    for index, statement in enumerate(middle.statements):
        match statement:
            case ast.For(target=ast.Name(id=name), body=body, orelse=[]):
                branches = [one for one in body if isinstance(one, ast.If)]
            case _:
                continue
        if not branches:
            continue
        branch = branches[0]
        test, position = branch.test, body.index(branch)
        changed = stored(statement) & loaded(test)
        if middle.fresh("is_match") is None or changed - {name} or contains(test, ast.NamedExpr, ast.Lambda):
            continue
        if name not in loaded(test):
            continue
        copy = ast.If(ast.parse(f"is_match({name})", mode="eval").body, branch.body, branch.orelse)
        loop = ast.For(statement.target, statement.iter, [*body[:position], copy, *body[position + 1 :]], [])
        text = f"def is_match({name}):\n    return {text_of(test)}\n{text_of(ast.fix_missing_locations(loop))}"
        yield Rewritten(middle.replaced(index, index + 1, text))


@rewrite
def element_to_helper(middle: PythonMiddle) -> Iterator[Rewritten]:
    """The element of a comprehension → a nested function that is called."""
    for index, statement in enumerate(middle.statements):
        match statement:
            case (
                ast.Return(value=ast.ListComp(elt=element, generators=[generator]))
                | ast.Assign(value=ast.ListComp(elt=element, generators=[generator]))
            ) if isinstance(generator.target, ast.Name) and not isinstance(element, ast.Name):
                name = generator.target.id
            case _:
                continue
        if middle.fresh("element_for") is None or contains(element, ast.NamedExpr) or name not in loaded(element):
            continue
        suffix = "".join(f" if {text_of(test)}" for test in generator.ifs)
        items = f"[element_for({name}) for {name} in {text_of(generator.iter)}{suffix}]"
        lead = "return" if isinstance(statement, ast.Return) else f"{text_of(statement.targets)} ="
        text = f"def element_for({name}):\n    return {text_of(element)}\n{lead} {items}"
        yield Rewritten(middle.replaced(index, index + 1, text))


def _started(middle: PythonMiddle) -> Iterator[tuple[int, int, list[str]]]:
    """Yield first loop, end, and names that start with a constant directly before a loop which updates them."""
    for index, statement in enumerate(middle.statements):
        if not isinstance(statement, ast.For | ast.While):
            continue
        names: list[str] = []
        first = index
        while first > 0:
            match middle.statements[first - 1]:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant()):
                    names.insert(0, name)
                    first -= 1
                case _:
                    break
        updated = stored(statement)
        names = [name for name in names if name in updated]
        nested = (one for part in middle.statements for one in ast.walk(part))
        is_plain = not any(isinstance(one, ast.FunctionDef | ast.Lambda | ast.Global | ast.Nonlocal) for one in nested)
        if names and len(names) == index - first and is_plain:
            yield first, index, names


def _with_accesses(statements: Sequence[ast.stmt], accesses: dict[str, str]) -> str:
    """Return the text of statements in which names are replaced by expressions."""

    class _Replace(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.AST:
            if node.id not in accesses:
                return node
            access = ast.parse(accesses[node.id], mode="eval").body
            access.ctx = node.ctx  # type: ignore[attr-defined]
            return access

    return text_of([_Replace().visit(one) for one in ast.parse(text_of(statements)).body])


def _ends_middle(middle: PythonMiddle, names: Sequence[str], first: int) -> bool:
    """Return whether names are used nowhere outside of the statements from ``first`` on."""
    used = middle.read_outside(middle.statements[first:])
    return not set(names) & (used | stored(middle.statements[:first]) | middle.parameters)


@rewrite
def accumulators_to_dictionary(middle: PythonMiddle) -> Iterator[Rewritten]:
    """Accumulators of a loop → the entries of one dictionary."""
    for first, loop, names in _started(middle):
        if middle.fresh("state") is None or not _ends_middle(middle, names, first):
            continue
        starts = [one for one in middle.statements[first:loop] if isinstance(one, ast.Assign)]
        entries = ", ".join(f"{name!r}: {text_of(one.value)}" for name, one in zip(names, starts, strict=True))
        rest = _with_accesses(middle.statements[loop:], {name: f"state[{name!r}]" for name in names})
        yield Rewritten(middle.replaced(first, len(middle.statements), f"state = {{{entries}}}\n{rest}"))


@rewrite
def accumulators_to_data_class(middle: PythonMiddle) -> Iterator[Rewritten]:
    """Accumulators of a loop → the fields of a data class."""
    for first, loop, names in _started(middle):
        if middle.fresh("state") is None or middle.fresh("State") is None or not _ends_middle(middle, names, first):
            continue
        starts = [one for one in middle.statements[first:loop] if isinstance(one, ast.Assign)]
        fields = "\n".join(
            f"    {name}: object = {text_of(one.value)}" for name, one in zip(names, starts, strict=True)
        )
        rest = _with_accesses(middle.statements[loop:], {name: f"state.{name}" for name in names})
        text = f"from dataclasses import dataclass\n@dataclass\nclass State:\n{fields}\nstate = State()\n{rest}"
        yield Rewritten(middle.replaced(first, len(middle.statements), text))


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
