"""Edits of operators, conditions and calls, from a closed list (``<=`` to ``<``)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Final

import tree_sitter

from caretbench.languages.node_kinds import NodeKinds, node_kinds
from caretbench.suites.efcb.build.edits.edit_guards import (
    counterpart_functions,
    is_compile_time,
    is_symmetric_call,
    is_text_for_people,
)
from caretbench.suites.efcb.build.edits.name_uses import ParsedPart
from caretbench.suites.efcb.build.edits.patch_parts import PatchEdit, Replacement
from caretbench.syntax.parser import text_of as text
from caretbench.syntax.parser import upwards, walk
from caretbench.syntax.uses.expression_contexts import (
    arguments_of,
    callee_of,
    inferred_kind,
    kind_of_value,
    operator_of,
)

_BOUNDARIES: Final[Mapping[str, tuple[str, ...]]] = {
    "<": ("<=", ">"), "<=": ("<", ">="), ">": (">=", "<"), ">=": (">", "<="),
}  # fmt: skip
_EQUALITIES: Final = {
    "==": "!=", "!=": "==", "===": "!==", "!==": "===", "is": "is not", "is not": "is", "in": "not in", "not in": "in",
}  # fmt: skip
_LOGIC: Final = {"&&": "||", "||": "&&", "and": "or", "or": "and"}
_SIGNS: Final = {"+": "-", "-": "+"}
_COUNTING: Final = frozenset({
    "range", "substring", "slice", "substr", "charAt", "get", "at", "Substring", "nth", "ElementAt", "splice", "first",
    "last", "limit", "skip", "Skip", "Take", "take", "repeat",
})  # fmt: skip
"""Calls whose numbers are places and counts."""
_LENGTH: Final = re.compile(r"^len\(.*\)|\.(length|size|Count|Length|len|count)\b(\(\))?")
_TRUTH: Final = {"true": "false", "false": "true", "True": "False", "False": "True"}
# Quantities that are hardly ever equal: the side of the boundary makes no difference.
_CONTINUOUS: Final = re.compile(
    r"time|elapsed|now\b|duration|deadline|timeout|age\b|seconds|millis|nanos|\d\.\d", re.IGNORECASE
)
_NARROWING: Final = re.compile(
    r"\binstanceof\b|\btypeof\b|\bis\s+\w|\bout\s+var\b|\blet\b|\bArray\.isArray\b|\bin\b|\?\."
)
_NUMBERS: Final = frozenset({"int", "number", "float"})


def operator_edits(unit: ParsedPart) -> Iterator[PatchEdit]:
    """Yield all edits of operators, conditions and calls in the added lines of a part, in text order."""
    for node in unit.added_nodes():
        make = _makers().get(node.type)
        if make is None or unit.is_broken(node) or is_text_for_people(node) or is_compile_time(node):
            continue
        for kind, start, end, new in make(unit, node):
            position = unit.occurrence_at(start, end)
            if position is not None and unit.is_added(position):
                yield PatchEdit(kind, (Replacement(*position[:4], new),))


_EditParts = tuple[str, int, int, str]
"""Kind of an edit, the bytes that it replaces, and the new text."""


def _change(kind: str, node: tree_sitter.Node, new: str) -> _EditParts:
    return kind, node.start_byte, node.end_byte, new


def _negated(unit: ParsedPart, node: tree_sitter.Node) -> _EditParts:
    return "condition", node.start_byte, node.start_byte, "not " if unit.part.grammar == "python" else "!"


# Long: one case for each group of operators.
def _operators(unit: ParsedPart, node: tree_sitter.Node) -> Iterator[_EditParts]:
    sign = operator_of(node)
    token = next((child for child in node.children if child.type == sign), None)
    sides = node.named_children
    # "a is null || b", which the grammar reads as "a is (null || b)".
    is_pattern = node.parent is not None and node.parent.type in node_kinds().constant_patterns
    if token is None or is_pattern or len(sides) != 2 or text(sides[0]) == text(sides[1]):
        return
    written, texts = text(node), set(map(text, sides))
    if sign in _BOUNDARIES:
        nearer, opposite = _BOUNDARIES[sign]
        # Where both sides of the bound give the same result, `<=` is a second right answer.
        if not _CONTINUOUS.search(written) and not _selects_value(node, sides, unit.kinds):
            yield _change("boundary", token, nearer)
        yield _change("comparison", token, opposite)
    elif sign in _EQUALITIES and not _narrows_type(unit, node):
        yield _change("equality", token, _EQUALITIES[sign])
    elif (
        sign in _LOGIC
        and _is_condition(unit, node)
        # `x != null && x.ready` with `||` raises an error at once: no reader needs the description to refuse it.
        and not _second_needs_first(sides)
        and not _narrows_type(unit, node)
    ):
        yield _change("logic", token, _LOGIC[sign])
    # Other sums were 6 of 2,620 edits of 13 histories, jumps 10, exchanged branches 11: they are not made.
    elif sign in _SIGNS and "1" in texts and not texts & {"0", "0.0"} and all(_is_number(unit, side) for side in sides):
        yield _change("boundary", token, _SIGNS[sign])


def _negations(unit: ParsedPart, node: tree_sitter.Node) -> Iterator[_EditParts]:
    """Yield conditions without their ``not``."""
    inner = node.named_children[-1] if node.named_children else None
    sign = text(node)[:1]
    if inner is None or sign not in ("!", "n") or _narrows_type(unit, inner):
        return
    kinds = unit.kinds
    # `!!x` makes a truth value of `x`, and a `!` that is alone in a statement has no effect.
    if node.parent is not None and node.parent.type in kinds.negations | kinds.calls | kinds.expression_statements:
        return
    yield "condition", node.start_byte, inner.start_byte, ""


def _conditions(unit: ParsedPart, node: tree_sitter.Node) -> Iterator[_EditParts]:
    """Yield conditions with a ``not``; in Ruby ``unless`` for ``if`` and vice versa."""
    if unit.part.grammar == "ruby":
        token = next((child for child in node.children if child.type in ("if", "unless")), None)
        # Ruby has no `unless` with an `elsif`, and style guides refuse one with an `else`.
        if token is not None and node.child_by_field_name("alternative") is None:
            yield _change("condition", token, "unless" if token.type == "if" else "if")
        return
    test, kinds = node.child_by_field_name("condition"), unit.kinds
    while test is not None and test.type in kinds.parentheses | kinds.condition_clauses:
        test = test.named_children[0] if len(test.named_children) == 1 else None
    if test is None or _narrows_type(unit, test) or test.type in kinds.binary | kinds.negations:
        return
    if test.type not in kinds.calls | kinds.names | kinds.members:
        return
    yield _negated(unit, test)


def _returns(unit: ParsedPart, node: tree_sitter.Node) -> Iterator[_EditParts]:
    """Yield the negated return value of a Boolean function."""
    kinds = unit.kinds
    value = node.named_children[0] if len(node.named_children) == 1 else None
    if value is not None and value.type in kinds.expression_lists:
        value = value.named_children[0] if len(value.named_children) == 1 else None
    named_or_called = kinds.calls | kinds.names | kinds.members
    if value is None or value.type not in named_or_called or _narrows_type(unit, value):
        return
    function = next((around for around in upwards(node.parent) if around.type in kinds.functions), None)
    named = function.child_by_field_name("name") if function is not None else None
    told = next(
        (
            declaration.kind
            for declaration in unit.declaration_index.all
            if named is not None and declaration.start == named.start_byte
        ),
        "",
    )
    # A negated object, number or text is another type.
    if told in ("type:bool", "type:boolean"):
        yield _negated(unit, value)


def _null_tests(_unit: ParsedPart, node: tree_sitter.Node) -> Iterator[_EditParts]:
    """Yield ``is not null`` for ``is null`` and vice versa, in C#."""
    pattern = node.named_children[-1] if node.named_children else None
    if pattern is not None and text(pattern) in ("null", "not null"):
        yield _change("equality", pattern, "not null" if text(pattern) == "null" else "null")


