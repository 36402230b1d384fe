"""Project tables: how sources of a language are marked, and how projects in it are tested."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Literal

from caretbench.languages import languages
from caretbench.languages.tables import LanguageTable, read_table


class InstrumentationTable(LanguageTable):
    """How marks are left in a language.

    ``call`` is a statement, in which ``@file`` and ``@n`` become numbers. ``definition`` is one line, or several where
    it stands at the head: ``@size`` becomes the number of statements, ``@place`` the path of the file that holds marks.
    ``at`` is the place of the definition: the head or the foot of the file, or before its first statement. ``unmarked``
    are nodes before which nothing may stand, or which are not executed where they stand; ``not_behind``
    are nodes that belong to the one behind them. ``text_first``: texts at the
    head of a block are documentation or directives, and stay there. ``constant``: a pattern of the header of functions
    that a compiler may compute, in which nothing may have an effect.
    """

    call: str
    definition: str
    definition_position: Literal["head", "foot", "first"]
    excluded_nodes: frozenset[str] = frozenset()
    attached_nodes: frozenset[str] = frozenset()
    leading_strings: bool = False
    constant_header: str | None = None


class TestCommand(LanguageTable):
    """One command that tests a project; its fields are explained in ``projects/setup/commands.toml``."""

    __test__ = False  # not a test itself

    name: str
    languages: tuple[str, ...] = ()
    """By default the one of the folder."""
    fallback: bool = False
    """It is tried after the commands of all languages."""
    required_files: tuple[str, ...] = ()
    any_file: tuple[str, ...] = ()
    required_text: Mapping[str, str] = {}
    any_text: Mapping[str, str] = {}
    absent_files: tuple[str, ...] = ()
    package_script: bool = False
    make_target: str | None = None
    required_tools: tuple[str, ...] = ()
    python_module: str | None = None
    """A Python module that the command needs from a bundle or the project's setup."""
    command: str
    prepare: str | None = None
    prepare_files: tuple[str, ...] = ("*",)
    environment: Mapping[str, str] = {}
    bundle: str | None = None
    junit: tuple[str, ...] = ()
    minimum_tests: int = 0
    hints: Mapping[str, str] = {}
    """By the kind of a fault: what to do where the project's tests do not pass. ``*`` stands for all others."""


class MiningTable(LanguageTable):
    """What makes no task in a language.

    ``stub`` matches whole bodies that only give or take a value, ``imports`` the beginning of statements that bring in
    what others wrote. ``fields_are_global``: there are no variables outside of classes.
    """

    stub_body: re.Pattern[str]
    import_statement: re.Pattern[str]
    fields_are_global: bool = False


class ProjectTable(LanguageTable):
    """Projects in one language: ``projects.toml`` in its folder."""

    rank: int
    """Position among languages with equally many files."""
    mining: MiningTable
    instrumentation: InstrumentationTable
    commands: tuple[TestCommand, ...] = ()


@cache
def project_tables() -> Mapping[str, ProjectTable]:
    """Return the tables of the languages whose projects are mined, by name, in the order of their ranks."""
    read = {name: read_table(name, "projects", ProjectTable) for name in languages()}
    found = {name: table for name, table in read.items() if table is not None}
    return dict(sorted(found.items(), key=lambda entry: entry[1].rank))


def instrumentation_table(language: str) -> InstrumentationTable | None:
    """Return how sources of a language are marked; None where they are not."""
    table = project_tables().get(language)
    return table.instrumentation if table is not None else None


def language_commands(*, fallback: bool) -> tuple[TestCommand, ...]:
    """Return the commands of all languages, in the order in which they are tried: the last ones, or all others."""
    tables = project_tables()
    return tuple(
        row.model_copy(update={"languages": row.languages or (name,)})
        for name in languages()
        if name in tables
        for row in tables[name].commands
        if row.fallback is fallback
    )
