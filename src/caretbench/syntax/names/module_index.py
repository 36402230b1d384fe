"""Index of the project's modules: from module names to files, and the names that each file exports."""

from __future__ import annotations

import posixpath
from pathlib import PurePosixPath

from caretbench.syntax.names.file_symbols import FileSymbols
from caretbench.syntax.names.symbols import NameScope, Variable

_SCRIPTS = (
    "", ".ts", ".tsx", ".d.ts", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs",
    "/index.ts", "/index.tsx", "/index.js", "/index.mjs", "/index.cjs",
)  # fmt: skip
_FAMILIES = {"typescript": "javascript"}


def _family(file: FileSymbols) -> str:
    return _FAMILIES.get(file.source.language, file.source.language)


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
        package = file.package if file.rules.modules == "package" else f"\0{_family(file)}"
        known = self._packages.setdefault(package, {})
        for name, variable in self.exported_names(file).items():
            if variable.target is None:
                known.setdefault(name, (file, variable))
                self._parts.setdefault((package, name), []).append((file, variable))

    def exported_names(self, file: FileSymbols) -> dict[str, Variable]:
        """Return the names that other files can see: the file's own and those of its namespaces."""
        path = file.source.path
        if path not in self._exports:
            seen: dict[str, Variable] = {}
            waiting: list[NameScope] = [file.file_scope]
            while waiting:
                names = waiting.pop()
                for key, variable in names.symbols.items():
                    seen.setdefault(key, variable)
                waiting += [scope for scope in file.namespaces if scope.parent is names]
            self._exports[path] = seen
        return self._exports[path]

    def wildcard_imports(self, file: FileSymbols) -> tuple[FileSymbols, ...]:
        """Return the files that a file imports with a wildcard, directly or indirectly, nearest first."""
        path = file.source.path
        if path not in self._reachable:
            found: dict[str, FileSymbols] = {}
            waiting = [file]
            while waiting:
                current = waiting.pop(0)
                for module in current.file_scope.wildcards:
                    other = self.find_file(current, module)
                    if other is not None and other is not file and other.source.path not in found:
                        found[other.source.path] = other
                        waiting.append(other)
            self._reachable[path] = tuple(found.values())
        return self._reachable[path]

    def implicit_type(self, file: FileSymbols, name: str) -> tuple[FileSymbols, Variable] | None:
        """Return a type that is visible without an import by name: of the file's package or a wildcard import."""
        kind = file.rules.modules
        if kind == "namespace":
            return self._packages.get(f"\0{_family(file)}", {}).get(name)
        if kind != "package":
            return None
        for package in (file.package, *file.file_scope.wildcards):
            if (found := self._packages.get(package, {}).get(name)) is not None:
                return found
        return None

    def partial_declarations(self, file: FileSymbols, name: str) -> list[tuple[FileSymbols, Variable]]:
        """Return all declarations of a partial class (C#), by its simple name."""
        return self._parts.get((f"\0{_family(file)}", name), [])

    def qualified_type(self, file: FileSymbols, name: str) -> tuple[FileSymbols, Variable, list[str]] | None:
        """Return a type by its full name, and the rest of the path (``member`` in ``a.b.Type.member``)."""
        parts = name.split(".")
        if file.rules.modules == "namespace":
            found = self._packages.get(f"\0{_family(file)}", {}).get(parts[-1])
            return (*found, []) if found else None
        for end in range(len(parts) - 1, -1, -1):
            found = self._packages.get(".".join(parts[:end]), {}).get(parts[end])
            if found is not None:
                return (*found, parts[end + 1 :])
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
            found = self._dotted.get(module)
            is_shadowed = module.partition(".")[0] in file.rules.stdlib
            return None if found is None or (is_shadowed and not self._is_root(found, module)) else found
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
        bare = stem if dot and ending in {"js", "mjs", "cjs", "jsx"} else target
        return next(
            (self._paths[path] for base in (target, bare) for end in _SCRIPTS if (path := base + end) in self._paths),
            None,
        )
