"""The history of the starter set's repository: its last state as files, and what each change did, going backwards.

A change is written down by what it added (units of the last state, by name) and by how what it rewrote read before. So
every state is made from the one after it, and nothing is written twice. The last state is that of the house's sample
projects (``caretbench/samples``) with what ``starter/tree`` has of its own; ``starter/history/*.toml`` holds the
changes, the oldest first.
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
from caretbench.suites.efcb.starter_set.units import pruned, with_unit, without

Tree = dict[str, str]
"""Texts by path."""

_FROM_SAMPLES: Final[Mapping[str, str]] = {
    "wayfarer/wayfarer/": "wayfarer/",
    "wayfarer/tests/": "tests/",
    "wayfarer/delivery_day.py": "delivery_day.py",
    "tallyhouse/src/tallyhouse/": "tallyhouse/",
    "tallyhouse/test/tallyhouse/": "test/tallyhouse/",
}
"""Where parts of the sample projects stand in the repository."""

_EARLIER_IMPORTS: Final[Mapping[str, tuple[str, str]]] = {
    "wayfarer/roads.py": (
        "from wayfarer.heap import IndexedHeap",
        "import heapq\n\nfrom wayfarer.heap import IndexedHeap",
    ),
    "tallyhouse/Numbers.java": (
        "import java.util.ArrayList;",
        "import java.util.ArrayList;\nimport java.util.Arrays;",
    ),
}
"""By file a line, and what stands there with an import that earlier states need; states that do not are pruned."""


class Edit(BaseModel):
    """Text ``after`` a change that stood there as ``before``; it stands in its file once."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: str
    after: str
    before: str = ""


class Change(BaseModel):
    """One merged change. What it did is undone in the order of the fields, from ``edits`` to ``renames``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str
    description: str = ""
    style: Literal["merge", "squash", "rebase"] = "squash"
    author: str = ""
    key: str = ""
    """By which other descriptions name its number: ``{key}``."""
    edits: tuple[Edit, ...] = ()
    was: Mapping[str, str] = {}
    """``path unit`` and the unit's code before."""
    adds: tuple[str, ...] = ()
    """``path unit unit…`` that were added."""
    new: tuple[str, ...] = ()
    """Files that were added; what is left of them."""
    words: Mapping[str, str] = {}
    """Names as they are after the change, and as they were before, wherever they stood."""
    renames: Mapping[str, str] = {}
    """Files as they are called after the change, and as they were called before."""


class State(NamedTuple):
    """A change, and all files after it; the first state has no change."""

    change: Change | None
    tree: Tree


def history() -> list[State]:
    """Every state, the oldest first.

    Raises:
        DataError: a change does not fit the state after it.
    """
    tree = _last_tree()
    states: list[State] = []
    for change in reversed(changes()):
        states.append(State(change, _shown(tree)))
        try:
            tree = _before(tree, change)
        except DataError as error:
            raise DataError(f"{change.title}: {error}") from None
    states.append(State(None, _shown(tree)))
    return states[::-1]


def changes() -> list[Change]:
    """All changes, the oldest first."""
    found: list[Change] = []
    for file in sorted((_data() / "history").iterdir(), key=lambda file: file.name):
        rows = tomllib.loads(file.read_text("utf-8")).get("change", [])
        try:
            found += [Change.model_validate(row) for row in rows]
        except ValidationError as error:
            raise DataError(f"{file.name}: {describe_validation_error(error)}") from None
    return found


def _last_tree() -> Tree:
    """The last state: the house's sample projects, and over them what the repository has of its own."""
    samples = files(resources.files("caretbench") / "samples")
    found = {
        place + path.removeprefix(folder): text
        for path, text in samples.items()
        for folder, place in _FROM_SAMPLES.items()
        if path.startswith(folder)
    }
    for path, (line, imported) in _EARLIER_IMPORTS.items():
        found[path] = found[path].replace(line, imported, 1)
    return dict(sorted({**found, **files(_data() / "tree")}.items()))


def _data() -> Traversable:
    return resources.files("caretbench.suites.efcb") / "starter"


def files(folder: Traversable) -> Tree:
    """The texts of all files in a folder of the package and in the folders below it."""
    return dict(sorted(_walk(folder, "")))


def _walk(folder: Traversable, prefix: str) -> Iterator[tuple[str, str]]:
    for entry in folder.iterdir():
        if entry.name == "__pycache__":
            continue
        if entry.is_dir():
            yield from _walk(entry, f"{prefix}{entry.name}/")
        else:
            yield prefix + entry.name, entry.read_text("utf-8")


def _shown(tree: Tree) -> Tree:
    return {path: pruned(path, text) for path, text in tree.items()}


def _before(after: Tree, change: Change) -> Tree:
    tree = dict(after)
    for edit in change.edits:
        text = _file(tree, edit.path)
        if text.count(edit.after) != 1:
            raise DataError(f"{edit.path}: {edit.after!r} stands there {text.count(edit.after)} times")
        tree[edit.path] = text.replace(edit.after, edit.before)
    for place, code in change.was.items():
        path, _, name = place.partition(" ")
        tree[path] = with_unit(path, _file(tree, path), name, code)
    for entry in change.adds:
        path, *names = _names(entry)
        for name in names:
            tree[path] = without(path, _file(tree, path), name)
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
    """Path and units; the heading of a section is one with its blanks."""
    path, mark, heading = entry.partition(" %% ")
    return [path, f"%% {heading}"] if mark else entry.split()


def _file(tree: Tree, path: str) -> str:
    if path not in tree:
        raise DataError(f"no file {path}")
    return tree[path]
