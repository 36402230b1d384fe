"""Positions in a reference where a statement can be inserted, and the changes that insert a throw there."""

from __future__ import annotations

import re
from collections.abc import Iterator

import tree_sitter

from caretbench.syntax.parser import text_of
from caretbench.validation.mutation_target import MutationEdit, MutationTarget

_NO_CODE = ("class_body", "declaration_list", "field_declaration_list", "translation_unit")
CRASH = "crash"
"""The name of throws in code that every run passes, at the top level or in the main function."""

_LEAD = re.compile(rb"(?:\s|(?:#|//)[^\n]*\n|/\*.*?\*/)*", re.DOTALL)
"""Blanks and comments before the first code."""


def statement_insertion(
    subject: MutationTarget, node: tree_sitter.Node, name: str, statement: str
) -> MutationEdit:
    """Return a statement before another one; in Python on a line of its own where the other has one."""
    if subject.language != "python":
        return MutationEdit(name, node.start_byte, node.start_byte, f"{statement} ")
    indentation = subject.indentation(node)
    separator = "; " if indentation is None else f"\n{indentation}"
    return MutationEdit(name, node.start_byte, node.start_byte, statement + separator)


def insertion_points(subject: MutationTarget) -> Iterator[tree_sitter.Node]:
    """Statements that begin in the reference and before which another may be inserted."""
    open_nodes = [subject.tree.root_node]
    while open_nodes:
        node = open_nodes.pop()
        if node.end_byte <= subject.start or node.start_byte >= subject.end:
            continue
        parent = node.parent
        is_statement = parent is not None and parent.type in subject.table.containers and node.is_named
        if is_statement and node.start_byte >= subject.start and node.type not in subject.table.not_before:
            yield node
        open_nodes.extend(reversed(node.children))


def reference_functions(subject: MutationTarget) -> list[tuple[tree_sitter.Node, tree_sitter.Node]]:
    """Functions whose whole body lies in the reference, outer ones first, each with its body."""
    held = [pair for pair in subject.functions.values() if subject.contains(pair[1])]
    return sorted(held, key=lambda pair: pair[1].start_byte)


def is_main_function(function: tree_sitter.Node) -> bool:
    """Return whether a function is the program's own: leaving it early skips the assertions instead of failing them."""
    declarator = function.child_by_field_name("declarator") or function
    name = declarator.child_by_field_name("name") or declarator.child_by_field_name("declarator")
    return name is not None and text_of(name).lower() == "main"


def always_runs(function: tree_sitter.Node | None) -> bool:
    """Return whether code is the program's own: at its top level or in its main function."""
    return function is None or is_main_function(function)


def throw_edits(subject: MutationTarget) -> Iterator[MutationEdit]:
    """Throws in code that not every run passes: in functions of the reference, and before its statements."""
    for _, body in reference_functions(subject):
        children = [child for child in body.named_children if child.type not in subject.table.not_before]
        if subject.language == "python":
            if children:
                yield statement_insertion(subject, children[0], "throw", subject.table.throw)
            continue
        place = body.start_byte + 1
        for child in body.named_children:
            if child.type == "explicit_constructor_invocation":  # nothing may stand before it
                place = child.end_byte
        yield MutationEdit("throw", place, place, f" {subject.table.throw}")
    for statement in insertion_points(subject):
        if not always_runs(subject.enclosing_function(statement)):
            yield statement_insertion(subject, statement, "throw", subject.table.throw)


def crash_edits(subject: MutationTarget) -> Iterator[MutationEdit]:
    """Throws in code that every run passes: that they fail shows reach, not that anything is checked."""
    for statement in insertion_points(subject):
        if always_runs(subject.enclosing_function(statement)):
            yield statement_insertion(subject, statement, CRASH, subject.table.throw)


def throw_before_first_statement(subject: MutationTarget) -> MutationEdit | None:
    """A throw before the first statement that the reference itself executes; None where it holds none (a header).

    It compiles wherever the reference does, and does nothing of what the reference does. Called a crash where every run
    of the program passes.
    """
    lead = _LEAD.match(subject.program, subject.start, subject.end)
    start = lead.end() if lead is not None else subject.start
    for statement in insertion_points(subject):
        container = statement.parent
        if container is not None and container.start_byte <= start:  # not one that the reference itself opens
            always = always_runs(subject.enclosing_function(statement))
            return statement_insertion(subject, statement, CRASH if always else "throw", subject.table.throw)
    return None


def throw_at_end(subject: MutationTarget) -> Iterator[MutationEdit]:
    """Yield a throw where the reference ends, for references that hold no statement of their own."""
    if next(insertion_points(subject), None) is not None or reference_functions(subject):
        return
    node = subject.tree.root_node.descendant_for_byte_range(subject.end, subject.end)
    while node is not None and node.type not in subject.table.containers:
        if node.type.endswith(_NO_CODE):
            return
        node = node.parent
    if node is None:
        return
    text = subject.program[subject.start : subject.end].decode("utf-8", "surrogatepass")
    filled = [line for line in text.split("\n") if line.strip()]
    last = filled[-1] if filled else ""
    place = subject.start + len(text.rstrip().encode("utf-8", "surrogatepass"))
    indentation = last[: len(last) - len(last.lstrip())]
    lead = f"\n{indentation}" if text.strip() else ""
    tail = "" if text[len(text.rstrip()) :] else "\n"
    name = CRASH if always_runs(subject.innermost_function(node)) else "throw"
    yield MutationEdit(name, place, place, lead + subject.table.throw + tail)
