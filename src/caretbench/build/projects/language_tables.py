"""Project tables of languages: instrumentation of sources, test commands, mining patterns."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Literal

from caretbench.languages import languages
from caretbench.languages.table_reader import LanguageTable, read_table
from caretbench.projects.project import StoredProject, place_fault
from caretbench.syntax.source import language_of


class InstrumentationTable(LanguageTable):
    """Instrumentation of a language's sources: a call before each statement records that it is executed.

    ``call`` is the inserted call; ``@file`` and ``@n`` are replaced by the numbers of file and statement.
    ``definition`` is the called function; ``@size`` is replaced by the number of statements, ``@place`` by the path of
    the log file. ``definition_position``: at the head or foot of the file, or before its first statement.
    ``excluded_nodes`` get no call; nor do nodes after one of ``attached_nodes``. ``leading_strings``: strings at the
    head of a block are docstrings or directives, and stay first. ``constant_header`` matches the header of functions
    evaluated at compile time, which get no calls. ``imports`` are those of the definition, behind the file's package.
    """

    call: str
    definition: str
    definition_position: Literal["head", "foot", "first"]
    excluded_nodes: frozenset[str] = frozenset()
    attached_nodes: frozenset[str] = frozenset()
    leading_strings: bool = False
    constant_header: str | None = None
    imports: str = ""


class TestCommand(LanguageTable):
    """One test command; ``build/projects/setup/commands.toml`` explains the fields."""

    __test__ = False  # not a test itself

    name: str
    languages: tuple[str, ...] = ()
    """Languages of the projects; by default the folder's language."""
    fallback: bool = False
    """Try this command after those of all languages."""
    required_files: tuple[str, ...] = ()
    any_file: tuple[str, ...] = ()
    required_text: Mapping[str, str] = {}
    any_text: Mapping[str, str] = {}
    absent_files: tuple[str, ...] = ()
    package_script: bool = False
    make_target: str | None = None
    java_tests: bool = False
    """The project has JUnit tests, in folders that match their packages."""
    required_tools: tuple[str, ...] = ()
    python_module: str | None = None
    """Python module that the command needs, from a bundle or the project's setup."""
    command: str
    prepare: str | None = None
    prepare_files: tuple[str, ...] = ("*",)
    environment: Mapping[str, str] = {}
    bundle: str | None = None
    junit: tuple[str, ...] = ()
    minimum_tests: int = 0
    hints: Mapping[str, str] = {}
    """Advice by kind of fault, if the project's own tests do not pass; ``*`` is for all other kinds."""


class MiningTable(LanguageTable):
    """Mining patterns of a language.

    ``stub_body`` matches bodies that only return or store a value; ``import_statement`` matches the beginning of an
    import. ``fields_are_global``: the language has no variables outside classes, so fields count as global variables.
    """

    stub_body: re.Pattern[str]
    import_statement: re.Pattern[str]
    fields_are_global: bool = False


class ProjectTable(LanguageTable):
    """The table ``projects.toml`` of a language."""

    rank: int
    """Position among languages with equally many files."""
    mining: MiningTable
    instrumentation: InstrumentationTable
    traced: bool = False
    """The lines of its files are traced by its interpreter; where that fails, they are instrumented as all others."""
    commands: tuple[TestCommand, ...] = ()


@cache
def project_tables() -> Mapping[str, ProjectTable]:
    """Return the tables of all languages that can be mined, by name, in the order of ranks."""
    read = {name: read_table(name, "projects", ProjectTable) for name in languages()}
    tables = {name: table for name, table in read.items() if table is not None}
    return dict(sorted(tables.items(), key=lambda entry: entry[1].rank))


def instrumentation_table(language: str) -> InstrumentationTable | None:
    """Return the instrumentation of a language; None if it has none."""
    table = project_tables().get(language)
    return table.instrumentation if table is not None else None


def is_traced(language: str) -> bool:
    """Return whether the lines of a language's files are traced by its interpreter."""
    table = project_tables().get(language)
    return table is not None and table.traced


def language_commands(*, fallback: bool) -> tuple[TestCommand, ...]:
    """Return the test commands of all languages in the order of trial: those with ``fallback``, or the others."""
    tables = project_tables()
    return tuple(
        row.model_copy(update={"languages": row.languages or (name,)})
        for name in languages()
        if name in tables
        for row in tables[name].commands
        if row.fallback is fallback
    )


def project_languages(project: StoredProject) -> tuple[str, ...]:
    """Return the languages of a project that can be mined, by falling number of files."""
    counts = dict.fromkeys(project_tables(), 0)
    for path in project.files:
        name = language_of(path)
        if name in counts and place_fault(path) is None:
            counts[name] += 1
    return tuple(name for name in sorted(counts, key=lambda name: -counts[name]) if counts[name])
