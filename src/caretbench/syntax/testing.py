"""Detection of test code by naming conventions (``tests.toml`` in a language's folder)."""

from __future__ import annotations

import re
from functools import cache

from caretbench.languages import language as language_named
from caretbench.languages.table_reader import LanguageTable, read_table
from caretbench.syntax.analysis_types import Block, Span
from caretbench.syntax.names.symbols import NameScope
from caretbench.syntax.source import SourceFile


class TestConventions(LanguageTable):
    """Patterns of test files, classes, functions and calls of one language."""

    __test__ = False  # pytest takes every class called Test… for one of its own

    paths: tuple[re.Pattern[str], ...]
    functions: tuple[re.Pattern[str], ...]
    classes: tuple[re.Pattern[str], ...]
    bases: tuple[re.Pattern[str], ...]
    headers: tuple[re.Pattern[str], ...]
    calls: tuple[re.Pattern[str], ...]
    header_kinds: tuple[str, ...] = ("class",)
    """Kinds of scopes that have header lines, in addition to functions."""
    header_marks: tuple[str, ...] = ("@", "[")
    """Prefixes of header lines above a declaration."""


@cache
def test_conventions(language: str) -> TestConventions:
    """Return the conventions of a language, by name or alias.

    Raises:
        KeyError: the table has no such language, or its folder no conventions.
    """
    name = language_named(language).name
    found = read_table(name, "tests", TestConventions)
    if found is None:
        raise KeyError(name)
    return found


test_conventions.__test__ = False  # type: ignore[attr-defined]


def is_test_path(path: str, language: str) -> bool:
    """Return whether the path is that of a test file."""
    return any(pattern.search(path) for pattern in test_conventions(language).paths)


def _whole(patterns: tuple[re.Pattern[str], ...], name: str) -> bool:
    return any(pattern.fullmatch(name) for pattern in patterns)


def is_test_scope(names: NameScope, source: SourceFile) -> bool:
    """Return whether a class or function is test code by its name, its bases or its decorators."""
    conventions = test_conventions(source.language)
    if names.kind in {"class", "interface"} and (
        _whole(conventions.classes, names.name) or any(_whole(conventions.bases, base) for base in names.bases)
    ):
        return True
    is_function = names.kind in {"function", "method"}
    if is_function and _whole(conventions.functions, names.name):
        return True
    if not conventions.headers or not (is_function or names.kind in conventions.header_kinds):
        return False
    line = source.line_at(names.start)
    header = [source.data[names.start : names.start + 400].decode("utf-8", "replace")]
    while line > 1:  # decorators are above a function
        line -= 1
        text = source.text(source.lines_of(line, line)).strip()
        if not text.startswith(conventions.header_marks):
            break
        header.append(text)
    return any(pattern.search(part) for pattern in conventions.headers for part in header)


def test_calls(source: SourceFile, blocks: tuple[Block, ...]) -> list[Span]:
    """Return the calls whose arguments are tests (``describe(…)``, ``it(…)``)."""
    patterns = test_conventions(source.language).calls
    if not patterns:
        return []
    found = []
    for block in blocks:
        if block.kind == "call_expression":
            name = source.data[block.span.start : block.span.start + 80].partition(b"(")[0].decode("utf-8", "replace")
            if _whole(patterns, name.strip()):
                found.append(block.span)
    return found


test_calls.__test__ = False  # type: ignore[attr-defined]
