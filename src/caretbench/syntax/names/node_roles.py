"""Roles of syntax nodes (``roles.scm``), and the imports of a file (``imports.scm``).

A capture ``is.X`` is the kind of a node (a scope, a branch, a loop, …), ``as.X`` its role in the parent node (a
target, a body, a callee, …), ``mark.X`` a property. The analysis depends on these roles and on no grammar.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import tree_sitter

from caretbench.syntax.names.symbols import ImportTarget
from caretbench.syntax.parser import captures, matches, text_of
from caretbench.syntax.source import SourceFile

# In the order of precedence: where two patterns name one node, the later word wins.
PARENT_ROLES: Final = (
    "value", "condition", "body", "elif", "else", "handler", "finally", "subject", "init", "update",
    "object", "member", "import",
    "target.write", "target.update", "target.local", "target.hoisted", "target.loop", "target.loop_write",
    "target.comprehension", "target.parameter", "target.field", "target.type", "target.delete",
    "declare.function", "declare.method", "declare.class", "declare.interface", "declare.namespace",
    "target.object", "ignore",
)  # fmt: skip

NODE_MARKS: Final = frozenset(
    {"outer", "type", "constructed", "called", "deferred", "default", "falls", "post", "base", "owner", "property"}
)


class NodeRoles:
    """Roles of the nodes of one tree, by node id."""

    __slots__ = ("marks", "roles", "structure")

    def __init__(self, root: tree_sitter.Node, language: str) -> None:
        captured = captures(root, language, "roles")
        self.structure: dict[int, str] = {}
        self.roles: dict[int, str] = {}
        self.marks: dict[str, set[int]] = {mark: set() for mark in NODE_MARKS}
        for name in sorted(captured, key=_precedence):
            family, _, word = name.partition(".")
            nodes = captured[name]
            if family == "is":
                self.structure.update((node.id, word) for node in nodes)
            elif family == "as":
                self.roles.update((node.id, word) for node in nodes)
            else:
                self.marks[word].update(node.id for node in nodes)


def _precedence(capture: str) -> int:
    family, _, word = capture.partition(".")
    return PARENT_ROLES.index(word) if family == "as" else 0


class FileImports(NamedTuple):
    """Imports of a file: target by node of the bound name, wildcard modules, and the file's own package."""

    bound: dict[int, ImportTarget]
    wildcards: list[str]
    package: str


def file_imports(root: tree_sitter.Node, source: SourceFile) -> FileImports:
    """Return the imports of a file.

    The query ``imports.scm`` captures ``@name`` (the bound name), ``@module``, ``@symbol`` (of the module) and
    ``@wildcard``; or the file's own ``@package``. ``@dotted`` is an import that binds the first part of a module name.
    """
    bound: dict[int, ImportTarget] = {}
    wildcards: list[str] = []
    package = ""
    for match in matches(root, source.grammar, "imports"):
        if "package" in match:
            package = text_of(match["package"][0])
            continue
        module = text_of(match["module"][0]).strip("\"'`<>").replace("\\", "/")
        if "name" not in match:
            wildcards.append(module)
            continue
        symbol = text_of(match["symbol"][0]) if "symbol" in match else None
        if "dotted" in match:
            module = module.partition(".")[0]
        bound[match["name"][-1].id] = ImportTarget(module, symbol)
    return FileImports(bound, wildcards, package)
