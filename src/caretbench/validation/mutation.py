"""Single changes that make a right program a wrong one that still parses and should compile.

An :class:`Edit` replaces some bytes of the golden program, always within the span of the reference.
``mutations.scm`` names the nodes, ``mutation_tables`` what becomes of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import tree_sitter

from caretbench.validation.mutation_subject import Edit, Subject
from caretbench.validation.mutation_tables import SWAPS

CRASH = "crash"
"""The name of throws in code that every run passes, at the top level or in the main function."""

_IMPORTS = frozenset(
    {
        "import_statement",
        "import_from_statement",
        "preproc_include",
        "export_statement",
        "literal_type",
        "import_spec",
    }
)
_MESSAGES = (
    "throw", "raise", "panic", "console", "print", "Console", "System.out", "std::cout", "fmt.Print", "log.", "assert",
)  # fmt: skip
_WHOLE_NUMBER = re.compile(r"(?!0[xXbBoO_])(\d+)([\s\S]*)")


def _return_of_nothing(subject: Subject, function: tree_sitter.Node) -> str | None:
    """What follows ``return`` so that a function gives nothing of use; None where that would not compile."""
    table = subject.table
    if not table.typed:
        plain = {"constructor"} if subject.language == "typescript" else set()
        name = function.child_by_field_name("name")
        is_setter = any(child.type == "set" for child in function.children)
        if is_setter or (name is not None and subject.text(name) in plain):
            return None
        return f" {table.default_value}"
    declared = subject.return_type(function)
    if declared is None:
        return None
    return (
        "" if declared in table.returns_nothing else f" {table.defaults.get(declared, table.default_value)}"
    )


def _insertion(subject: Subject, node: tree_sitter.Node, name: str, statement: str) -> Edit:
    if subject.language != "python":
        return Edit(name, node.start_byte, node.start_byte, f"{statement} ")
    indentation = subject.indentation(node)
    separator = "; " if indentation is None else f"\n{indentation}"
    return Edit(name, node.start_byte, node.start_byte, statement + separator)


def _statements(subject: Subject) -> Iterator[tree_sitter.Node]:
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


def _own_functions(subject: Subject) -> list[tuple[tree_sitter.Node, tree_sitter.Node]]:
    """Functions whose whole body lies in the reference, outer ones first, each with its body."""
    held = [pair for pair in subject.functions.values() if subject.holds(pair[1])]
    return sorted(held, key=lambda pair: pair[1].start_byte)


def _is_entry(subject: Subject, function: tree_sitter.Node) -> bool:
    """Whether a function is the program's own: leaving it early skips the assertions instead of failing them."""
    declarator = function.child_by_field_name("declarator") or function
    name = declarator.child_by_field_name("name") or declarator.child_by_field_name("declarator")
    return name is not None and subject.text(name).lower() == "main"


def _always_runs(subject: Subject, function: tree_sitter.Node | None) -> bool:
    """Whether code is the program's own: at its top level or in its main function."""
    return function is None or _is_entry(subject, function)


def _stubs(subject: Subject) -> Iterator[Edit]:
    for function, body in _own_functions(subject):
        returned = _return_of_nothing(subject, function)
        if subject.language == "python":
            yield Edit("default_return", body.start_byte, body.end_byte, "pass")
        elif returned is not None:
            inner = f" return{returned}; " if returned else ""
            yield Edit("default_return", body.start_byte, body.end_byte, f"{{{inner}}}")
    first = next(_statements(subject), None)
    around = subject.function_around(first) if first is not None else None
    if first is None or around is None or _is_entry(subject, around):
        return
    if not subject.holds(subject.functions[around.id][1]):
        returned = _return_of_nothing(subject, around)
        if returned is not None:
            yield _insertion(
                subject, first, "default_return", subject.table.early_return.replace("@", returned)
            )


def _throws(subject: Subject) -> Iterator[Edit]:
    for _, body in _own_functions(subject):
        children = [child for child in body.named_children if child.type not in subject.table.not_before]
        if subject.language == "python":
            if children:
                yield _insertion(subject, children[0], "throw", subject.table.throw)
            continue
        place = body.start_byte + 1
        for child in body.named_children:
            if child.type == "explicit_constructor_invocation":  # nothing may stand before it
                place = child.end_byte
        yield Edit("throw", place, place, f" {subject.table.throw}")
    for statement in _statements(subject):
        if not _always_runs(subject, subject.function_around(statement)):
            yield _insertion(subject, statement, "throw", subject.table.throw)


def _crashes(subject: Subject) -> Iterator[Edit]:
    """Throws in code that every run passes: that they fail shows reach, not that anything is checked."""
    for statement in _statements(subject):
        if _always_runs(subject, subject.function_around(statement)):
            yield _insertion(subject, statement, CRASH, subject.table.throw)


def _function_at(subject: Subject, container: tree_sitter.Node) -> tree_sitter.Node | None:
    parent: tree_sitter.Node | None = container
    while parent is not None and parent.id not in subject.functions:
        parent = parent.parent
    return parent