def _integers(unit: ParsedPart, node: tree_sitter.Node) -> Iterator[_EditParts]:
    """Yield bounds and indices that are written as numbers, one more and one less."""
    written = text(node)
    around, kinds = node.parent, unit.kinds
    while around is not None and around.type in kinds.arguments | kinds.unary | kinds.literal_elements:
        around = around.parent
    if around is None or not re.fullmatch(r"0|[1-9]\d{0,2}", written):  # 017 is octal, and 018 is none
        return
    called = callee_of(around.parent) if around.type in kinds.argument_lists and around.parent is not None else ""
    counts = called in _COUNTING or (bool(called) and is_symmetric_call(called, unit.part.grammar))
    bounds = around.type in kinds.binary and (
        operator_of(around) in _BOUNDARIES or bool(_LENGTH.search(text(around)) and operator_of(around) in _EQUALITIES)
    )
    if counts or bounds or around.type in kinds.subscripts | kinds.slices | kinds.index_lists:
        number = int(written)
        yield _change("boundary", node, str(number + 1))
        if number:
            yield _change("boundary", node, str(number - 1))


def _truths(unit: ParsedPart, node: tree_sitter.Node) -> Iterator[_EditParts]:
    written = text(node)
    around, kinds = node.parent, unit.kinds
    types = kinds.type_annotations | kinds.literal_types
    fixed = kinds.while_loops | kinds.parentheses | kinds.case_labels | kinds.matches | types
    if written in _TRUTH and around is not None and around.type not in fixed:
        yield _change("truth", node, _TRUTH[written])


