"""Scopes of files: classes and functions with their spans, and those that are test code.

What a prompt shows of a project is chosen by these alone; references and blocks (:mod:`caretbench.syntax.analysis`) are
for building.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property

from caretbench.errors import UsageError
from caretbench.languages import get_language
from caretbench.languages.table_reader import LanguageTable, read_table
from caretbench.syntax.analysis_types import NAMED_FUNCTION_SCOPES, Scope, Span, SpanIndex
from caretbench.syntax.names.file_symbols import FileSymbols
from caretbench.syntax.names.symbols import NameScope
from caretbench.syntax.source import SourceFile, parse_file


class TestConventions(LanguageTable):
    """Patterns of test files, classes, functions and calls of one language."""

    # pytest takes every class called Test… for one of its own.
    __test__ = False

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
        UsageError: the table has no such language, or its folder no conventions.
    """
    name = get_language(language).name
    conventions = read_table(name, "tests", TestConventions)
    if conventions is None:
        raise UsageError(f"{name}: its folder has no conventions of tests")
    return conventions


test_conventions.__test__ = False  # type: ignore[attr-defined]


def is_test_path(path: str, language: str) -> bool:
    """Return whether the path is that of a test file."""
    return any(pattern.search(path) for pattern in test_conventions(language).paths)


def fits_a_pattern(patterns: tuple[re.Pattern[str], ...], name: str) -> bool:
    """Return whether one of the patterns fits a whole name."""
    return any(pattern.fullmatch(name) for pattern in patterns)


def is_test_scope(names: NameScope, source: SourceFile) -> bool:
    """Return whether a class or function is test code by its name, its bases or its decorators."""
    conventions = test_conventions(source.language)
    if names.kind in {"class", "interface"} and (
        fits_a_pattern(conventions.classes, names.name)
        or any(fits_a_pattern(conventions.bases, base) for base in names.bases)
    ):
        return True
    is_function = names.kind in {"function", "method"}
    if is_function and fits_a_pattern(conventions.functions, names.name):
        return True
    if not conventions.headers or not (is_function or names.kind in conventions.header_kinds):
        return False
    line = source.line_at(names.start)
    # 400 bytes hold the attributes and modifiers of a declaration; a whole body need not be searched.
    header = [source.data[names.start : names.start + 400].decode("utf-8", "replace")]
    # Decorators and attributes stand above a function, where the grammar may give them to another node.
    while line > 1:
        line -= 1
        text = source.text(source.lines_of(line, line)).strip()
        if not text.startswith(conventions.header_marks):
            break
        header.append(text)
    return any(pattern.search(line) for pattern in conventions.headers for line in header)


def scopes_of(file: FileSymbols) -> tuple[Scope, ...]:
    """Return the scopes of a file, the file's own first."""
    source = file.source
    is_test = is_test_path(source.path, source.language)
    return tuple(
        Scope(
            names.kind,
            names.name,
            Span(names.start, names.end),
            is_test if names.kind == "file" else is_test_scope(names, source),
        )
        for names in file.scopes
    )


@dataclass(eq=False)
class FileScopes:
    """Scopes of one file, in text order."""

    source: SourceFile
    scopes: tuple[Scope, ...]

    @property
    def named_functions(self) -> tuple[Scope, ...]:
        """Functions and methods, without lambdas."""
        return tuple(scope for scope in self.scopes if scope.kind in NAMED_FUNCTION_SCOPES)

    @cached_property
    def _scope_nesting(self) -> SpanIndex:
        return SpanIndex([scope.span for scope in self.scopes])

    def enclosing_scopes(self, span: tuple[int, int]) -> tuple[Scope, ...]:
        """Return the scopes that contain a span, the file's own first."""
        return tuple(self.scopes[index] for index in self._scope_nesting.enclosing(*span))[::-1]


@dataclass(frozen=True, eq=False)
class ProjectScopes:
    """Scopes of the files of a project, by path."""

    files: Mapping[str, FileScopes]

    def __getitem__(self, path: str) -> FileScopes:
        return self.files[path]


def read_scopes(sources: Iterable[SourceFile]) -> ProjectScopes:
    """Return the scopes of files. A file that does not parse has those that its parser could read."""
    symbols = (FileSymbols(source, parse_file(source).root_node) for source in sources)
    return ProjectScopes({file.source.path: FileScopes(file.source, scopes_of(file)) for file in symbols})
