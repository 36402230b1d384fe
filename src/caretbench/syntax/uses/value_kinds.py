"""Kinds of values that are visible in the text: of literals, initial values and declared types."""

from __future__ import annotations

import re
from typing import Final

import tree_sitter

from caretbench.languages import language_of_grammar
from caretbench.languages.node_kinds import node_kinds
from caretbench.syntax.parser import text_of

_COMPARISONS: Final = frozenset({"==", "!=", "<", ">", "<=", ">=", "===", "!==", "&&", "||", "not", "!", "in"})
_INFERRED: Final = re.compile(r"(?:const\s+|final\s+)?(?:var|auto|decltype\(auto\)|any|unknown|_|dynamic)\s*[&*]*")


def kind_of_value(node: tree_sitter.Node) -> str:
    """Return ``int``, ``string``, ``null``, ``list`` … for a literal, ``name`` for a name, else the empty text."""
    kinds = node_kinds()
    kind = kinds.literal_kinds.get(node.type)
    if kind is not None:
        return kind
    if node.type in kinds.names:
        return "name"
    if node.type in kinds.unary and node.named_children:
        sign = (node.text or b"")[:1]
        inner = kind_of_value(node.named_children[-1])
        return inner if sign in b"-+" and inner in ("int", "float", "number") else ""
    return ""


def is_function(node: tree_sitter.Node) -> bool:
    """Return whether a value is an anonymous function."""
    return node.type in node_kinds().anonymous_functions


def plain_type(text: str) -> str:
    """Return a declared type as ``type:NAME``; empty if it is absent or inferred (``var``, ``auto``)."""
    bare = re.sub(r"\s+", " ", text.strip().removeprefix(":").removeprefix("->").strip())
    if _INFERRED.fullmatch(bare):
        return ""
    return f"type:{bare}" if bare else ""


def _child(node: tree_sitter.Node, *fields: str) -> tree_sitter.Node | None:
    """Return the child in the first of these fields that is present."""
    return next((found for field in fields if (found := node.child_by_field_name(field)) is not None), None)


def _kind_of_literal(literal: str, grammar: str) -> str:
    known = language_of_grammar(grammar).literal_types.get(literal)
    return f"type:{known}" if known else f"literal:{literal}"


def inferred_kind(node: tree_sitter.Node, grammar: str) -> str:
    """Return the kind of a variable by its initial value: a type, a literal or a call; empty if unknown."""
    kinds = node_kinds()
    wrappers = kinds.parentheses | kinds.awaits
    while node.type in wrappers and len(node.named_children) == 1 and not _operator(node):
        node = node.named_children[0]
    literal = kind_of_value(node)
    if literal and literal not in ("name", "null"):
        return _kind_of_literal(literal, grammar)
    if node.type in kinds.creations:
        made = _child(node, "type", "constructor", "name")
        return f"type:{text_of(made)}" if made is not None else ""
    if node.type in kinds.calls | kinds.macros:
        callee = _child(node, "function", "name", "method")
        receiver = _child(node, "object", "receiver")
        if callee is None:
            return ""
        before = f"{text_of(receiver)}." if receiver is not None else ""
        return "call:" + re.sub(r"\s+", "", before + text_of(callee))[-120:]
    if _operator(node) in _COMPARISONS:
        return _kind_of_literal("bool", grammar)
    return ""


def _operator(node: tree_sitter.Node) -> str:
    operator = node.child_by_field_name("operator") or node.child_by_field_name("operators")
    if operator is not None:
        return operator.type
    return "not" if node.type in node_kinds().not_operators else ""
