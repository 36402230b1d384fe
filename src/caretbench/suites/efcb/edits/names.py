"""Edits of names: two uses exchange their names, or one use gets the name of another entity of its role and kind.

A name comes only where it can be used, and where its kind fits: it is of the same type, or it is seen in the same
context. Where types are checked, nothing else will do; elsewhere, it is enough that both are used in one way.
"""

from __future__ import annotations

import math
import random
import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from typing import Final, TypeVar

from caretbench.suites.efcb.edits.edit import Edit, Replacement, swap
from caretbench.suites.efcb.edits.guards import ancestors, is_argument_pair, is_symmetric_pair, is_text_only
from caretbench.suites.efcb.edits.name_rules import is_frame, is_same_meaning
from caretbench.suites.efcb.edits.units import Named, Unit
from caretbench.syntax.uses.declarations import Declaration
from caretbench.syntax.uses.identifiers import naming_style

T = TypeVar("T")

_WORDS: Final = {"local": "variable", "constructor": "type"}
# What is done to a variable and tells its kind.
_DONE: Final = frozenset(
    {"object", "indexed", "arith+", "arith-", "arith*", "arith/", "arith%", "cmp", "index"}
)
_VARIABLES: Final = ("local", "parameter", "constant")
_MOST_NAMES: Final = 8
_MOST_PAIRS: Final = 20_000


def swaps(unit: Unit, refused: Counter[str], draw: random.Random) -> Iterator[Edit]:
    """Exchanges of two names, in added lines of one hunk and one function."""
    groups: dict[Hashable, list[Named]] = defaultdict(list)
    for one in unit.editable:
        if not _fixed(one):
            groups[one.hunk, one.function, one.role, naming_style(one.name)].append(one)
    for members in groups.values():
        for one, other in drawn_pairs(members, _MOST_PAIRS, draw):
            if one.name == other.name or one.entity == other.entity:
                continue
            guard = _refusal(unit, one, other) or _refusal(unit, other, one)
            if guard is None and is_symmetric_pair(
                one.use.expression, other.use.expression, unit.part.grammar
            ):
                guard = "symmetric_call"
            if guard is not None:
                refused[guard] += 1
            elif one.occurrence is not None and other.occurrence is not None:
                arguments = is_argument_pair(one.use.expression, other.use.expression)
                kind = "arguments" if arguments else f"swap-{_WORDS.get(one.role, one.role)}"
                yield swap(kind, one.occurrence, other.occurrence)


def replacements(unit: Unit, refused: Counter[str], draw: random.Random) -> Iterator[Edit]:
    """Single uses that get another name that the text knows, one of the patch or of the file around it."""
    for one in unit.editable:
        place = one.occurrence
        if place is None or _fixed(one):
            continue
        if unit.uses[one.entity] < 2 and one.role in ("local", "parameter", "key"):
            refused["left_unused"] += 1
            continue
        others = sorted(_others(unit, one))
        for name, kind, entity in draw.sample(others, min(_MOST_NAMES, len(others))):
            guard = _unfit(unit, one, kind, entity) or _same_value(unit, one, name)
            if guard is not None:
                refused[guard] += 1
                continue
            yield Edit(_WORDS.get(one.role, one.role), "", (Replacement(*place[:4], name),))


def _others(unit: Unit, one: Named) -> Iterator[tuple[str, str, Hashable]]:
    """Name, kind and entity of what could come where ``one`` is."""
    found: list[tuple[str, str, Hashable]] = []
    if one.role in _VARIABLES:
        for seen in unit.scopes.visible_variables(one.start):
            role = "local" if seen.role == "comprehended" else seen.role
            if role == one.role and seen.kind != "function" and not _captured(unit, one, seen):
                found.append((seen.name, seen.kind, (role, seen.scope_start, seen.name)))
    else:
        assert isinstance(one.entity, tuple)  # noqa: S101 - for the type
        for entity, other in unit.groups[one.entity[:2]].items():
            if other.role == one.role:
                found.append((other.name, unit.kinds.get(entity, ""), entity))
    for name, kind, entity in found:
        if name != one.name and naming_style(name) == naming_style(one.name):
            yield name, kind, entity


def _refusal(unit: Unit, one: Named, other: Named) -> str | None:
    """Return why the name of ``other`` cannot come where ``one`` is."""
    if one.role in _VARIABLES:
        seen = next(
            (found for found in unit.scopes.visible_variables(one.start) if found.name == other.name), None
        )
        if seen is None or (seen.scope_start, seen.name) != other.entity[1:]:  # type: ignore[index]
            return "out_of_scope"
        if _captured(unit, one, seen):
            return "captured"
    elif one.entity[:2] != other.entity[:2]:  # type: ignore[index]
        return "other_receiver"
    return _unfit(unit, one, other.kind, other.entity) or _same_value(unit, one, other.name)


def _unfit(unit: Unit, one: Named, kind: str, entity: Hashable) -> str | None:
    """Return why an entity does not fit where ``one`` is."""
    if one.arguments is not None and (guard := _uncallable(unit, one, one.arguments, entity)) is not None:
        return guard
    if one.kind and kind:
        if one.kind == kind and (one.kind.startswith("type:") or one.role not in ("method", "function")):
            return None
        if {_sort(one.kind), _sort(kind)} <= {"type", "literal"}:
            return "other_kind"
    return None if _enumerated(unit, one) or _used_alike(unit, one, entity) else "other_kind"


