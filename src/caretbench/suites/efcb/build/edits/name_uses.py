"""Names in a part of a patch: role, entity, kind, and the contexts of each entity."""

from __future__ import annotations

import bisect
import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import accumulate, filterfalse
from typing import Final, NamedTuple

import tree_sitter

from caretbench.grouping import grouped
from caretbench.languages.node_kinds import node_kinds
from caretbench.suites.efcb.build.edits.patch_parts import OUTSIDE_PATCH, Occurrence, PatchPart, Replacement
from caretbench.syntax.parser import encode, parse, upwards, walk
from caretbench.syntax.parser import text_of as text
from caretbench.syntax.uses.declarations import Declaration, DeclarationIndex
from caretbench.syntax.uses.expression_contexts import (
    RECEIVER_FIELDS,
    ExpressionUse,
    arguments_of,
    callee_of,
    expression_use,
    kind_of_value,
)
from caretbench.syntax.uses.identifiers import Identifier, Identifiers, identifiers

STATIC_LANGUAGES: Final = frozenset({"java", "csharp", "go", "typescript", "tsx", "cpp", "rust"})
"""Statically typed languages."""
LITERAL_KINDS: Final = frozenset({"int", "number", "float", "string", "char", "symbol"})
# Languages in which a field is used without `this`; in the others a bare name is a variable.
_BARE_FIELDS: Final = frozenset({"java", "csharp", "cpp"})
_SELF: Final = frozenset({"this", "self", "cls", "Self"})
# Number of rows around the patch in which uses are collected.
_WINDOW: Final = 400
# A call of a capital name makes an object in Python, which has no keyword for it.
_CONSTRUCTED: Final = frozenset({"python"})
_Classified = tuple[str, Hashable, str] | None


class PatchNameUse(NamedTuple):
    """One use of a name.

    ``role``: ``local``, ``parameter``, ``field``, ``function``, ``method``, ``constant``.
    ``entity`` identifies the named thing; all its uses have the same. ``arguments`` are the kinds of a call's
    arguments.
    """

    name: str
    start: int
    role: str
    entity: Hashable
    kind: str
    use: ExpressionUse
    function: int
    hunk: int
    occurrence: Occurrence | None
    arguments: tuple[str, ...] | None


