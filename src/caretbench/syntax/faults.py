"""Syntax faults of a whole program: parse errors, and errors that the grammar does not detect.

tree-sitter's Python grammar accepts empty blocks, wrong indentation and ``try`` without a handler. The query file
``faults.scm`` captures the nodes that are checked here in addition.
"""

from __future__ import annotations

import tree_sitter

from caretbench.languages.node_kinds import node_kinds
from caretbench.syntax.parser import captures, error_count, has_error, parse


def _badly_laid_out(body: tree_sitter.Node) -> bool:
    """Return whether a block has no statement, or statements that begin in different columns."""
    statements = [child for child in body.named_children if child.type not in {"comment", "ERROR"}]
    if not statements:
        return body.type != "module"
    columns: set[int] = set()
    row = -1
    for statement in statements:
        # A statement after a semicolon shares the row of the one before, and its column means nothing.
        if statement.start_point.row != row:
            columns.add(statement.start_point.column)
        row = statement.end_point.row
    if len(columns) > 1:
        return True
    if body.parent is None:
        return columns != {0}
    # The column of the statement around it: a header may go over several lines, and end in another column than it
    # began.
    return columns.pop() <= _line_column(body.parent)


def _line_column(node: tree_sitter.Node) -> int:
    """Return the start column of the statement that contains ``node``."""
    statement: tree_sitter.Node | None = node
    while statement is not None and statement.parent is not None:
        if statement.parent.type in {"module", "block"}:
            return statement.start_point.column
        statement = statement.parent
    return -1


def _extra_faults(tree: tree_sitter.Tree, language: str) -> int:
    found = captures(tree.root_node, language, "faults")
    count = len(found.get("fault", []))
    count += sum(map(_badly_laid_out, found.get("body", [])))
    kinds = node_kinds(language)
    ends = kinds.handlers | kinds.finally_clauses
    count += sum(not any(child.type in ends for child in node.named_children) for node in found.get("try", []))
    return count


def layout_faults(tree: tree_sitter.Tree, language: str) -> int:
    """Return the number of layout faults: blocks without a statement, or with statements in different columns."""
    return sum(map(_badly_laid_out, captures(tree.root_node, language, "faults").get("body", [])))


def fault_count(tree: tree_sitter.Tree, language: str) -> int:
    """Return the number of faults of a program: error nodes, missing tokens, and errors beyond the grammar."""
    return error_count(tree) + _extra_faults(tree, language)


def is_well_formed(tree: tree_sitter.Tree, language: str) -> bool:
    """Return whether the program has no syntactic fault."""
    return not has_error(tree) and _extra_faults(tree, language) == 0


def is_well_formed_text(text: str, language: str) -> bool:
    """Return whether ``text`` is a well-formed program of its language."""
    return is_well_formed(parse(text, language), language)
