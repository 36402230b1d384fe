"""Nodes within a line by class: arguments, conditions, right-hand sides, targets."""

from __future__ import annotations

from collections.abc import Iterator

import tree_sitter

from caretbench.suites.c3bench.scale.parsing.tree_statements import ParsedFile
from caretbench.syntax.parser import CharacterOffsets, encode

_BRACKETS = {"(": ")", "[": "]", "{": "}"}


def is_one_node(parsed: ParsedFile, node_class: str) -> bool:
    """Return whether the answer, without spaces and tabs around it, is a node of a class; arguments: one or several."""
    answer = encode(parsed.text)[parsed.start : parsed.end]
    start = parsed.start + len(answer) - len(answer.lstrip(b" \t"))
    end = parsed.end - (len(answer) - len(answer.rstrip(b" \t")))
    node = parsed.tree.root_node.descendant_for_byte_range(start, end) if start < end else None
    places = parsed.table.nodes.get(node_class, ())
    while node is not None and (node.start_byte, node.end_byte) == (start, end):
        if _is_at(node, places):
            return True
        node = node.parent
    if node is None or node_class != "argument":
        return False
    if _is_only_argument(node, (start, end)):
        return True
    if all(node.type != parent for parent, _field in places):
        return False
    named = [child for child in node.named_children if child.start_byte >= start and child.end_byte <= end]
    return bool(named) and (named[0].start_byte, named[-1].end_byte) == (start, end)


def _is_at(node: tree_sitter.Node, places: tuple[tuple[str, str], ...]) -> bool:
    parent = node.parent
    brackets = parent if parent is not None and parent.type == "parenthesized_expression" else None
    if brackets is not None and _is_at(brackets, places):
        return True
    if parent is None or not node.is_named:
        return False
    return any(
        parent.type == parent_type and (not field or _is_field(parent, field, node)) for parent_type, field in places
    )


def _is_field(parent: tree_sitter.Node, field: str, node: tree_sitter.Node) -> bool:
    """Return whether a node is the field of its parent; a number names a place among the named children."""
    if field.isdecimal():
        named = [child for child in parent.named_children if "comment" not in child.type]
        return len(named) > int(field) and named[int(field)].id == node.id
    return any(child.id == node.id for child in parent.children_by_field_name(field))


def _is_only_argument(node: tree_sitter.Node, span: tuple[int, int]) -> bool:
    """Return whether a span is a generator expression between the brackets of a call, which are its own."""
    parent = node.parent
    is_argument = node.type == "generator_expression" and parent is not None and parent.type == "call"
    inner = [child for child in node.children if child.type not in "()"]
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


def node_spans(parsed: ParsedFile, node_class: str) -> list[tuple[int, int]]:
    """Return the spans of all nodes of a class, in characters and in text order."""
    offsets = CharacterOffsets(parsed.text)
    places = parsed.table.nodes.get(node_class, ())
    found = []
    waiting = [parsed.tree.root_node]
    while waiting:
        node = waiting.pop()
        if _is_at(node, places) and node.type not in parsed.table.comments and node.type != "parenthesized_expression":
            found.append((offsets.characters(node.start_byte), offsets.characters(node.end_byte)))
        waiting.extend(reversed(node.children))
    return sorted(set(found))
