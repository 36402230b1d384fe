"""Statements that leave a function or a loop, and the certainty that they do."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple

import tree_sitter

from caretbench.execution.scan import check_patterns
from caretbench.execution.scan.constant_conditions import is_always_true
from caretbench.languages.node_kinds import NodeKinds

_DEEPEST = 200
_MOST_NODES = 4_000


class ExitCertainty(IntEnum):
    """Certainty that statements of the answer leave before a line; a higher one includes the lower ones."""

    NO = 0
    MAYBE = 1
    WITH_VALUE = 2
    SURELY = 3


def exits_before(
    node: tree_sitter.Node, begin: int, end: int, kinds: NodeKinds, memo: dict[int, tuple[ExitCertainty, ExitCertainty]]
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
                memo[sibling.id] = _leaves(sibling, kinds)
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


def _leaves(statement: tree_sitter.Node, kinds: NodeKinds) -> tuple[ExitCertainty, ExitCertainty]:
    """Return how surely a statement leaves its function (or a loop around it), and throws."""
    leaving = throwing = ExitCertainty.NO
    open_nodes = [_Within(statement)]
    for _ in range(_MOST_NODES):
        if not open_nodes:
            break
        one = open_nodes.pop()
        kind = one.node.type
        if kind in kinds.functions or holds_members(kind, kinds):
            continue
        if kind in kinds.throws:
            certainty = ExitCertainty.MAYBE if one.maybe else ExitCertainty.SURELY
            throwing = max(throwing, ExitCertainty.NO if one.throws else certainty)
            continue
        ends_loop = (kind in kinds.breaks and not one.breaks) or (kind in kinds.continues and not one.continues)
        if kind in kinds.returns or kind in kinds.gotos or ends_loop:
            leaving = max(leaving, ExitCertainty.MAYBE if one.maybe else _surely(one.node, kinds))
            continue
        open_nodes.extend(_inner(one, kinds))
    return leaving, throwing


def _inner(one: _Within, kinds: NodeKinds) -> Iterator[_Within]:
    """Yield the nodes within a node."""
    node, kind = one.node, one.node.type
    loop, attempt = kind in kinds.loops, kind in kinds.tries
    unsure = not attempt and kind not in kinds.do_loops and kind in kinds.conditional
    unsure = unsure and not _condition_holds(node, kinds)
    handled = attempt and any(child.type in kinds.handlers for child in node.named_children)
    breaks = one.breaks or loop or kind in kinds.switches
    for child in node.named_children:
        throws = one.throws or (handled and child.type not in kinds.handlers)
        yield _Within(child, one.maybe or unsure, breaks, one.continues or loop, throws)


def _surely(node: tree_sitter.Node, kinds: NodeKinds) -> ExitCertainty:
    """Return a way out without a value, or with a check as the value. A value returned twice may be careless."""
    if node.type in kinds.returns and node.named_child_count:
        text = node_text(node).removeprefix("return").strip()
        return (
            ExitCertainty.SURELY
            if text in ("None", "null", "nil", "undefined") or check_patterns.IN_A_BODY.match(text)
            else ExitCertainty.WITH_VALUE
        )
    return ExitCertainty.SURELY


def has_condition(kind: str, kinds: NodeKinds) -> bool:
    """Return whether code in a node of this kind runs if a condition holds, or for each item of a value."""
    return kind in kinds.branches or kind in kinds.comprehension_clauses or kind in kinds.loops - kinds.do_loops


def holds_members(kind: str, kinds: NodeKinds) -> bool:
    """Return whether a node of this kind has members, whose code does not run where it is written."""
    return kind in kinds.types or kind in kinds.creations


def _condition_holds(node: tree_sitter.Node, kinds: NodeKinds) -> bool:
    if not has_condition(node.type, kinds):
        return False
    condition = node.child_by_field_name("condition")
    if condition is None:  # for (;;), and Go's bare for
        return (
            node.type in kinds.for_loops
            and not any(node.child_by_field_name(field) for field in ("left", "right", "value"))
            and not any(child.type in kinds.loop_clauses for child in node.named_children)
        )
    return is_always_true(node_text(condition))


def node_text(node: tree_sitter.Node) -> str:
    """Return the text of a node."""
    return (node.text or b"").decode("utf-8", "replace")
