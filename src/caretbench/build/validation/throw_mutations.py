"""Mutations that insert a throw, and the positions where a statement can be inserted."""

from __future__ import annotations

import re
from collections.abc import Iterator

import tree_sitter

from caretbench.build.validation.mutation_target import MutationEdit, MutationTarget
from caretbench.languages.node_kinds import node_kinds
from caretbench.syntax.parser import text_of

CRASH = "crash"
"""Name of throws in code that every run executes: at top level or in the main function."""

_LEAD = re.compile(rb"(?:\s|(?:#|//)[^\n]*\n|/\*.*?\*/)*", re.DOTALL)
"""Blanks and comments before code."""


def statement_insertion(target: MutationTarget, node: tree_sitter.Node, name: str, statement: str) -> MutationEdit:
    """Return the insertion of ``statement`` before a node; on its own line where lines end statements."""
    if target.table.stub_body is None:
        return MutationEdit(name, node.start_byte, node.start_byte, f"{statement} ")
    indentation = target.indentation(node)
    separator = "; " if indentation is None else f"\n{indentation}"
    return MutationEdit(name, node.start_byte, node.start_byte, statement + separator)


def insertion_points(target: MutationTarget) -> Iterator[tree_sitter.Node]:
    """Yield the statements in the reference before which another statement can be inserted."""
    open_nodes = [target.tree.root_node]
    while open_nodes:
        node = open_nodes.pop()
        if node.end_byte <= target.start or node.start_byte >= target.end:
            continue
        parent = node.parent
        is_statement = parent is not None and parent.type in target.table.containers and node.is_named
        if is_statement and node.start_byte >= target.start and node.type not in target.table.no_insertion_before:
            yield node
        open_nodes.extend(reversed(node.children))


def reference_functions(target: MutationTarget) -> list[tuple[tree_sitter.Node, tree_sitter.Node]]:
    """Return the functions whose whole body is in the reference, outer ones first, each with its body."""
    held = [pair for pair in target.functions.values() if target.contains(pair[1])]
    return sorted(held, key=lambda pair: pair[1].start_byte)


def is_main_function(function: tree_sitter.Node) -> bool:
    """Return whether a function is the program's main function; an early return from it skips assertions."""
    declarator = function.child_by_field_name("declarator") or function
    name = declarator.child_by_field_name("name") or declarator.child_by_field_name("declarator")
    return name is not None and text_of(name).lower() == "main"


def always_runs(function: tree_sitter.Node | None) -> bool:
    """Return whether every run executes code in ``function``: top level (None) or the main function."""
    return function is None or is_main_function(function)


def throw_edits(target: MutationTarget) -> Iterator[MutationEdit]:
    """Yield throws in code that not every run executes: in functions of the reference, and before its statements."""
    for _, body in reference_functions(target):
        children = [child for child in body.named_children if child.type not in target.table.no_insertion_before]
        if target.table.stub_body is not None:
            if children:
                yield statement_insertion(target, children[0], "throw", target.table.throw)
            continue
        place = body.start_byte + 1
        for child in body.named_children:
            if child.type in node_kinds().constructor_calls:  # must stay first
                place = child.end_byte
        yield MutationEdit("throw", place, place, f" {target.table.throw}")
    for statement in insertion_points(target):
        if not always_runs(target.enclosing_function(statement)):
            yield statement_insertion(target, statement, "throw", target.table.throw)


def crash_edits(target: MutationTarget) -> Iterator[MutationEdit]:
    """Yield throws in code that every run executes; their failure shows only reach."""
    for statement in insertion_points(target):
        if always_runs(target.enclosing_function(statement)):
            yield statement_insertion(target, statement, CRASH, target.table.throw)


def throw_before_first_statement(target: MutationTarget) -> MutationEdit | None:
    """Return a throw before the first statement that the reference itself executes; None if it has none (a header).

    It compiles wherever the reference does. Its name is ``crash`` if every run executes it, else ``throw``.
    """
    lead = _LEAD.match(target.program, target.start, target.end)
    start = lead.end() if lead is not None else target.start
    for statement in insertion_points(target):
        container = statement.parent
        if container is not None and container.start_byte <= start:  # not opened by the reference itself
            always = always_runs(target.enclosing_function(statement))
            return statement_insertion(target, statement, CRASH if always else "throw", target.table.throw)
    return None


def throw_at_end(target: MutationTarget) -> Iterator[MutationEdit]:
    """Yield a throw at the end of a reference that contains no statement."""
    if next(insertion_points(target), None) is not None or reference_functions(target):
        return
    node = target.tree.root_node.descendant_for_byte_range(target.end, target.end)
    while node is not None and node.type not in target.table.containers:
        if node.type in node_kinds(target.language).type_bodies:
            return
        node = node.parent
    if node is None:
        return
    text = target.program[target.start : target.end].decode("utf-8", "surrogatepass")
    filled = [line for line in text.split("\n") if line.strip()]
    last = filled[-1] if filled else ""
    place = target.start + len(text.rstrip().encode("utf-8", "surrogatepass"))
    indentation = last[: len(last) - len(last.lstrip())]
    lead = f"\n{indentation}" if text.strip() else ""
    tail = "" if text[len(text.rstrip()) :] else "\n"
    name = CRASH if always_runs(target.innermost_function(node)) else "throw"
    yield MutationEdit(name, place, place, lead + target.table.throw + tail)
