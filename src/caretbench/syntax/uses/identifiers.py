"""Identifiers of a code fragment: uses of names, their syntactic positions, and the unordered groups around them.

The fragment may be a hunk of a patch; names in parts that do not parse are not uses. Captures of the query file
``identifiers.scm``:

* ``identifier``: a token that is a name. ``declared``: declarations, imports and annotations; ``skip``: text, or names
  of the language itself. Names in either are not uses.
* ``called``, ``member`` (after a dot), ``object`` (before one), ``key`` (of a literal or an argument), ``type``: the
  syntactic position. Other names have the position ``plain``. ``loose``: a token of a macro; its neighbours decide.
* ``function``: the owner of parameters and locals.
* ``unordered``: nodes whose parts have no, or little, order: statements, keyed literals, sets. ``symmetric``: an
  operator whose operands can be exchanged; operands of a chain of the same operator form one group.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Final, NamedTuple

import tree_sitter

from caretbench.languages.node_kinds import node_kinds
from caretbench.syntax.analysis_types import Span
from caretbench.syntax.parser import captures, encode, error_count, parse

_POSITIONS: Final = ("called", "member", "object", "key", "type")
_BEFORE: Final = {".": "member", "::": "member"}
_AFTER: Final = {".": "object", "::": "object"}


class Identifier(NamedTuple):
    """One name in the text; ``start`` and ``end`` count bytes.

    ``syntactic_position`` is empty if the name is not a use; two uses with the same position can be exchanged without a
    change of the syntax. ``function`` is the outermost enclosing function (0: none), ``unordered_groups`` are the
    numbers of the groups in :attr:`Identifiers.group_member_spans` that contain it.
    """

    name: str
    start: int
    end: int
    row: int
    syntactic_position: str
    function: int
    unordered_groups: tuple[int, ...]


class Identifiers(NamedTuple):
    """Identifiers of a code fragment, in text order.

    ``group_member_spans`` are the parts of each unordered group, by its number; ``errors`` is the number of parse
    errors.
    """

    names: tuple[Identifier, ...]
    group_member_spans: Mapping[int, tuple[Span, ...]]
    errors: int


def naming_style(name: str) -> str:
    """Return the writing style of a name: ``constant``, ``upper``, ``lower``, or its prefix (``_``, ``@``, ``$``)."""
    if name[0] in "_@$:":
        return name[: len(name) - len(name.lstrip("_@$:"))]
    if len(name) > 1 and "_" in name and name.isupper():
        return "constant"
    return "upper" if name[0].isupper() else "lower"


def identifiers(text: str, grammar: str, tree: tree_sitter.Tree | None = None) -> Identifiers:
    """Return the identifiers of a text; ``grammar`` is named as :func:`~caretbench.syntax.source.grammar_of` does.

    Raises:
        KeyError: there is no such grammar.
    """
    data = encode(text)
    tree = parse(data, grammar) if tree is None else tree
    return _Reader(tree.root_node, grammar, data).result(error_count(tree))


class _Reader:
    def __init__(self, root: tree_sitter.Node, grammar: str, data: bytes) -> None:
        captured = captures(root, grammar, "identifiers")
        ids = {capture: {node.id for node in nodes} for capture, nodes in captured.items()}
        self._ids = defaultdict[str, set[int]](set, ids)
        self._no_use = self._ids["declared"] | self._ids["skip"]
        self._unordered = self._ids["unordered"] | {root.id}
        self._data = data
        self._names: list[Identifier] = []
        self._parts: dict[int, tuple[Span, ...]] = {}
        self._walk(root)

    def result(self, errors: int) -> Identifiers:
        return Identifiers(tuple(self._names), self._parts, errors)

    def _walk(self, root: tree_sitter.Node) -> None:
        functions, tokens, symmetric = self._ids["function"], self._ids["identifier"], self._ids["symmetric"]
        waiting: list[tuple[tree_sitter.Node, bool, int, tuple[int, ...]]] = [(root, True, 0, ())]
        while waiting:
            node, usable, function, unordered_groups = waiting.pop()
            identity = node.id
            usable = usable and identity not in self._no_use
            if identity in tokens:
                self._add(node, usable, function, unordered_groups)
                continue
            # Nested functions see the names of the outermost one.
            if identity in functions and not function:
                function = node.start_byte + 1
            if identity in self._unordered:
                unordered_groups += (self._number([Span(c.start_byte, c.end_byte) for c in node.named_children]),)
            elif identity in symmetric and not self._continues(node, symmetric):
                unordered_groups += (self._number(self._operands(node, symmetric)),)
            # With a stack of its own: an answer may be nested deeper than Python recurses.
            waiting.extend((child, usable, function, unordered_groups) for child in reversed(node.named_children))

    def _number(self, group_member_spans: list[Span]) -> int:
        self._parts[len(self._parts)] = tuple(group_member_spans)
        return len(self._parts) - 1

    def _continues(self, node: tree_sitter.Node, symmetric: set[int]) -> bool:
        """Return whether the node is an operand of the same operator, so that both belong to one chain."""
        parent = node.parent
        return parent is not None and parent.id in symmetric and _operator(parent) == _operator(node)

    def _operands(self, node: tree_sitter.Node, symmetric: set[int]) -> list[Span]:
        operands: list[Span] = []
        waiting = list(reversed(node.named_children))
        while waiting:
            child = waiting.pop()
            if child.id in symmetric and _operator(child) == _operator(node):
                waiting.extend(reversed(child.named_children))
            else:
                operands.append(Span(child.start_byte, child.end_byte))
        return operands

    def _add(self, node: tree_sitter.Node, usable: bool, function: int, unordered_groups: tuple[int, ...]) -> None:
        name = self._data[node.start_byte : node.end_byte].decode("utf-8", "surrogatepass")
        # Invented by the parser, to go on after an error.
        if not name:
            return
        parent = node.parent
        # element names come in pairs, and attribute names cannot be exchanged with other names
        if parent is None or parent.type == "ERROR" or parent.type in node_kinds().tags:
            usable = False
        syntactic_position = f"{node.type} {self._position(node)} {naming_style(name)}" if usable else ""
        row = node.start_point.row
        self._names.append(
            Identifier(name, node.start_byte, node.end_byte, row, syntactic_position, function, unordered_groups)
        )

    def _position(self, node: tree_sitter.Node) -> str:
        positions = [position for position in _POSITIONS if node.id in self._ids[position]]
        if node.id in self._ids["loose"]:
            before, after = node.prev_sibling, node.next_sibling
            positions.append("loose")
            if before is not None:
                positions.append(_BEFORE.get(before.type, ""))
            if after is not None:
                is_call = after.type in node_kinds().macro_arguments and (after.text or b"").startswith(b"(")
                positions.append("called" if is_call else _AFTER.get(after.type, ""))
        return "+".join(position for position in positions if position) or "plain"


def _operator(node: tree_sitter.Node) -> str:
    operator = node.child_by_field_name("operator") or node.child_by_field_name("operators")
    return operator.type if operator is not None else ""
