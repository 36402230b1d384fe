"""Nodes within a line by class: arguments, conditions, right-hand sides, targets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import tree_sitter

from caretbench.languages.node_kinds import node_kinds
from caretbench.suites.c3bench.scale.statements import ParsedFile
from caretbench.syntax.parser import encode

_BRACKETS = {"(": ")", "[": "]", "{": "}"}


def is_one_node(parsed: ParsedFile, node_class: str) -> bool:
    """Return whether the answer, without spaces and tabs around it, is a node of a class; arguments: one or several."""
    answer = encode(parsed.text)[parsed.start : parsed.end]
    start = parsed.start + len(answer) - len(answer.lstrip(b" \t"))
    end = parsed.end - (len(answer) - len(answer.rstrip(b" \t")))
    if start >= end:
        return False
    places = parsed.table.nodes.get(node_class, ())
    path = _path(parsed.tree.root_node, (start, end))
    around = [node for node in path if (node.start_byte, node.end_byte) != (start, end)]
    within = path[len(around) :]
    if any(is_at([*around, *within[: index + 1]], places) for index in range(len(within))):
        return True
    if node_class != "argument" or not around:
        return False
    if _is_only_argument(around, (start, end)):
        return True
    if all(around[-1].type != parent for parent, _field in places):
        return False
    named = [child for child in around[-1].named_children if child.start_byte >= start and child.end_byte <= end]
    return bool(named) and (named[0].start_byte, named[-1].end_byte) == (start, end)


def _path(node: tree_sitter.Node, span: tuple[int, int]) -> list[tree_sitter.Node]:
    """Return the nodes that contain a span, the outermost first."""
    containing_nodes: list[tree_sitter.Node] = []
    inner: tree_sitter.Node | None = node
    while inner is not None:
        containing_nodes.append(inner)
        containing = (one for one in inner.children if one.start_byte <= span[0] and span[1] <= one.end_byte)
        inner = next((one for one in containing if one.end_byte > one.start_byte), None)
    return containing_nodes


def is_at(path: Sequence[tree_sitter.Node], places: tuple[tuple[str, str], ...]) -> bool:
    """Return whether the last node of a path is at one of the places; brackets around it count as the node."""
    node = path[-1]
    for parent in reversed(path[:-1]):
        if not node.is_named:
            return False
        if any(parent.type == one and (not field or _is_field(parent, field, node)) for one, field in places):
            return True
        if parent.type not in node_kinds().parentheses:
            return False
        node = parent
    return False


def _is_field(parent: tree_sitter.Node, field: str, node: tree_sitter.Node) -> bool:
    """Return whether a node is the field of its parent; a number names a place among the named children."""
    if field.isdecimal():
        named = [child for child in parent.named_children if "comment" not in child.type]
        return len(named) > int(field) and named[int(field)].id == node.id
    return any(child.id == node.id for child in parent.children_by_field_name(field))


def _is_only_argument(path: Sequence[tree_sitter.Node], span: tuple[int, int]) -> bool:
    """Return whether a span is a generator expression between the brackets of a call, which are its own."""
    kinds = node_kinds()
    is_argument = path[-1].type in kinds.generator_expressions and len(path) > 1 and path[-2].type in kinds.calls
    inner = [child for child in path[-1].children if child.type not in "()"]
    return is_argument and bool(inner) and (inner[0].start_byte, inner[-1].end_byte) == span


def has_open_line_end(parsed: ParsedFile) -> bool:
    """Return whether a line of the answer ends outside of brackets and strings."""
    return any(not _is_enclosed(parsed, position) for position in _line_ends(parsed))


def _line_ends(parsed: ParsedFile) -> Iterator[int]:
    text = encode(parsed.text)
    position = parsed.start - 1
    while (position := text.find(b"\n", position + 1, parsed.end)) >= 0:
        yield position


def _is_enclosed(parsed: ParsedFile, position: int) -> bool:
    node: tree_sitter.Node | None = parsed.tree.root_node
    while node is not None:
        inner = None
        opened: list[str] = []
        for child in node.children:
            if child.end_byte <= position:
                if child.type in _BRACKETS:
                    opened.append(_BRACKETS[child.type])
                elif opened and child.type == opened[-1]:
                    opened.pop()
            elif child.start_byte <= position:
                inner = child
        if opened or (inner is not None and inner.type in parsed.table.opaque):
            return True
        node = inner
    return False
