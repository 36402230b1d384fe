"""Sizes of blocks: lines, tokens and decisions, computed once for each file."""

from __future__ import annotations

import bisect
from array import array
from functools import cache, cached_property
from typing import NamedTuple

import tree_sitter

from caretbench.syntax.queries import captures
from caretbench.syntax.source import SourceFile


class BlockSize(NamedTuple):
    """Lines that a span touches, leaves of the tree without comments, and 1 + decisions (McCabe 1976)."""

    lines: int
    tokens: int
    cyclomatic: int


@cache
def _is_comment(kind: str) -> bool:
    return kind.endswith("comment")


class FileSizes:
    """Sizes of all spans of a parsed file.

    A token belongs to the span in which it begins. Decisions are branches, loops (comprehensions included), cases,
    handlers, conditional expressions and short-circuit operators, as ``decisions.scm`` captures them; not ``else``,
    ``default`` and ``finally``. The semicolon after a single expression is not counted, as in stored labels.
    """

    def __init__(self, source: SourceFile, tree: tree_sitter.Tree) -> None:
        self._source = source
        self._tree = tree

    @cached_property
    def _tokens(self) -> array[int]:
        """Start bytes of the tokens, in text order."""
        starts = array("Q")
        waiting = [self._tree.root_node]
        while waiting:
            node = waiting.pop()
            if _is_comment(node.type):
                continue
            if not node.child_count and node.end_byte > node.start_byte:
                starts.append(node.start_byte)
            waiting.extend(reversed(node.children))
        return starts

    @cached_property
    def _decisions(self) -> tuple[array[int], array[int]]:
        """Start bytes of the decisions, in text order, and the end byte of each."""
        found = captures(self._tree.root_node, self._source.grammar, "decisions").get("decision", [])
        spans = sorted((node.start_byte, node.end_byte) for node in found)
        return array("Q", (start for start, _ in spans)), array("Q", (end for _, end in spans))

    def cyclomatic(self, span: tuple[int, int]) -> int:
        """Return 1 + the number of decisions in a span."""
        starts, ends = self._decisions
        inside = range(bisect.bisect_left(starts, span[0]), bisect.bisect_left(starts, span[1]))
        return 1 + sum(ends[n] <= span[1] for n in inside)

    def size(self, span: tuple[int, int]) -> BlockSize:
        """Return the size of a span."""
        start, end = span
        if end <= start:
            return BlockSize(0, 0, 1)
        lines = self._source.line_at(end - 1) - self._source.line_at(start) + 1
        node = self._tree.root_node.descendant_for_byte_range(start, end - 1)
        last = min(end, node.end_byte) if node is not None else end
        tokens = bisect.bisect_left(self._tokens, last) - bisect.bisect_left(self._tokens, start)
        return BlockSize(lines, max(0, tokens), self.cyclomatic(span))
