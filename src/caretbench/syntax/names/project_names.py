"""Name resolution across files: targets of imports, and members of classes and modules."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import NamedTuple

from caretbench.syntax.analysis_types import CLASS_SCOPES
from caretbench.syntax.names.file_symbols import FileSymbols
from caretbench.syntax.names.symbols import ImportTarget, NameScope, NameUse, Variable

_SCRIPTS = (
    "", ".ts", ".tsx", ".d.ts", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs",
    "/index.ts", "/index.tsx", "/index.js", "/index.mjs", "/index.cjs",
)  # fmt: skip


def _namespaces(file: FileSymbols) -> str:
    """Return the name under which all namespaces of a file's language count as one package."""
    return f"\0{file.source.language}"


class ModuleIndex:
    """Index of a project's files by the names under which other files import them."""

    def __init__(self, files: list[FileSymbols]) -> None:
        self._paths = {file.source.path: file for file in files}
        self._dotted: dict[str, FileSymbols] = {}
        self._folders: set[str] = set()
        self._tails: dict[str, FileSymbols] = {}
        self._packages: dict[str, dict[str, tuple[FileSymbols, Variable]]] = {}
        self._parts: dict[tuple[str, str], list[tuple[FileSymbols, Variable]]] = {}
        self._exports: dict[str, dict[str, Variable]] = {}
        self._reachable: dict[str, tuple[FileSymbols, ...]] = {}
        # The shortest path first, so that `src/a.py` wins over `src/vendor/a.py`; then by name, so that the order of
        # files does not matter.
        for file in sorted(files, key=lambda file: (len(file.source.path), file.source.path)):
            kind = file.rules.modules
            if kind == "dotted":
                self._add_dotted(file)
            elif kind == "include":
                parts = PurePosixPath(file.source.path).parts
                for start in range(len(parts)):
                    self._tails.setdefault("/".join(parts[start:]), file)
            elif kind in {"package", "namespace"}:
                self._add_to_package(file)

    def _add_dotted(self, file: FileSymbols) -> None:
        """Add a Python file under every tail of its path (``src/a/b.py``: ``a.b``); the shortest path wins."""
        parts = list(PurePosixPath(file.source.path).with_suffix("").parts)
        if parts and parts[-1] == "__init__":
            parts.pop()
        for start in range(len(parts)):
            self._dotted.setdefault(".".join(parts[start:]), file)
        for end in range(1, len(parts)):
            self._folders.update(".".join(parts[start:end]) for start in range(end))

    def _add_to_package(self, file: FileSymbols) -> None:
        """Add a file's types to its package. All namespaces of C# count as one package."""
        # C#'s namespaces span files and folders, and `using` names them without saying which types are meant.
        package = file.package if file.rules.modules == "package" else _namespaces(file)
        types = self._packages.setdefault(package, {})
        for name, variable in self.exported_names(file).items():
            if variable.target is None:
                types.setdefault(name, (file, variable))
                self._parts.setdefault((package, name), []).append((file, variable))

    def exported_names(self, file: FileSymbols) -> dict[str, Variable]:
        """Return the names that other files can see: the file's own and those of its namespaces."""
        path = file.source.path
        if path not in self._exports:
            seen: dict[str, Variable] = {}
            waiting: list[NameScope] = [file.file_scope]
            while waiting:
                names = waiting.pop()
                # Of two with one name, the outer one. In place: 2,000 namespaces took 5.9 s with a new table for each.
                for name, variable in names.symbols.items():
                    seen.setdefault(name, variable)
                waiting += [scope for scope in file.namespaces if scope.parent is names]
            self._exports[path] = seen
        return self._exports[path]

    def wildcard_imports(self, file: FileSymbols) -> tuple[FileSymbols, ...]:
        """Return the files that a file imports with a wildcard, directly or indirectly, nearest first."""
        path = file.source.path
        if path not in self._reachable:
            imported: dict[str, FileSymbols] = {}
            waiting = [file]
            while waiting:
                current = waiting.pop(0)
                for module in current.file_scope.wildcards:
                    other = self.find_file(current, module)
                    if other is not None and other is not file and other.source.path not in imported:
                        imported[other.source.path] = other
                        waiting.append(other)
            self._reachable[path] = tuple(imported.values())
        return self._reachable[path]

    def implicit_type(self, file: FileSymbols, name: str) -> tuple[FileSymbols, Variable] | None:
        """Return a type that is visible without an import by name: of the file's package or a wildcard import."""
        kind = file.rules.modules
        if kind == "namespace":
            return self._packages.get(_namespaces(file), {}).get(name)
        if kind != "package":
            return None
        for package in (file.package, *file.file_scope.wildcards):
            if (declared := self._packages.get(package, {}).get(name)) is not None:
                return declared
        return None

    def partial_declarations(self, file: FileSymbols, name: str) -> list[tuple[FileSymbols, Variable]]:
        """Return all declarations of a partial class (C#), by its simple name."""
        return self._parts.get((_namespaces(file), name), [])

    def qualified_type(self, file: FileSymbols, name: str) -> tuple[FileSymbols, Variable, list[str]] | None:
        """Return a type by its full name, and the rest of the path (``member`` in ``a.b.Type.member``)."""
        parts = name.split(".")
        if file.rules.modules == "namespace":
            declared = self._packages.get(_namespaces(file), {}).get(parts[-1])
            return (*declared, []) if declared else None
        for end in range(len(parts) - 1, -1, -1):
            declared = self._packages.get(".".join(parts[:end]), {}).get(parts[end])
            if declared is not None:
                return (*declared, parts[end + 1 :])
        return None

    def submodule_name(self, file: FileSymbols, module: str, symbol: str) -> str:
        """Return the name of a module's submodule."""
        if file.rules.modules != "dotted":
            return f"{module}\0{symbol}"
        return module + symbol if module.endswith(".") else f"{module}.{symbol}"

    def is_package(self, file: FileSymbols, module: str) -> bool:
        """Return whether the name refers to a folder of the project without a file of its own."""
        return file.rules.modules == "dotted" and module in self._folders

    def find_file(self, file: FileSymbols, module: str) -> FileSymbols | None:
        """Return the project's file that a module name refers to in ``file``, or None for a library."""
        kind = file.rules.modules
        if kind == "dotted":
            return self._find_dotted(file, module)
        if kind == "relative":
            return self._find_relative(file, module)
        if kind == "include":
            folder = posixpath.dirname(file.source.path)
            return self._paths.get(posixpath.normpath(posixpath.join(folder, module))) or self._tails.get(module)
        return None

    def _find_dotted(self, file: FileSymbols, module: str) -> FileSymbols | None:
        dots = len(module) - len(module.lstrip("."))
        if not dots:
            # A standard module wins over a file whose path merely ends like it.
            dotted = self._dotted.get(module)
            is_shadowed = module.partition(".")[0] in file.rules.stdlib
            return None if dotted is None or (is_shadowed and not self._is_root(dotted, module)) else dotted
        folder = PurePosixPath(file.source.path).parent
        for _ in range(dots - 1):
            folder = folder.parent
        name = module.lstrip(".").replace(".", "/")
        target = folder / name if name else folder
        return self._paths.get(f"{target}.py") or self._paths.get(str(target / "__init__.py"))

    @staticmethod
    def _is_root(file: FileSymbols, module: str) -> bool:
        bare = file.source.path.removesuffix(".py").removesuffix("/__init__").removeprefix("src/")
        return bare == module.replace(".", "/")

    def _find_relative(self, file: FileSymbols, module: str) -> FileSymbols | None:
        if not module.startswith("."):
            return None
        target = posixpath.normpath(posixpath.join(posixpath.dirname(file.source.path), module))
        stem, dot, ending = target.rpartition(".")
        # TypeScript imports `./file.js` where the project has `file.ts`.
        bare = stem if dot and ending in {"js", "mjs", "cjs", "jsx"} else target
        return next(
            (self._paths[path] for base in (target, bare) for end in _SCRIPTS if (path := base + end) in self._paths),
            None,
        )


