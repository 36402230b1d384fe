"""Tables of the languages' statements: node types by their function, ``languages/NAME/statements.toml``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from caretbench.languages import language, language_of_grammar
from caretbench.languages.table_reader import LanguageTable, read_table


class StatementTable(LanguageTable):
    """Node types of a grammar."""

    comments: tuple[str, ...]
    """Comments."""
    opaque: tuple[str, ...]
    """Tokens that contain other nodes: strings."""
    lists: tuple[str, ...] = ()
    """Nodes whose named children are statements."""
    not_statements: tuple[str, ...] = ()
    """Children of such nodes that are none."""
    clauses: tuple[str, ...] = ()
    """Clauses after a body: ``else``, ``catch``."""
    wrappers: tuple[str, ...] = ()
    """Statements whose kind is that of the declaration in them."""
    bodies: tuple[str, ...] = ()
    """Fields that contain the body of a compound statement."""
    kinds: Mapping[str, tuple[str, ...]] = {}
    """Statements by kind of block."""
    nodes: Mapping[str, tuple[tuple[str, str], ...]] = {}
    """Pairs of parent type and field (empty: any child) by class of node."""

    def kind(self, node_type: str) -> str:
        """Return the kind of block of a statement's node type; ``simple`` if it is none."""
        return next((kind for kind, types in self.kinds.items() if node_type in types), "simple")


@cache
def statement_table(name: str) -> StatementTable:
    """Return the table of a language, by name, alias or dialect.

    Raises:
        ValueError: the language has no such table.
        KeyError: there is no such language.
    """
    table = read_table(language_of_grammar(name).name, "statements", StatementTable)
    if table is None:
        raise ValueError(f"{language(name).title}: Scale-Control Completion is not verified in this language")
    return table
