"""Table of all error kinds: names in order, titles, rules for outcomes (``error_kinds.toml``), and kinds of nodes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import tree_sitter
from pydantic import BaseModel, ConfigDict

from caretbench.files import read_packaged_toml
from caretbench.languages.node_kinds import node_kinds
from caretbench.metrics.error_kinds.answer_structure import COMMENT, STATEMENT

NO_ERROR = "pass"
EXCEPTION = "runtime_exception"
OURS = "harness_error"
"""A fault of the machine: no error kind of an answer, and in no denominator."""


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ExceptionMeaning(_Entry):
    """Error kind of some types of exceptions; ``when`` must be found on the line that names the type."""

    kind: str
    types: tuple[str, ...]
    when: str = ""


class ErrorKindTable(_Entry):
    """Content of ``error_kinds.toml``."""

    order: tuple[str, ...]
    titles: Mapping[str, str]
    edits: Mapping[str, str]
    faults: Mapping[str, str]
    outcomes: Mapping[str, str]
    exceptions: tuple[ExceptionMeaning, ...]


@cache
def error_kind_table() -> ErrorKindTable:
    """Return the table of all error kinds."""
    return ErrorKindTable.model_validate(read_packaged_toml("caretbench.metrics.error_kinds", "error_kinds.toml"))


def error_kind_names() -> tuple[str, ...]:
    """Return all error kinds in the order of the tables, ``pass`` first."""
    return error_kind_table().order


def edit_kind_names() -> tuple[str, ...]:
    """Return the error kinds of completions in an editor: those of texts, and those that only editors' events have."""
    return (*error_kind_table().order, *error_kind_table().edits)


def error_kind_title(name: str) -> str:
    """Return the title of an error kind; the type of an exception is kept."""
    kind, _, detail = name.partition(":")
    table = error_kind_table()
    title = table.titles.get(kind) or table.edits[kind]
    return f"{title}: {detail.replace('_', ' ')}" if detail else title


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
        kind = next((named for child in node.named_children[:8] if (named := kind_by_type().get(child.type))), None)
    return kind or STATEMENT
