"""Instructions about scale: several wordings for each specification, and the specification that a wording states."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from caretbench.files import read_packaged_toml
from caretbench.problem import Row
from caretbench.suites.c3bench.scale.scale_types import BLOCK_NODES, ScaleSpecification


class InstructionTable(Row):
    """Wordings by kind, names of units for one and for several, and names of classes of nodes."""

    wordings: Mapping[str, tuple[str, ...]]
    units: Mapping[str, tuple[str, str]]
    nodes: Mapping[str, str]


@cache
def instruction_table() -> InstructionTable:
    """Return the table of instructions."""
    return InstructionTable.model_validate(read_packaged_toml("caretbench.suites.c3bench.scale", "instructions.toml"))


def scale_instructions(specification: ScaleSpecification) -> tuple[str, ...]:
    """Return all wordings of an instruction that states a specification; the unit of lines is named."""
    table = instruction_table()
    words = {"node": table.nodes.get(str(specification.node), str(specification.node))}
    if specification.n is not None:
        words["lines"] = _lines(specification.n, table.units[specification.unit])
    return tuple(wording.format_map(words) for wording in table.wordings[_kind(specification)])


def _kind(specification: ScaleSpecification) -> str:
    if specification.kind != "block" or not specification.header_in_prefix:
        return specification.kind
    return "free_body" if specification.n is None else "body"


def _lines(count: int, unit: tuple[str, str]) -> str:
    return f"{count} {unit[count != 1]}"


def stated_specification(instruction: str, language: str = "python") -> ScaleSpecification | None:
    """Return the specification that an instruction states; None if it is none of the wordings."""
    for kind, pattern in _patterns():
        match = pattern.fullmatch(instruction.strip())
        if match is not None:
            return ScaleSpecification.model_validate({"language": language, **_fields(kind, match.groupdict())})
    return None


def _fields(kind: str, words: Mapping[str, str]) -> dict[str, Any]:
    table = instruction_table()
    fields: dict[str, Any] = {"kind": "block" if kind in {"body", "free_body"} else kind}
    if kind in {"body", "free_body"}:
        fields["header_in_prefix"] = True
    if "node" in words:
        fields["node"] = next((name for name, text in table.nodes.items() if text == words["node"]), words["node"])
    if "n" in words:
        fields["n"] = int(words["n"])
        fields["unit"] = next(name for name, texts in table.units.items() if words["unit"] in texts)
    return fields


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple(_all_patterns())


def _all_patterns() -> Iterator[tuple[str, re.Pattern[str]]]:
    table = instruction_table()
    units = "|".join(re.escape(text) for texts in table.units.values() for text in texts)
    names = sorted(BLOCK_NODES) + [re.escape(text) for text in table.nodes.values()]
    words = {"node": f"(?P<node>{'|'.join(names)})", "lines": rf"(?P<n>\d+) (?P<unit>{units})"}
    for kind, wordings in table.wordings.items():
        for wording in wordings:
            parts = re.split(r"(\{\w+\})", wording)
            yield kind, re.compile("".join(words[part[1:-1]] if part[:1] == "{" else re.escape(part) for part in parts))