def _late_throw(subject: Subject) -> Iterator[Edit]:
    """A throw where the reference ends, for references that hold no statement of their own."""
    if next(_statements(subject), None) is not None or _own_functions(subject):
        return
    node = subject.tree.root_node.descendant_for_byte_range(subject.end, subject.end)
    while node is not None and node.type not in subject.table.containers:
        if node.type.endswith(
            ("class_body", "declaration_list", "field_declaration_list", "translation_unit")
        ):
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
    name = CRASH if _always_runs(subject, _function_at(subject, node)) else "throw"
    yield Edit(name, place, place, lead + subject.table.throw + tail)


def _conditions(subject: Subject) -> Iterator[Edit]:
    for node in subject.nodes("condition"):
        negated = subject.table.negation.replace("@", subject.text(node))
        yield Edit("condition", node.start_byte, node.end_byte, negated)


def _negations(subject: Subject) -> Iterator[Edit]:
    for node in subject.nodes("negation"):
        operand = node.named_children[-1] if node.named_children else None
        if operand is not None:
            yield Edit("condition", node.start_byte, node.end_byte, f"({subject.text(operand)})")


def _statement_around(node: tree_sitter.Node) -> tree_sitter.Node | None:
    parent: tree_sitter.Node | None = node
    while parent is not None and not parent.type.endswith(("_statement", "_declaration")):
        parent = parent.parent
    return parent


def _swaps(kind: str) -> Callable[[Subject], Iterator[Edit]]:
    def edits(subject: Subject) -> Iterator[Edit]:
        for node in subject.nodes(kind):
            text = " ".join(subject.text(node).split())
            statement = _statement_around(node)
            around = statement.type if statement is not None else ""
            endless = around.startswith(("while", "do_")) or (
                kind == "arithmetic" and around.startswith("for_")
            )
            operands = subject.text(node.parent) if node.parent is not None else ""
            joins_text = (
                kind == "arithmetic" and subject.table.typed and any(mark in operands for mark in "\"'")
            )
            if text in SWAPS[kind] and not endless and not joins_text:
                yield Edit(kind, node.start_byte, node.end_byte, SWAPS[kind][text])

    return edits


def _is_message(subject: Subject, node: tree_sitter.Node) -> bool:
    statement = _statement_around(node)
    return statement is not None and subject.text(statement).startswith(_MESSAGES)


def _numbers(subject: Subject) -> Iterator[Edit]:
    for node in sorted(subject.nodes("number"), key=lambda node: _is_message(subject, node)):
        if hit := _WHOLE_NUMBER.fullmatch(subject.text(node)):
            yield Edit("number", node.start_byte, node.end_byte, f"{int(hit[1]) + 1}{hit[2]}")


def _strings(subject: Subject) -> Iterator[Edit]:
    for node in sorted(subject.nodes("string"), key=lambda node: _is_message(subject, node)):
        parent = node.parent
        ancestors = {parent.type if parent is not None else ""}
        while parent is not None:
            ancestors.add(parent.type if parent.type in _IMPORTS else "")
            parent = parent.parent
        is_bare = (
            node.parent is not None and node.parent.type == "expression_statement"
        )  # docstrings, directives
        is_required = subject.program[: node.start_byte].endswith((b"require(", b"import("))
        if node.children and not is_bare and not is_required and not ancestors & _IMPORTS:
            closing = node.children[-1].start_byte
            yield Edit("string", closing, closing, "x")


def _returned_values(subject: Subject) -> Iterator[Edit]:
    table = subject.table
    for node in subject.nodes("returned"):
        function = subject.function_around(node)
        declared = subject.return_type(function) if function is not None and table.typed else None
        if table.typed and declared is None:
            continue
        value = table.wrong_values.get(declared or "", table.wrong_value).replace("@", subject.text(node))
        yield Edit("return_value", node.start_byte, node.end_byte, value)


def _no_items(subject: Subject) -> Iterator[Edit]:
    """Loops that find nothing: the one change for the head of a loop over what a call gives."""
    for node in subject.nodes("iterable"):
        if subject.table.no_items is not None:
            yield Edit("no_items", node.start_byte, node.end_byte, subject.table.no_items)


def _dropped(subject: Subject) -> Iterator[Edit]:
    for node in subject.nodes("statement"):
        if node.named_child_count and node.named_children[0].type != "string":
            yield Edit("dropped_statement", node.start_byte, node.end_byte, subject.table.nothing)


def _dropped_lines(subject: Subject) -> Iterator[Edit]:
    marks = ("#", "//", "/*", "*", "import ", "from ", "using ", "return", "def ", "class ", "assert")
    position = subject.start
    for line in subject.program[subject.start : subject.end].splitlines(keepends=True):
        if line.strip() and not line.strip().decode("utf-8", "surrogatepass").startswith(marks):
            yield Edit("dropped_line", position, position + len(line), "")
        position += len(line)


OPERATORS: tuple[Callable[[Subject], Iterator[Edit]], ...] = (
    _stubs,
    _throws,
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
    _late_throw,
    _crashes,
)
"""All kinds of change, the likeliest to kill first."""
