"""Names of nodes by which error kinds are found, in the grammars of all languages (``block_kinds.toml``)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources

import tree_sitter
from pydantic import BaseModel, ConfigDict

from caretbench.metrics.error_kinds.answer_structure import COMMENT, STATEMENT


class NodeTable(BaseModel):
    """Names of nodes in the grammars: lists of statements, wrappers around a statement, and kinds of blocks."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    lists: frozenset[str]
    wrappers: frozenset[str]
    jumps: frozenset[str]
    ending_jumps: frozenset[str]
    unaligned: frozenset[str]
    kinds: Mapping[str, tuple[str, ...]]


@cache
def node_table() -> NodeTable:
    """Return the names of nodes that the kinds of all languages are found by."""
    text = resources.files(__package__).joinpath("block_kinds.toml").read_text("utf-8")
    return NodeTable.model_validate(tomllib.loads(text))


@cache
def kind_by_type() -> Mapping[str, str]:
    """Return the kind of block by type of node."""
    return {name: kind for kind, names in node_table().kinds.items() for name in names}


def kind_of(node: tree_sitter.Node) -> str:
    """Return the kind of a statement: ``function``, ``loop``, ``comment`` and the like, or ``statement``."""
    if "comment" in node.type:
        return COMMENT
    kind = kind_by_type().get(node.type)
    if kind is None and node.type in node_table().wrappers:
        kind = next((found for child in node.named_children[:8] if (found := kind_by_type().get(child.type))), None)
    return kind or STATEMENT
