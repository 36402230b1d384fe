"""Kinds of blocks by types of nodes, in the grammars of all languages: error kinds are found by them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import tree_sitter

from caretbench.languages.node_kinds import node_kinds
from caretbench.metrics.error_kinds.answer_structure import COMMENT, STATEMENT


@cache
def kind_by_type() -> Mapping[str, str]:
    """Return the kind of block by type of node."""
    return {name: kind for kind, names in node_kinds().block_kinds.items() for name in names}


def kind_of(node: tree_sitter.Node) -> str:
    """Return the kind of a statement: ``function``, ``loop``, ``comment`` and the like, or ``statement``."""
    if "comment" in node.type:
        return COMMENT
    kind = kind_by_type().get(node.type)
    if kind is None and node.type in node_kinds().block_wrappers:
        kind = next((found for child in node.named_children[:8] if (found := kind_by_type().get(child.type))), None)
    return kind or STATEMENT
