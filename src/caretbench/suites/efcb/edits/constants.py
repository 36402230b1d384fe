"""Edits of literals: two exchange their places, or one becomes another that the patch has for the same thing."""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator
from typing import Final, NamedTuple

import tree_sitter

from caretbench.suites.efcb.edits.edit import Edit, Occurrence, Replacement, swap
from caretbench.suites.efcb.edits.guards import ancestors, is_argument_pair, is_symmetric_pair, is_text_only
from caretbench.suites.efcb.edits.names import drawn_pairs
from caretbench.suites.efcb.edits.units import Unit
from caretbench.syntax.uses.expression_contexts import CALLS, callee_of, expression_context
from caretbench.syntax.uses.value_kinds import kind_of_value

FEWEST_OCCURRENCES: Final = 2
"""Of a replaced literal in the added lines, so that the rest of the patch tells what belongs where."""
_KINDS: Final = frozenset({"int", "number", "float", "string", "char", "symbol"})
_SKIPPED: Final = re.compile(
    "import|export_statement|decorator|annotation|attribute|directive|preproc|package|literal_type|extern"
)
_SUFFIX: Final = re.compile(r"[\d_.]+([A-Za-z]\w*)?")
_MOST_VALUES: Final = 6
_MOST_PAIRS: Final = 4_000


class Literal(NamedTuple):
    """One literal in an added line, the context it is in, and what kind of text it is."""

    node: tree_sitter.Node
    place: Occurrence
    kind: str
    context: str
    hunk: int


def literals(unit: Unit) -> list[Literal]:
    """Return the literals of the added lines that programs look at."""
    found = []
    for node in unit.nodes():
        kind = kind_of_value(node)
        if kind not in _KINDS or node.type.startswith("unary") or "prefix" in node.type:
            continue
        place = unit.place(node.start_byte, node.end_byte)
        if (
            place is None
            or not unit.is_added(place)
            or unit.broken(node)
            or is_text_only(node)
            or _fixed(node)
        ):
            continue
        found.append(
            Literal(node, place, _form(kind, place.name), expression_context(node), unit.hunk(place))
        )
    return found


def constant_edits(units: list[Unit], refused: Counter[str], draw: random.Random) -> Iterator[Edit]:
    """Literals of a form and a context that the patch has other values for."""
    known = [(unit, one) for unit in units for one in literals(unit)]
    occurring = Counter(one.place.name for _, one in known)
    groups: dict[Hashable, list[tuple[Unit, Literal]]] = defaultdict(list)
    for unit, one in known:
        groups[unit.part.grammar, one.kind, _alike(one)].append((unit, one))
    for members in groups.values():
        values = sorted({one.place.name for _, one in members})
        for _, one in members:
            if occurring[one.place.name] < FEWEST_OCCURRENCES:
                refused["one_occurrence"] += len(values) - 1
                continue
            others = [value for value in values if _apart(value, one.place.name)]
            for value in draw.sample(others, min(_MOST_VALUES, len(others))):
                yield Edit("constant", "", (Replacement(*one.place[:4], value),))
        yield from _swaps(members, occurring, refused, draw)


def _swaps(
    members: list[tuple[Unit, Literal]], occurring: Counter[str], refused: Counter[str], draw: random.Random
) -> Iterator[Edit]:
    for (unit, one), (elsewhere, other) in drawn_pairs(members, _MOST_PAIRS, draw):
        if unit is not elsewhere or one.hunk != other.hunk or not _apart(one.place.name, other.place.name):
            continue
        if occurring[one.place.name] == occurring[other.place.name] == 1:
            refused["one_occurrence_each"] += 1
        elif is_symmetric_pair(one.node, other.node, unit.part.grammar):
            refused["symmetric_call"] += 1
        else:
            yield swap(
                "arguments" if is_argument_pair(one.node, other.node) else "swap-constant",
                one.place,
                other.place,
            )


def _alike(one: Literal) -> str:
    """Return the context that exchangeable literals share: of numbers, without its detail."""
    return one.context if one.kind.startswith(("string", "symbol")) else re.sub(r":.*", "", one.context)


def _form(kind: str, written: str) -> str:
    """Return what literals of one type share: quotes and prefix of a text, the suffix of a number."""
    if kind in ("string", "char", "symbol"):
        quote = re.split(r"[\w\s-]", written, maxsplit=1)[0]
        return f"string {quote}" if kind == "string" else kind
    suffix = _SUFFIX.fullmatch(written)
    return f"{kind} {suffix[1] or '' if suffix else written}"


def _apart(one: str, other: str) -> bool:
    return one.casefold() != other.casefold() and _value(one) != _value(other)


def _value(written: str) -> object:
    try:
        return float(written)
    except ValueError:
        return written


def _fixed(node: tree_sitter.Node) -> bool:
    """Return whether a literal is no value of the program: a documentation, a part of an import, a format."""
    parent = node.parent
    if parent is None or (parent.type == "expression_statement" and "string" in node.type):
        return True
    if "string" in node.type and (node.end_point.row != node.start_point.row or b"{" in (node.text or b"")):
        return True
    return any(
        _SKIPPED.search(around.type) or (around.type in CALLS and callee_of(around) in ("require", "import"))
        for around in ancestors(node)
    )
