"""Patterns of code that checks, constant conditions, and the certainty that statements leave a function or a loop."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator
from enum import IntEnum
from typing import NamedTuple

import tree_sitter

from caretbench.languages.node_kinds import NodeKinds

_CLAIMS = "assert|expect|check|verify"
_FAILS = "panic|fail"
_LEAVES = "throw|raise|exit"

CHECKING_LINE = re.compile(f"{_CLAIMS}|should|{_FAILS}", re.IGNORECASE)
"""Pattern of a line that checks something; a line that only throws may be part of the tested code."""
CHECKING_BODY = re.compile(f"{_CLAIMS}|{_FAILS}|{_LEAVES}", re.IGNORECASE)
"""Pattern of a body or value that may reject its input."""
CHECKING_NAME = re.compile(f"{_CLAIMS}|test", re.IGNORECASE)
"""Pattern of names of functions that check something."""

_TRUE = frozenset({"true", "True", "1", "!0", "!!1", "!false", "not False", "not None", "not 0", "!null", "!undefined"})
_FALSE = frozenset(
    {
        "false", "False", "0", "None", "null", "nil", "nullptr", "undefined", '""', "''", "!1", "!true",
        "not True", "not 1",
    }
)  # fmt: skip
# Both sides are bounded: the text of a condition is the answer's.
_COMPARED = re.compile(r"(.{1,80}?)\s*(===|!==|==|!=|<=|>=|<|>|\bis not\b|\bis\b)\s*(.{1,80})", re.DOTALL)
_EQUALS = re.compile(r"([\w.]{1,80})\s*\.\s*[eE]quals\s*\(\s*([\w.]{1,80})\s*\)")
_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,15})?")
_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    "===": operator.eq, "==": operator.eq, "is": operator.eq, "!==": operator.ne, "!=": operator.ne,
    "is not": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def is_always_true(condition: str) -> bool:
    """Return whether a condition holds whatever the program does."""
    return _decided(condition) is True


def is_always_false(condition: str) -> bool:
    """Return whether a condition holds in no run."""
    return _decided(condition) is False


def _decided(condition: str) -> bool | None:
    text = _bare(condition)
    if text in _TRUE or (_NUMBER.fullmatch(text) and float(text) != 0):
        return True
    if text in _FALSE:
        return False
    if (match := _EQUALS.fullmatch(text)) and match[1] == match[2]:
        return True
    match = _COMPARED.fullmatch(text)
    if match is None or "&&" in text or "||" in text or " and " in text or " or " in text:
        return None
    left, right, compare = _bare(match[1]), _bare(match[3]), _OPERATORS[match[2]]
    if _NUMBER.fullmatch(left) and _NUMBER.fullmatch(right):
        return compare(float(left), float(right))
    # A call may give another value each time.
    return compare(0, 0) if left == right and "(" not in left else None


def _bare(text: str) -> str:
    """Return a condition without spaces and brackets around it."""
    text = text.strip()
    while text.startswith("(") and text.endswith(")") and _belong_together(text):
        text = text[1:-1].strip()
    return text


def _belong_together(text: str) -> bool:
    """Return whether the last bracket closes the first one."""
    depth = 0
    for index, mark in enumerate(text):
        depth += (mark == "(") - (mark == ")")
        if depth == 0:
            return index == len(text) - 1
    return False


# Answers are hostile: these bound the work on one line, whatever an answer nests or lists.
_MAX_SIBLINGS = 200
_MAX_NODES = 4_000


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
    for _ in range(_MAX_SIBLINGS):
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
    for _ in range(_MAX_NODES):
        if not open_nodes:
            break
        within = open_nodes.pop()
        kind = within.node.type
        if kind in kinds.functions or holds_members(kind, kinds):
            continue
        if kind in kinds.throws:
            certainty = ExitCertainty.MAYBE if within.maybe else ExitCertainty.SURELY
            throwing = max(throwing, ExitCertainty.NO if within.throws else certainty)
            continue
        ends_loop = (kind in kinds.breaks and not within.breaks) or (kind in kinds.continues and not within.continues)
        if kind in kinds.returns or kind in kinds.gotos or ends_loop:
            leaving = max(leaving, ExitCertainty.MAYBE if within.maybe else _surely(within.node, kinds))
            continue
        open_nodes.extend(_inner(within, kinds))
    return leaving, throwing


def _inner(within: _Within, kinds: NodeKinds) -> Iterator[_Within]:
    """Yield the nodes within a node."""
    node, kind = within.node, within.node.type
    loop, attempt = kind in kinds.loops, kind in kinds.tries
    unsure = not attempt and kind not in kinds.do_loops and kind in kinds.conditional
    unsure = unsure and not _condition_holds(node, kinds)
    handled = attempt and any(child.type in kinds.handlers for child in node.named_children)
    breaks = within.breaks or loop or kind in kinds.switches
    for child in node.named_children:
        throws = within.throws or (handled and child.type not in kinds.handlers)
        yield _Within(child, within.maybe or unsure, breaks, within.continues or loop, throws)


def _surely(node: tree_sitter.Node, kinds: NodeKinds) -> ExitCertainty:
    """Return a way out without a value, or with a check as the value. A value returned twice may be careless."""
    if node.type in kinds.returns and node.named_child_count:
        text = node_text(node).removeprefix("return").strip()
        return (
            ExitCertainty.SURELY
            if text in ("None", "null", "nil", "undefined") or CHECKING_BODY.match(text)
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
