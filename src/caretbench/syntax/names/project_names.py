"""Name resolution across files: targets of imports, and members of classes and modules."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from caretbench.syntax.analysis_types import CLASS_SCOPES
from caretbench.syntax.names.file_symbols import FileSymbols
from caretbench.syntax.names.module_index import ModuleIndex
from caretbench.syntax.names.symbols import ImportTarget, NameScope, NameUse, Variable

_MAX_HOPS = 8


class ResolvedName(NamedTuple):
    """Target of a name: a variable of a project's file, a whole file, or a library's name.

    ``files_crossed`` is the number of imports followed; -1 means a folder of the project.
    """

    file: FileSymbols | None = None
    variable: Variable | None = None
    library: str | None = None
    files_crossed: int = 0


class ProjectNames:
    """Names of all files of a project. Each file is resolved alone first; this class links them."""

    def __init__(self, files: list[FileSymbols]) -> None:
        self.files = {file.source.path: file for file in files}
        self.modules = ModuleIndex(files)
        self._foreign: dict[tuple[str, str], ResolvedName | None] = {}

    def resolve_use(self, file: FileSymbols, use: NameUse) -> ResolvedName | None:
        """Return the target of a use; None if it is unknown or built in."""
        if use.path:
            place = self._member_path(file, use)
        elif use.variable is not None and not (use.variable.scope.parent is None and use.scope.in_separate_method()):
            place = ResolvedName(file, use.variable)
        else:
            place = self._inherited(file, use) or (
                ResolvedName(file, use.variable) if use.variable is not None else self._unimported(file, use.key)
            )
        return self._followed(place) if place else None

    def is_standard_library(self, file: FileSymbols, library: str) -> bool:
        """Return whether a library's name belongs to the language's standard library."""
        known = file.rules.stdlib
        parts = library.removeprefix("node:").replace("::", ".").replace("/", ".").split(".")
        return any(".".join(parts[:count]) in known for count in range(1, len(parts) + 1))

    # --- imports ------------------------------------------------------------------------------------------------

    def _followed(self, place: ResolvedName) -> ResolvedName:
        """Return the target after following imports."""
        for _ in range(_MAX_HOPS):
            if place.variable is None or place.variable.target is None or place.file is None:
                return place
            following = self._imported(place.file, place.variable, place.variable.target, place.files_crossed)
            if following is None:
                return place
            place = following
        return place

    def _imported(
        self, file: FileSymbols, variable: Variable, target: ImportTarget, files_crossed: int
    ) -> ResolvedName | None:
        name = target.module if target.symbol is None else f"{target.module}.{target.symbol}"
        if file.rules.modules in {"package", "namespace"}:
            found = self.modules.qualified_type(file, name)
            if found is None:
                return ResolvedName(None, None, name, files_crossed)
            other, first, rest = found
            start = ResolvedName(other, first, None, files_crossed + (other is not file))
            return self._through(start, rest) or self._through(start, [*rest[:-1], f"{rest[-1]}()"])
        if target.symbol is not None:
            inner = self.modules.find_file(file, self.modules.submodule_name(file, target.module, target.symbol))
            if inner is not None and inner is not file:
                return ResolvedName(inner, None, None, files_crossed + 1)
        module = self.modules.find_file(file, target.module)
        if module is None:
            is_folder = target.symbol is None and self.modules.is_package(file, target.module)
            return ResolvedName(None, None, name, -1 if is_folder else files_crossed)
        symbol = self._exported(module, target.symbol) if target.symbol else None
        if symbol is None and target.symbol == "default":
            symbol = self._exported(module, variable.name)
        if symbol is variable:
            return None
        return ResolvedName(module, symbol, None, files_crossed + 1)

    def _exported(self, file: FileSymbols, name: str) -> Variable | None:
        """Return the variable of this name that a file declares or re-exports."""
        variable = self.modules.exported_names(file).get(name)
        if variable is None:
            for other in self.modules.wildcard_imports(file):
                if (variable := self.modules.exported_names(other).get(name)) is not None:
                    return variable
        return variable

    def _unimported(self, file: FileSymbols, name: str) -> ResolvedName | None:
        """Return the target of a name that the file does not declare: of a wildcard import, package or library."""
        key = (file.source.path, name)
        if key not in self._foreign:
            self._foreign[key] = self._find_unimported(file, name)
        return self._foreign[key]

    def _find_unimported(self, file: FileSymbols, name: str) -> ResolvedName | None:
        shared = self.modules.implicit_type(file, name)
        if shared is not None:
            return ResolvedName(shared[0], shared[1], None, int(shared[0] is not file))
        for other in self.modules.wildcard_imports(file):
            if (found := self.modules.exported_names(other).get(name)) is not None:
                return ResolvedName(other, found, None, 1)
        module = file.rules.known_names.get(name)
        return ResolvedName(None, None, name if name == module else f"{module}.{name}") if module else None

    # members

    def _class_around(self, file: FileSymbols, scope: NameScope | None) -> ResolvedName | None:
        """Return the class whose members are visible in a scope."""
        while scope is not None:
            if scope.kind in CLASS_SCOPES:
                return ResolvedName(file, _opened(scope))
            if scope.owner is not None:
                return self._type(file, scope.parent or scope, scope.owner)
            scope = scope.parent
        return None

    def _inherited(self, file: FileSymbols, use: NameUse) -> ResolvedName | None:
        """Return a member that is used without a dot, of an enclosing class or its bases."""
        if not file.rules.class_scope_visible:
            return None
        scope: NameScope | None = use.scope
        while scope is not None:
            home = self._class_around(file, scope) if scope.kind in CLASS_SCOPES or scope.owner else None
            if home is not None and home.file is not None and home.variable is not None and home.variable.inner_scope:
                found = self._of_class(home.file, home.variable.inner_scope, use.key, home.files_crossed)
                if found is not None:
                    return found
            scope = scope.parent
        return None

    def _member_path(self, file: FileSymbols, use: NameUse) -> ResolvedName | None:
        first = use.path[0]
        names = [*map(str, use.path[1:]), use.key]
        if isinstance(first, NameUse):
            return self._through(self.resolve_use(file, first), names)
        if first not in {"self", "super"}:
            return None
        home = self._class_around(file, use.scope)
        if home is None or home.file is None or home.variable is None or home.variable.inner_scope is None:
            return None
        inner_scope = home.variable.inner_scope
        place = self._of_class(home.file, inner_scope, names[0], home.files_crossed, own=first == "self")
        return self._through(place, names[1:])

    def _through(self, place: ResolvedName | None, names: list[str]) -> ResolvedName | None:
        for number, name in enumerate(names):
            if place is None:
                return None
            place = self._followed(place)
            if place.library is not None:
                if place.files_crossed < 0:  # a folder of the project
                    return None
                rest = (one.removesuffix("()") for one in names[number:])
                return ResolvedName(None, None, ".".join([place.library, *rest]), place.files_crossed)
            place = self._member(place, name)
        return self._followed(place) if place else None

    def _member(self, place: ResolvedName, name: str) -> ResolvedName | None:
        file, variable = place.file, place.variable
        if file is None:
            return None
        if variable is None:
            found = self._exported(file, name)
            return ResolvedName(file, found, None, place.files_crossed) if found else None
        if variable.inner_scope is not None:
            return self._of_class(file, variable.inner_scope, name, place.files_crossed)
        for type_name in variable.types:
            home = self._type(file, variable.scope, type_name)
            if home is None:
                continue
            if home.library is not None:
                return ResolvedName(None, None, f"{home.library}.{name.removesuffix('()')}", home.files_crossed)
            if home.file is not None and home.variable is not None and home.variable.inner_scope:
                return self._of_class(
                    home.file, home.variable.inner_scope, name, place.files_crossed + home.files_crossed
                )
        return None

    def _type(self, file: FileSymbols, scope: NameScope, name: str) -> ResolvedName | None:
        current: NameScope | None = scope
        while current is not None:
            if (found := current.symbols.get(name)) is not None and (found.inner_scope or found.target):
                return self._followed(ResolvedName(file, found))
            current = current.parent
        place = self._unimported(file, name)
        return self._followed(place) if place else None

    def _of_class(
        self, file: FileSymbols, scope: NameScope, name: str, files_crossed: int = 0, *, own: bool = True, hops: int = 0
    ) -> ResolvedName | None:
        """Return a member of a class or of its base classes."""
        if own and (found := scope.symbols.get(name)) is not None:
            return ResolvedName(file, found, None, files_crossed)
        if hops > _MAX_HOPS:
            return None
        parts = self.modules.partial_declarations(file, scope.name) if own and scope.name else []
        pieces = [(other, piece.inner_scope) for other, piece in parts if piece.inner_scope is not None]
        for other, piece in pieces:
            if (found := piece.symbols.get(name)) is not None:
                return ResolvedName(other, found, None, files_crossed + int(other is not file))
        bases = [base for _, piece in pieces for base in piece.bases]
        return self._of_bases(file, scope, bases or scope.bases, name, files_crossed, hops)

    def _of_bases(
        self, file: FileSymbols, scope: NameScope, bases: Iterable[str], name: str, files_crossed: int, hops: int
    ) -> ResolvedName | None:
        for base in bases:
            home = self._type(file, scope.parent or scope, base)
            if home is None or home.variable is None or home.file is None or home.variable.inner_scope is None:
                continue
            inner_scope = home.variable.inner_scope
            inherited = self._of_class(home.file, inner_scope, name, files_crossed + home.files_crossed, hops=hops + 1)
            if inherited is not None:
                return inherited
        return None


def _opened(scope: NameScope) -> Variable:
    """Return a placeholder variable for a class scope, which may be anonymous."""
    variable = Variable(scope.name, "class", scope.parent or scope)
    variable.inner_scope = scope
    return variable