# Imports may form a circle, and so may base classes in a broken program.
_MAX_HOPS = 8


class ResolvedName(NamedTuple):
    """Target of a name: a variable of a project's file, a whole file, or a library's name.

    ``files_crossed`` is the number of imports followed; -1 means a folder of the project.
    """

    file: FileSymbols | None = None
    variable: Variable | None = None
    library: str | None = None
    files_crossed: int = 0

    @property
    def members(self) -> ClassMembers | None:
        """Members of the class that the name refers to; None if it refers to no class."""
        if self.file is None or self.variable is None or self.variable.inner_scope is None:
            return None
        return ClassMembers(self.file, self.variable.inner_scope, self.files_crossed)


class ClassMembers(NamedTuple):
    """Scope of a class, in which members are searched; ``files_crossed`` as of a resolved name."""

    file: FileSymbols
    scope: NameScope
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
            resolved = self._resolve_member_path(file, use)
        elif use.variable is not None and not (use.variable.scope.parent is None and use.scope.in_separate_method()):
            resolved = ResolvedName(file, use.variable)
        else:
            resolved = self._find_inherited(file, use) or (
                ResolvedName(file, use.variable)
                if use.variable is not None
                else self._resolve_unimported(file, use.key)
            )
        return self._follow_imports(resolved) if resolved else None

    def _follow_imports(self, resolved: ResolvedName) -> ResolvedName:
        """Return the target after following imports."""
        for _ in range(_MAX_HOPS):
            file, variable, _, files_crossed = resolved
            if variable is None or variable.target is None or file is None:
                return resolved
            following = self._resolve_import(file, variable, variable.target, files_crossed)
            if following is None:
                return resolved
            resolved = following
        return resolved

    def _resolve_import(
        self, file: FileSymbols, variable: Variable, target: ImportTarget, files_crossed: int
    ) -> ResolvedName | None:
        name = target.module if target.symbol is None else f"{target.module}.{target.symbol}"
        if file.rules.modules in {"package", "namespace"}:
            qualified = self.modules.qualified_type(file, name)
            if qualified is None:
                return ResolvedName(None, None, name, files_crossed)
            other, first, rest = qualified
            start = ResolvedName(other, first, None, files_crossed + (other is not file))
            return self._follow_members(start, rest) or self._follow_members(start, [*rest[:-1], f"{rest[-1]}()"])
        if target.symbol is not None:
            inner = self.modules.find_file(file, self.modules.submodule_name(file, target.module, target.symbol))
            if inner is not None and inner is not file:
                return ResolvedName(inner, None, None, files_crossed + 1)
        module = self.modules.find_file(file, target.module)
        if module is None:
            is_folder = target.symbol is None and self.modules.is_package(file, target.module)
            return ResolvedName(None, None, name, -1 if is_folder else files_crossed)
        symbol = self._find_exported(module, target.symbol) if target.symbol else None
        # `import Name from "./file"` may name a default export by its own name.
        if symbol is None and target.symbol == "default":
            symbol = self._find_exported(module, variable.name)
        # A module that imports its own name would be followed for ever.
        if symbol is variable:
            return None
        return ResolvedName(module, symbol, None, files_crossed + 1)

    def _find_exported(self, file: FileSymbols, name: str) -> Variable | None:
        """Return the variable of this name that a file declares or re-exports."""
        variable = self.modules.exported_names(file).get(name)
        if variable is not None:  # spares most files the search through `import *`
            return variable
        exports = map(self.modules.exported_names, self.modules.wildcard_imports(file))
        return next((names[name] for names in exports if name in names), None)

    def _resolve_unimported(self, file: FileSymbols, name: str) -> ResolvedName | None:
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
            if (variable := self.modules.exported_names(other).get(name)) is not None:
                return ResolvedName(other, variable, None, 1)
        module = file.rules.known_names.get(name)
        return ResolvedName(None, None, name if name == module else f"{module}.{name}") if module else None

    def _class_around(self, file: FileSymbols, scope: NameScope) -> ClassMembers | None:
        """Return the class whose members are visible in a scope."""
        for around in scope.outwards():
            if around.kind in CLASS_SCOPES:
                return ClassMembers(file, around)
            if around.owner is not None:
                owner = self._find_type(file, around.parent or around, around.owner)
                return owner and owner.members
        return None

    def _find_inherited(self, file: FileSymbols, use: NameUse) -> ResolvedName | None:
        """Return a member that is used without a dot, of an enclosing class or its bases."""
        if not file.rules.class_scope_visible:
            return None
        for scope in use.scope.outwards():
            home = self._class_around(file, scope) if scope.kind in CLASS_SCOPES or scope.owner else None
            if home is not None and (member := self._find_in_class(home, use.key)) is not None:
                return member
        return None

    def _resolve_member_path(self, file: FileSymbols, use: NameUse) -> ResolvedName | None:
        first = use.path[0]
        names = [*map(str, use.path[1:]), use.key]
        if isinstance(first, NameUse):
            return self._follow_members(self.resolve_use(file, first), names)
        home = self._class_around(file, use.scope) if first in {"self", "super"} else None
        member = home and self._find_in_class(home, names[0], own=first == "self")
        return self._follow_members(member, names[1:])

    def _follow_members(self, resolved: ResolvedName | None, names: list[str]) -> ResolvedName | None:
        for number, name in enumerate(names):
            if resolved is None:
                return None
            resolved = self._follow_imports(resolved)
            if resolved.library is not None:
                # A folder of the project: its members are modules, not names of a library.
                if resolved.files_crossed < 0:
                    return None
                rest = (member.removesuffix("()") for member in names[number:])
                return ResolvedName(None, None, ".".join([resolved.library, *rest]), resolved.files_crossed)
            resolved = self._find_member(resolved, name)
        return self._follow_imports(resolved) if resolved else None

    def _find_member(self, resolved: ResolvedName, name: str) -> ResolvedName | None:
        file, variable = resolved.file, resolved.variable
        if file is None:
            return None
        if variable is None:
            exported = self._find_exported(file, name)
            return ResolvedName(file, exported, None, resolved.files_crossed) if exported else None
        if (members := resolved.members) is not None:
            return self._find_in_class(members, name)
        for type_name in variable.types:
            home = self._find_type(file, variable.scope, type_name)
            if home is None:
                continue
            if home.library is not None:
                return ResolvedName(None, None, f"{home.library}.{name.removesuffix('()')}", home.files_crossed)
            if (members := home.members) is not None:
                files_crossed = resolved.files_crossed + home.files_crossed
                return self._find_in_class(members._replace(files_crossed=files_crossed), name)
        return None

    def _find_type(self, file: FileSymbols, scope: NameScope, name: str) -> ResolvedName | None:
        for around in scope.outwards():
            if (symbol := around.symbols.get(name)) is not None and (symbol.inner_scope or symbol.target):
                return self._follow_imports(ResolvedName(file, symbol))
        resolved = self._resolve_unimported(file, name)
        return self._follow_imports(resolved) if resolved else None

    def _find_in_class(
        self, members: ClassMembers, name: str, *, own: bool = True, hops: int = 0
    ) -> ResolvedName | None:
        """Return a member of a class, unless it is not ``own``, or of its base classes."""
        file, scope, files_crossed = members
        if own and (member := scope.symbols.get(name)) is not None:
            return ResolvedName(file, member, None, files_crossed)
        if hops > _MAX_HOPS:
            return None
        parts = self.modules.partial_declarations(file, scope.name) if own and scope.name else []
        pieces = [(other, piece.inner_scope) for other, piece in parts if piece.inner_scope is not None]
        for other, piece in pieces:
            if (member := piece.symbols.get(name)) is not None:
                return ResolvedName(other, member, None, files_crossed + int(other is not file))
        bases = [base for _, piece in pieces for base in piece.bases]
        return self._find_in_bases(members, bases or scope.bases, name, hops)

    def _find_in_bases(self, members: ClassMembers, bases: Iterable[str], name: str, hops: int) -> ResolvedName | None:
        file, scope, files_crossed = members
        for base in bases:
            home = self._find_type(file, scope.parent or scope, base)
            if home is None or home.members is None:
                continue
            base_members = home.members._replace(files_crossed=files_crossed + home.files_crossed)
            if (inherited := self._find_in_class(base_members, name, hops=hops + 1)) is not None:
                return inherited
        return None
