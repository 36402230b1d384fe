"""Across files: what imports lead to, and the members of classes and modules."""

from __future__ import annotations

from typing import Final, NamedTuple

from caretbench.syntax.modules import ModuleIndex
from caretbench.syntax.symbols import ImportTarget, Names, Use, Variable
from caretbench.syntax.walker import Walk

_CLASSES: Final = frozenset({"class", "interface"})
_MOST_HOPS = 8


class Place(NamedTuple):
    """What a name means: a variable of a project's file, a whole file, or a library's name.

    ``files`` counts the borders of files on the way.
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

    def meaning(self, walk: Walk, use: Use) -> Place | None:
        """What a use means, or None where that is unknown (or built in)."""
        if use.path:
            place = self._member_path(walk, use)
        elif use.variable is not None:
            place = Place(walk, use.variable)
        else:
            place = self._unimported(walk, use.name)
        return self._followed(place) if place else None

    def _followed(self, place: Place) -> Place:
        """Through imports to what they import."""
        for _ in range(_MOST_HOPS):
            if place.variable is None or place.variable.target is None or place.walk is None:
                return place
            following = self._imported(place.walk, place.variable.target, place.files)
            if following is None:
                return place
            place = following
        return place

    def _imported(self, walk: Walk, target: ImportTarget, files: int) -> Place | None:
        if target.symbol is not None:
            inner = self.modules.find(walk, self.modules.joined(walk, target.module, target.symbol))
            if inner is not None and inner is not walk:
                return Place(inner, None, None, files + 1)
        found = self.modules.find(walk, target.module)
        if found is None:
            if target.symbol is None and self.modules.is_package(walk, target.module):
                return Place(None, None, target.module, -1)
            name = target.module if target.symbol is None else f"{target.module}.{target.symbol}"
            return Place(None, None, name, files)
        if target.symbol is None:
            return Place(found, None, None, files + 1)
        variable = self._exported(found, target.symbol)
        return Place(found, variable, None, files + 1) if variable else None

    def _exported(self, walk: Walk, name: str, hops: int = 0) -> Variable | None:
        variable = walk.file.symbols.get(name)
        if variable is not None or hops > _MOST_HOPS:
            return variable
        for module in walk.file.wildcards:
            other = self.modules.find(walk, module)
            if other is not None and other is not walk:
                variable = self._exported(other, name, hops + 1)
                if variable is not None:
                    return variable
        return None

    def _unimported(self, walk: Walk, name: str) -> Place | None:
        """A name that the file does not declare: of a module imported whole."""
        for module in walk.file.wildcards:
            other = self.modules.find(walk, module)
            if other is not None and other is not walk and (found := self._exported(other, name)) is not None:
                return Place(other, found, None, 1)
        return None

    # members

    def _member_path(self, walk: Walk, use: Use) -> Place | None:
        first = use.path[0]
        if isinstance(first, Use):
            place = self.meaning(walk, first)
        elif first == "self" and (around := use.scope.around(_CLASSES)) is not None:
            place = self._of_class(walk, around, str(use.path[1]) if len(use.path) > 1 else use.name)
            return self._through(place, [*map(str, use.path[2:]), use.name]) if len(use.path) > 1 else place
        else:
            return None
        return self._through(place, [*map(str, use.path[1:]), use.name])

    def _through(self, place: Place | None, names: list[str]) -> Place | None:
        for number, name in enumerate(names):
            if place is None:
                return None
            place = self._followed(place)
            if place.library is not None:
                return self._library_member(place, names[number:])
            place = self._member(place, name)
        return self._followed(place) if place else None

    def _library_member(self, place: Place, names: list[str]) -> Place | None:
        library = place.library or ""
        if place.files < 0:  # a package of the project that has no file of its own
            return None
        return Place(None, None, ".".join([library, *names]), place.files)

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
            if (
                home is not None
                and home.walk is not None
                and home.variable is not None
                and home.variable.inside
            ):
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

    def _of_class(self, walk: Walk, scope: Names, name: str, files: int = 0, hops: int = 0) -> Place | None:
        found = scope.symbols.get(name)
        if found is not None:
            return Place(walk, found, None, files)
        if hops > _MOST_HOPS:
            return None
        for base in scope.bases:
            home = self._type(walk, scope.parent or scope, base)
            if home is None or home.variable is None or home.walk is None or home.variable.inside is None:
                continue
            inside = home.variable.inside
            inherited = self._of_class(home.walk, inside, name, files + home.files, hops + 1)
            if inherited is not None:
                return inherited
        return None

    def is_standard(self, walk: Walk, library: str) -> bool:
        """Whether a library's name belongs to the language's standard library."""
        known = walk.traits.stdlib
        parts = library.replace(":", "/").replace("/", ".").split(".")
        return any(".".join(parts[:count]) in known for count in range(1, len(parts) + 1))
