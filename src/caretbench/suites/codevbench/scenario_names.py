"""Scenarios, cuts and kinds of blocks: values of labels, names in tables, classes and groups of the paper."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from caretbench.problem import Problem

FULL_BLOCK: Final = "full_block"
INNER_BLOCK: Final = "inner_block"
INCOMPLETE_SUFFIX: Final = "incomplete_suffix"
RAG: Final = "rag"

BLOCK_SPAN: Final = "block_span"
"""Field of ``released`` with the bytes of the block in its file, ``START-END``."""


SCENARIOS: Final[Mapping[str, str]] = {
    FULL_BLOCK: "1 full block", INNER_BLOCK: "2 inner block", INCOMPLETE_SUFFIX: "3 incomplete suffix", RAG: "4 RAG",
}  # fmt: skip
"""Titles of the scenarios by label, in the paper's order."""

CUTS: Final[Mapping[str, str]] = {
    "statement": "At a statement", "token": "At a token", "operator": "After an operator", "empty": "Nothing missing",
}  # fmt: skip
"""Titles of the cuts of scenario 2, by label."""

SUFFIX_CUTS: Final[Mapping[str, str]] = {"file_emptied": "File emptied", "function_emptied": "Function emptied"}
"""Titles of the two cases of scenario 3, by label."""

CLASSES: Final[Mapping[str, str]] = {
    "function": "Function", "if": "If", "for": "For", "try": "Try", "statement": "Statement",
}  # fmt: skip
"""Titles of the paper's classes of blocks, by label ``block_class``."""

OTHER: Final = "other"
"""Class of the kinds of blocks that the paper's tables do not have."""

OTHER_BLOCKS: Final[Mapping[str, str]] = {
    "argument_list": "Argument list",
    "partial_line": "Part of a line",
    "comment": "Comment",
}
"""Titles of the kinds of blocks in the class ``other``, by label ``block``."""

CONTROL_LOGIC: Final = "control_logic"

USAGE_GROUPS: Final[Mapping[str, str]] = {
    "method": "function", "if": CONTROL_LOGIC, "for": CONTROL_LOGIC, "while": CONTROL_LOGIC, "try": CONTROL_LOGIC,
    "catch": CONTROL_LOGIC, "statement": "statement", "comment": "comment",
}  # fmt: skip
"""Group of the paper's usage data, by label ``block``; the other kinds have no printed share."""


def label(problem: Problem, name: str) -> str:
    """Return a label of a problem as text; empty without it."""
    return problem.label(name) if name in problem.labels else ""
