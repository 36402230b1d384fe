"""Mutation operators: single changes that make a right program wrong, and that parse and should compile.

All changes are within the reference. ``mutations.scm`` of a language captures the nodes; ``mutation_tables`` has the
replacements.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import tree_sitter

from caretbench.build.validation.mutation_target import OPERATOR_SWAPS, MutationEdit, MutationTarget
from caretbench.languages.node_kinds import node_kinds
from caretbench.syntax.parser import captures, encode, text_of, upwards, walk

CRASH = "crash"
"""Name of throws in code that every run executes: at top level or in the main function."""

_LEAD = re.compile(rb"(?:\s|(?:#|//)[^\n]*\n|/\*.*?\*/)*", re.DOTALL)
"""Blanks and comments before code."""


def statement_insertion(target: MutationTarget, node: tree_sitter.Node, name: str, statement: str) -> MutationEdit:
    """Return the insertion of ``statement`` before a node; on its own line where lines end statements."""
    if target.table.stub_body is None:
        return MutationEdit(name, node.start_byte, node.start_byte, f"{statement} ")
    return MutationEdit(name, node.start_byte, node.start_byte, statement + target.separator(node))


def insertion_points(target: MutationTarget) -> Iterator[tree_sitter.Node]:
    """Yield the statements in the reference before which another statement can be inserted."""
    for node in walk(target.tree.root_node, target.start, target.end):
        parent = node.parent
        is_statement = parent is not None and parent.type in target.table.containers and node.is_named
        if is_statement and node.start_byte >= target.start and node.type not in target.table.no_insertion_before:
            yield node


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
        start = body.start_byte + 1
        for child in body.named_children:
            if child.type in node_kinds().constructor_calls:  # must stay first
                start = child.end_byte
        yield MutationEdit("throw", start, start, f" {target.table.throw}")
    for statement in insertion_points(target):
        if not always_runs(target.enclosing_function(statement)):
            yield statement_insertion(target, statement, "throw", target.table.throw)


def crash_edits(target: MutationTarget) -> Iterator[MutationEdit]:
    """Yield throws in code that every run executes; their failure shows only reach."""
    for statement in insertion_points(target):
        if always_runs(target.enclosing_function(statement)):
            yield statement_insertion(target, statement, CRASH, target.table.throw)


def throw_before_first_statement(target: MutationTarget) -> Iterator[MutationEdit]:
    """Yield a throw before the first statement that the reference itself executes; a header has none.

    It compiles wherever the reference does. Its name is ``crash`` if every run executes it, else ``throw``.
    """
    lead = _LEAD.match(target.program, target.start, target.end)
    start = lead.end() if lead is not None else target.start
    for statement in insertion_points(target):
        container = statement.parent
        if container is not None and container.start_byte <= start:  # not opened by the reference itself
            always = always_runs(target.enclosing_function(statement))
            yield statement_insertion(target, statement, CRASH if always else "throw", target.table.throw)
            return


def throw_at_end(target: MutationTarget) -> Iterator[MutationEdit]:
    """Yield a throw at the end of a reference that contains no statement."""
    if next(insertion_points(target), None) is not None or reference_functions(target):
        return
    bodies = target.table.containers | node_kinds(target.language).type_bodies
    around = upwards(target.tree.root_node.descendant_for_byte_range(target.end, target.end))
    node = next((body for body in around if body.type in bodies), None)
    if node is None or node.type not in target.table.containers:
        return
    text = target.program[target.start : target.end].decode("utf-8", "surrogatepass")
    code = text.rstrip()
    last = code.rpartition("\n")[2]
    end = target.start + len(encode(code))
    lead = f"\n{last[: len(last) - len(last.lstrip())]}" if code else ""
    tail = "" if text[len(code) :] else "\n"
    name = CRASH if always_runs(target.innermost_function(node)) else "throw"
    yield MutationEdit(name, end, end, lead + target.table.throw + tail)


_REMOVED = "construct_removed"


def removed_construct_edits(target: MutationTarget) -> Iterator[MutationEdit]:
    """Yield the changes that remove a condition, a loop or handlers, the outer ones first."""
    table = target.table
    blocks = captures(target.tree.root_node, target.language, "blocks")
    edits = [
        MutationEdit(_REMOVED, node.start_byte, node.end_byte, table.true_condition.replace("@", text_of(node)))
        for node in target.captured_nodes("condition")
    ]
    is_body = table.containers.__contains__ if table.stub_body is None else bool
    loops = [node for node in blocks.get("loop_body", []) if target.contains(node) and node.named_children]
    edits += [_at_end(target, body, table.loop_exit) for body in loops if is_body(body.type)]
    edits += filter(None, (_thrown_on(target, node) for node in blocks.get("handler", []) if target.contains(node)))
    yield from sorted(edits, key=lambda edit: edit.start)


def _thrown_on(target: MutationTarget, handler: tree_sitter.Node) -> MutationEdit | None:
    """Return the change that throws on what a handler catches; None if it has no statement or no name."""
    table = target.table
    body = next((child for child in reversed(handler.named_children) if child.type in table.containers), None)
    first = next((child for child in body.named_children if "comment" not in child.type), None) if body else None
    if body is None or first is None or table.rethrow is None:
        return None
    names = [text_of(leaf) for leaf in _leaves(handler, body) if leaf.type == "identifier"]
    if "@" in table.rethrow and not names:
        return None
    return statement_insertion(target, first, _REMOVED, table.rethrow.replace("@", names[-1] if names else ""))


def _at_end(target: MutationTarget, body: tree_sitter.Node, statement: str) -> MutationEdit:
    """Return the insertion of a statement at the end of a body."""
    last = body.named_children[-1]
    if target.table.stub_body is None:
        return MutationEdit(_REMOVED, body.end_byte - 1, body.end_byte - 1, f"{statement} ")
    return MutationEdit(_REMOVED, last.end_byte, last.end_byte, target.separator(last) + statement)


def _leaves(node: tree_sitter.Node, body: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    """Yield the leaves of a node before its body."""
    for child in node.children:
        if child == body:
            return
        yield from _leaves(child, body) if child.child_count else (child,)


# Changed last: numbers and texts of messages are rarely asserted.
_MESSAGES = (
    "throw", "raise", "panic", "console", "print", "Console", "System.out", "std::cout", "fmt.Print", "log.", "assert",
)  # fmt: skip
_TYPE_ARGUMENTS = re.compile(r"<[\s\S]*>")
_WHOLE_NUMBER = re.compile(r"(?!0[xXbBoO_])(\d+)([\s\S]*)")


def _return_of_nothing(target: MutationTarget, function: tree_sitter.Node) -> str | None:
    """Return the text after ``return`` for a default value; None if that would not compile."""
    table = target.table
    if not table.typed:
        # A constructor that returns a value, and a setter, do not compile.
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


def _replacing(
    name: str, capture: str, replacement: Callable[[MutationTarget, tree_sitter.Node], str | None]
) -> Callable[[MutationTarget], Iterator[MutationEdit]]:
    """Return the operator that replaces the nodes of a capture; a node whose ``replacement`` is None stays."""

    def edits(target: MutationTarget) -> Iterator[MutationEdit]:
        for node in target.captured_nodes(capture):
            text = replacement(target, node)
            if text is not None:
                yield MutationEdit(name, node.start_byte, node.end_byte, text)

    return edits


def _negated(target: MutationTarget, node: tree_sitter.Node) -> str:
    return target.table.negation.replace("@", text_of(node))


def _without_negation(_target: MutationTarget, node: tree_sitter.Node) -> str | None:
    return f"({text_of(node.named_children[-1])})" if node.named_children else None


def _swaps(kind: str) -> Callable[[MutationTarget], Iterator[MutationEdit]]:
    def swapped(target: MutationTarget, node: tree_sitter.Node) -> str | None:
        kinds = node_kinds(target.language)
        statement = target.enclosing_statement(node)
        around = statement.type if statement is not None else ""
        counts = kind == "arithmetic" and around.startswith("for_")
        # A swapped operator in a loop's condition or step often loops for ever, and costs the whole limit of time.
        endless = around in kinds.while_loops | kinds.do_loops or counts
        operands = text_of(node.parent) if node.parent is not None else ""
        # In typed languages, texts joined by `-` do not compile.
        joins_text = kind == "arithmetic" and target.table.typed and any(mark in operands for mark in "\"'")
        return None if endless or joins_text else OPERATOR_SWAPS[kind].get(" ".join(text_of(node).split()))

    return _replacing(kind, kind, swapped)


def _is_message(target: MutationTarget, node: tree_sitter.Node) -> bool:
    statement = target.enclosing_statement(node)
    return statement is not None and text_of(statement).startswith(_MESSAGES)


def _numbers(target: MutationTarget) -> Iterator[MutationEdit]:
    for node in sorted(target.captured_nodes("number"), key=lambda node: _is_message(target, node)):
        # Not hexadecimal and the like: these are masks and colours, where one more may change nothing.
        if hit := _WHOLE_NUMBER.fullmatch(text_of(node)):
            yield MutationEdit("number", node.start_byte, node.end_byte, f"{int(hit[1]) + 1}{hit[2]}")


def _strings(target: MutationTarget) -> Iterator[MutationEdit]:
    kinds = node_kinds(target.language)
    for node in sorted(target.captured_nodes("string"), key=lambda node: _is_message(target, node)):
        parent = node.parent
        is_bare = parent is not None and parent.type in kinds.expression_statements  # docstrings, directives
        is_type_or_module = any(around.type in kinds.imports | kinds.literal_types for around in upwards(parent))
        # A changed module name fails at import, whatever the checks are.
        is_required = target.program[: node.start_byte].endswith((b"require(", b"import("))
        if node.children and not is_bare and not is_required and not is_type_or_module:
            closing = node.children[-1].start_byte
            yield MutationEdit("string", closing, closing, "x")


def _wrong_value(target: MutationTarget, node: tree_sitter.Node) -> str | None:
    table = target.table
    function = target.enclosing_function(node)
    declared = target.return_type(function) if function is not None and table.typed else None
    if table.typed and declared is None:
        return None
    return table.wrong_values.get(declared or "", table.wrong_value).replace("@", text_of(node))


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


def _never_true(target: MutationTarget, node: tree_sitter.Node) -> str:
    return target.table.false_condition.replace("@", text_of(node))


def _empty_statement(target: MutationTarget, node: tree_sitter.Node) -> str | None:
    does_something = node.named_child_count and node.named_children[0].type != "string"
    return target.table.empty_statement if does_something else None


def _dropped_lines(target: MutationTarget) -> Iterator[MutationEdit]:
    # Lines whose removal cannot compile, or changes nothing.
    marks = ("#", "//", "/*", "*", "import ", "from ", "using ", "return", "def ", "class ", "assert")
    position = target.start
    for line in target.program[target.start : target.end].splitlines(keepends=True):
        if line.strip() and not line.strip().decode("utf-8", "surrogatepass").startswith(marks):
            yield MutationEdit("dropped_line", position, position + len(line), "")
        position += len(line)


MUTATION_OPERATORS: tuple[Callable[[MutationTarget], Iterator[MutationEdit]], ...] = (
    _stubs,
    throw_edits,
    _replacing("condition", "condition", _negated),
    _numbers,
    _swaps("boolean"),
    _swaps("comparison"),
    _swaps("logical"),
    _swaps("arithmetic"),
    _replacing("return_value", "returned", _wrong_value),
    _replacing("condition", "negation", _without_negation),
    _replacing("dropped_statement", "statement", _empty_statement),
    _strings,
    _dropped_lines,
    _replacing("no_items", "iterable", _nothing_to_loop_over),
    _replacing("no_rounds", "loop_condition", _never_true),
    throw_at_end,
    crash_edits,
)
"""All operators, in the order of their chance to fail."""
