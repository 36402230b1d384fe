"""Specifications of how much an answer writes, their instructions, and verdicts about answers.

Specifications are JSON.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal, Self, get_args

from pydantic import ConfigDict, Field, ValidationError

from caretbench.errors import UsageError
from caretbench.files import describe_validation_error, read_packaged_toml, sha256_text
from caretbench.problem import Row

ScaleKind = Literal["span_rest_of_line", "span_node", "lines", "block"]
LineUnit = Literal["code_line", "statement"]
NodeClass = Literal["argument", "condition", "value", "target"]
BlockNode = Literal["for", "while", "if", "try", "with", "match", "function", "class"]
Level = Literal["strict", "lenient"]

NODE_CLASSES: tuple[NodeClass, ...] = get_args(NodeClass)


class ScaleSpecification(Row):
    """Specification of how much an answer writes, checked on the completed file.

    ``kind`` decides which fields count:

    * ``span_rest_of_line``: the rest of the line at the caret, and nothing after it.
    * ``span_node``: one node of class ``node``: ``argument`` (one or several of a call), ``condition``, ``value`` (the
      right-hand side), ``target``.
    * ``lines``: ``n`` whole lines, or statements, counted in ``unit``; a partial first line is line 1.
    * ``block``: one statement of kind ``node``; with ``header_in_prefix``, the body of the statement whose header ends
      the prefix. With ``n``, the block has this many lines (or statements) in the answer, counted in ``unit``.

    ``column`` is a fact of the reference, and optional: the column of its first statement, which finds answers at
    another nesting level.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    language: str = "python"
    kind: ScaleKind
    node: NodeClass | BlockNode | None = None
    n: int | None = Field(default=None, ge=1)
    unit: LineUnit = "code_line"
    header_in_prefix: bool = False
    level: Level = "strict"
    column: int | None = Field(default=None, ge=0)

    @classmethod
    def of(cls, fields: object) -> Self:
        """Return the specification with these fields, as in JSON.

        Raises:
            UsageError: it is malformed.
        """
        try:
            return cls.model_validate(fields)
        except ValidationError as error:
            raise UsageError(f"specification: {describe_validation_error(error)}") from None


@dataclass(frozen=True)
class ScaleVerdict:
    """Verdict about one answer: the reason why it is refused, empty if it is not, and its number of lines."""

    reason: str = ""
    count: int | None = None

    @property
    def ok(self) -> bool:
        """True if the answer has the extent."""
        return not self.reason


class InstructionTable(Row):
    """Wordings by kind, names of units for one and for several, and names of nodes, also by language."""

    wordings: Mapping[str, tuple[str, ...]]
    units: Mapping[str, tuple[str, str]]
    nodes: Mapping[str, str]
    in_language: Mapping[str, Mapping[str, str]]


@cache
def instruction_table() -> InstructionTable:
    """Return the table of instructions."""
    return InstructionTable.model_validate(read_packaged_toml("caretbench.suites.c3bench.scale", "instructions.toml"))


def scale_instructions(specification: ScaleSpecification) -> tuple[str, ...]:
    """Return all wordings of an instruction that states a specification; the unit of lines is named."""
    table = instruction_table()
    nodes = {**table.nodes, **table.in_language.get(specification.language, {})}
    words = {"node": nodes.get(str(specification.node), "")}
    if specification.n is not None:
        words["lines"] = f"{specification.n} {table.units[specification.unit][specification.n != 1]}"
    kind: str = specification.kind
    if kind == "block" and specification.header_in_prefix:
        kind = "free_body" if specification.n is None else "body"
    return tuple(wording.format_map(words) for wording in table.wordings[kind])


def chosen_wording(wordings: Sequence[str], key: str) -> str:
    """Return one of the wordings of an instruction, chosen by the hash of a key."""
    return wordings[int(sha256_text(key), 16) % len(wordings)]
