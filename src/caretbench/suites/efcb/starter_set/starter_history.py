"""History of the starter set's repository, computed backwards from its last state.

A change lists what it added (units of the last state, by name) and the former text of what it rewrote. So every state
is computed from the next one, and no text is stored twice. The last state is that of the sample projects
(``caretbench/samples``) with the files of ``starter/tree``; ``starter/history/*.toml`` has the changes, oldest
first.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Final, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from caretbench.errors import DataError
from caretbench.files import describe_validation_error
from caretbench.suites.efcb.starter_set.source_units import remove_unit, remove_unused_imports, replace_unit

FileTree = dict[str, str]
"""Texts by path."""

_FROM_SAMPLES: Final[Mapping[str, str]] = {
    "wayfarer/wayfarer/": "wayfarer/",
    "wayfarer/tests/": "tests/",
    "wayfarer/delivery_day.py": "delivery_day.py",
    "tallyhouse/src/tallyhouse/": "tallyhouse/",
    "tallyhouse/test/tallyhouse/": "test/tallyhouse/",
}
"""Paths of the sample projects' parts in the repository."""

_EARLIER_IMPORTS: Final[Mapping[str, tuple[str, str]]] = {
    "wayfarer/roads.py": (
        "from wayfarer.heap import IndexedHeap",
        "import heapq\n\nfrom wayfarer.heap import IndexedHeap",
    ),
    "tallyhouse/Numbers.java": ("import java.util.ArrayList;", "import java.util.ArrayList;\nimport java.util.Arrays;"),
}
"""By file a line, and its replacement with an import that earlier states need; unused imports are removed."""


class HistoryEdit(BaseModel):
    """Text ``after`` a change, and ``before`` it; it occurs once in its file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: str
    after: str
    before: str = ""


class HistoryChange(BaseModel):
    """One merged change. It is undone in the order of the fields, from ``edits`` to ``renames``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str
    description: str = ""
    style: Literal["merge", "squash", "rebase"] = "squash"
    author: str = ""
    key: str = ""
    """Name by which other descriptions refer to its number: ``{key}``."""
    edits: tuple[HistoryEdit, ...] = ()
    was: Mapping[str, str] = {}
    """Code of changed units before the change, by ``path unit``."""
    adds: tuple[str, ...] = ()
    """Added units: ``path unit unit…``."""
    new: tuple[str, ...] = ()
    """Paths of added files."""
    words: Mapping[str, str] = {}
    """Renamed identifiers: name after the change to name before, in all files."""
    renames: Mapping[str, str] = {}
    """Renamed files: path after the change to path before."""


class HistoryState(NamedTuple):
    """All files after a change; the first state has no change."""

    change: HistoryChange | None
    tree: FileTree


def read_history() -> list[HistoryState]:
    """Return every state, oldest first.

    Raises:
        DataError: a change does not fit the state after it.
    """
    tree = _last_tree()
    states: list[HistoryState] = []
    for change in reversed(read_history_changes()):
        states.append(HistoryState(change, _shown(tree)))
        try:
            tree = _before(tree, change)
        except DataError as error:
            raise DataError(f"{change.title}: {error}") from None
    states.append(HistoryState(None, _shown(tree)))
    return states[::-1]


def read_history_changes() -> list[HistoryChange]:
    """Return all changes, oldest first."""
    found: list[HistoryChange] = []
    for file in sorted((_data() / "history").iterdir(), key=lambda file: file.name):
        rows = tomllib.loads(file.read_text("utf-8")).get("change", [])
        try:
            found += [HistoryChange.model_validate(row) for row in rows]
        except ValidationError as error:
            raise DataError(f"{file.name}: {describe_validation_error(error)}") from None
    return found


def _last_tree() -> FileTree:
    """Return the last state: the sample projects, and the repository's own files over them."""
    samples = read_files(resources.files("caretbench") / "samples")
    found = {
        place + path.removeprefix(folder): text
        for path, text in samples.items()
        for folder, place in _FROM_SAMPLES.items()
        if path.startswith(folder)
    }
    for path, (line, imported) in _EARLIER_IMPORTS.items():
        found[path] = found[path].replace(line, imported, 1)
    return dict(sorted({**found, **read_files(_data() / "tree")}.items()))


def _data() -> Traversable:
    return resources.files("caretbench.suites.efcb") / "starter"


def read_files(folder: Traversable) -> FileTree:
    """Return the texts of all files in a folder of the package, by path."""
    return dict(sorted(_walk(folder, "")))


def _walk(folder: Traversable, prefix: str) -> Iterator[tuple[str, str]]:
    for entry in folder.iterdir():
        if entry.name == "__pycache__":
            continue
        if entry.is_dir():
            yield from _walk(entry, f"{prefix}{entry.name}/")
        else:
            yield prefix + entry.name, entry.read_text("utf-8")


def _shown(tree: FileTree) -> FileTree:
    return {path: remove_unused_imports(path, text) for path, text in tree.items()}


def _before(after: FileTree, change: HistoryChange) -> FileTree:
    tree = dict(after)
    for edit in change.edits:
        text = _file(tree, edit.path)
        if text.count(edit.after) != 1:
            raise DataError(f"{edit.path}: {edit.after!r} occurs {text.count(edit.after)} times")
        tree[edit.path] = text.replace(edit.after, edit.before)
    for place, code in change.was.items():
        path, _, name = place.partition(" ")
        tree[path] = replace_unit(path, _file(tree, path), name, code)
    for entry in change.adds:
        path, *names = _names(entry)
        for name in names:
            tree[path] = remove_unit(path, _file(tree, path), name)
    for path in change.new:
        _file(tree, path)
        del tree[path]
    for now, before in change.words.items():
        word = re.compile(rf"\b{re.escape(now)}\b")
        if not any(word.search(text) for text in tree.values()):
            raise DataError(f"no {now}")
        tree = {path: word.sub(before, text) for path, text in tree.items()}
    for now, before in change.renames.items():
        tree[before] = _file(tree, now)
        del tree[now]
    return tree


def _names(entry: str) -> list[str]:
    """Return path and units; a section's heading may contain spaces."""
    path, mark, heading = entry.partition(" %% ")
    return [path, f"%% {heading}"] if mark else entry.split()


def _file(tree: FileTree, path: str) -> str:
    if path not in tree:
        raise DataError(f"no file {path}")
    return tree[path]