def _uncallable(unit: Unit, one: Named, arguments: tuple[str, ...], entity: Hashable) -> str | None:
    """Return why an entity cannot be called where ``one`` is, with its arguments."""
    name: str = str(entity[-2])  # type: ignore[index]
    if is_frame(one.name) or is_frame(name):
        return "other_kind"
    if is_same_meaning(one.name, name, unit.part.grammar):
        return "same_value"
    if entity[-1] != len(arguments) or not _takes(unit, one, name):  # type: ignore[index]
        return "other_arguments"
    if arguments and not _signature(unit, one, name):
        shapes = unit.shapes[entity]
        if arguments not in shapes and (unit.static or not any(_alike(arguments, shape) for shape in shapes)):
            return "other_arguments"
    return None


def _used_alike(unit: Unit, one: Named, entity: Hashable) -> bool:
    """Return whether the uses of an entity tell that it is of the kind of ``one``."""
    seen = unit.contexts.get(entity, set())
    # Where types are checked, two things with one member may still give different things by it.
    told = one.use.is_specific and not (unit.static and one.use.expression_context.startswith("object:"))
    if told and one.use.expression_context in seen:
        return True
    if unit.static:
        return False
    shared = {where for where in seen & unit.contexts.get(one.entity, set()) if _tells(where)}
    # Where a member is asked for, both must be known to have members in common.
    if one.use.expression_context.startswith("object:"):
        shared = {where for where in shared if where.startswith("object:")}
    return bool(shared) or (one.arguments is None and _untold(unit, one, seen))


def _untold(unit: Unit, one: Named, seen: set[str]) -> bool:
    """Return whether neither the uses of two variables nor what is done to them tell their kinds apart."""
    if one.use.expression_context.startswith(("object:", "indexed", "other")) or not one.use.is_specific:
        return False
    ours, theirs = (
        {part for where in contexts if (part := re.split(r"[:/ =<]", where)[0]) in _DONE}
        for contexts in (unit.contexts.get(one.entity, set()), seen)
    )
    here = re.split(r"[:/ =<]", one.use.expression_context)[0]
    if here in _DONE:
        return here in theirs
    return not ours or not theirs or bool(ours & theirs)


def _enumerated(unit: Unit, one: Named) -> bool:
    """Return whether a member is one of the constants of a type."""
    if one.role != "field" or unit.part.grammar not in ("java", "cpp", "rust"):
        return False
    receiver = str(one.entity[1])  # type: ignore[index]
    constant = one.name.isupper() if unit.part.grammar == "java" else True
    return constant and receiver.startswith("name:") and (receiver[5:6].isupper() or receiver.endswith("_t"))


def _tells(context: str) -> bool:
    """Return whether things that are seen in one context are of one kind, and not only true or false, or asked for."""
    return not context.startswith(("cond", "stmt", "cmp=:null", "other", "init of"))


def _alike(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Return whether arguments are of one kind, one by one, as far as the text tells."""
    return all(
        left == right or ({_sort(left), _sort(right)} <= {"name", "text", "call", ""})
        for left, right in zip(one, other, strict=True)
    )


def _sort(kind: str) -> str:
    return kind.partition(":")[0]


def _takes(unit: Unit, one: Named, name: str) -> bool:
    """Return whether a function takes as many arguments as ``one`` gives, as far as the text declares it."""
    assert one.arguments is not None  # noqa: S101 - for the type
    declared = [found for found in unit.scopes.by_name(name) if found.parameters is not None]
    return not declared or any(
        found.required <= len(one.arguments)
        and (
            len(one.arguments) <= len(found.parameters or ())
            or any(part.startswith("...") for part in found.parameters or ())
        )
        for found in declared
    )


def _signature(unit: Unit, one: Named, name: str) -> bool:
    """Return whether the text declares both functions with the same types."""
    ours, theirs = (
        {(found.parameters, found.kind) for found in unit.scopes.by_name(word) if found.role == "function"}
        for word in (one.name, name)
    )
    return len(ours) == 1 and ours == theirs


def _same_value(unit: Unit, one: Named, name: str) -> str | None:
    """Variables that begin as each other are one value."""
    aliases = {
        frozenset((found.name, found.alias))
        for word in (one.name, name)
        for found in unit.scopes.by_name(word)
        if found.alias
    }
    return "same_value" if frozenset((one.name, name)) in aliases else None


def _captured(unit: Unit, one: Named, seen: Declaration) -> bool:
    """Return whether a variable that is assigned again comes into a function inside of its own, which Java forbids."""
    if unit.part.grammar != "java" or (seen.role, seen.scope_start, seen.name) not in unit.assigned:
        return False
    return any(
        around.type in ("lambda_expression", "class_body") and around.start_byte > seen.start
        for around in ancestors(one.use.expression)
    )


def _fixed(one: Named) -> bool:
    """Return whether nothing depends on a use, or it is assigned."""
    return one.use.expression_context == "target" or is_text_only(one.use.expression)


def drawn_pairs(members: Sequence[T], most: int, draw: random.Random) -> Iterator[tuple[T, T]]:
    """Yield all pairs, the earlier member first, or at most so many of them, in the order of drawing."""
    total = math.comb(len(members), 2)
    for number in draw.sample(range(total), min(total, most)):
        earlier, later = pair(number)
        yield members[earlier], members[later]


def pair(number: int) -> tuple[int, int]:
    """Return the pair ``earlier < later`` with this number, counted as (0, 1), (0, 2), (1, 2), (0, 3)."""
    later = (1 + math.isqrt(1 + 8 * number)) // 2
    return number - math.comb(later, 2), later
