"""Names while a file is being read: scopes, variables, the places that define and use them, and the control flow."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from caretbench.syntax.types import Binding, ScopeKind


class ImportTarget(NamedTuple):
    """What an import binds a name to: a module, or ``symbol`` of a module."""

    module: str
    symbol: str | None


@dataclass(slots=True, eq=False)
class Site:
    """A place that defines a name.

    ``key`` is the name under which a scope keeps it, ``index`` counts within its flow, for the solver.
    """

    name: str
    key: str
    start: int
    end: int
    row: int
    binding: Binding
    flow: Flow
    index: int = -1
    variable: Variable | None = None


@dataclass(slots=True, eq=False)
class Use:
    """A place that uses a name; ``path`` are the names before it where it is a member (``self.a.b``)."""

    name: str
    key: str
    start: int
    end: int
    row: int
    scope: Names
    flow: Flow
    path: tuple[Use | str, ...]
    is_call: bool
    variable: Variable | None = None
    reaching: tuple[Site, ...] = ()


@dataclass(slots=True, eq=False)
class Variable:
    """One name of one scope.

    ``types`` are the names of its declared or constructed types, ``inside`` the scope that it opens (a
    class), ``target`` what an import bound it to.
    """

    name: str
    binding: Binding
    scope: Names
    flow: Flow | None = None
    sites: list[Site] = field(default_factory=list)
    types: list[str] = field(default_factory=list)
    inside: Names | None = None
    target: ImportTarget | None = None


@dataclass(slots=True, eq=False)
class Names:
    """A scope with its names.

    ``bases`` are the names of what a class is derived from, ``owner`` the class of a method that stands
    outside of it, ``wildcards`` the modules imported whole.
    """

    kind: ScopeKind
    name: str
    start: int
    end: int
    parent: Names | None
    symbols: dict[str, Variable] = field(default_factory=dict)
    globals: set[str] = field(default_factory=set)
    nonlocals: set[str] = field(default_factory=set)
    owner: str | None = None
    bases: list[str] = field(default_factory=list)
    wildcards: list[str] = field(default_factory=list)

    def hoisted(self, *, through: frozenset[str]) -> Names:
        """Return the nearest scope outwards, this one included, whose kind is not in ``through``."""
        scope = self
        while scope.kind in through and scope.parent is not None:
            scope = scope.parent
        return scope

    def around(self, kinds: frozenset[str]) -> Names | None:
        """Return the nearest scope of one of these kinds, this one included, or None."""
        scope: Names | None = self
        while scope is not None and scope.kind not in kinds:
            scope = scope.parent
        return scope

    def outside_class(self) -> bool:
        """Return whether this is inside a method that stands outside of its class."""
        return self.owner is not None or (self.parent is not None and self.parent.outside_class())


@dataclass(slots=True, eq=False)
class Kill:
    """The end of a variable (``del``)."""

    use: Use
    variable: Variable | None = None


Event = Use | Site | Kill


class Flow:
    """The control-flow graph of one function, or of a file's own statements."""

    __slots__ = ("_catchers", "blocks", "breaks", "continues", "current", "finals", "followers")

    def __init__(self) -> None:
        self.blocks: list[list[Event]] = [[]]
        self.followers: list[list[int]] = [[]]
        self.current = 0
        self.breaks: list[int] = []
        self.continues: list[int] = []
        self.finals: list[int] = []
        self._catchers: list[int] = []

    def block(self, *before: int) -> int:
        """Return a new block that follows the given ones."""
        self.blocks.append([])
        self.followers.append([])
        new = len(self.blocks) - 1
        for block in before:
            self.followers[block].append(new)
        return new

    def link(self, before: int, after: int) -> None:
        """Let one block follow another."""
        self.followers[before].append(after)

    def go(self, block: int) -> None:
        """Write on in this block."""
        self.current = block

    def jump(self, targets: list[int]) -> None:
        """Leave for one of the targets; what follows in the text is reached from nowhere."""
        for target in targets:
            self.link(self.current, target)
        self.current = self.block()

    def guard(self, catcher: int) -> None:
        """From here on, every point may also go on at ``catcher``."""
        self._catchers.append(catcher)
        self.link(self.current, catcher)
        self.current = self.block(self.current)

    def unguard(self) -> None:
        """End the latest guard."""
        self.link(self.current, self._catchers.pop())

    def throw(self) -> None:
        """Leave for the nearest guard, or the function."""
        self.jump(self._catchers[-1:])

    def add(self, event: Event) -> None:
        """Let something happen; behind a definition an exception may leave with the new value."""
        if self._catchers and not isinstance(event, Use):
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
    found = _TYPE_NAME.match(text)
    return found[1] if found else None
