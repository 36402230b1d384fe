"""Every folder of a language loads, has what its programs need, and holds no file that nothing reads."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import pytest
from pydantic import ValidationError

from caretbench.execution.scan.tamper import TamperTable
from caretbench.execution.toolchain_tables import ToolchainTable, toolchain_tables
from caretbench.languages import Language, language, languages, node_kinds, parsed_only_languages
from caretbench.languages.table_reader import LanguageTable, language_file, language_folders, read_table
from caretbench.metrics.error_kinds.outcome_kinds import ErrorTable
from caretbench.projects.language_tables import ProjectTable, language_commands, project_tables
from caretbench.prompts.templating import WorkedExample
from caretbench.suites.c3bench.scale.parsing.statement_table import StatementTable
from caretbench.syntax.names.scoping_rules import ScopingRules
from caretbench.syntax.testing import TestConventions
from caretbench.validation.mutation_tables import MutationTable

TABLES: dict[str, type[LanguageTable]] = {
    "language": Language,
    "toolchain": ToolchainTable,
    "tamper": TamperTable,
    "mutations": MutationTable,
    "tests": TestConventions,
    "traits": ScopingRules,
    "projects": ProjectTable,
    "example": WorkedExample,
    "errors": ErrorTable,
    "statements": StatementTable,
}
NEEDED = {
    "run": ("language", "toolchain", "tamper", "mutations", "tests", "example", "errors"),
    "parsed only": ("language",),
}


def files(folder: str) -> list[Path]:
    return sorted(Path(str(resources.files("caretbench.languages"))).joinpath(folder).iterdir())


@pytest.mark.parametrize("folder", language_folders())
def test_every_table_of_a_folder_loads(folder: str) -> None:
    for path in files(folder):
        if path.suffix == ".toml":
            assert read_table(folder, path.stem, TABLES[path.stem]) is not None, path
        else:
            assert path.suffix == ".scm" or path.name in {"harness", "examples"}, path


@pytest.mark.parametrize("folder", language_folders())
def test_a_folder_has_what_its_language_needs(folder: str) -> None:
    kind = "parsed only" if folder in parsed_only_languages() else "run"
    assert {*NEEDED[kind]} <= {path.stem for path in files(folder)}


def test_languages_have_an_order_and_names_of_their_own() -> None:
    everything = [*languages().values(), *parsed_only_languages().values()]
    assert len({entry.order for entry in everything}) == len(everything) == len(language_folders())
    names = [name for entry in languages().values() for name in {entry.name, *entry.aliases}]
    assert sorted(names) == sorted(set(names))
    suffixes = [suffix for entry in everything for suffix in (entry.suffix, *entry.more_suffixes)]
    assert sorted(suffixes) == sorted(set(suffixes))


def test_ranks_of_projects_differ() -> None:
    ranks = [table.rank for table in project_tables().values()]
    assert sorted(set(ranks)) == ranks


def test_commands_of_a_folder_are_those_of_its_language() -> None:
    rows = [*language_commands(fallback=False), *language_commands(fallback=True)]
    assert all(row.languages and set(row.languages) <= set(project_tables()) for row in rows)


def test_programs_of_every_language_are_run() -> None:
    assert list(toolchain_tables()) == list(languages())


def test_a_table_goes_on_from_another_one() -> None:
    script, typed = (read_table(name, "mutations", MutationTable) for name in ("javascript", "typescript"))
    assert script is not None
    assert typed is not None
    assert typed.throw == script.throw
    assert (script.wrong_value, typed.wrong_value) == ("undefined", "undefined as any")
    marks = [project_tables()[name].instrumentation for name in ("javascript", "typescript")]
    assert marks[0].call == marks[1].call
    assert marks[0].definition != marks[1].definition


def test_what_is_not_there_is_none() -> None:
    assert language_file("cobol", "language.toml") is None
    assert read_table("go", "projects", ProjectTable) is None
    assert node_kinds("no such role") == frozenset()


def test_a_table_with_an_unknown_word_is_refused() -> None:
    with pytest.raises(ValidationError, match="grammer"):
        Language.model_validate({**language("go").model_dump(), "grammer": "tree_sitter_go"})
