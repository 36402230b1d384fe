"""Units of a sample file: functions, classes, methods, constants, and sections of a script.

Names of units: ``Stock``, ``Stock.ship``, ``normal``; in Java, where a file is a class, ``parse`` or ``Slot``; a
section of a script by its heading, ``%% Vans``. Overloads of one name are one unit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Final, NamedTuple

import tree_sitter

from caretbench.errors import DataError
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
        yield SourceUnit(prefix + _text(name), node.start_point.row, _end(node))
        if inner.type == "class_definition" and (members := inner.child_by_field_name("body")):
            yield from _python_members(members, f"{prefix}{_text(name)}.")


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
            yield SourceUnit(_text(name), (comment or node).start_point.row, _end(node))
        comment = None


def _text(node: tree_sitter.Node) -> str:
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
