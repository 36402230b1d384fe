"""Variables of an answer that nothing outside of it can name, and other names for them."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Final

import tree_sitter

from caretbench.syntax.parser import captures, text_of
from caretbench.syntax.uses.identifiers import naming_style

_OUTER_NAMES: Final = re.compile(
    r"function|method|class|interface|enum|struct|constructor|record|field|property|module|namespace|type|attribute"
    r"|package|parameter|label|macro|preproc|object_pattern"
)
"""Parts of the names of nodes that declare what other code may use by name."""

_SHARED: Final = re.compile(r"import|export|global|nonlocal|decorator|using")
"""Parts of the names of statements that share a name with other scopes or files."""

_WORD: Final = re.compile(r"[A-Za-z_]\w*")

_DECLARATION_DEPTH: Final = 2
"""Number of nodes around a name that are part of its declaration."""


class LocalNames:
    """Names of the variables that an answer declares.

    The outermost function around the answer is searched for each name. Without such a function the whole program is,
    and only the variables of functions in the answer count: others may be imported.

    Args:
        root: Syntax tree of the program.
        language: Its language.
        data: Its bytes.
        span: Bytes of the answer.
    """

    def __init__(self, root: tree_sitter.Node, language: str, data: bytes, span: tuple[int, int]) -> None:
        self._start, self._end = span
        nodes = captures(root, language, "identifiers")
        self._functions = {node.id for node in nodes.get("function", [])}
        self._declared = {one.id for node in nodes.get("declared", []) for one in _declared_names(node)}
        self._positions = {node.id for word in ("member", "key", "type", "called") for node in nodes.get(word, [])}
        around = [
            node for node in nodes.get("function", []) if node.start_byte < self._start and self._end <= node.end_byte
        ]
        self._is_in_function = bool(around)
        self._scope = min(around, key=lambda node: node.start_byte, default=root)
        self._uses: Mapping[str, list[tree_sitter.Node]] = defaultdict(list)
        for node in nodes.get("identifier", []):
            if self._scope.start_byte <= node.start_byte and node.end_byte <= self._scope.end_byte:
                self._uses[text_of(node)].append(node)
        text = data[self._scope.start_byte : self._scope.end_byte].decode("utf-8", "replace")
        self._words = Counter(_WORD.findall(text))
        self._known = set(_WORD.findall(data.decode("utf-8", "replace")))

    def edits(self) -> list[tuple[int, int, str]]:
        """Return the replacements of all uses of these variables: start, end and the new name."""
        ordered = sorted(self._uses.items(), key=lambda pair: pair[1][0].start_byte)
        return [
            (node.start_byte, node.end_byte, new)
            for name, uses in ordered
            if self._has_style_of_variables(name) and self._is_local(name, uses)
            for new in [self._new_name(name)]
            for node in uses
        ]

    @staticmethod
    def _has_style_of_variables(name: str) -> bool:
        return naming_style(name) in {"lower", "_"} and name != "_"

    def _is_local(self, name: str, uses: Sequence[tree_sitter.Node]) -> bool:
        """Return whether every mention of a name in the scope is a use in the answer of a variable that it declares."""
        if self._words[name] != len(uses):
            return False
        if any(node.start_byte < self._start or node.end_byte > self._end for node in uses):
            return False
        if any(node.id in self._positions or _is_shared(node) for node in uses):
            return False
        declarations = [node for node in uses if node.id in self._declared]
        return bool(declarations) and all(self._is_variable(node) for node in declarations)

    def _is_variable(self, node: tree_sitter.Node) -> bool:
        """Return whether a declared name is a variable's, which no code outside the scope can name."""
        if node.type.startswith("shorthand"):
            return False
        around = list(_ancestors(node, self._scope))
        if any(_OUTER_NAMES.search(one.type) for one in around[:_DECLARATION_DEPTH]):
            return False
        if any("class" in one.type for one in around):
            return False
        return self._is_in_function or any(one.id in self._functions for one in around)

    def _new_name(self, name: str) -> str:
        """Return a name that does not occur in the program, and take it."""
        prefix = "_" if name.startswith("_") else ""
        new = next(found for number in count(1) if (found := f"{prefix}name{number}") not in self._known)
        self._known.add(new)
        return new


def _ancestors(node: tree_sitter.Node, scope: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    """Yield the nodes around a node, within the scope."""
    parent = node.parent
    while parent is not None and parent.id != scope.id:
        yield parent
        parent = parent.parent


def _declared_names(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    """Yield a declared node, and the names of a pattern."""
    yield node
    if "pattern" in node.type:
        yield from node.named_children


def _is_shared(node: tree_sitter.Node) -> bool:
    parent = node.parent
    for _ in range(_DECLARATION_DEPTH):
        if parent is not None:
            if _SHARED.search(parent.type):
                return True
            parent = parent.parent
    return False
