"""Guards: why a change of a patch is no valid wrong choice, by the tree around it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import tree_sitter

from caretbench.suites.efcb.edit_names import is_log, is_symmetric, is_titled
from caretbench.syntax.usage import ARGUMENTS, CALLS, FUNCTIONS, callee_of, operator_of, text

_STATEMENTS: Final = re.compile(r"statement|declaration|^(block|body_statement|program|module|source_file)$")
_SYMMETRIC: Final = frozenset({"==", "!=", "===", "!==", "is", "is not"})
_THROWN: Final = frozenset({"throw_statement", "raise_statement", "throw_expression"})


def ancestors(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    """The nodes around another, from the inside."""
    around = node.parent
    while around is not None:
        yield around
        around = around.parent


def is_text_only(node: tree_sitter.Node) -> bool:
    """Return whether a node is in what is written for people: a log, the message of an error, the title of a test."""
    child = node
    for around in ancestors(node):
        if around.type in FUNCTIONS:
            return False
        if around.type in _THROWN:
            return node.id != child.id or bool(re.search("string", node.type))
        if around.type in CALLS or around.type == "macro_invocation":
            name = callee_of(around) if around.type in CALLS else text(around.named_children[0])
            whole = around.child_by_field_name("function") or around
            receiver = re.split(r"\.\w+$", text(whole).partition("(")[0])[0]
            inside = child.type in ARGUMENTS or child.type == "token_tree"
            if inside and (is_log(receiver, name) or name.endswith(("Error", "Exception"))):
                return True
            if inside and is_titled(name) and child.named_children and _holds(child.named_children[0], node):
                return True
        child = around
    return False


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
        if operator_of(around) in _SYMMETRIC:
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


def is_argument_pair(one: tree_sitter.Node, other: tree_sitter.Node) -> bool:
    """Return whether two nodes are arguments of one call."""
    lists = [_list(node) for node in (one, other)]
    return lists[0] is not None and lists[0] == lists[1]


def _list(node: tree_sitter.Node) -> tree_sitter.Node | None:
    """The list that a node is an argument in."""
    held = node.parent
    if held is not None and held.type == "argument":
        held = held.parent
    return held if held is not None and held.type in ARGUMENTS else None


def _holds(around: tree_sitter.Node, node: tree_sitter.Node) -> bool:
    return around.start_byte <= node.start_byte and node.end_byte <= around.end_byte
