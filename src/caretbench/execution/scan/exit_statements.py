"""Statements that leave a function or a loop, and the certainty that they do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple

import tree_sitter

from caretbench.execution.scan import check_patterns
from caretbench.execution.scan.constant_conditions import is_always_true
from caretbench.languages import node_kinds

_DEEPEST = 200
_MOST_NODES = 4_000
_FUNCTIONS = frozenset(
    {
        "accessor_declaration", "anonymous_method_expression", "arrow_function", "compact_constructor_declaration",
        "constructor_declaration", "destructor_declaration", "func_literal", "function_declaration",
        "function_definition", "function_expression", "generator_function", "generator_function_declaration",
        "lambda", "lambda_expression", "local_function_statement", "method_declaration", "method_definition",
        "operator_declaration",
    }
)  # fmt: skip
_TYPES = re.compile(r"^(?:class|struct|interface|enum|record|object_creation)")
_CONDITIONAL = re.compile(
    r"^(?:(?:if|while|for|foreach|for_in|for_range|enhanced_for|do|switch|expression_switch|type_switch|select|match|try"
    r"|conditional|try_with_resources)_(?:statement|expression)|.*case.*|else_clause|elif_clause|else|except_clause"
    r"|catch_clause|ternary_expression|switch_section)$"
)
CONDITION = re.compile(r"^(?:if|while|elif|for)_")
_LOOP = re.compile(r"^(?:while|for|foreach|for_in|for_range|enhanced_for|do)_?(?:range_)?(?:statement|loop)$")
_SWITCH = re.compile(r"^(?:switch|expression_switch|type_switch|select)_?(?:statement|expression)$")
_RETURNS = frozenset({"return_statement", "goto_statement", "co_return_statement"})
_LOOP_EXITS = frozenset({"break_statement", "continue_statement"})
_THROWS = frozenset({"throw_statement", "raise_statement", "throw_expression"})
_HANDLER = re.compile(r"^(?:catch|except)")


def is_function(kind: str) -> bool:
    """Return whether a node of this kind is a function."""
    return kind in _FUNCTIONS or kind in node_kinds("functions")


def is_type(kind: str) -> bool:
    """Return whether a node of this kind defines a type or a part of one."""
    return _TYPES.match(kind) is not None or kind in node_kinds("types")


def is_conditional(kind: str) -> bool:
    """Return whether code in a node of this kind runs conditionally."""
    return _CONDITIONAL.match(kind) is not None or kind in node_kinds("conditional")


class ExitCertainty(IntEnum):
    """Certainty that statements of the answer leave before a line; a higher one includes the lower ones."""

    NO = 0
    MAYBE = 1
    WITH_VALUE = 2
    SURELY = 3


def exits_before(
    node: tree_sitter.Node, begin: int, end: int, memo: dict[int, tuple[ExitCertainty, ExitCertainty]]
) -> tuple[ExitCertainty, ExitCertainty]:
    """Return the certainty that statements before a node leave its block, and that they throw.

    The answer's statements count, from byte ``begin`` up to ``end``; ``memo`` caches results by node.
    """
    leaving = throwing = ExitCertainty.NO
    sibling = node.prev_named_sibling
    for _ in range(_DEEPEST):
        if sibling is None or sibling.start_byte < begin:
            break
        if sibling.start_byte < end:
            if sibling.id not in memo:
                memo[sibling.id] = _leaves(sibling)
            left, thrown = memo[sibling.id]
            leaving, throwing = max(leaving, left), max(throwing, thrown)
        sibling = sibling.prev_named_sibling
    return leaving, throwing


class _Within(NamedTuple):
    """Node of a statement, with whether it may be skipped, and what a node above it catches."""

    node: tree_sitter.Node
    maybe: bool = False
    breaks: bool = False
    continues: bool = False
    throws: bool = False


def _leaves(statement: tree_sitter.Node) -> tuple[ExitCertainty, ExitCertainty]:
    """Return how surely a statement leaves its function (or a loop around it), and throws."""
    leaving = throwing = ExitCertainty.NO
    open_nodes = [_Within(statement)]
    for _ in range(_MOST_NODES):
        if not open_nodes:
            break
        one = open_nodes.pop()
        kind = one.node.type
        if is_function(kind) or is_type(kind):
            continue
        if kind in _THROWS:
            certainty = ExitCertainty.MAYBE if one.maybe else ExitCertainty.SURELY
            throwing = max(throwing, ExitCertainty.NO if one.throws else certainty)
            continue
        own = one.breaks if kind == "break_statement" or kind in node_kinds("breaks") else one.continues
        if kind in _RETURNS or kind in node_kinds("returns") or (_exits_loop(kind) and not own):
            leaving = max(leaving, ExitCertainty.MAYBE if one.maybe else _surely(one.node))
            continue
        open_nodes.extend(_inner(one))
    return leaving, throwing


def _exits_loop(kind: str) -> bool:
    return kind in _LOOP_EXITS or kind in node_kinds("breaks") or kind in node_kinds("continues")


def _inner(one: _Within) -> Iterator[_Within]:
    """Yield the nodes within a node."""
    node, kind = one.node, one.node.type
    loop = _LOOP.match(kind) is not None or kind in node_kinds("loops")
    attempt = kind.startswith("try_")
    unsure = not attempt and kind != "do_statement" and is_conditional(kind)
    unsure = unsure and not _condition_holds(node)
    handled = attempt and any(_HANDLER.match(child.type) for child in node.named_children)
    breaks = one.breaks or loop or _SWITCH.match(kind) is not None
    for child in node.named_children:
        throws = one.throws or (handled and not _HANDLER.match(child.type))
        yield _Within(child, one.maybe or unsure, breaks, one.continues or loop, throws)


def _surely(node: tree_sitter.Node) -> ExitCertainty:
    """Return a way out without a value, or with a check as the value. A value returned twice may be careless."""
    is_return = node.type == "return_statement" or node.type in node_kinds("returns")
    if is_return and node.named_child_count:
        text = node_text(node).removeprefix("return").strip()
        return (
            ExitCertainty.SURELY
            if text in ("None", "null", "nil", "undefined") or check_patterns.IN_A_BODY.match(text)
            else ExitCertainty.WITH_VALUE
        )
    return ExitCertainty.SURELY


def _condition_holds(node: tree_sitter.Node) -> bool:
    if not CONDITION.match(node.type):
        return False
    condition = node.child_by_field_name("condition")
    if condition is None:  # for (;;), and Go's bare for
        return (
            node.type == "for_statement"
            and not any(node.child_by_field_name(field) for field in ("left", "right", "value"))
            and not any(child.type in ("range_clause", "for_clause") for child in node.named_children)
        )
    return is_always_true(node_text(condition))


def node_text(node: tree_sitter.Node) -> str:
    """Return the text of a node."""
    return (node.text or b"").decode("utf-8", "replace")
