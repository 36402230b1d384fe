"""Examples of a pattern: parts of the prefix that have the shape of the part that the reference completes.

Examples stand beside the part, in the same block or list, or in the same place of the parts beside its parent. The
shape of a part is the bag of its pairs of neighbouring node kinds (parent and child) in the syntax tree, so that
names, literals and the order of statements do not matter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

import tree_sitter

from caretbench.metrics.text_overlap import bag_overlap
from caretbench.suites.devbench.build.instance_rules.program_view import ProgramView

SIMILAR_SHAPES: Final = 0.55
"""Smallest overlap (F1 of the bags) of an example with the pattern."""
_SMALLEST: Final = 4
"""Smallest number of pairs of a pattern: smaller ones are in every program."""
_MOST_PARTS: Final = 60
"""Number of parts of a reference that are compared; a reference of 30 lines has fewer."""

Shape = Counter[str]


def pattern_example_count(view: ProgramView) -> int:
    """Return the number of complete examples in the prefix of the pattern that the reference completes.

    The pattern is the outermost part around the reference that has two examples or more; without such a part, the
    largest number of any part counts.
    """
    best = 0
    shapes: dict[int, Shape] = {}
    for part in _parts(view)[:_MOST_PARTS]:
        count = _example_count(view, part, shapes)
        if count >= 2:  # one likeness is chance
            return count
        best = max(best, count)
    return best


def _parts(view: ProgramView) -> list[tree_sitter.Node]:
    """Return the parts around and in the reference, outermost first, without the whole program."""
    root = view.tree.root_node
    found: list[tree_sitter.Node] = []
    node = root.named_descendant_for_byte_range(view.start, view.end)
    inner = [] if node is None else list(_inner(node, view))
    while node is not None and node.parent is not None:
        found.insert(0, node)
        node = node.parent
    return found + inner


def _inner(node: tree_sitter.Node, view: ProgramView) -> Iterator[tree_sitter.Node]:
    """Yield the outermost parts that begin in the reference, in a node that begins before it."""
    for child in node.named_children:
        if view.start <= child.start_byte < view.end:
            yield child
        elif child.start_byte < view.start < child.end_byte:
            yield from _inner(child, view)


def _example_count(view: ProgramView, part: tree_sitter.Node, shapes: dict[int, Shape]) -> int:
    """Return the number of parts beside a part, complete in the prefix, that have its shape; ``shapes`` is a cache."""
    shape = tree_shape(part)
    if shape.total() < _SMALLEST:
        return 0
    beside = [node for node in _beside(part) if node.type == part.type and node.end_byte <= view.prefix_end]
    for node in beside:
        if node.id not in shapes:
            shapes[node.id] = tree_shape(node)
    different = Counter(frozenset(shapes[node.id].items()) for node in beside)
    return sum(number for items, number in different.items() if _alike(shape, Counter(dict(items))))


def _beside(part: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    """Yield the parts in the same block or list, and those in the same place of the parts beside its parent."""
    parent = part.parent
    if parent is None:
        return
    yield from parent.named_children
    if parent.parent is not None:
        for other in parent.parent.named_children:
            if other.id != parent.id and other.type == parent.type:
                yield from other.named_children


def _alike(one: Shape, other: Shape) -> bool:
    return bag_overlap(one.elements(), other.elements()).f1 >= SIMILAR_SHAPES


def tree_shape(part: tree_sitter.Node) -> Shape:
    """Return the number of each pair of neighbouring node kinds (parent and child), comments apart."""
    return Counter(f"{parent.type} {child.type}" for parent, child in _pairs(part))


def _pairs(part: tree_sitter.Node) -> Iterator[tuple[tree_sitter.Node, tree_sitter.Node]]:
    waiting = [part]
    while waiting:
        node = waiting.pop()
        for child in node.named_children:
            if not child.type.endswith("comment"):
                yield node, child
                waiting.append(child)
