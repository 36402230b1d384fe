"""How the name of a module leads to a file of the project."""

from __future__ import annotations

from pathlib import PurePosixPath

from caretbench.syntax.walker import Walk

_SCRIPTS = (
    "",
    ".ts",
    ".tsx",
    ".js",
    ".jsx",
    ".mjs",
    ".cjs",
    ".mts",
    ".d.ts",
    "/index.ts",
    "/index.tsx",
    "/index.js",
)


class ModuleIndex:
    """The files of a project by the names under which others import them."""

    def __init__(self, walks: list[Walk]) -> None:
        self._paths = {walk.source.path: walk for walk in walks}
        self._dotted: dict[str, Walk] = {}
        self._packages: set[str] = set()
        for walk in walks:
            if walk.traits.modules == "dotted":
                self._add_dotted(walk)

    def _add_dotted(self, walk: Walk) -> None:
        """``src/a/b.py`` is ``a.b``: every tail of the path, the shortest file path first."""
        parts = list(PurePosixPath(walk.source.path).with_suffix("").parts)
        if parts and parts[-1] == "__init__":
            parts.pop()
        for start in range(len(parts)):
            name = ".".join(parts[start:])
            known = self._dotted.get(name)
            if known is None or len(known.source.path) > len(walk.source.path):
                self._dotted[name] = walk
        for end in range(1, len(parts)):
            self._packages.update(".".join(parts[start:end]) for start in range(end))

    def joined(self, walk: Walk, module: str, symbol: str) -> str:
        """The name of a module's submodule."""
        if walk.traits.modules != "dotted":
            return f"{module}\0{symbol}"
        return module + symbol if module.endswith(".") else f"{module}.{symbol}"

    def is_package(self, walk: Walk, module: str) -> bool:
        """Whether the name is a folder of the project that has no file of its own."""
        return walk.traits.modules == "dotted" and module in self._packages

    def find(self, walk: Walk, module: str) -> Walk | None:
        """The project's file that ``walk``'s file means by this name, or None for a library."""
        if walk.traits.modules == "dotted":
            return self._find_dotted(walk, module)
        if walk.traits.modules == "relative":
            return self._find_relative(walk, module)
        return None

    def _find_dotted(self, walk: Walk, module: str) -> Walk | None:
        dots = len(module) - len(module.lstrip("."))
        if not dots:
            found = self._dotted.get(module)
            first = module.partition(".")[0]
            return None if found is not None and first in walk.traits.stdlib else found
        folder = PurePosixPath(walk.source.path).parent
        for _ in range(dots - 1):
            folder = folder.parent
        name = module.lstrip(".").replace(".", "/")
        target = folder / name if name else folder
        return self._paths.get(f"{target}.py") or self._paths.get(str(target / "__init__.py"))

    def _find_relative(self, walk: Walk, module: str) -> Walk | None:
        if not module.startswith("."):
            return None
        parts: list[str] = list(PurePosixPath(walk.source.path).parent.parts)
        for part in module.split("/"):
            if part == "..":
                if not parts:
                    return None
                parts.pop()
            elif part not in {"", "."}:
                parts.append(part)
        target = "/".join(parts)
        bare = target.rsplit(".", 1)[0] if target.endswith((".js", ".mjs", ".cjs", ".jsx")) else target
        candidates = [target + ending for ending in _SCRIPTS] + [bare + ending for ending in _SCRIPTS]
        return next((self._paths[path] for path in candidates if path in self._paths), None)
