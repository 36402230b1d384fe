"""Edits of names and literals: exchange of two, or replacement by another of the same role, kind and form.

A name is used only where it is visible and its kind fits: the same type, or the same context. In statically typed
languages nothing else is enough; in others similar use of both is enough.
"""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from typing import Final, NamedTuple, TypeVar

import tree_sitter

from caretbench.grouping import grouped
from caretbench.languages.node_kinds import node_kinds
from caretbench.suites.efcb.build.edits.edit_guards import (
    have_same_meaning,
    is_argument_pair,
    is_framework_function,
    is_symmetric_pair,
    is_text_for_people,
)
from caretbench.suites.efcb.build.edits.name_uses import LITERAL_KINDS, ParsedPart, PatchNameUse
from caretbench.suites.efcb.build.edits.patch_parts import Occurrence, PatchEdit, Replacement, swap_edit
from caretbench.syntax.parser import upwards
from caretbench.syntax.uses.declarations import Declaration
from caretbench.syntax.uses.expression_contexts import callee_of, expression_context, kind_of_value
from caretbench.syntax.uses.identifiers import naming_style

T = TypeVar("T")

_WORDS: Final = {"local": "variable"}
# Exchanges of two functions or methods were 15 of 2,620 edits.
_SWAPPED: Final = frozenset({"local", "parameter", "constant", "field"})
# Uses of a variable that show its kind.
_DONE: Final = frozenset({"object", "indexed", "arith+", "arith-", "arith*", "arith/", "arith%", "cmp", "index"})
_VARIABLES: Final = ("local", "parameter", "constant")
_MAX_NAMES: Final = 8
# 200 names of one kind, a generated table for example, make 19,900 pairs; each costs a look at both trees.
_MAX_PAIRS: Final = 20_000


def name_swaps(unit: ParsedPart, generator: random.Random) -> Iterator[PatchEdit]:
    """Yield exchanges of two names in added lines of one hunk and one function."""
    groups = grouped(
        ((use.hunk, use.function, use.role, naming_style(use.name)), use)
        for use in unit.editable_uses
        if use.role in _SWAPPED and not _is_fixed(use)
    )
    for members in groups.values():
        for one, other in draw_pairs(members, _MAX_PAIRS, generator):
            if one.name == other.name or one.entity == other.entity:
                continue
            places, nodes = (one.occurrence, other.occurrence), (one.use.expression, other.use.expression)
            fits = _may_replace(unit, one, other) and _may_replace(unit, other, one)
            if places[0] and places[1] and fits and not is_symmetric_pair(*nodes, unit.part.grammar):
                kind = "arguments" if is_argument_pair(*nodes) else f"swap-{_WORDS.get(one.role, one.role)}"
                yield swap_edit(kind, places[0], places[1])


def name_replacements(unit: ParsedPart, generator: random.Random) -> Iterator[PatchEdit]:
    """Yield replacements of single uses by other names of the patch or of the file around it."""
    for use in unit.editable_uses:
        position = use.occurrence
        if position is None or _is_fixed(use):
            continue
        # Go and Rust refuse or warn about a variable that nothing uses, and everywhere it is what a reader sees first.
        if unit.use_counts[use.entity] < 2 and use.role in ("local", "parameter"):
            continue
        others = sorted(_find_candidates(unit, use))
        for name, kind, entity in generator.sample(others, min(_MAX_NAMES, len(others))):
            if _fits(unit, use, kind, entity) and not _are_aliases(unit, use.name, name):
                yield PatchEdit(_WORDS.get(use.role, use.role), (Replacement(*position[:4], name),))


