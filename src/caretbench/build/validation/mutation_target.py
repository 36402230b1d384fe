"""Program to mutate, with the span of its reference, and the mutation tables of its language (``mutations.toml``)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

import tree_sitter

from caretbench.errors import UsageError
from caretbench.languages.node_kinds import node_kinds
from caretbench.languages.table_reader import LanguageTable, read_table
from caretbench.syntax.parser import captures, encode, fault_count, matches, parse, text_of, upwards


class MutationTable(LanguageTable):
    """Texts and templates for mutants in one language; ``@`` in a template is the mutated expression.

    ``containers`` are kinds of nodes that contain statements; nothing is inserted before the kinds in
    ``no_insertion_before``. ``default_values`` are default values by type, ``default_value`` is for other types.
    ``wrong_values`` are templates of wrong values by type, ``wrong_value`` is for other types. ``typed``: return values
    of unknown type are not changed.
    """

    throw: str
    early_return: str
    negation: str
    containers: frozenset[str]
    no_insertion_before: frozenset[str]
    empty_statement: str
    typed: bool
    default_value: str
    wrong_value: str
    vague_comment: str
    vague_line_comment: str
    default_values: Mapping[str, str] = {}
    wrong_values: Mapping[str, str] = {}
    void_types: frozenset[str] = frozenset()
    result_fields: tuple[str, ...] = ("returns", "type", "result")
    """Fields of a function's node that may contain the return type."""
    types_without_default: frozenset[str] = frozenset()
    """Types without a default value."""
    undeclared_type: str | None = None
    """Type of a function without a declared type."""
    false_condition: str = "false && (@)"
    true_condition: str = "true || (@)"
    loop_exit: str = "break;"
    """Statement that ends a loop."""
    rethrow: str | None = None
    """Statement that throws on what a handler caught; ``@`` is its name."""
    stub_body: str | None = None
    """Body of a function that does nothing, in languages whose bodies have no braces."""
    bare_statements: bool = False
    """Every node in a container is a statement: the grammar has no kinds of statements."""
    empty_iterable: str | None = None
    """Template of an empty iterable; ``@`` is the element type that the loop declares."""


@cache
def mutation_table(language: str) -> MutationTable:
    """Return the table of a language.

    Raises:
        UsageError: the language has none.
    """
    table = read_table(language, "mutations", MutationTable)
    if table is None:
        raise UsageError(f"{language}: its folder has no mutations")
    return table


OPERATOR_SWAPS: Mapping[str, Mapping[str, str]] = {
    "comparison": {
        # Each to its opposite: `<` to `<=` differs at the border only, which few checks test.
        "==": "!=", "!=": "==", "===": "!==", "!==": "===", "<": ">=", ">=": "<", ">": "<=", "<=": ">",
        "is": "is not", "is not": "is", "in": "not in", "not in": "in",
    },
    "logical": {"&&": "||", "||": "&&", "and": "or", "or": "and"},
    "arithmetic": {
        "+": "-", "-": "+", "*": "+", "/": "*", "%": "*", "//": "*", "**": "*",
        "+=": "-=", "-=": "+=", "*=": "+=", "/=": "*=",
    },
    "boolean": {"true": "false", "false": "true", "True": "False", "False": "True"},
}  # fmt: skip
"""Replacements of tokens, by the name of the mutation."""


_ASSERTION = re.compile(r"(?:[\w.]+\.)?(?:[Aa]ssert|static_assert|expect\b)")
_TYPE_NOISE = re.compile(r"\b(?:const|static|final|inline|virtual)\b|\s+")


class MutationEdit(NamedTuple):
    """Replacement of the bytes ``start`` to ``end`` of a program by ``text``; ``name`` is the kind of change."""

    name: str
    start: int
    end: int
    text: str


