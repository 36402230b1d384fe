"""Mutation tables: how a language writes what mutants need, from ``mutations.toml`` in its folder."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from caretbench.languages.table_reader import LanguageTable, read_table


class MutationTable(LanguageTable):
    """How one language writes what mutants need; in templates ``@`` stands for the mutated expression.

    ``containers`` are nodes that hold statements; before the kinds in ``not_before`` none is inserted.
    ``default_value`` fits every type where ``defaults`` names none; ``wrong_values`` make a wrong value of
    a right one by type, ``wrong_value`` stands for all other types. In typed languages, what a function of
    unknown type returns is left alone. ``never`` makes a condition that never holds.
    """

    throw: str
    early_return: str
    negation: str
    containers: frozenset[str]
    not_before: frozenset[str]
    nothing: str
    typed: bool
    default_value: str
    wrong_value: str
    vague_comment: str
    vague_line_comment: str
    defaults: Mapping[str, str] = {}
    wrong_values: Mapping[str, str] = {}
    returns_nothing: frozenset[str] = frozenset()
    result_fields: tuple[str, ...] = ("returns", "type", "result")
    """Fields of a function's node that may hold what it returns."""
    untouched: frozenset[str] = frozenset()
    """Types of which no value can be made up."""
    undeclared: str | None = None
    """The type of a function that declares none."""
    never: str = "false && (@)"
    no_items: str | None = None
    """What a loop finds nothing in; @: the type that it declares."""


@cache
def mutation_table(language: str) -> MutationTable:
    """Return the table of a language.

    Raises:
        KeyError: its folder has none.
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
"""Tokens and what they become, by the name of the mutation."""