def _find_candidates(unit: ParsedPart, use: PatchNameUse) -> Iterator[tuple[str, str, Hashable]]:
    """Yield name, kind and entity of possible replacements of a use."""
    candidates: list[tuple[str, str, Hashable]] = []
    if use.role in _VARIABLES:
        for seen in unit.declaration_index.visible_variables(use.start):
            role = "local" if seen.role == "comprehended" else seen.role
            if role == use.role and seen.kind != "function" and not _is_captured(unit, use, seen):
                candidates.append((seen.name, seen.kind, (role, seen.scope_start, seen.name)))
    else:
        assert isinstance(use.entity, tuple)  # noqa: S101 - for the type
        for entity, other in unit.exchange_groups[use.entity[:2]].items():
            if other.role == use.role:
                candidates.append((other.name, unit.entity_kinds.get(entity, ""), entity))
    for name, kind, entity in candidates:
        if name != use.name and naming_style(name) == naming_style(use.name):
            yield name, kind, entity


def _may_replace(unit: ParsedPart, one: PatchNameUse, other: PatchNameUse) -> bool:
    """Return whether the name of ``other`` can be used at ``one``."""
    if one.role in _VARIABLES:
        visible = unit.declaration_index.visible_variables(one.start)
        seen = next((item for item in visible if item.name == other.name), None)
        is_there = seen is not None and (seen.scope_start, seen.name) == other.entity[1:]  # type: ignore[index]
        if seen is None or not is_there or _is_captured(unit, one, seen):
            return False
    elif one.entity[:2] != other.entity[:2]:  # type: ignore[index]
        return False
    return _fits(unit, one, other.kind, other.entity) and not _are_aliases(unit, one.name, other.name)


def _are_aliases(unit: ParsedPart, name: str, other: str) -> bool:
    """Return whether a variable begins as another name of the other one."""
    declared = (item for alias in (name, other) for item in unit.declaration_index.by_name(alias))
    return any({item.name, item.alias} == {name, other} for item in declared)


def _fits(unit: ParsedPart, use: PatchNameUse, kind: str, entity: Hashable) -> bool:
    """Return whether an entity of a kind can be used at ``use``, as far as kinds and uses show."""
    if use.arguments is not None and not _takes_call(unit, use, use.arguments, entity):
        return False
    if use.kind and kind:
        if use.kind == kind and (use.kind.startswith("type:") or use.role not in ("method", "function")):
            return True
        # Both kinds are known and differ. With a kind that is only known by its context, the uses decide.
        if {_kind_prefix(use.kind), _kind_prefix(kind)} <= {"type", "literal"}:
            return False
    return _is_enum_member(unit, use) or _has_shared_uses(unit, use, entity)


def _takes_call(unit: ParsedPart, use: PatchNameUse, arguments: tuple[str, ...], entity: Hashable) -> bool:
    """Return whether the function of an entity takes the call at ``use``, and gives another result."""
    name: str = str(entity[-2])  # type: ignore[index]
    names = (use.name, name)
    if any(map(is_framework_function, names)) or have_same_meaning(*names, unit.part.grammar):
        return False
    if entity[-1] != len(arguments) or not _accepts_arguments(unit, use, name):  # type: ignore[index]
        return False
    shapes = unit.argument_kinds.get(entity, set())
    if not arguments or _have_same_signature(unit, use, name) or arguments in shapes:
        return True
    # A call with arguments of other types does not compile in these languages; in the others it may even pass.
    return not unit.static and any(_have_same_kinds(arguments, shape) for shape in shapes)


def _has_shared_uses(unit: ParsedPart, use: PatchNameUse, entity: Hashable) -> bool:
    """Return whether the uses of an entity show that it has the kind of ``use``."""
    seen = unit.entity_contexts.get(entity, set())
    # In statically typed languages members of the same name may still have different types.
    told = use.use.is_specific and not (unit.static and use.use.expression_context.startswith("object:"))
    if told and use.use.expression_context in seen:
        return True
    if unit.static:
        return False
    shared = {
        where
        for where in seen & unit.entity_contexts.get(use.entity, set())
        # All entities in another context have one kind, beyond being tested for truth.
        if not where.startswith(("cond", "stmt", "cmp=:null", "other", "init of"))
    }
    # If a member is accessed, both must be known to share members.
    if use.use.expression_context.startswith("object:"):
        shared = {where for where in shared if where.startswith("object:")}
    return bool(shared) or (use.arguments is None and _has_unknown_kind(unit, use, seen))


