"""Syntax-tree guards, which refuse edits that give no valid wrong choice."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import tree_sitter

from caretbench.languages.node_kinds import node_kinds
from caretbench.suites.efcb.build.edits.name_rules import (
    is_log_call,
    is_message_call,
    is_symmetric_call,
    is_test_title_call,
)
from caretbench.syntax.parser import text_of as text
from caretbench.syntax.uses.expression_contexts import callee_of, operator_of

_STATEMENTS: Final = re.compile(r"statement|declaration|^(block|body_statement|program|module|source_file)$")
_SYMMETRIC: Final = frozenset({"==", "!=", "===", "!==", "is", "is not"})
_ANNOTATIONS: Final = re.compile(r"^decorator$|^(marker_)?annotation$|^attribute_(list|item|argument)")
# Commutative operators; ``+`` of strings is not.
_COMMUTATIVE: Final = frozenset({"*", "+", "&&", "||", "and", "or", "&", "|", "^"})
_LOOPED: Final = re.compile(r"^(for|foreach|enhanced_for|match)\w*")


def ancestors(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    """Yield the ancestors of a node, innermost first."""
    around = node.parent
    while around is not None:
        yield around
        around = around.parent


def is_text_for_people(node: tree_sitter.Node) -> bool:
    """Return whether a node is part of a log text, an error message, a test title or an annotation."""
    child, kinds = node, node_kinds()
    for around in ancestors(node):
        if _ANNOTATIONS.search(around.type):
            return True
        if around.type in kinds.functions:
            return False
        if around.type in kinds.throws:
            return node.id != child.id or bool(re.search("string", node.type))
        if (around.type in kinds.calls or around.type in kinds.macros) and _is_text_argument(around, child, node):
            return True
        child = around
    return False


def _is_text_argument(call: tree_sitter.Node, child: tree_sitter.Node, node: tree_sitter.Node) -> bool:
    """Return whether a call uses an argument as text for people; ``node`` is in its ``child``."""
    kinds = node_kinds()
    if child.type not in kinds.argument_lists | kinds.macro_arguments:
        return False
    name = callee_of(call) if call.type in kinds.calls else text(call.named_children[0])
    whole = call.child_by_field_name("function") or call
    receiver = re.split(r"\.\w+$", text(whole).partition("(")[0])[0]
    if is_log_call(receiver, name) or is_message_call(receiver, name) or name.endswith(("Error", "Exception")):
        return True
    return is_test_title_call(name) and bool(child.named_children) and _contains(child.named_children[0], node)


def is_compile_time(node: tree_sitter.Node) -> bool:
    """Return whether a node is in the condition of a preprocessor directive."""
    child = node
    for around in ancestors(node):
        if "preproc" in around.type and child == around.child_by_field_name("condition"):
            return True
        child = around
    return False


def is_symmetric_pair(one: tree_sitter.Node, other: tree_sitter.Node, grammar: str) -> bool:
    """Return whether two nodes are operands of an equality, or of a call, whose order does not matter.

    Operands of a call are the receiver and the arguments.
    """
    kinds = node_kinds()
    for around in ancestors(one):
        if not _contains(around, other):
            continue
        if (
            operator_of(around) in _SYMMETRIC
            or _in_commutative_chain(around, one, other)
            or _in_looped_collection(around, one, other)
        ):
            return True
        for call in (around, *ancestors(around)):
            if _STATEMENTS.search(call.type):
                return False
            if call.type in kinds.calls and is_symmetric_call(callee_of(call), grammar):
                return True
            if call.type in kinds.macros and is_symmetric_call(text(call.named_children[0]), grammar):
                return True
        return False
    return False


def _in_commutative_chain(around: tree_sitter.Node, one: tree_sitter.Node, other: tree_sitter.Node) -> bool:
    """Return whether two nodes are operands of one chain of a commutative operator."""
    sign = operator_of(around)
    if sign not in _COMMUTATIVE or (sign == "+" and "string" in f"{one.type} {other.type}"):
        return False
    for node in (one, other):
        for held in ancestors(node):
            if held == around:
                break
            if held.type not in node_kinds().parentheses and operator_of(held) != sign:
                return False
    return True


def _in_looped_collection(around: tree_sitter.Node, one: tree_sitter.Node, other: tree_sitter.Node) -> bool:
    """Return whether two nodes are entries of a collection that is iterated or matched."""
    kinds = node_kinds()
    if around.type not in kinds.collections | kinds.tuples | kinds.expression_lists or around.parent is None:
        return False
    head = around.parent
    looped = bool(_LOOPED.search(head.type)) or (
        re.search(r"\.\s*(forEach|each|iter|into_iter)\b", text(head)[len(text(around)) :][:20]) is not None
    )
    return looped and all(node.parent == around for node in (one, other))


def is_argument_pair(one: tree_sitter.Node, other: tree_sitter.Node) -> bool:
    """Return whether two nodes are arguments of one call."""
    lists = [_argument_list(node) for node in (one, other)]
    return lists[0] is not None and lists[0] == lists[1]


def _argument_list(node: tree_sitter.Node) -> tree_sitter.Node | None:
    """Return the argument list of a node."""
    held, kinds = node.parent, node_kinds()
    if held is not None and held.type in kinds.arguments:
        held = held.parent
    return held if held is not None and held.type in kinds.argument_lists else None


def _contains(around: tree_sitter.Node, node: tree_sitter.Node) -> bool:
    return around.start_byte <= node.start_byte and node.end_byte <= around.end_byte
