"""Imports of a program that nothing in it uses."""

from __future__ import annotations

import re
from collections.abc import Iterator

import tree_sitter

from caretbench.suites.devbench.build.instance_rules.program_view import ProgramView
from caretbench.suites.devbench.cells.cell_tables import cell_languages
from caretbench.syntax.parser import matches, text_of

_IMPORTING = re.compile(r"(?:_statement|_declaration|_directive|preproc_include)$")
_IMPORT_LINE = re.compile(r"^\s*(?:import|from|#\s*include|using|package|\"[\w./-]+\"$)|\brequire\(")
_ALWAYS_USED = frozenset({"_", "*", "__future__", "annotations"})


def mentions_library(view: ProgramView, library: str) -> bool:
    """Return whether the code up to the end of the reference, or an import, has the last name of a library.

    ``library`` is written as people do: ``bisect``, ``node:crypto``, ``std::ranges``, ``java.util.concurrent``.
    """
    names = [part for part in re.split(r"[^\w]+", library) if part]
    if not names:
        return False
    imports = "\n".join(line for line in view.prefix.split("\n") if _IMPORT_LINE.search(line))
    code = view.code[: view.end].decode("utf-8", "replace")
    return re.search(rf"\b{re.escape(names[-1])}\b", f"{imports}\n{code}") is not None


def unused_imports(view: ProgramView) -> list[str]:
    """Return the imported names, and the headers and packages of the language's table, that the program does not use.

    An import that binds no name and is not in the table counts as used.
    """
    return sorted(set(_unused_names(view)) | set(_unused_headers(view)))


def _unused_names(view: ProgramView) -> Iterator[str]:
    for name, place in _bound_names(view):
        statement = _statement(place)
        if name in _ALWAYS_USED or not name.isidentifier() or "__future__" in text_of(statement):
            continue
        used = any(
            one.name == name and not statement.start_byte <= one.start < statement.end_byte for one in view.names
        )
        if not used and not _in_other_text(view, name, statement):
            yield name


def _in_other_text(view: ProgramView, name: str, statement: tree_sitter.Node) -> bool:
    """Return whether the name occurs elsewhere, where the syntax tree shows no identifier: in a type, an annotation."""
    rest = view.code[: statement.start_byte] + view.code[statement.end_byte :]
    return re.search(rf"\b{re.escape(name)}\b".encode(), rest) is not None


def _bound_names(view: ProgramView) -> Iterator[tuple[str, tree_sitter.Node]]:
    """Yield the names that imports bind, with their nodes."""
    found = matches(view.tree.root_node, view.language, "imports")
    for match in found:
        if "name" in match and "package" not in match:
            yield text_of(match["name"][-1]), match["name"][-1]
    if found:
        return
    for one in view.declarations:
        if one.role == "import":
            node = view.tree.root_node.descendant_for_byte_range(one.start, one.start + 1)
            if node is not None:
                yield re.split(r"[/.]", one.name.strip("\"'`"))[-1], node


def _statement(node: tree_sitter.Node) -> tree_sitter.Node:
    """Return the statement of an import, which may stand in a function."""
    while node.parent is not None and not _IMPORTING.search(node.type):
        node = node.parent
    return node


def _unused_headers(view: ProgramView) -> Iterator[str]:
    table = cell_languages()[view.language].imports
    if not table:
        return
    for match in matches(view.tree.root_node, view.language, "imports"):
        if "module" not in match:
            continue
        node = match["module"][0]
        header = text_of(node).strip("\"'`<>")
        pattern = table.get(header)
        statement = _statement(node)
        rest = view.code[: statement.start_byte] + view.code[statement.end_byte :]
        if pattern is not None and re.search(pattern, rest.decode("utf-8", "surrogatepass")) is None:
            yield header
