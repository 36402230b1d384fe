"""Specifications that instructions about scale state, read back from their wordings; middles of a text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from caretbench.suites.c3bench.build.scale_middles import ScaleMiddle, proposed_middles, rejects_wrong_answers
from caretbench.suites.c3bench.scale.scale_types import ScaleSpecification, instruction_table


def scale_middles(text: str, language: str) -> list[ScaleMiddle]:
    """Return all middles of a file whose specifications hold for the reference and reject the six wrong answers."""
    return [middle for middle in proposed_middles(text, language) if rejects_wrong_answers(text, middle)]


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
        fields["node"] = next(name for name, text in _node_names() if text == words["node"])
    if "n" in words:
        fields["n"] = int(words["n"])
        fields["unit"] = next(name for name, texts in table.units.items() if words["unit"] in texts)
    return fields


def _node_names() -> list[tuple[str, str]]:
    table = instruction_table()
    return [pair for names in (table.nodes, *table.in_language.values()) for pair in names.items()]


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple(_all_patterns())


def _all_patterns() -> Iterator[tuple[str, re.Pattern[str]]]:
    table = instruction_table()
    units = "|".join(re.escape(text) for texts in table.units.values() for text in texts)
    # Wordings state the unit in words, and names of nodes as the language writes them; both must be read back to the
    # same specification.
    names = [re.escape(text) for _, text in _node_names()]
    words = {"node": f"(?P<node>{'|'.join(names)})", "lines": rf"(?P<n>\d+) (?P<unit>{units})"}
    for kind, wordings in table.wordings.items():
        for wording in wordings:
            parts = re.split(r"(\{\w+\})", wording)
            yield kind, re.compile("".join(words[part[1:-1]] if part[:1] == "{" else re.escape(part) for part in parts))
