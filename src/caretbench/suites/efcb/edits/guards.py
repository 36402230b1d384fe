"""Guards: why a change of a patch is no valid wrong choice, by the tree around it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import tree_sitter

from caretbench.suites.efcb.edits.name_rules import is_log, is_message, is_symmetric, is_titled
from caretbench.syntax.parser import text_of as text
from caretbench.syntax.uses.expression_contexts import ARGUMENTS, CALLS, FUNCTIONS, callee_of, operator_of

_STATEMENTS: Final = re.compile(r"statement|declaration|^(block|body_statement|program|module|source_file)$")
_SYMMETRIC: Final = frozenset({"==", "!=", "===", "!==", "is", "is not"})
_ANNOTATIONS: Final = re.compile(r"^decorator$|^(marker_)?annotation$|^attribute_(list|item|argument)")
# What does not tell its operands apart; texts are added in their order.
_COMMUTATIVE: Final = frozenset({"*", "+", "&&", "||", "and", "or", "&", "|", "^"})
_COLLECTIONS: Final = frozenset({
    "list", "array", "tuple", "set", "array_initializer", "initializer_list", "array_expression", "tuple_expression",
    "initializer_expression", "expression_list", "collection_expression",
})  # fmt: skip
_LOOPED: Final = re.compile(r"^(for|foreach|enhanced_for|match)\w*")
_THROWN: Final = frozenset({"throw_statement", "raise_statement", "throw_expression"})


def ancestors(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    """Yield the nodes around another, from the inside."""
    around = node.parent
    while around is not None:
        yield around
        around = around.parent


def is_text_only(node: tree_sitter.Node) -> bool:
    """Return whether a node is in what is written for people: a log, the message of an error, the title of a test.

    What annotations hold is no part of the program's steps either.
    """
    child = node
    for around in ancestors(node):
        if _ANNOTATIONS.search(around.type):
            return True
        if around.type in FUNCTIONS:
            return False
        if around.type in _THROWN:
            return node.id != child.id or bool(re.search("string", node.type))
        if (around.type in CALLS or around.type == "macro_invocation") and _tells_people(around, child, node):
            return True
        child = around
    return False


def _tells_people(call: tree_sitter.Node, child: tree_sitter.Node, node: tree_sitter.Node) -> bool:
    """Return whether a call writes one of its arguments for people; ``node`` is in its ``child``."""
    if child.type not in ARGUMENTS and child.type != "token_tree":
        return False
    name = callee_of(call) if call.type in CALLS else text(call.named_children[0])
    whole = call.child_by_field_name("function") or call
    receiver = re.split(r"\.\w+$", text(whole).partition("(")[0])[0]
    if is_log(receiver, name) or is_message(receiver, name) or name.endswith(("Error", "Exception")):
        return True
    return is_titled(name) and bool(child.named_children) and _holds(child.named_children[0], node)


def is_compile_time(node: tree_sitter.Node) -> bool:
    """Return whether a node is in the condition of a directive."""
    child = node
    for around in ancestors(node):
        if "preproc" in around.type and child == around.child_by_field_name("condition"):
            return True
        child = around
    return False


def is_symmetric_pair(one: tree_sitter.Node, other: tree_sitter.Node, grammar: str) -> bool:
    """Return whether two nodes are sides of a call, or of an equality, that does not tell its sides apart.

    Sides are the receiver and the arguments.
    """
    for around in ancestors(one):
        if not _holds(around, other):
            continue
        if (
            operator_of(around) in _SYMMETRIC
            or _in_one_chain(around, one, other)
            or _in_one_loop(around, one, other)
        ):
            return True
        for call in (around, *ancestors(around)):
            if _STATEMENTS.search(call.type):
                return False
            if call.type in CALLS and is_symmetric(callee_of(call), grammar):
                return True
            if call.type == "macro_invocation" and is_symmetric(text(call.named_children[0]), grammar):
                return True
        return False
    return False


def _in_one_chain(around: tree_sitter.Node, one: tree_sitter.Node, other: tree_sitter.Node) -> bool:
    """Return whether two nodes are operands of one chain of an operator that does not tell them apart."""
    sign = operator_of(around)
    if sign not in _COMMUTATIVE or (sign == "+" and "string" in f"{one.type} {other.type}"):
        return False
    for node in (one, other):
        for held in ancestors(node):
            if held == around:
                break
            if held.type != "parenthesized_expression" and operator_of(held) != sign:
                return False
    return True


def _in_one_loop(around: tree_sitter.Node, one: tree_sitter.Node, other: tree_sitter.Node) -> bool:
    """Return whether two nodes are entries of a collection that is looped over or matched with."""
    if around.type not in _COLLECTIONS or around.parent is None:
        return False
    head = around.parent
    looped = bool(_LOOPED.search(head.type)) or (
        re.search(r"\.\s*(forEach|each|iter|into_iter)\b", text(head)[len(text(around)) :][:20]) is not None
    )
    return looped and all(node.parent == around for node in (one, other))


def is_argument_pair(one: tree_sitter.Node, other: tree_sitter.Node) -> bool:
    """Return whether two nodes are arguments of one call."""
    lists = [_list(node) for node in (one, other)]
    return lists[0] is not None and lists[0] == lists[1]


def _list(node: tree_sitter.Node) -> tree_sitter.Node | None:
    """Return the list that a node is an argument in."""
    held = node.parent
    if held is not None and held.type == "argument":
        held = held.parent
    return held if held is not None and held.type in ARGUMENTS else None


def _holds(around: tree_sitter.Node, node: tree_sitter.Node) -> bool:
    return around.start_byte <= node.start_byte and node.end_byte <= around.end_byte
