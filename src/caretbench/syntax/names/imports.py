"""What a file imports: which nodes bind a name to a module or to something of a module."""

from __future__ import annotations

from typing import NamedTuple

import tree_sitter

from caretbench.syntax.names.symbols import ImportTarget
from caretbench.syntax.parser import text_of
from caretbench.syntax.queries import matches
from caretbench.syntax.source import SourceFile


class Imports(NamedTuple):
    """The nodes whose names imports bind, with what to; modules imported whole; the file's own package."""

    bound: dict[int, ImportTarget]
    wildcards: list[str]
    package: str


def _module(node: tree_sitter.Node) -> str:
    return text_of(node).strip("\"'`<>").replace("\\", "/")


def bound_names(root: tree_sitter.Node, source: SourceFile) -> Imports:
    """What the imports of a file bind.

    The query ``imports.scm`` captures ``@name`` (what is bound), ``@module``, ``@symbol`` (of the module) and
    ``@wildcard``; or the file's own ``@package``.
    ``@dotted`` marks an import that binds the first part of the module's name.
    """
    bound: dict[int, ImportTarget] = {}
    wildcards: list[str] = []
    package = ""
    for match in matches(root, source.grammar, "imports"):
        if "package" in match:
            package = text_of(match["package"][0])
            continue
        module = _module(match["module"][0])
        if "name" not in match:
            wildcards.append(module)
            continue
        symbol = text_of(match["symbol"][0]) if "symbol" in match else None
        if "dotted" in match:
            module = module.partition(".")[0]
        bound[match["name"][-1].id] = ImportTarget(module, symbol)
    return Imports(bound, wildcards, package)