def _calls(unit: ParsedPart, node: tree_sitter.Node) -> Iterator[_EditParts]:
    name = callee_of(node)
    callee = node.child_by_field_name("function") or node
    token = _name_token(callee, name, node)
    if token is None or arguments_of(node) is None:
        return
    receiver = text(node)[: max(0, token.start_byte - node.start_byte)].rstrip(".:&")
    for other in counterpart_functions(name, receiver, unit.part.grammar):
        yield _change("counterpart", token, other)


def _macros(unit: ParsedPart, node: tree_sitter.Node) -> Iterator[_EditParts]:
    token = node.named_children[0] if node.named_children else None
    if token is not None:
        for other in counterpart_functions(text(token), "", unit.part.grammar):
            yield _change("counterpart", token, other)


def _name_token(callee: tree_sitter.Node, name: str, call: tree_sitter.Node) -> tree_sitter.Node | None:
    """Return the token of a call's name."""
    held = call.child_by_field_name("arguments")
    nodes = walk(callee, end=held.start_byte if held is not None else callee.end_byte)
    # The last token of the name is the called one: in `open.open()` the first is the receiver.
    tokens = [node for node in nodes if node.is_named and not node.named_children and text(node) == name]
    return max(tokens, key=lambda node: node.start_byte, default=None)


def _is_number(unit: ParsedPart, node: tree_sitter.Node) -> bool:
    """Return whether a value is a number, as far as the text shows."""
    kind = kind_of_value(node)
    if kind in _NUMBERS:
        return True
    written = text(node)
    if kind == "name":
        declared = unit.declaration_index.resolve(written, node.start_byte)
        told = declared.kind if declared is not None else ""
        return bool(
            re.fullmatch(r"type:(unsigned |long |short )*(int\d*|long|float\d*|double|number|usize|[iu]\d+|f\d+|size_t|"
                         r"std::size_t|uint\d*|decimal)|literal:(int|number|float)", told)
        )  # fmt: skip
    return bool(_LENGTH.search(written)) or (
        node.type in unit.kinds.binary
        and operator_of(node) in ("*", "-", "/", "%")
        and inferred_kind(node, unit.part.grammar) == ""
    )