def _has_unknown_kind(unit: ParsedPart, use: PatchNameUse, seen: set[str]) -> bool:
    """Return whether the uses of two variables do not show that their kinds differ."""
    if use.use.expression_context.startswith(("object:", "indexed", "other")) or not use.use.is_specific:
        return False
    ours, theirs = (
        {part for where in entity_contexts if (part := re.split(r"[:/ =<]", where)[0]) in _DONE}
        for entity_contexts in (unit.entity_contexts.get(use.entity, set()), seen)
    )
    here = re.split(r"[:/ =<]", use.use.expression_context)[0]
    if here in _DONE:
        return here in theirs
    return not ours or not theirs or bool(ours & theirs)


def _is_enum_member(unit: ParsedPart, use: PatchNameUse) -> bool:
    """Return whether a member is one of the constants of a type."""
    if use.role != "field" or unit.part.grammar not in ("java", "cpp", "rust"):
        return False
    receiver = str(use.entity[1])  # type: ignore[index]
    constant = use.name.isupper() if unit.part.grammar == "java" else True
    return constant and receiver.startswith("name:") and (receiver[5:6].isupper() or receiver.endswith("_t"))


def _have_same_kinds(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Return whether arguments have pairwise the same kind, as far as the text shows."""
    return all(
        left == right or ({_kind_prefix(left), _kind_prefix(right)} <= {"name", "text", "call", ""})
        for left, right in zip(one, other, strict=True)
    )


def _kind_prefix(kind: str) -> str:
    return kind.partition(":")[0]


def _accepts_arguments(unit: ParsedPart, use: PatchNameUse, name: str) -> bool:
    """Return whether a function accepts the number of arguments of ``use``, as far as it is declared."""
    assert use.arguments is not None  # noqa: S101 - for the type
    declared = [item for item in unit.declaration_index.by_name(name) if item.parameters is not None]
    return not declared or any(
        item.required_parameters <= len(use.arguments)
        and (
            len(use.arguments) <= len(item.parameters or ())
            or any(part.startswith("...") for part in item.parameters or ())
        )
        for item in declared
    )


def _have_same_signature(unit: ParsedPart, use: PatchNameUse, name: str) -> bool:
    """Return whether both functions are declared with the same types."""
    ours, theirs = (
        {(item.parameters, item.kind) for item in unit.declaration_index.by_name(word) if item.role == "function"}
        for word in (use.name, name)
    )
    return len(ours) == 1 and ours == theirs


def _is_captured(unit: ParsedPart, use: PatchNameUse, seen: Declaration) -> bool:
    """Return whether a reassigned variable would be used in an inner function, which Java forbids."""
    # Java's lambdas take only variables that are never assigned again.
    if unit.part.grammar != "java" or (seen.role, seen.scope_start, seen.name) not in unit.assigned_entities:
        return False
    inner = unit.kinds.anonymous_functions | unit.kinds.type_bodies
    return any(around.type in inner and around.start_byte > seen.start for around in upwards(use.use.expression.parent))


def _is_fixed(use: PatchNameUse) -> bool:
    """Return whether a use has no effect on the program, or is an assignment target."""
    return use.use.expression_context == "target" or is_text_for_people(use.use.expression)


def draw_pairs(members: Sequence[T], limit: int, generator: random.Random) -> Iterator[tuple[T, T]]:
    """Yield all pairs, the earlier member first, or at most ``limit``, in drawn order."""
    # Pairs are drawn by their numbers, since a list of all of them would be as long as the limit is meant to avoid.
    total = math.comb(len(members), 2)
    for number in generator.sample(range(total), min(total, limit)):
        earlier, later = pair_at(number)
        yield members[earlier], members[later]


def pair_at(index: int) -> tuple[int, int]:
    """Return the pair ``earlier < later`` with this index in (0, 1), (0, 2), (1, 2), (0, 3), …."""
    later = (1 + math.isqrt(1 + 8 * index)) // 2
    return index - math.comb(later, 2), later


MIN_OCCURRENCES: Final = 2
"""Minimum number of occurrences of a replaced literal in added lines, so that the patch shows its use."""
_SKIPPED: Final = re.compile(
    "import|export_statement|decorator|annotation|attribute|directive|preproc|package|literal_type|extern"
)
_SUFFIX: Final = re.compile(r"[\d_.]+([A-Za-z]\w*)?")
_MAX_VALUES: Final = 6
_MAX_LITERAL_PAIRS: Final = 4_000


class AddedLiteral(NamedTuple):
    """A literal in an added line, with its form, and the context that exchangeable ones share."""

    node: tree_sitter.Node
    occurrence: Occurrence
    kind: str
    context: str
    hunk: int


def added_literals(unit: ParsedPart) -> Iterator[AddedLiteral]:
    """Yield the literals of the added lines that affect the program."""
    for node in unit.added_nodes():
        kind = kind_of_value(node)
        if kind not in LITERAL_KINDS or node.type.startswith("unary") or "prefix" in node.type:
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
        form, context = _literal_form(kind, position.text), expression_context(node)
        # The detail matters for texts alone.
        context = context if form.startswith(("string", "symbol")) else re.sub(r":.*", "", context)
        yield AddedLiteral(node, position, form, context, unit.hunk_number(position))


def literal_edits(units: list[ParsedPart], generator: random.Random) -> Iterator[PatchEdit]:
    """Yield exchanges and replacements among literals of the same form and context."""
    known = [(unit, literal) for unit in units for literal in added_literals(unit)]
    occurring = Counter(literal.occurrence.text for _, literal in known)
    groups = grouped(((unit.part.grammar, literal.kind, literal.context), (unit, literal)) for unit, literal in known)
    for members in groups.values():
        values = sorted({literal.occurrence.text for _, literal in members})
        for _, literal in members:
            if occurring[literal.occurrence.text] < MIN_OCCURRENCES:
                continue
            others = [value for value in values if _differ(value, literal.occurrence.text)]
            for value in generator.sample(others, min(_MAX_VALUES, len(others))):
                yield PatchEdit("constant", (Replacement(*literal.occurrence[:4], value),))
        yield from _literal_swaps(members, occurring, generator)


def _literal_swaps(
    members: list[tuple[ParsedPart, AddedLiteral]], occurring: Counter[str], generator: random.Random
) -> Iterator[PatchEdit]:
    for (unit, one), (elsewhere, other) in draw_pairs(members, _MAX_LITERAL_PAIRS, generator):
        if unit is not elsewhere or one.hunk != other.hunk or not _differ(one.occurrence.text, other.occurrence.text):
            continue
        # Nothing in the patch says which of the two belongs where: both orders are plausible programs.
        once = occurring[one.occurrence.text] == occurring[other.occurrence.text] == 1
        if not (once or is_symmetric_pair(one.node, other.node, unit.part.grammar)):
            kind = "arguments" if is_argument_pair(one.node, other.node) else "swap-constant"
            yield swap_edit(kind, one.occurrence, other.occurrence)


def _literal_form(kind: str, written: str) -> str:
    """Return the form that literals of one type share: quotes and prefix of a string, suffix of a number."""
    if kind in ("string", "char", "symbol"):
        quote = re.split(r"[\w\s-]", written, maxsplit=1)[0]
        return f"string {quote}" if kind == "string" else kind
    suffix = _SUFFIX.fullmatch(written)
    return f"{kind} {suffix[1] or '' if suffix else written}"


def _differ(one: str, other: str) -> bool:
    # `0xFF` and `0xff`, `1` and `1.0` are the same value.
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
    # A text over several lines is documentation or a template, and one with braces may contain code.
    if "string" in node.type and (node.end_point.row != node.start_point.row or b"{" in (node.text or b"")):
        return True
    return any(
        _SKIPPED.search(around.type) or (around.type in kinds.calls and callee_of(around) in ("require", "import"))
        for around in upwards(node.parent)
    )
