"""Edits of literals: exchange of two literals, or replacement by another literal of the patch."""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator
from typing import Final, NamedTuple

import tree_sitter

from caretbench.languages.node_kinds import node_kinds
from caretbench.suites.efcb.build.edits.name_edits import draw_pairs
from caretbench.suites.efcb.build.edits.name_uses import ParsedPart
from caretbench.suites.efcb.build.edits.patch_edit import Occurrence, PatchEdit, Replacement, swap_edit
from caretbench.suites.efcb.build.edits.tree_guards import (
    ancestors,
    is_argument_pair,
    is_symmetric_pair,
    is_text_for_people,
)
from caretbench.syntax.uses.expression_contexts import callee_of, expression_context, kind_of_value

MIN_OCCURRENCES: Final = 2
"""Minimum number of occurrences of a replaced literal in added lines, so that the patch shows its use."""
_KINDS: Final = frozenset({"int", "number", "float", "string", "char", "symbol"})
_SKIPPED: Final = re.compile(
    "import|export_statement|decorator|annotation|attribute|directive|preproc|package|literal_type|extern"
)
_SUFFIX: Final = re.compile(r"[\d_.]+([A-Za-z]\w*)?")
_MOST_VALUES: Final = 6
_MOST_PAIRS: Final = 4_000


class AddedLiteral(NamedTuple):
    """A literal in an added line, with its form and context."""

    node: tree_sitter.Node
    occurrence: Occurrence
    kind: str
    context: str
    hunk: int


def added_literals(unit: ParsedPart) -> list[AddedLiteral]:
    """Return the literals of the added lines that affect the program."""
    found = []
    for node in unit.added_nodes():
        kind = kind_of_value(node)
        if kind not in _KINDS or node.type.startswith("unary") or "prefix" in node.type:
            continue
        position = unit.occurrence_at(node.start_byte, node.end_byte)
        if (
            position is None
            or not unit.is_added(position)
            or unit.is_broken(node)
            or is_text_for_people(node)
            or _is_not_value(node)
        ):
            continue
        found.append(
            AddedLiteral(
                node, position, _literal_form(kind, position.text), expression_context(node), unit.hunk_number(position)
            )
        )
    return found


def literal_edits(units: list[ParsedPart], refused: Counter[str], generator: random.Random) -> Iterator[PatchEdit]:
    """Yield exchanges and replacements among literals of the same form and context."""
    known = [(unit, one) for unit in units for one in added_literals(unit)]
    occurring = Counter(one.occurrence.text for _, one in known)
    groups: dict[Hashable, list[tuple[ParsedPart, AddedLiteral]]] = defaultdict(list)
    for unit, one in known:
        groups[unit.part.grammar, one.kind, _exchange_context(one)].append((unit, one))
    for members in groups.values():
        values = sorted({one.occurrence.text for _, one in members})
        for _, one in members:
            if occurring[one.occurrence.text] < MIN_OCCURRENCES:
                refused["one_occurrence"] += len(values) - 1
                continue
            others = [value for value in values if _differ(value, one.occurrence.text)]
            for value in generator.sample(others, min(_MOST_VALUES, len(others))):
                yield PatchEdit("constant", "", (Replacement(*one.occurrence[:4], value),))
        yield from _literal_swaps(members, occurring, refused, generator)


def _literal_swaps(
    members: list[tuple[ParsedPart, AddedLiteral]],
    occurring: Counter[str],
    refused: Counter[str],
    generator: random.Random,
) -> Iterator[PatchEdit]:
    for (unit, one), (elsewhere, other) in draw_pairs(members, _MOST_PAIRS, generator):
        if unit is not elsewhere or one.hunk != other.hunk or not _differ(one.occurrence.text, other.occurrence.text):
            continue
        if occurring[one.occurrence.text] == occurring[other.occurrence.text] == 1:
            refused["one_occurrence_each"] += 1
        elif is_symmetric_pair(one.node, other.node, unit.part.grammar):
            refused["symmetric_call"] += 1
        else:
            yield swap_edit(
                "arguments" if is_argument_pair(one.node, other.node) else "swap-constant",
                one.occurrence,
                other.occurrence,
            )


def _exchange_context(one: AddedLiteral) -> str:
    """Return the context that exchangeable literals share; for numbers without detail."""
    return one.context if one.kind.startswith(("string", "symbol")) else re.sub(r":.*", "", one.context)


def _literal_form(kind: str, written: str) -> str:
    """Return the form that literals of one type share: quotes and prefix of a string, suffix of a number."""
    if kind in ("string", "char", "symbol"):
        quote = re.split(r"[\w\s-]", written, maxsplit=1)[0]
        return f"string {quote}" if kind == "string" else kind
    suffix = _SUFFIX.fullmatch(written)
    return f"{kind} {suffix[1] or '' if suffix else written}"


def _differ(one: str, other: str) -> bool:
    return one.casefold() != other.casefold() and _value(one) != _value(other)


def _value(written: str) -> object:
    try:
        return float(written)
    except ValueError:
        return written


def _is_not_value(node: tree_sitter.Node) -> bool:
    """Return whether a literal is no value of the program: documentation, part of an import, a format string."""
    parent, kinds = node.parent, node_kinds()
    if parent is None or (parent.type in kinds.expression_statements and "string" in node.type):
        return True
    if "string" in node.type and (node.end_point.row != node.start_point.row or b"{" in (node.text or b"")):
        return True
    return any(
        _SKIPPED.search(around.type) or (around.type in kinds.calls and callee_of(around) in ("require", "import"))
        for around in ancestors(node)
    )
