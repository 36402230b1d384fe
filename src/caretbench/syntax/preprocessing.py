"""Parsing of files with preprocessor directives: directives that confuse the grammar are replaced by blanks.

Positions do not change, so the tree of the masked text is also valid for the file.
"""

from __future__ import annotations

import re
from typing import Final

import tree_sitter

from caretbench.languages import language
from caretbench.syntax.parser import error_count, parse
from caretbench.syntax.source import SourceFile

_DIRECTIVE: Final = re.compile(rb"^[ \t]*#[ \t]*(\w+)[^\r\n]*(?:\\\r?\n[^\r\n]*)*", re.MULTILINE)
_CONDITIONS: Final = frozenset({b"if", b"ifdef", b"ifndef"})
_OTHER: Final = frozenset({b"else", b"elif", b"elifdef", b"elifndef"})
# `class EXPORT_MACRO Name {`: the grammar takes the macro for the name.
_EXPORT: Final = re.compile(
    rb"\b((?:class|struct)\s+)([A-Z][A-Z0-9_]{2,}(?:\([^()]*\))?)(?=\s+[A-Za-z_]\w*\s*(?:final\s*)?[:{;<])"
)


def _blank(text: bytes) -> bytes:
    return re.sub(rb"[^\r\n]", b" ", text)


def mask_preprocessor(data: bytes) -> bytes:
    """Return the text with conditional directives, their later branches, and export macros replaced by blanks."""
    parts: list[bytes] = []
    hidden: list[bool] = []  # per open condition: True once its first branch has ended
    position = 0
    for found in _DIRECTIVE.finditer(data):
        text = data[position : found.start()]
        parts.append(_blank(text) if any(hidden) else text)
        word = found[1]
        if word in _CONDITIONS:
            hidden.append(False)
        elif word in _OTHER and hidden:
            hidden[-1] = True
        elif word == b"endif" and hidden:
            hidden.pop()
        is_condition = word in _CONDITIONS or word in _OTHER or word == b"endif"
        parts.append(_blank(found[0]) if is_condition or any(hidden) else found[0])
        position = found.end()
    rest = data[position:]
    parts.append(_blank(rest) if any(hidden) else rest)
    return _EXPORT.sub(lambda found: found[1] + _blank(found[2]), b"".join(parts))


def parse_file(source: SourceFile) -> tree_sitter.Tree:
    """Return the tree of a file, or of its masked text if that has fewer parse errors."""
    tree = parse(source.data, source.grammar)
    if not language(source.language).preprocessed or (not tree.root_node.has_error and not _EXPORT.search(source.data)):
        return tree
    other = parse(mask_preprocessor(source.data), source.grammar)
    return other if error_count(other) < error_count(tree) or _EXPORT.search(source.data) else tree