class MutationTarget:
    """A program to mutate; its bytes ``start`` to ``end`` are the reference."""

    def __init__(self, program: bytes, language: str, start: int, end: int) -> None:
        self.program = program
        self.language = language
        self.table: MutationTable = mutation_table(language)
        self.start, self.end = start, end
        self.tree = parse(program, language)
        # Some references have faults for the parser (macros): a mutant may have as many, and no more.
        self._faults = fault_count(self.tree, language)
        self._captures = captures(self.tree.root_node, language, "mutations")
        self.functions = {
            match["function"][0].id: (match["function"][0], match["body"][0])
            for match in matches(self.tree.root_node, language, "mutations")
            if "function" in match
        }

    def captured_nodes(self, capture: str) -> list[tree_sitter.Node]:
        """Return the nodes with a capture name within the reference, in text order.

        Nodes in assertions are omitted: a changed assertion fails by itself.
        """
        captured = [node for node in self._captures.get(capture, []) if self.contains(node)]
        return sorted((node for node in captured if not self.is_assertion(node)), key=lambda node: node.start_byte)

    def is_assertion(self, node: tree_sitter.Node) -> bool:
        """Return whether a node is in an assertion."""
        statement = self.enclosing_statement(node)
        return statement is not None and _ASSERTION.match(text_of(statement)) is not None

    def enclosing_statement(self, node: tree_sitter.Node) -> tree_sitter.Node | None:
        """Return the innermost statement or declaration that is, or contains, a node."""
        for around in upwards(node):
            if self.table.bare_statements:
                if around.parent is None or around.parent.type in self.table.containers:
                    return around
            elif around.type.endswith(("_statement", "_declaration")) or around.type in node_kinds().other_statements:
                return around
        return None

    def contains(self, node: tree_sitter.Node) -> bool:
        """Return whether a node is within the reference."""
        return self.start <= node.start_byte and node.end_byte <= self.end

    def mutated_reference(self, edit: MutationEdit) -> str:
        """Return the text of the reference after a change."""
        changed = self._changed(edit)
        rest = len(self.program) - self.end
        return changed[self.start : len(changed) - rest].decode("utf-8", "surrogatepass")

    def parses_after(self, edit: MutationEdit) -> bool:
        """Return whether a change adds no syntax faults to the program."""
        return fault_count(parse(self._changed(edit), self.language), self.language) <= self._faults

    def _changed(self, edit: MutationEdit) -> bytes:
        return self.program[: edit.start] + encode(edit.text) + self.program[edit.end :]

    def separator(self, node: tree_sitter.Node) -> str:
        """Return the text between a node and a statement next to it: a new line, or ``;`` within the node's line."""
        line_start = self.program.rfind(b"\n", 0, node.start_byte) + 1
        before = self.program[line_start : node.start_byte].decode("utf-8", "surrogatepass")
        return "; " if before.strip() else f"\n{before}"

    def innermost_function(self, node: tree_sitter.Node | None) -> tree_sitter.Node | None:
        """Return the innermost function that is, or contains, ``node``."""
        return next((around for around in upwards(node) if around.id in self.functions), None)

    def enclosing_function(self, node: tree_sitter.Node) -> tree_sitter.Node | None:
        """Return the innermost function around ``node``."""
        return self.innermost_function(node.parent)

    def return_type(self, function: tree_sitter.Node) -> str | None:
        """Return a function's declared return type without blanks and modifiers; None if it has no default value.

        For asynchronous functions of C# it is the type argument of ``Task``; for several results it is None.
        """
        kinds = node_kinds(self.language)
        fields = (function.child_by_field_name(name) for name in self.table.result_fields)
        declared = next((node for node in fields if node is not None), None)
        if declared is None or declared.type in kinds.parameter_lists:
            return None if declared is not None else self.table.undeclared_type
        declarator = function.child_by_field_name("declarator")
        # A reference of C++ has no default value.
        if declarator is not None and declarator.type in kinds.reference_declarators:
            return None
        name = _TYPE_NOISE.sub("", text_of(declared))
        if declarator is not None and declarator.type in kinds.pointer_declarators:
            name += "*"
        if any(text_of(child) == "async" for child in function.children):
            name = re.sub(r"^(?:[\w.]*\.)?(?:Value)?Task(?:<(.*)>)?$", lambda hit: hit[1] or "void", name)
        return None if name in self.table.types_without_default else name
