"""Languages, one folder each: names, suffixes, comment marks and grammar are in its ``language.toml``.

The folder also contains queries (``*.scm``), other tables (:mod:`caretbench.languages.table_reader`), the files of the
harness and small programs. To add a language, add a folder: ``docs/how-to/adding-a-language.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from caretbench.errors import UsageError, did_you_mean
from caretbench.languages.table_reader import LanguageTable, language_folders, read_table


class Dialect(LanguageTable):
    """Dialect with its own grammar; it uses the queries of the language."""

    function: str
    suffixes: tuple[str, ...]


class Language(LanguageTable):
    """Properties of one language; other files refer to it by ``name``."""

    name: str = ""
    """Name of the folder."""
    order: int
    """Position in lists."""
    title: str
    suffix: str
    more_suffixes: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    fence: str
    own_source: str = ""
    """Regular expression of the names by which a program finds its own text; empty: none."""
    line_comment: str
    block_comment: tuple[str, ...]
    grammar: str
    grammar_function: str = "language"
    dialects: Mapping[str, Dialect] = {}
    plain_documentation: bool = False
    """True if any comment directly before a declaration documents it."""
    unused_imports_fail: bool = False
    indented: bool = False
    """True if blocks are marked by indentation after a colon."""
    block_end: str = ""
    """Word that ends a block, where no bracket does."""
    block_clauses: tuple[str, ...] = ()
    """Words that end a block and begin the next of the same construct, where no bracket does."""
    has_macros: bool = False
    """True if ``#define`` replaces names by text."""
    preprocessed: bool = False
    """True if a preprocessor can split constructs of the grammar."""
    strings_and_comments: tuple[str, ...] = ()
    """Regular expressions of text in which brackets do not count."""
    keywords: frozenset[str] = frozenset()
    """Words that are no identifiers; none where no suite needs them."""
    literal_types: Mapping[str, str] = {}
    """The type of a variable without a written one, by the kind of its literal."""


@cache
def languages() -> Mapping[str, Language]:
    """Return all languages by name, in their order."""
    read = {folder: read_table(folder, "language", Language) for folder in language_folders()}
    entries = [entry.model_copy(update={"name": folder}) for folder, entry in read.items() if entry is not None]
    return {entry.name: entry for entry in sorted(entries, key=lambda entry: entry.order)}


@cache
def _names() -> Mapping[str, str]:
    return {name: entry.name for entry in languages().values() for name in (entry.name, *entry.aliases)}


def get_language(name: str) -> Language:
    """Return the language with this name or alias, whatever its case.

    Raises:
        UsageError: no such language; the message lists the known ones.
    """
    try:
        return languages()[_names()[name.strip().lower()]]
    except KeyError:
        raise UsageError(
            f"unknown language {name!r}{did_you_mean(name, _names())}; known: {', '.join(languages())}"
        ) from None


def language_of_grammar(name: str) -> Language:
    """Return the language of a grammar, by the name or an alias of the language, or by a dialect (``tsx``).

    Raises:
        UsageError: no language has this grammar.
    """
    return next((entry for entry in languages().values() if name in entry.dialects), None) or get_language(name)
