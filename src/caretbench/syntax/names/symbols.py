"""Symbol tables of a file: scopes, variables, their definitions and uses, and the control-flow graph."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from caretbench.syntax.analysis_types import CLASS_SCOPES, Binding, ScopeKind


class ImportTarget(NamedTuple):
    """Target of an import: a module, or ``symbol`` of a module."""

    module: str
    symbol: str | None


@dataclass(slots=True, eq=False)
class DefinitionSite:
    """Position at which a name is defined.

    ``key`` is its name in the scope's table, ``index`` its number among the variable's definitions in the flow graph.
    """

    name: str
    key: str
    start: int
    end: int
    row: int
    binding: Binding
    flow: FlowGraph
    index: int = -1
    variable: Variable | None = None


@dataclass(slots=True, eq=False)
class NameUse:
    """Position at which a name is used; ``path`` are the names before a member (``self.a.b``)."""

    name: str
    key: str
    start: int
    end: int
    row: int
    scope: NameScope
    flow: FlowGraph
    path: tuple[NameUse | str, ...]
    is_call: bool
    variable: Variable | None = None
    reaching: tuple[DefinitionSite, ...] = ()


@dataclass(slots=True, eq=False)
class Variable:
    """One name of one scope.

    ``types`` are the names of its declared or constructed types, ``inner_scope`` the scope of a class, ``target`` the
    target of an import.
    """

    name: str
    binding: Binding
    scope: NameScope
    flow: FlowGraph | None = None
    sites: list[DefinitionSite] = field(default_factory=list)
    types: list[str] = field(default_factory=list)
    inner_scope: NameScope | None = None
    target: ImportTarget | None = None


@dataclass(slots=True, eq=False)
class NameScope:
    """Scope with its symbol table.

    ``bases`` are the names of base classes, ``owner`` is the class of a method that is defined outside of it,
    ``wildcards`` are the modules that are imported with a wildcard.
    """

    kind: ScopeKind
    name: str
    start: int
    end: int
    parent: NameScope | None
    symbols: dict[str, Variable] = field(default_factory=dict)
    globals: set[str] = field(default_factory=set)
    nonlocals: set[str] = field(default_factory=set)
    owner: str | None = None
    bases: list[str] = field(default_factory=list)
    wildcards: list[str] = field(default_factory=list)

    def hoisting_scope(self, *, through: frozenset[str]) -> NameScope:
        """Return the nearest enclosing scope, this one included, whose kind is not in ``through``."""
        scope = self
        while scope.kind in through and scope.parent is not None:
            scope = scope.parent
        return scope

    def outwards(self) -> Iterator[NameScope]:
        """Yield this scope and those around it, innermost first."""
        scope: NameScope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    def enclosing_class(self) -> NameScope | None:
        """Return the nearest class around, this scope included, or None."""
        return next((scope for scope in self.outwards() if scope.kind in CLASS_SCOPES), None)

    def in_separate_method(self) -> bool:
        """Return whether this scope is in a method that is defined outside of its class."""
        return any(scope.owner is not None for scope in self.outwards())


class WrittenName(NamedTuple):
    """Definition that a walk met: its scope there, its role in the parent node, its types, and what it imports."""

    site: DefinitionSite
    scope: NameScope
    role: str
    types: tuple[str, ...]
    target: ImportTarget | None


@dataclass(slots=True, eq=False)
class VariableDeletion:
    """Deletion of a variable (``del``)."""

    use: NameUse
    variable: Variable | None = None


FlowEvent = NameUse | DefinitionSite | VariableDeletion


class FlowGraph:
    """Control-flow graph of one function, or of the top-level statements of a file."""

    __slots__ = ("_catchers", "blocks", "breaks", "continues", "current", "finals", "followers")

    def __init__(self) -> None:
        self.blocks: list[list[FlowEvent]] = [[]]
        self.followers: list[list[int]] = [[]]
        self.current = 0
        self.breaks: list[int] = []
        self.continues: list[int] = []
        self.finals: list[int] = []
        self._catchers: list[int] = []

    def block(self, *before: int) -> int:
        """Return a new block with edges from some blocks."""
        self.blocks.append([])
        self.followers.append([])
        new = len(self.blocks) - 1
        for block in before:
            self.followers[block].append(new)
        return new

    def link(self, before: int, after: int) -> None:
        """Add an edge."""
        self.followers[before].append(after)

    def add_jump(self, targets: list[int]) -> None:
        """Add edges to the targets; the code after the jump begins an unreachable block."""
        for target in targets:
            self.link(self.current, target)
        self.current = self.block()

    def enter_try(self, catcher: int) -> None:
        """Begin a ``try``: from here on, control may pass to ``catcher`` at any point."""
        self._catchers.append(catcher)
        self.link(self.current, catcher)
        self.current = self.block(self.current)

    def leave_try(self) -> None:
        """End the innermost ``try``."""
        self.link(self.current, self._catchers.pop())

    def add_throw(self) -> None:
        """Jump to the nearest handler, or out of the function."""
        self.add_jump(self._catchers[-1:])

    def add(self, event: FlowEvent) -> None:
        """Append an event; after a definition an exception may carry the new value to a handler."""
        if self._catchers and not isinstance(event, NameUse):
            self.link(self.current, self._catchers[-1])
            self.current = self.block(self.current)
        self.blocks[self.current].append(event)


_TYPE_NAME: Final = re.compile(
    r"^[\s:\"']*(?:(?:const|static|final)\s+)*(?:[\w$.]+(?:\.|::))?([\w$]+)(?:<.*>)?[\s&*?!\"']*$", re.DOTALL
)
_OPTIONAL: Final = re.compile(r"^(?:typing\.)?Optional\[([^][]+)\]$|^([^|]+)\|\s*(?:None|null|undefined)$")


def type_name(text: str) -> str | None:
    """Return the simple name of a type (``a.b.Shape<T>`` is ``Shape``); None where it is more than one name."""
    text = text.strip().lstrip(":").strip()
    if (optional := _OPTIONAL.match(text)) is not None:
        text = optional[1] or optional[2]
    match = _TYPE_NAME.match(text)
    return match[1] if match else None
