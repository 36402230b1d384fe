"""Mutation operators: single changes that make a right program wrong, and that parse and should compile.

All changes are within the reference. ``mutations.scm`` of a language captures the nodes; ``mutation_tables`` has the
replacements.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import tree_sitter

from caretbench.build.validation.mutation_tables import OPERATOR_SWAPS
from caretbench.build.validation.mutation_target import MutationEdit, MutationTarget
from caretbench.build.validation.throw_mutations import (
    crash_edits,
    insertion_points,
    is_main_function,
    reference_functions,
    statement_insertion,
    throw_at_end,
    throw_edits,
)
from caretbench.languages.node_kinds import node_kinds
from caretbench.syntax.parser import text_of

_MESSAGES = (
    "throw", "raise", "panic", "console", "print", "Console", "System.out", "std::cout", "fmt.Print", "log.", "assert",
)  # fmt: skip
_TYPE_ARGUMENTS = re.compile(r"<[\s\S]*>")
_WHOLE_NUMBER = re.compile(r"(?!0[xXbBoO_])(\d+)([\s\S]*)")


def _return_of_nothing(target: MutationTarget, function: tree_sitter.Node) -> str | None:
    """Return the text after ``return`` for a default value; None if that would not compile."""
    table = target.table
    if not table.typed:
        plain = {"constructor"} if target.language == "typescript" else set()
        name = function.child_by_field_name("name")
        is_setter = any(child.type == "set" for child in function.children)
        if is_setter or (name is not None and text_of(name) in plain):
            return None
        return f" {table.default_value}"
    declared = target.return_type(function)
    if declared is None:
        return None
    value = table.default_values.get(declared, table.default_value)
    return "" if declared in table.void_types else f" {value}"


def _stubs(target: MutationTarget) -> Iterator[MutationEdit]:
    for function, body in reference_functions(target):
        returned = _return_of_nothing(target, function)
        if target.table.stub_body is not None:
            yield MutationEdit("default_return", body.start_byte, body.end_byte, target.table.stub_body)
        elif returned is not None:
            inner = f" return{returned}; " if returned else ""
            yield MutationEdit("default_return", body.start_byte, body.end_byte, f"{{{inner}}}")
    first = next(insertion_points(target), None)
    around = target.enclosing_function(first) if first is not None else None
    if first is None or around is None or is_main_function(around):
        return
    if not target.contains(target.functions[around.id][1]):
        returned = _return_of_nothing(target, around)
        if returned is not None:
            leaving = target.table.early_return.replace("@", returned)
            yield statement_insertion(target, first, "default_return", leaving)


def _conditions(target: MutationTarget) -> Iterator[MutationEdit]:
    for node in target.captured_nodes("condition"):
        negated = target.table.negation.replace("@", text_of(node))
        yield MutationEdit("condition", node.start_byte, node.end_byte, negated)


def _negations(target: MutationTarget) -> Iterator[MutationEdit]:
    for node in target.captured_nodes("negation"):
        operand = node.named_children[-1] if node.named_children else None
        if operand is not None:
            yield MutationEdit("condition", node.start_byte, node.end_byte, f"({text_of(operand)})")


def _swaps(kind: str) -> Callable[[MutationTarget], Iterator[MutationEdit]]:
    def edits(target: MutationTarget) -> Iterator[MutationEdit]:
        kinds = node_kinds(target.language)
        for node in target.captured_nodes(kind):
            text = " ".join(text_of(node).split())
            statement = target.enclosing_statement(node)
            around = statement.type if statement is not None else ""
            counts = kind == "arithmetic" and around.startswith("for_")
            endless = around in kinds.while_loops | kinds.do_loops or counts
            operands = text_of(node.parent) if node.parent is not None else ""
            joins_text = kind == "arithmetic" and target.table.typed and any(mark in operands for mark in "\"'")
            if text in OPERATOR_SWAPS[kind] and not endless and not joins_text:
                yield MutationEdit(kind, node.start_byte, node.end_byte, OPERATOR_SWAPS[kind][text])

    return edits


def _is_message(target: MutationTarget, node: tree_sitter.Node) -> bool:
    statement = target.enclosing_statement(node)
    return statement is not None and text_of(statement).startswith(_MESSAGES)


def _numbers(target: MutationTarget) -> Iterator[MutationEdit]:
    for node in sorted(target.captured_nodes("number"), key=lambda node: _is_message(target, node)):
        if hit := _WHOLE_NUMBER.fullmatch(text_of(node)):
            yield MutationEdit("number", node.start_byte, node.end_byte, f"{int(hit[1]) + 1}{hit[2]}")


def _strings(target: MutationTarget) -> Iterator[MutationEdit]:
    kinds = node_kinds(target.language)
    for node in sorted(target.captured_nodes("string"), key=lambda node: _is_message(target, node)):
        parent = node.parent
        is_bare = parent is not None and parent.type in kinds.expression_statements  # docstrings, directives
        while parent is not None and parent.type not in kinds.imports and parent.type not in kinds.literal_types:
            parent = parent.parent
        is_required = target.program[: node.start_byte].endswith((b"require(", b"import("))
        if node.children and not is_bare and not is_required and parent is None:
            closing = node.children[-1].start_byte
            yield MutationEdit("string", closing, closing, "x")


def _returned_values(target: MutationTarget) -> Iterator[MutationEdit]:
    table = target.table
    for node in target.captured_nodes("returned"):
        function = target.enclosing_function(node)
        declared = target.return_type(function) if function is not None and table.typed else None
        if table.typed and declared is None:
            continue
        value = table.wrong_values.get(declared or "", table.wrong_value).replace("@", text_of(node))
        yield MutationEdit("return_value", node.start_byte, node.end_byte, value)


def _no_items(target: MutationTarget) -> Iterator[MutationEdit]:
    """Yield changes that replace the iterable of a loop by an empty one."""
    for node in target.captured_nodes("iterable"):
        nothing = _nothing_to_loop_over(target, node)
        if nothing is not None:
            yield MutationEdit("no_items", node.start_byte, node.end_byte, nothing)


def _nothing_to_loop_over(target: MutationTarget, node: tree_sitter.Node) -> str | None:
    """Return an empty iterable of the type that the loop declares; None if unknown."""
    template = target.table.empty_iterable
    if template is None or "@" not in template:
        return template
    declared = node.parent.child_by_field_name("type") if node.parent is not None else None
    if declared is None or text_of(declared) == "var":
        return None
    text = text_of(declared)
    if target.language == "java":  # where no array is made of a type with arguments
        text = _TYPE_ARGUMENTS.sub("", text)
    element, bracket, dimensions = text.partition("[")
    return template.replace("@", element) + bracket + dimensions


def _no_rounds(target: MutationTarget) -> Iterator[MutationEdit]:
    """Yield changes that make the condition of a loop false."""
    for node in target.captured_nodes("loop_condition"):
        never = target.table.false_condition.replace("@", text_of(node))
        yield MutationEdit("no_rounds", node.start_byte, node.end_byte, never)


def _dropped(target: MutationTarget) -> Iterator[MutationEdit]:
    for node in target.captured_nodes("statement"):
        if node.named_child_count and node.named_children[0].type != "string":
            yield MutationEdit("dropped_statement", node.start_byte, node.end_byte, target.table.empty_statement)


def _dropped_lines(target: MutationTarget) -> Iterator[MutationEdit]:
    marks = ("#", "//", "/*", "*", "import ", "from ", "using ", "return", "def ", "class ", "assert")
    position = target.start
    for line in target.program[target.start : target.end].splitlines(keepends=True):
        if line.strip() and not line.strip().decode("utf-8", "surrogatepass").startswith(marks):
            yield MutationEdit("dropped_line", position, position + len(line), "")
        position += len(line)


MUTATION_OPERATORS: tuple[Callable[[MutationTarget], Iterator[MutationEdit]], ...] = (
    _stubs,
    throw_edits,
    _conditions,
    _numbers,
    _swaps("boolean"),
    _swaps("comparison"),
    _swaps("logical"),
    _swaps("arithmetic"),
    _returned_values,
    _negations,
    _dropped,
    _strings,
    _dropped_lines,
    _no_items,
    _no_rounds,
    throw_at_end,
    crash_edits,
)
"""All operators, in the order of their chance to fail."""
