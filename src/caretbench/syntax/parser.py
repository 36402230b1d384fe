"""Parsing with tree-sitter. Grammars are loaded on first use, with one parser per language and thread.

A tree's positions count bytes of the UTF-8 text; :class:`Offsets` turns them into positions of the ``str``.
"""

from __future__ import annotations

import bisect
import threading
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib import import_module

import tree_sitter

from caretbench.languages import language as language_named
from caretbench.languages import language_of_grammar, languages
from caretbench.syntax.comment_runs import without_long_comment_runs

_local = threading.local()
_loading = threading.Lock()


def encode(text: str) -> bytes:
    """Return the UTF-8 bytes of a text, in which tree positions count; lone surrogates are kept."""
    return text.encode("utf-8", "surrogatepass")


def text_of(node: tree_sitter.Node) -> str:
    """Return the text of a node."""
    return (node.text or b"").decode("utf-8", "surrogatepass")


@cache
def dialects() -> Mapping[str, str]:
    """Return the language of every dialect that has its own grammar, by name of the dialect."""
    return {dialect: name for name, entry in languages().items() for dialect in entry.dialects}


@cache
def _load(name: str) -> tree_sitter.Language:
    entry = language_of_grammar(name)
    dialect = entry.dialects.get(name)
    function = dialect.function if dialect is not None else entry.grammar_function
    return tree_sitter.Language(getattr(import_module(entry.grammar), function)())


def grammar_name(language: str) -> str:
    """Return the name of a grammar: that of a language (by name or alias), or of a dialect (``tsx``).

    Raises:
        KeyError: the table has no such language.
    """
    name = language.strip().lower()
    return name if name in dialects() else language_named(name).name


def grammar(language: str) -> tree_sitter.Language:
    """Return the grammar of a language, by name or alias.

    Raises:
        KeyError: the table has no such language.
    """
    name = grammar_name(language)
    with _loading:
        return _load(name)


def _parser(language: str) -> tree_sitter.Parser:
    parsers: dict[str, tree_sitter.Parser] = _local.__dict__.setdefault("parsers", {})
    parser = parsers.get(language)
    if parser is None:
        parser = parsers[language] = tree_sitter.Parser(grammar(language))
    return parser


def parse(text: str | bytes, language: str, *, old: tree_sitter.Tree | None = None) -> tree_sitter.Tree:
    """Return the syntax tree of ``text``; parts that do not fit the grammar become error nodes.

    Callers share it: who edits a tree edits a copy. ``old`` is the edited tree of an earlier version of the text, to
    parse incrementally. In Python, the inner lines of long runs of comments are no comments of the tree
    (:mod:`caretbench.syntax.comment_runs`).

    Raises:
        KeyError: the table has no such language.
    """
    data = encode(text) if isinstance(text, str) else text
    if old is None:
        return _parsed(data, language)
    return _parser(language).parse(_without_long_comment_runs(data, language), old)


@lru_cache(maxsize=32)  # the cut, the syntax and the error kinds of an answer parse one text: 2,730 of 4,541 parses
def _parsed(data: bytes, language: str) -> tree_sitter.Tree:
    return _parser(language).parse(_without_long_comment_runs(data, language))


def _without_long_comment_runs(data: bytes, language: str) -> bytes:
    return without_long_comment_runs(data) if grammar_name(language) == "python" else data


def has_error(tree: tree_sitter.Tree) -> bool:
    """Return whether some part of the text does not fit the grammar."""
    return tree.root_node.has_error


def error_count(tree: tree_sitter.Tree) -> int:
    """Return the number of error nodes and of missing tokens that the parser inserted."""
    if not tree.root_node.has_error:
        return 0
    count = 0
    open_nodes = [tree.root_node]
    while open_nodes:
        node = open_nodes.pop()
        count += node.is_error or node.is_missing
        open_nodes.extend(child for child in node.children if child.has_error)
    return count


class CharacterOffsets:
    """Conversion of byte positions of a text to character positions."""

    def __init__(self, text: str) -> None:
        self._ascii = text.isascii()
        self._starts: list[int] = []
        if not self._ascii:
            position = 0
            for character in text:
                self._starts.append(position)
                position += len(encode(character))
            self._starts.append(position)

    def characters(self, position: int) -> int:
        """Return the index of the character that contains byte ``position``."""
        return position if self._ascii else bisect.bisect_right(self._starts, position) - 1
