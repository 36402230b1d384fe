"""Source folders of a Java project, by package statements and imports: those of its tests and those that they need."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from caretbench.execution.workspaces.snapshot_store import Snapshot
from caretbench.projects.rules import project_rules

JARS_FOLDER: Final = ".deps"
"""Folder of the project into which a setup installs jars."""
_PACKAGE: Final = re.compile(r"^\s*package\s+([\w.]+)\s*;", re.MULTILINE)
_IMPORT: Final = re.compile(r"^\s*import\s+(?:static\s+)?([\w.]+?)(\.\*)?\s*;", re.MULTILINE)
_JUNIT: Final = re.compile(r"^\s*import\s+(?:static\s+)?(?:org\.junit|junit\.framework)\b", re.MULTILINE)
_NOT_COMPILED: Final = frozenset({"package-info.java", "module-info.java"})


class JavaSource(NamedTuple):
    """Java file: the source folder that its package statement implies, its package, and its imports."""

    folder: str
    package: str
    imports: tuple[str, ...]
    uses_junit: bool


class JavaFolders(NamedTuple):
    """Source folders of a project: of its JUnit tests, of the code that these need; resources of both, and jars."""

    tests: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    jars: tuple[str, ...] = ()
    """Folders with jars, as entries of a class path."""

    @property
    def sources(self) -> tuple[str, ...]:
        """All source folders, those of the tests last."""
        return (*self.code, *self.tests)


def source_folder(path: str, package: str) -> str | None:
    """Return the folder below which a file lies as its package says; None if it does not lie so."""
    folder = PurePosixPath(path).parent
    parts = package.split(".") if package else []
    if list(folder.parts[len(folder.parts) - len(parts) :]) != parts:
        return None
    return str(PurePosixPath(*folder.parts[: len(folder.parts) - len(parts)]))


def java_sources(snapshot: Snapshot) -> Mapping[str, JavaSource]:
    """Return the Java files of a project by path, without those in folders that are not mined (such as examples)."""
    found = {}
    passed_over = {*project_rules().files.folders, "resources"}
    for path, entry in snapshot.entries.items():
        name = PurePosixPath(path)
        if entry.kind != "file" or name.suffix != ".java" or name.name in _NOT_COMPILED:
            continue
        text = snapshot.read(path).decode("utf-8", "replace")
        stated = _PACKAGE.search(text)
        package = stated[1] if stated else ""
        folder = source_folder(path, package)
        # A package may have such a name (org.docs), a folder above its root may not.
        if folder is None or passed_over & set(PurePosixPath(folder).parts):
            continue
        imports = tuple(match[1] for match in _IMPORT.finditer(text))
        found[path] = JavaSource(folder, package, imports, _JUNIT.search(text) is not None)
    return found


def java_folders(snapshot: Snapshot) -> JavaFolders:
    """Return the source folders of a project's JUnit tests and of what they need, directly or not."""
    sources = java_sources(snapshot)
    tests = {source.folder for source in sources.values() if source.uses_junit}
    if not tests:
        return JavaFolders()
    by_folder: dict[str, list[JavaSource]] = defaultdict(list)
    providers: dict[str, set[str]] = defaultdict(set)
    for path, source in sources.items():
        by_folder[source.folder].append(source)
        providers[source.package].add(source.folder)
        providers[f"{source.package}.{PurePosixPath(path).stem}".lstrip(".")].add(source.folder)
    needed, waiting = set(tests), sorted(tests)
    while waiting:
        for folder in _needed(by_folder[waiting.pop()], providers) - needed:
            needed.add(folder)
            waiting.append(folder)
    folders = JavaFolders(tuple(sorted(tests)), tuple(sorted(needed - tests)))
    return folders._replace(resources=_resources(snapshot, folders.sources), jars=_jars(snapshot, folders.sources))


def _needed(sources: Iterable[JavaSource], providers: Mapping[str, set[str]]) -> set[str]:
    """Return the folders with classes of the same packages, and of what is imported: a class, or all of a package."""
    names: set[str] = set()
    for source in sources:
        names.add(source.package)
        for name in source.imports:  # the last words of a name may be members of a class
            parts = name.split(".")
            names.update(".".join(parts[:end]) for end in range(max(1, len(parts) - 2), len(parts) + 1))
    return {folder for name in names for folder in providers.get(name, ())}


def _resources(snapshot: Snapshot, folders: Iterable[str]) -> tuple[str, ...]:
    """Return the folders of resources: ``resources`` next to a source folder, or that folder if it has other files."""
    found = []
    for folder in folders:
        resources = str(PurePosixPath(folder).parent / "resources")
        if any(path.startswith(f"{resources}/") for path in snapshot.entries):
            found.append(resources)
        elif any(
            entry.kind == "file" and not path.endswith(".java") and PurePosixPath(path).is_relative_to(folder)
            for path, entry in snapshot.entries.items()
        ):
            found.append(folder)
    return tuple(dict.fromkeys(found))


def _jars(snapshot: Snapshot, sources: Iterable[str]) -> tuple[str, ...]:
    """Return the folders with jars outside source folders; what a setup installs is the last."""
    folders = {str(PurePosixPath(path).parent) for path in snapshot.entries if path.endswith(".jar")} | {JARS_FOLDER}
    own = [folder for folder in folders if not any(PurePosixPath(folder).is_relative_to(one) for one in sources)]
    return tuple(f"{folder}/*" for folder in sorted(own, key=lambda folder: (folder == JARS_FOLDER, folder)))