def _is_condition(unit: ParsedPart, node: tree_sitter.Node) -> bool:
    """Return whether a value is used as a condition; elsewhere ``or`` selects a value."""
    # In these languages `name or "guest"` gives a value, and `and` in its place gives one of another kind.
    if unit.part.grammar not in ("python", "javascript", "typescript", "tsx", "ruby"):
        return True
    kinds = unit.kinds
    for around in upwards(node.parent):
        if around.type in kinds.binary | kinds.parentheses | kinds.negations:
            continue
        return around.type in kinds.tests | kinds.conditional_expressions | kinds.assertions
    return False


def _narrows_type(unit: ParsedPart, node: tree_sitter.Node) -> bool:
    """Return whether the code after it may compile only if the condition holds."""
    written = text(node)
    if unit.part.grammar in ("java", "csharp", "rust", "typescript", "tsx") and _NARROWING.search(written):
        return True
    if unit.part.grammar == "csharp" and re.search(r"\bout\b", written):
        return True
    if unit.part.grammar not in ("typescript", "tsx"):
        return False
    if node.type in unit.kinds.binary and operator_of(node) in _BOUNDARIES:
        return False
    if node.type in unit.kinds.binary and operator_of(node) in _LOGIC:
        return any(_narrows_type(unit, side) for side in node.named_children)
    if node.type in unit.kinds.binary:
        return not any(kind_of_value(side) in _NUMBERS for side in node.named_children) or any(
            kind_of_value(side) in ("string", "null") for side in node.named_children
        )
    if node.type in unit.kinds.calls:
        return bool(re.match(r"(is|has|assert)", callee_of(node)))
    return True


def _second_needs_first(sides: list[tree_sitter.Node]) -> bool:
    """Return whether the second operand needs the first: they share names."""
    first, second = (set(re.findall(r"[A-Za-z_$][\w$]*", text(side))) for side in sides)
    return bool((first & second) - {"self", "this", "not", "len", "is", "None", "null", "nil"})


def _selects_value(node: tree_sitter.Node, sides: list[tree_sitter.Node], kinds: NodeKinds) -> bool:
    """Return whether a comparison selects one of its operands, so that both are correct if they are equal."""
    one, other = (re.escape(re.sub(r"\s+", "", text(side))) for side in sides)
    for around in upwards(node.parent):
        if around.type in kinds.parentheses | kinds.condition_clauses:
            continue
        if around.type in kinds.conditional_expressions:
            whole = text(around)
            chosen = {re.sub(r"\s+", "", part) for part in re.split(r"[?:]|\bif\b|\belse\b", whole)}
            return {re.sub(r"\s+", "", text(side)) for side in sides} <= chosen
        if around.type not in kinds.tests:
            return False
        body = re.sub(r"\s+", "", text(around).replace(text(node), "", 1))
        return bool(
            re.search(rf"(^|[^\w.])({one}:?={other}|{other}:?={one})([^\w.(\[]|$)", body)
            or re.search(rf"return\(?({one}|{other})\)?([;}}]|$)", body)
        )
    return False


_Maker = Callable[[ParsedPart, tree_sitter.Node], Iterator[_EditParts]]


@cache
def _makers() -> Mapping[str, _Maker]:
    """Return the maker of the edits of each node kind; the first role that a kind has decides."""
    kinds = node_kinds()
    numbers = (nodes for kind, nodes in kinds.literals.items() if kind in ("int", "number"))
    roles: tuple[tuple[frozenset[str], _Maker], ...] = (
        (kinds.binary, _operators),
        (kinds.negations, _negations),
        (kinds.tests, _conditions),
        (kinds.returns, _returns),
        (kinds.null_tests, _null_tests),
        (frozenset().union(*numbers), _integers),
        (kinds.literals["bool"], _truths),
        (kinds.calls - kinds.creations, _calls),
        (kinds.macros, _macros),
    )
    return {kind: make for nodes, make in reversed(roles) for kind in nodes}
