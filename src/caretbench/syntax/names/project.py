"""Across files: what imports lead to, and the members of classes and modules."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from caretbench.syntax.names.modules import ModuleIndex
from caretbench.syntax.names.symbols import ImportTarget, Names, Use, Variable
from caretbench.syntax.names.walker import Walk
from caretbench.syntax.types import CLASSES

_MOST_HOPS = 8


class Place(NamedTuple):
    """What a name means: a variable of a project's file, a whole file, or a library's name.

    ``files`` counts the borders of files on the way; -1 stands for a folder of the project.
    """

    walk: Walk | None = None
    variable: Variable | None = None
    library: str | None = None
    files: int = 0


class Project:
    """All files of a project, walked and resolved each on its own; links what lies in different files."""

    def __init__(self, walks: list[Walk]) -> None:
        self.walks = {walk.source.path: walk for walk in walks}
        self.modules = ModuleIndex(walks)
        self._foreign: dict[tuple[str, str], Place | None] = {}

    def meaning(self, walk: Walk, use: Use) -> Place | None:
        """What a use means, or None where that is unknown (or built in)."""
        if use.path:
            place = self._member_path(walk, use)
        elif use.variable is not None and not (
            use.variable.scope.parent is None and use.scope.outside_class()
        ):
            place = Place(walk, use.variable)
        else:
            place = self._inherited(walk, use) or (
                Place(walk, use.variable) if use.variable is not None else self._unimported(walk, use.key)
            )
        return self._followed(place) if place else None

    def is_standard(self, walk: Walk, library: str) -> bool:
        """Return whether a library's name belongs to the language's standard library."""
        known = walk.traits.stdlib
        parts = library.removeprefix("node:").replace("::", ".").replace("/", ".").split(".")
        return any(".".join(parts[:count]) in known for count in range(1, len(parts) + 1))

    # what imports lead to

    def _followed(self, place: Place) -> Place:
        """Through imports to what they import."""
        for _ in range(_MOST_HOPS):
            if place.variable is None or place.variable.target is None or place.walk is None:
                return place
            following = self._imported(place.walk, place.variable, place.variable.target, place.files)
            if following is None:
                return place
            place = following
        return place

    def _imported(self, walk: Walk, variable: Variable, target: ImportTarget, files: int) -> Place | None:
        name = target.module if target.symbol is None else f"{target.module}.{target.symbol}"
        if walk.traits.modules in {"package", "namespace"}:
            found = self.modules.qualified(walk, name)
            if found is None:
                return Place(None, None, name, files)
            other, first, rest = found
            start = Place(other, first, None, files + (other is not walk))
            return self._through(start, rest) or self._through(start, [*rest[:-1], f"{rest[-1]}()"])
        if target.symbol is not None:
            inner = self.modules.find(walk, self.modules.joined(walk, target.module, target.symbol))
            if inner is not None and inner is not walk:
                return Place(inner, None, None, files + 1)
        module = self.modules.find(walk, target.module)
        if module is None:
            is_folder = target.symbol is None and self.modules.is_package(walk, target.module)
            return Place(None, None, name, -1 if is_folder else files)
        symbol = self._exported(module, target.symbol) if target.symbol else None
        if symbol is None and target.symbol == "default":
            symbol = self._exported(module, variable.name)
        if symbol is variable:
            return None
        return Place(module, symbol, None, files + 1)

    def _exported(self, walk: Walk, name: str) -> Variable | None:
        """Return the variable of this name that a file declares itself or hands on."""
        variable = self.modules.exports(walk).get(name)
        if variable is None:
            for other in self.modules.reachable(walk):
                if (variable := self.modules.exports(other).get(name)) is not None:
                    return variable
        return variable

    def _unimported(self, walk: Walk, name: str) -> Place | None:
        """Return a name that the file does not declare: of a module imported whole, its package, the library."""
        key = (walk.source.path, name)
        if key not in self._foreign:
            self._foreign[key] = self._find_unimported(walk, name)
        return self._foreign[key]

    def _find_unimported(self, walk: Walk, name: str) -> Place | None:
        shared = self.modules.shared(walk, name)
        if shared is not None:
            return Place(shared[0], shared[1], None, int(shared[0] is not walk))
        for other in self.modules.reachable(walk):
            if (found := self.modules.exports(other).get(name)) is not None:
                return Place(other, found, None, 1)
        module = walk.traits.known_names.get(name)
        return Place(None, None, name if name == module else f"{module}.{name}") if module else None

    # members

    def _class_around(self, walk: Walk, scope: Names | None) -> Place | None:
        """Return the class whose members a scope sees, as ``Place(walk, …)`` with the class's own variable unset."""
        while scope is not None:
            if scope.kind in CLASSES:
                return Place(walk, _opened(scope))
            if scope.owner is not None:
                return self._type(walk, scope.parent or scope, scope.owner)
            scope = scope.parent
        return None

    def _inherited(self, walk: Walk, use: Use) -> Place | None:
        """Return a member used without a dot, of a class around or of its bases."""
        if not walk.traits.class_scope_visible:
            return None
        scope: Names | None = use.scope
        while scope is not None:
            home = self._class_around(walk, scope) if scope.kind in CLASSES or scope.owner else None
            if (
                home is not None
                and home.walk is not None
                and home.variable is not None
                and home.variable.inside
            ):
                found = self._of_class(home.walk, home.variable.inside, use.key, home.files)
                if found is not None:
                    return found
            scope = scope.parent
        return None

    def _member_path(self, walk: Walk, use: Use) -> Place | None:
        first = use.path[0]
        names = [*map(str, use.path[1:]), use.key]
        if isinstance(first, Use):
            return self._through(self.meaning(walk, first), names)
        if first not in {"self", "super"}:
            return None
        home = self._class_around(walk, use.scope)
        if home is None or home.walk is None or home.variable is None or home.variable.inside is None:
            return None
        inside = home.variable.inside
        place = self._of_class(home.walk, inside, names[0], home.files, own=first == "self")
        return self._through(place, names[1:])

    def _through(self, place: Place | None, names: list[str]) -> Place | None:
        for number, name in enumerate(names):
            if place is None:
                return None
            place = self._followed(place)
            if place.library is not None:
                if place.files < 0:  # a folder of the project
                    return None
                rest = (one.removesuffix("()") for one in names[number:])
                return Place(None, None, ".".join([place.library, *rest]), place.files)
            place = self._member(place, name)
        return self._followed(place) if place else None

    def _member(self, place: Place, name: str) -> Place | None:
        walk, variable = place.walk, place.variable
        if walk is None:
            return None
        if variable is None:
            found = self._exported(walk, name)
            return Place(walk, found, None, place.files) if found else None
        if variable.inside is not None:
            return self._of_class(walk, variable.inside, name, place.files)
        for type_name in variable.types:
            home = self._type(walk, variable.scope, type_name)
            if home is None:
                continue
            if home.library is not None:
                return Place(None, None, f"{home.library}.{name.removesuffix('()')}", home.files)
            if home.walk is not None and home.variable is not None and home.variable.inside:
                return self._of_class(home.walk, home.variable.inside, name, place.files + home.files)
        return None

    def _type(self, walk: Walk, scope: Names, name: str) -> Place | None:
        current: Names | None = scope
        while current is not None:
            if (found := current.symbols.get(name)) is not None and (found.inside or found.target):
                return self._followed(Place(walk, found))
            current = current.parent
        place = self._unimported(walk, name)
        return self._followed(place) if place else None

    def _of_class(
        self, walk: Walk, scope: Names, name: str, files: int = 0, *, own: bool = True, hops: int = 0
    ) -> Place | None:
        """Return a member of a class, or of the classes that it is derived from."""
        if own and (found := scope.symbols.get(name)) is not None:
            return Place(walk, found, None, files)
        if hops > _MOST_HOPS:
            return None
        parts = self.modules.parts(walk, scope.name) if own and scope.name else []
        pieces = [(other, piece.inside) for other, piece in parts if piece.inside is not None]
        for other, piece in pieces:
            if (found := piece.symbols.get(name)) is not None:
                return Place(other, found, None, files + int(other is not walk))
        bases = [base for _, piece in pieces for base in piece.bases]
        return self._of_bases(walk, scope, bases or scope.bases, name, files, hops)

    def _of_bases(
        self, walk: Walk, scope: Names, bases: Iterable[str], name: str, files: int, hops: int
    ) -> Place | None:
        for base in bases:
            home = self._type(walk, scope.parent or scope, base)
            if home is None or home.variable is None or home.walk is None or home.variable.inside is None:
                continue
            inside = home.variable.inside
            inherited = self._of_class(home.walk, inside, name, files + home.files, hops=hops + 1)
            if inherited is not None:
                return inherited
        return None


def _opened(scope: Names) -> Variable:
    """Return a variable that stands for a class without one of its own (an anonymous one, too)."""
    variable = Variable(scope.name, "class", scope.parent or scope)
    variable.inside = scope
    return variable
