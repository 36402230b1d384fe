"""History of the starter set's repository, computed backwards from its last state.

A change lists what it added (units of the last state, by name) and the former text of what it rewrote. So every state
is computed from the next one, and no text is stored twice. The last state is that of the sample projects
(``caretbench/samples``) with the files of ``starter/tree``; ``starter/history/*.toml`` has the changes, oldest
first.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import PurePosixPath
from typing import Final, Literal, NamedTuple

import tree_sitter
from pydantic import BaseModel, ConfigDict, ValidationError

from caretbench.errors import DataError
from caretbench.files import describe_validation_error
from caretbench.syntax.parser import parse

_SECTION: Final = "%% "


class SourceUnit(NamedTuple):
    """Lines ``start`` to ``stop`` (excluded), from 0, with decorators or the comment above."""

    name: str
    start: int
    stop: int


def find_units(path: str, text: str) -> Iterator[SourceUnit]:
    """Return the units of a file, outer ones first; none for other languages."""
    find = _LANGUAGES.get(PurePosixPath(path).suffix)
    return find(text) if find else iter(())


def remove_unit(path: str, text: str, name: str) -> str:
    """Return the file without a unit and its blank lines; a Python class that becomes empty is removed, too.

    Raises:
        DataError: there is no such unit.
    """
    lines = text.split("\n")
    for unit in reversed(_named(path, text, name)):
        start, stop = unit.start, unit.stop
        first = start > 0 and lines[start - 1].endswith(("{", ":"))
        while start > 0 and not lines[start - 1].strip():
            start -= 1
        while first and stop < len(lines) - 1 and not lines[stop].strip():
            stop += 1
        del lines[start:stop]
    shorter = "\n".join(lines)
    owner = name.rpartition(".")[0]
    if owner and not any(unit.name.startswith(f"{owner}.") for unit in find_units(path, shorter)):
        return remove_unit(path, shorter, owner)
    return shorter


def replace_unit(path: str, text: str, name: str, code: str) -> str:
    """Return the file with other code for a unit.

    Raises:
        DataError: there is no such unit, or several of that name.
    """
    found = _named(path, text, name)
    if len(found) > 1:
        raise DataError(f"{path}: {len(found)} units are called {name}")
    lines = text.split("\n")
    lines[found[0].start : found[0].stop] = code.rstrip("\n").split("\n")
    return "\n".join(lines)


def _named(path: str, text: str, name: str) -> list[SourceUnit]:
    found = [unit for unit in find_units(path, text) if unit.name == name]
    if not found:
        raise DataError(f"{path}: no {name}")
    return found


_PYTHON_NAMES: Final = {"function_definition": "name", "class_definition": "name", "assignment": "left"}


def _python(text: str) -> Iterator[SourceUnit]:
    yield from _sections(text)
    yield from _python_members(parse(text, "python").root_node, "")


def _sections(text: str) -> Iterator[SourceUnit]:
    lines = text.rstrip("\n").split("\n")
    heads = [number for number, line in enumerate(lines) if line.startswith(f"# {_SECTION}")]
    for start, stop in zip(heads, [*heads, len(lines)][1:], strict=True):
        end = stop
        while not lines[end - 1].strip():
            end -= 1
        yield SourceUnit(lines[start].removeprefix("# "), start, end)


def _python_members(body: tree_sitter.Node, prefix: str) -> Iterator[SourceUnit]:
    for node in body.children:
        inner = node.child_by_field_name("definition") if node.type == "decorated_definition" else node
        if inner is None:
            continue
        if inner.type == "expression_statement" and inner.children[0].type == "assignment":
            inner = inner.children[0]
        field = _PYTHON_NAMES.get(inner.type)
        name = inner.child_by_field_name(field) if field else None
        if name is None:
            continue
        yield SourceUnit(prefix + _node_text(name), node.start_point.row, _end(node))
        if inner.type == "class_definition" and (members := inner.child_by_field_name("body")):
            yield from _python_members(members, f"{prefix}{_node_text(name)}.")


def _java(text: str) -> Iterator[SourceUnit]:
    for node in parse(text, "java").root_node.children:
        if (body := node.child_by_field_name("body")) is not None:
            yield from _java_members(body)


def _java_members(body: tree_sitter.Node) -> Iterator[SourceUnit]:
    comment: tree_sitter.Node | None = None
    for node in body.children:
        if node.type in ("block_comment", "line_comment"):
            comment = node
            continue
        name = node.child_by_field_name("name")
        declared = node.child_by_field_name("declarator")
        name = name or (declared.child_by_field_name("name") if declared else None)
        if name is not None:
            yield SourceUnit(_node_text(name), (comment or node).start_point.row, _end(node))
        comment = None


def _node_text(node: tree_sitter.Node) -> str:
    return (node.text or b"").decode()


def _end(node: tree_sitter.Node) -> int:
    return node.end_point.row + (node.end_point.column > 0)


_LANGUAGES: Final[Mapping[str, Callable[[str], Iterator[SourceUnit]]]] = {".py": _python, ".java": _java}


_FROM: Final = re.compile(r"^from (\S+) import (?:\(([^)]*)\)|(.+))\n", re.MULTILINE)
_IMPORT: Final = re.compile(r"^import (\S+)\n", re.MULTILINE)
_JAVA: Final = re.compile(r"^import [\w.]*?(\w+);\n", re.MULTILINE)
_WIDTH: Final = 100


@lru_cache(maxsize=1024)  # most files are the same in the next state
def remove_unused_imports(path: str, text: str) -> str:
    """Return the file without imports of names that it does not use."""
    suffix = PurePosixPath(path).suffix
    if suffix == ".java":
        text = _JAVA.sub(lambda found: found.group() if _uses(text, found[1], _JAVA) else "", text)
        return re.sub(r"\n{3,}", "\n\n", text)
    if suffix != ".py":
        return text
    whole = text
    text = _FROM.sub(lambda found: _importing(found[1], found[2] or found[3], whole), text)
    text = _IMPORT.sub(lambda found: found.group() if _uses(whole, found[1], _IMPORT) else "", text)
    text = re.sub(r"\n{4,}", "\n\n\n", text).lstrip("\n")
    return re.sub(r"^((?:import|from) .+\n)\n{2,}(?=from |import |[A-Z_]+ = )", r"\1\n", text, flags=re.MULTILINE)


def _importing(module: str, listed: str, text: str) -> str:
    names = [name for name in re.findall(r"\w+", listed) if _uses(text, name, _FROM)]
    line = f"from {module} import {', '.join(names)}\n"
    if len(line) > _WIDTH:
        line = f"from {module} import (\n" + "".join(f"    {name},\n" for name in names) + ")\n"
    return line if names else ""


def _uses(text: str, name: str, imports: re.Pattern[str]) -> bool:
    code = re.sub(r'"""[\s\S]*?"""|#.*|/\*[\s\S]*?\*/', " ", imports.sub("", text))
    return re.search(rf"\b{re.escape(name)}\b", code) is not None


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
    # The last state is that of the sample projects, so each change is undone from there: a later edit of a sample
    # cannot leave an older state behind.
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
        # Compiled files differ by interpreter, and the texts are part of the set's cache key.
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
        # An edit that matches twice would undo something else, and give the history another diff than its description.
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