class ParsedPart:
    """A part of a patch with its names."""

    def __init__(self, part: PatchPart) -> None:
        self.part = part
        self.root = part.tree.root_node
        self.data = encode(part.text)
        self.kinds = node_kinds(part.grammar)
        self.static = part.grammar in STATIC_LANGUAGES
        self._starts = [0, *accumulate(len(row) + 1 for row in self.data.split(b"\n"))]
        self._row_of = {line: row for row, line in enumerate(part.lines)}
        self._hunk_of = {line: number for number, hunk in enumerate(part.hunks) for line in hunk.lines}
        self.added = frozenset().union(*(hunk.added for hunk in part.hunks))

    @cached_property
    def identifiers(self) -> Identifiers:
        """All names of the text, with the unordered constructs around them."""
        return identifiers(self.part.text, self.part.grammar, self.part.tree)

    @cached_property
    def declaration_index(self) -> DeclarationIndex:
        """Index of the declarations in the text."""
        return DeclarationIndex(self.root, self.part.grammar)

    def occurrence_at(self, start: int, end: int) -> Occurrence | None:
        """Return the occurrence of some bytes in the patch; None if they are not in one line of it."""
        number = _row(self._starts, start)
        # An edit replaces text within a line, so that the lines of the four choices stay the same number.
        if number != _row(self._starts, max(start, end - 1)):
            return None
        line = self.part.lines[number]
        if line == OUTSIDE_PATCH:
            return None
        first = self._starts[number]
        # Positions of trees count bytes, those of edits characters, and the first character of a line is the mark of
        # the diff.
        before = len(self.data[first:start].decode("utf-8", "surrogatepass")) + 1
        written = self.data[start:end].decode("utf-8", "surrogatepass")
        return Occurrence(self.part.file, line, before, before + len(written), written)

    def byte_span(self, replaced: Replacement) -> tuple[int, int]:
        """Return the bytes of the text that a replacement is for."""
        row = self._row_of[replaced.line]
        line = self.data[self._starts[row] : self._starts[row + 1] - 1].decode("utf-8", "surrogatepass")
        begin, end = (self._starts[row] + len(encode(line[: column - 1])) for column in (replaced.start, replaced.end))
        return begin, end

    def parse_with_rows(self, rows: Mapping[int, str]) -> tree_sitter.Tree:
        """Return the tree of the text with other rows, parsed incrementally."""
        # A whole file is parsed again for each edit that is checked: tree-sitter then reads only what differs.
        tree = self.part.tree.copy()
        pieces, last, shift = [], 0, 0
        for row in sorted(rows):
            start, end = self._starts[row], self._starts[row + 1] - 1
            new = encode(rows[row])
            pieces += [self.data[last:start], new]
            last = end
            tree.edit(
                start_byte=start + shift, old_end_byte=end + shift, new_end_byte=start + shift + len(new),
                start_point=(row, 0), old_end_point=(row, end - start), new_end_point=(row, len(new)),
            )  # fmt: skip
            shift += len(new) - (end - start)
        return parse(b"".join([*pieces, self.data[last:]]), self.part.grammar, old=tree)

    @cached_property
    def names_by_position(self) -> Mapping[tuple[int, int, int, int], Identifier]:
        """Names of the patch by position."""
        names = (
            identifier for identifier in self.identifiers.names if self.part.lines[identifier.row] != OUTSIDE_PATCH
        )
        return {place[:4]: name for name in names if (place := self.occurrence_at(name.start, name.end)) is not None}

    @cached_property
    def literals_by_position(self) -> Mapping[tuple[int, int, int, int], str]:
        """Strings and numbers of the patch by position."""
        literals = (node for node in self.added_nodes() if kind_of_value(node) in LITERAL_KINDS)
        places = (self.occurrence_at(node.start_byte, node.end_byte) for node in literals)
        return {place[:4]: place.text for place in places if place is not None}

    def function_text(self, line: int) -> str:
        """Return the outermost function around a line of the patch; else the whole text."""
        row = self.part.lines.index(line)
        node = self.root.descendant_for_point_range((row, 0), (row, len(self.part.text.split("\n")[row].encode())))
        around = [] if node is None else [*upwards(node)]
        outermost = next((outer for outer in reversed(around) if outer.type in self.kinds.functions), None)
        return self.part.text if outermost is None else text(outermost)

    def is_added(self, place: Occurrence | None) -> bool:
        """Return whether an occurrence is in an added line."""
        return place is not None and place.line in self.added

    def hunk_number(self, place: Occurrence) -> int:
        """Return the number of an occurrence's hunk."""
        return self._hunk_of[place.line]

    def is_broken(self, node: tree_sitter.Node) -> bool:
        """Return whether a node's outermost function, or all of a hunk, does not parse."""
        if not self.part.syntax_error_count:
            return False
        # Of a hunk nobody knows where the function that has the error begins.
        if not self.part.is_whole_file:
            return True
        around = list(upwards(node.parent))
        outermost = next((outer for outer in reversed(around) if outer.type in self.kinds.functions), None)
        return outermost is None or outermost.has_error or any(outer.type == "ERROR" for outer in around)

    @cached_property
    def uses(self) -> tuple[PatchNameUse, ...]:
        """Name uses near the patch whose role is known, in the order of the text."""
        near = {row for added in self.part.added_rows for row in range(added - _WINDOW, added + _WINDOW)}
        names = (
            identifier
            for identifier in self.identifiers.names
            if identifier.syntactic_position and identifier.row in near
        )
        return tuple(use for use in map(self._make_use, names) if use is not None)

    @cached_property
    def editable_uses(self) -> tuple[PatchNameUse, ...]:
        """Name uses in added lines that edits may change."""
        return tuple(
            use
            for use in self.uses
            if use.occurrence is not None and self.is_added(use.occurrence) and not self.is_broken(use.use.expression)
        )

    @cached_property
    def entity_contexts(self) -> dict[Hashable, set[str]]:
        """Contexts of each entity."""
        specific = ((use.entity, use.use.expression_context) for use in self.uses if use.use.is_specific)
        return {entity: set(contexts) for entity, contexts in grouped(specific).items()}

    @cached_property
    def argument_kinds(self) -> dict[Hashable, set[tuple[str, ...]]]:
        """Kinds of arguments that each entity is called with."""
        called = ((use.entity, use.arguments) for use in self.uses if use.arguments is not None)
        return {entity: set(kinds) for entity, kinds in grouped(called).items()}

    @cached_property
    def entity_kinds(self) -> dict[Hashable, str]:
        """Type of each entity, or the context that shows it."""
        return {use.entity: use.kind for use in self.uses if use.kind}

    @cached_property
    def assigned_entities(self) -> frozenset[Hashable]:
        """Entities that are assigned or incremented outside of their declaration."""
        counted = ("target", "other:update_expression")
        return frozenset(use.entity for use in self.uses if use.use.expression_context in counted)

    @cached_property
    def use_counts(self) -> Counter[Hashable]:
        """Number of uses of each entity."""
        return Counter(use.entity for use in self.uses)

    @cached_property
    def exchange_groups(self) -> dict[Hashable, dict[Hashable, PatchNameUse]]:
        """One use of each exchangeable entity, by receiver or callee."""
        groups: dict[Hashable, dict[Hashable, PatchNameUse]] = defaultdict(dict)
        for use in self.uses:
            if isinstance(use.entity, tuple) and use.role not in ("local", "parameter", "constant"):
                groups[use.entity[:2]].setdefault(use.entity, use)
        return groups

    def _make_use(self, identifier: Identifier) -> PatchNameUse | None:
        node = self.root.descendant_for_byte_range(identifier.start, identifier.end)
        if node is None:
            return None
        words = identifier.syntactic_position.split()[1].split("+")
        use = expression_use(node)
        told = self._classify(node, identifier, words, use)
        if told is None:
            return None
        given = arguments_of(use.call) if use.call is not None else None
        kinds = tuple(map(self._argument_kind, given)) if given is not None else None
        place = self.occurrence_at(identifier.start, identifier.end)
        hunk = self._hunk_of[place.line] if place is not None else -1
        return PatchNameUse(identifier.name, identifier.start, *told, use, identifier.function, hunk, place, kinds)

    def _classify(
        self, node: tree_sitter.Node, identifier: Identifier, words: Iterable[str], use: ExpressionUse
    ) -> _Classified:
        """Return role, entity and kind of a use; None if its role is unknown."""
        count = len(arguments_of(use.call) or ()) if use.call is not None else -1
        is_made = use.call is not None and use.call.type in self.kinds.creations
        if (
            is_made
            or not {"key", "type"}.isdisjoint(words)
            or node.type in self.kinds.type_names | self.kinds.scope_names
        ):
            return None
        receiver = _receiver_of(node, use)
        if receiver is not None:
            key = self._receiver(receiver)
            if use.call is not None:
                return "method", ("method", key, identifier.name, count), self._one_kind(identifier.name, "function")
            return "field", ("field", key, identifier.name), self._one_kind(identifier.name, "field")
        declared = self.declaration_index.resolve(identifier.name, identifier.start)
        if use.call is not None:
            return self._classify_call(identifier.name, count, declared)
        if declared is None:
            return self._classify_field(node, identifier)
        if declared.role in ("import", "typename", "function", "field") or declared.kind == "function":
            return None
        role = "local" if declared.role == "comprehended" else declared.role
        return role, (role, declared.scope_start, declared.name), declared.kind

    def _classify_call(self, name: str, count: int, declared: Declaration | None) -> _Classified:
        """Return role, entity and kind of a called name without receiver."""
        if declared is not None and declared.role in ("local", "parameter") and declared.kind != "function":
            return None
        if self.part.grammar in _CONSTRUCTED and name[0].isupper():
            return None
        # The number of arguments is part of what is named: overloads take other ones.
        return "function", ("function", "", name, count), self._one_kind(name, "function")

    def _classify_field(self, node: tree_sitter.Node, identifier: Identifier) -> _Classified:
        if self.part.grammar not in _BARE_FIELDS:
            return None
        for field in self.declaration_index.by_name(identifier.name):
            if field.role == "field" and field.scope_start <= identifier.start < field.end:
                return "field", ("field", f"this@{_around(node, self.kinds.types)}", identifier.name), field.kind
        return None

    def _receiver(self, node: tree_sitter.Node) -> str:
        """Return a key of a member's receiver, equal if the members are exchangeable."""
        written = text(node)
        if written in _SELF:
            return f"this@{_around(node, self.kinds.types)}"
        call = arguments_of(node)
        if call is not None:
            # The type of a result may depend on the arguments: "assertThat(a)" and "assertThat(b)".
            return f"call:{_bare(written)[:200]}" if self.static else f"call:{callee_of(node)}/{len(call)}"
        if node.type in self.kinds.names:
            declared = self.declaration_index.resolve(written, node.start_byte)
            if declared is not None and declared.role in ("local", "parameter", "comprehended"):
                return declared.kind or f"{declared.scope_start}:{declared.name}"
            return f"name:{written}"
        return f"text:{_around(node, self.kinds.functions)}:{_bare(written)[:120]}"

    def _one_kind(self, name: str, role: str) -> str:
        """Return the type of a name of the text, of a function its result's; empty if it is unknown or ambiguous."""
        kinds = {declaration.kind for declaration in self.declaration_index.by_name(name) if declaration.role == role}
        return kinds.pop() if len(kinds) == 1 else ""

    def _argument_kind(self, node: tree_sitter.Node) -> str:
        if node.type in self.kinds.arguments and node.named_children:
            node = node.named_children[-1]
        kind = kind_of_value(node)
        if kind == "name":
            declared = self.declaration_index.resolve(text(node), node.start_byte)
            return declared.kind if declared is not None and declared.kind else f"name:{text(node)}"
        return kind or f"text:{_bare(text(node))[:80]}"

    def added_nodes(self) -> Iterator[tree_sitter.Node]:
        """Return the nodes that overlap added lines, outer ones first."""
        added = set(self.part.added_rows)
        counts = [0, *accumulate(row in added for row in range(len(self.part.lines)))]

        def is_apart(node: tree_sitter.Node) -> bool:
            # Sums over the rows tell at once that a node has no added line; a file of 10,000 lines has a hunk of ten.
            last = min(node.end_point.row, len(self.part.lines) - 1)
            return counts[last + 1] == counts[node.start_point.row]

        return filterfalse(is_apart, walk(self.root, closed=is_apart))


def _receiver_of(node: tree_sitter.Node, use: ExpressionUse) -> tree_sitter.Node | None:
    """Return the object that a use is a member of, or None."""
    member = node.parent
    if member is None or use.expression.id == node.id or node_kinds().member_fields.get(member.type) is None:
        return None
    objects = (member.child_by_field_name(field) for field in RECEIVER_FIELDS)
    return next((receiver for receiver in objects if receiver is not None and receiver.id != node.id), None)


def _around(node: tree_sitter.Node, kinds: frozenset[str]) -> int:
    """Return the first byte of the innermost ancestor of some kinds."""
    return next((around.start_byte for around in upwards(node.parent) if around.type in kinds), 0)


def _row(starts: list[int], position: int) -> int:
    return bisect.bisect_right(starts, position) - 1


def _bare(written: str) -> str:
    return re.sub(r"\s+", "", written)
