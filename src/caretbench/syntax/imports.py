"""What a file imports: which nodes bind a name to a module or to something of a module."""

from __future__ import annotations

import tree_sitter

from caretbench.syntax.queries import matches
from caretbench.syntax.source import SourceFile
from caretbench.syntax.symbols import ImportTarget


def _text(node: tree_sitter.Node) -> str:
    return (node.text or b"").decode("utf-8", "surrogatepass")


def _module(node: tree_sitter.Node) -> str:
    return _text(node).strip("\"'`<>").replace("\\", "/")


def bound_names(root: tree_sitter.Node, source: SourceFile) -> tuple[dict[int, ImportTarget], list[str]]:
    """The nodes whose names imports bind, with what to; and the modules imported without names.

    The query ``imports.scm`` captures ``@name`` (what is bound), ``@module``, ``@symbol`` (of the module) and
    ``@wildcard``; ``@dotted`` marks an import that binds the first part of the module's name.
    """
    bound: dict[int, ImportTarget] = {}
    wildcards: list[str] = []
    for match in matches(root, source.language, "imports"):
        module = _module(match["module"][0]) if "module" in match else ""
        if "name" not in match:
            wildcards.append(module)
            continue
        symbol = _text(match["symbol"][0]) if "symbol" in match else None
        if "dotted" in match:
            module = module.partition(".")[0]
        bound[match["name"][-1].id] = ImportTarget(module, symbol)
    return bound, wildcards
