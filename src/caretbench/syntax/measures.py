"""The size of a block: lines, tokens, decisions."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import tree_sitter

from caretbench.syntax.queries import captures
from caretbench.syntax.source import SourceFile


class BlockSize(NamedTuple):
    """Lines that a span touches, leaves of the tree without comments, and 1 + its decisions (McCabe 1976)."""

    lines: int
    tokens: int
    cyclomatic: int


@cache
def _is_comment(kind: str) -> bool:
    return kind.endswith("comment")


def block_size(source: SourceFile, tree: tree_sitter.Tree, span: tuple[int, int]) -> BlockSize:
    """The size of a span of a parsed file.

    Tokens belong to the span in which they begin. Decisions are branches, loops (comprehensions included),
    cases, handlers, conditional expressions and short-circuit operators, as ``decisions.scm`` captures them;
    ``else``, ``default`` and ``finally`` are none.
    """
    start, end = span
    root = tree.root_node.descendant_for_byte_range(start, max(start, end - 1)) or tree.root_node
    tokens = 0
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.end_byte <= start or node.start_byte >= end or _is_comment(node.type):
            continue
        if not node.child_count:
            tokens += node.start_byte >= start and node.end_byte > node.start_byte
        waiting.extend(node.children)
    found = captures(root, source.grammar, "decisions").get("decision", [])
    decisions = sum(start <= node.start_byte and node.end_byte <= end for node in found)
    lines = source.line_at(max(end - 1, start)) - source.line_at(start) + 1 if end > start else 0
    return BlockSize(lines, tokens, 1 + decisions)
