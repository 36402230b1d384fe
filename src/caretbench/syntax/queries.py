"""Tree-sitter queries: ``.scm`` files in the folders of :mod:`caretbench.languages`.

A file that begins with ``; inherits: FOLDER`` extends the file of the same name in that folder: that of another
language, or of ``ecmascript``, which JavaScript and TypeScript share.
"""

from __future__ import annotations

import threading
from functools import cache

import tree_sitter

from caretbench.languages import language as language_named
from caretbench.languages.table_reader import language_file
from caretbench.syntax.parser import grammar, grammar_name

Captures = dict[str, list[tree_sitter.Node]]

_INHERITS = "; inherits:"
_compiling = threading.Lock()


@cache
def _compiled(language: str, name: str) -> tree_sitter.Query | None:
    text = query_text(language_named(language).name, name)
    return tree_sitter.Query(grammar(language), text) if text is not None else None


def query_text(folder: str, name: str) -> str | None:
    """Return the text of a language's query file, inherited files included; None if there is no such file."""
    text = language_file(folder, f"{name}.scm")
    first = (text or "").partition("\n")[0]
    if not first.startswith(_INHERITS):
        return text
    return f"{query_text(first.removeprefix(_INHERITS).strip(), name) or ''}\n{text}"


def _query(language: str, name: str) -> tree_sitter.Query | None:
    with _compiling:
        return _compiled(grammar_name(language), name)


def captures(node: tree_sitter.Node, language: str, name: str) -> Captures:
    """Return the nodes under ``node`` by capture name; empty if the language has no query file of this name."""
    query = _query(language, name)
    return tree_sitter.QueryCursor(query).captures(node) if query else {}


def matches(node: tree_sitter.Node, language: str, name: str) -> list[Captures]:
    """Return one dictionary of captured nodes per match; empty if the language has no query file of this name."""
    query = _query(language, name)
    return [found for _, found in tree_sitter.QueryCursor(query).matches(node)] if query else []
