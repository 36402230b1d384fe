"""Declarations of a code fragment with their scopes and kinds: the names that can be used at a position.

Only the fragment is analysed: members of other files and inherited names are unknown. Captures of the query file
``scopes.scm``:

* ``scope``: a node at whose end the declarations in it end.
* The name, by its role: ``parameter``, ``local`` (every variable), ``comprehended`` (used before its declaration),
  ``field``, ``constant``, ``function``, ``typename``, ``import``.
* ``type``: the declared type, or the return type of a function. ``parameters``: those of a function. ``value``: the
  initial value; ``values``: a list of initial values for a list of names. ``until``: the name can be used after it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple

import tree_sitter

from caretbench.grouping import grouped
from caretbench.languages.node_kinds import node_kinds
from caretbench.syntax.parser import matches, text_of, upwards
from caretbench.syntax.uses.expression_contexts import inferred_kind, is_function, kind_of_value, plain_type

_ROLES: Final = ("parameter", "local", "comprehended", "field", "constant", "function", "typename", "import")
_VARIABLES: Final = ("parameter", "local", "comprehended", "constant")
_EVERYWHERE: Final = frozenset({"comprehended", "field", "constant", "function", "typename", "import"})


class Declaration(NamedTuple):
    """One declared name.

    It can be used from byte ``usable_from`` to ``end``; its scope is ``scope_start`` to ``end``. ``kind`` is its type
    (of a function, the return type), or the origin of its value (``call:open``); it may be empty. ``alias`` is the
    variable that it is initialised with. ``assigned``: it has an initial value. ``parameters`` are the types of a
    function's parameters, of which ``required_parameters`` is the number without a default.
    ``constant``: it cannot be assigned.
    """

    name: str
    start: int
    role: str
    kind: str
    usable_from: int
    scope_start: int
    end: int
    assigned: bool = True
    alias: str = ""
    parameters: tuple[str, ...] | None = None
    required_parameters: int = 0
    constant: bool = False


class DeclarationIndex:
    """Index of the declarations of a tree, by name and by position."""

    def __init__(self, root: tree_sitter.Node, grammar: str) -> None:
        by_start: dict[int, Declaration] = {}
        self._grammar = grammar
        self._nodes: set[int] = set()
        parts: list[dict[str, list[tree_sitter.Node]]] = []
        for match in matches(root, grammar, "scopes"):
            if "scope" in match:
                self._nodes.update(node.id for node in match["scope"])
            else:
                parts.append(match)
        for match in parts:
            for declared in self._declared(root, match):
                earlier = by_start.get(declared.start)
                by_start[declared.start] = declared if earlier is None else _merged(earlier, declared)
        self.all: tuple[Declaration, ...] = tuple(sorted(by_start.values(), key=lambda declaration: declaration.start))
        self._by_name = grouped((declaration.name, declaration) for declaration in self.all)

    def by_name(self, name: str) -> Sequence[Declaration]:
        """Return the declarations of a name, in text order."""
        return self._by_name.get(name, ())

    def resolve(self, name: str, position: int) -> Declaration | None:
        """Return the declaration that a name refers to at a position (the innermost and latest), or None."""
        inside = [
            declaration
            for declaration in self.by_name(name)
            if declaration.scope_start <= position < declaration.end and declaration.role != "field"
        ]
        # A name is its own declaration at its own position, before its value is there.
        before = [usable for usable in inside if usable.usable_from <= position or usable.start == position]
        return max(before, key=lambda usable: (usable.scope_start, usable.start), default=None)

    def visible_variables(self, position: int) -> list[Declaration]:
        """Return the variables that can be used at a position and have a value there, each name once."""
        by_name: dict[str, Declaration] = {}
        for variable in self.all:
            if variable.scope_start <= position < variable.end and variable.role in _VARIABLES:
                earlier = by_name.get(variable.name)
                if earlier is None or (earlier.scope_start, earlier.start) <= (variable.scope_start, variable.start):
                    if variable.usable_from <= position:
                        by_name[variable.name] = variable
                    elif (
                        variable.role == "local" and earlier is not None and variable.scope_start > earlier.scope_start
                    ):
                        # Hidden by a name of an inner scope that has no value yet.
                        by_name.pop(variable.name)
        return [variable for variable in by_name.values() if variable.assigned]

    def _declared(
        self, root: tree_sitter.Node, match: Mapping[str, Sequence[tree_sitter.Node]]
    ) -> Iterator[Declaration]:
        role = next((word for word in _ROLES if word in match), None)
        if role is None:
            return
        types, values = match.get("type", ()), match.get("value", ())
        for node in match[role]:
            value, index_mark = (values[0] if values else None), ""
            if "values" in match:
                value, index_mark = _value_of(node, match["values"][0])
            ends = [end for word in ("value", "values", "until") for end in match.get(word, ())]
            scope = self._scope(node, role) or root
            parameters, required = _parameters(match["parameters"][0]) if "parameters" in match else (None, 0)
            yield Declaration(
                name=text_of(node),
                start=node.start_byte,
                role=role,
                kind=self._kind(node, role, text_of(types[0]) if types else "", value, index_mark),
                usable_from=0 if role in _EVERYWHERE else max(end.end_byte for end in (node, *ends)),
                scope_start=scope.start_byte,
                end=scope.end_byte,
                assigned=role != "local" or bool(ends),
                alias=text_of(value) if value is not None and kind_of_value(value) == "name" else "",
                parameters=parameters,
                required_parameters=required,
                constant=_is_constant(node),
            )

    def _scope(self, node: tree_sitter.Node, role: str) -> tree_sitter.Node | None:
        """Return the scope of a declaration; for functions and types, the scope around their own."""
        outside = role in ("function", "typename")
        for parent in upwards(node.parent):
            if parent.id in self._nodes:
                if not outside:
                    return parent
                outside = False
                if not _names(parent, node):
                    return parent
        return None

    def _kind(
        self, node: tree_sitter.Node, role: str, type_text: str, value: tree_sitter.Node | None, index_mark: str
    ) -> str:
        if role == "function":
            return plain_type(type_text)
        if value is not None and is_function(value):
            return "function"
        kind = plain_type(type_text) or (inferred_kind(value, self._grammar) + index_mark if value is not None else "")
        around = node.parent.type if node.parent is not None else ""
        kinds = node_kinds()
        mark = "*" if around in kinds.pointer_declarators else "?" if around in kinds.optional_parameters else ""
        return kind + mark if kind else ""


def _names(parent: tree_sitter.Node, node: tree_sitter.Node) -> bool:
    """Return whether a node is part of the name of a scope."""
    by_name = parent.child_by_field_name("name") or parent.child_by_field_name("declarator")
    return by_name is not None and by_name.start_byte <= node.start_byte < by_name.end_byte


def _merged(earlier: Declaration, other: Declaration) -> Declaration:
    """Return one declaration for a name that was matched twice, by its type and by its value."""
    return earlier._replace(
        kind=earlier.kind or other.kind,
        usable_from=max(earlier.usable_from, other.usable_from),
        assigned=earlier.assigned or other.assigned,
        alias=earlier.alias or other.alias,
        parameters=earlier.parameters if earlier.parameters is not None else other.parameters,
    )


def _value_of(name: tree_sitter.Node, values: tree_sitter.Node) -> tuple[tree_sitter.Node | None, str]:
    """Return the value of one of several names, and a mark for its index if one call returns all values."""
    around, kinds = name.parent, node_kinds()
    names = around.named_children if around is not None and around.type in kinds.name_lists else [name]
    index = next((number for number, other in enumerate(names) if other.start_byte == name.start_byte), 0)
    several = values.type in kinds.expression_lists or values.type in kinds.tuples
    given = values.named_children if several else [values]
    if len(given) == len(names):
        return given[index], ""
    return (given[0], f"#{index}") if len(given) == 1 else (None, "")


def _parameters(node: tree_sitter.Node) -> tuple[tuple[str, ...], int]:
    """Return the declared types of parameters (empty if not declared), and the number of required ones."""
    types: list[str] = []
    required_parameters = 0
    kinds = node_kinds()
    skipped = kinds.comments | kinds.attributes | kinds.receivers
    for child in node.named_children:
        if child.type in skipped or text_of(child) in ("self", "cls", "this"):
            continue
        written = child.child_by_field_name("type")
        names = child.children_by_field_name("name") if child.type in kinds.parameter_groups else [child]
        text = text_of(written) if written is not None else ""
        # Calls with any number of arguments fit a variadic parameter: a count would not tell overloads apart.
        many = bool(re.match(r"\*|\.\.\.|params\b|&\w+$", text_of(child))) or "..." in text or "variadic" in child.type
        optional = child.child_by_field_name("value") is not None or "default" in child.type or "optional" in child.type
        types += [("..." if many else "") + text] * max(1, len(names))
        required_parameters += 0 if many or optional or "=" in text_of(child) else max(1, len(names))
    return tuple(types), required_parameters


def _is_constant(node: tree_sitter.Node) -> bool:
    """Return whether the name is declared as constant."""
    # The keyword is on the declarator, the declaration, or the statement around it, by grammar.
    around = islice(upwards(node.parent), 3)
    return any(re.match(rb"(?:const|final|readonly|val)\b", parent.text or b"") for parent in around)
