"""Mutation tables of languages, from ``mutations.toml`` in their folders."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from caretbench.languages.table_reader import LanguageTable, read_table


class MutationTable(LanguageTable):
    """Texts and templates for mutants in one language; ``@`` in a template is the mutated expression.

    ``containers`` are kinds of nodes that contain statements; nothing is inserted before the kinds in ``not_before``.
    ``defaults`` are default values by type, ``default_value`` is for other types. ``wrong_values`` are templates of
    wrong values by type, ``wrong_value`` is for other types. ``typed``: return values of unknown type are not changed.
    ``never`` is a template of a false condition.
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
        KeyError: the language has none.
    """
    table = read_table(language, "mutations", MutationTable)
    if table is None:
        raise KeyError(language)
    return table


OPERATOR_SWAPS: Mapping[str, Mapping[str, str]] = {
    "comparison": {
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
