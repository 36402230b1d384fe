"""Facts of a middle that its prompt does not show, so that nobody could write it: names, texts and numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

import tree_sitter

from caretbench.languages.node_kinds import node_kinds
from caretbench.syntax.parser import encode, matches, parse, text_of, walk
from caretbench.syntax.uses.declarations import DeclarationIndex
from caretbench.syntax.uses.identifiers import identifiers

_WORD = re.compile(r"[^\W\d_]{2,}")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_MAJOR_VERSION = re.compile(r"[/.]v\d+$")
_COMPARISONS = frozenset({"<", "<=", ">", ">=", "==", "!=", "===", "!=="})
# Nothing, one, and the smallest plural follow from a description; 60 minutes and 100 cents are known to everybody, but
# they are factors.
_SMALL = frozenset({"0", "1", "2"})


def hidden_fact(prefix: str, middle: str, suffix: str, language: str) -> str:
    """Return a fact of a middle that the text around it does not show; empty if there is none.

    Of 60 problems that a reader was shown, he could not know six: methods that only the tests call, a text such as
    "nowhere", a threshold, and imports that nothing uses.
    """
    if not prefix.strip():
        return "nothing stands before it"
    root = parse(prefix + middle + suffix, language).root_node
    start = len(encode(prefix))
    end = start + len(encode(middle))
    shown = f"{prefix}\n{suffix}"
    facts = _literals(root, start, end, language, set(_WORD.findall(shown.lower())), set(_NUMBER.findall(shown)))
    return next(chain(_names(root, start, end, prefix + middle + suffix, language), facts), "")


def _names(root: tree_sitter.Node, start: int, end: int, text: str, language: str) -> Iterator[str]:
    """Yield the names that a middle declares for the text around it, and that nothing shown uses."""
    used = identifiers(text, language).names
    for declaration in DeclarationIndex(root, language).all:
        if (
            not start <= declaration.start < end
            or declaration.scope_start >= start
            or declaration.role in ("parameter", "field")
        ):
            continue
        own = (declaration.start, declaration.start + 1)
        if declaration.role in ("function", "typename"):
            own = _outermost(root, declaration.start, start)  # a function that calls itself is not used by that
        if not any(other.name == declaration.name and not own[0] <= other.start < own[1] for other in used):
            yield f"the name {declaration.name}"


def _outermost(root: tree_sitter.Node, position: int, start: int) -> tuple[int, int]:
    """Return the span of the outermost node at a position that begins in the middle."""
    node = root.descendant_for_byte_range(position, position)
    while node is not None and node.parent is not None and node.parent.start_byte >= start and node.parent != root:
        node = node.parent
    return (node.start_byte, node.end_byte) if node is not None else (position, position + 1)


def _literals(
    root: tree_sitter.Node, start: int, end: int, language: str, words: set[str], numbers: set[str]
) -> Iterator[str]:
    """Yield the words of texts, and the numbers that are compared, assigned or returned, that are not shown."""
    kinds = node_kinds(language)
    values = kinds.assignments | kinds.initialisers | kinds.returns
    for node in walk(root, start, end):
        kind = kinds.literal_kinds.get(node.type) if node.start_byte >= start else None
        if kind == "string":
            parts = [child for child in node.children if not child.child_count] or [node]
            text = " ".join(map(text_of, parts)).lower()
            yield from (f'"{word}"' for word in _WORD.findall(text) if word not in words)
        elif kind in ("int", "float") and text_of(node) not in numbers | _SMALL and _decides(node, values):
            yield text_of(node)


def _decides(number: tree_sitter.Node, values: frozenset[str]) -> bool:
    """Return whether a number is compared, or a value by itself."""
    parent = number.parent
    return parent is not None and (
        parent.type in values or any(child.type in _COMPARISONS for child in parent.children)
    )


def unused_import(prefix: str, middle: str, suffix: str, language: str) -> str:
    """Return an imported name that a program does not use; empty if there is none."""
    text = prefix + middle + suffix
    imports = matches(parse(text, language).root_node, language, "imports")
    bound = (text_of(match["name"][-1]) for match in imports if "name" in match)
    # A path of Go may end in the major version.
    names = [_MAJOR_VERSION.sub("", name).rpartition("/")[2] for name in bound]
    unused = (name for name in names if not re.search(rf"\b{re.escape(name)}\s*\.", text))
    return next((name for name in unused if name != "_"), "")
