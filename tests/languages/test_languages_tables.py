"""Every folder of a language loads, has what its programs need, and holds no file that nothing reads."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from pathlib import Path

import pytest
from pydantic import ValidationError

from caretbench.build.projects.language_tables import ProjectTable, language_commands, project_tables
from caretbench.build.validation.mutation_target import MutationTable
from caretbench.execution.scan.tamper import TamperTable
from caretbench.execution.toolchain_tables import ToolchainTable, toolchain_tables
from caretbench.languages import Language, get_language, languages
from caretbench.languages.node_kinds import NodeKinds, folder_node_kinds, node_kinds
from caretbench.languages.table_reader import LanguageTable, language_file, language_folders, read_table
from caretbench.metrics.error_kinds.outcome_kinds import ErrorTable
from caretbench.prompts.templating import WorkedExample
from caretbench.suites.c3bench.scale.statements import StatementTable
from caretbench.syntax.names.file_symbols import ScopingRules
from caretbench.syntax.parser import grammar as tree_sitter_language
from caretbench.syntax.scopes import TestConventions

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
    "nodes": NodeKinds,
}
NEEDED = {"language", "nodes", "toolchain", "tamper", "mutations", "tests", "example", "errors"}


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
    assert {path.stem for path in files(folder)} >= NEEDED


def test_languages_have_an_order_and_names_of_their_own() -> None:
    everything = list(languages().values())
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
    assert read_table("go", "versions", ProjectTable) is None
    assert folder_node_kinds("cobol") == NodeKinds()


def _grammar_kinds(name: str) -> tuple[set[str], set[str]]:
    """Return the kinds of nodes and of tokens of a language's grammars."""
    one = languages()[name]
    nodes, tokens = set(), set()
    for grammar in (name, *one.dialects):
        found = tree_sitter_language(grammar)
        for number in range(found.node_kind_count):
            (nodes if found.node_kind_is_named(number) else tokens).add(found.node_kind_for_id(number))
    return nodes, tokens


@pytest.mark.parametrize("name", languages())
def test_node_kinds_are_those_of_the_grammar(name: str) -> None:
    nodes, tokens = _grammar_kinds(name)
    found = folder_node_kinds(name)
    stated = {kind: role for role, kinds in found if not isinstance(kinds, Mapping) for kind in kinds}
    stated |= dict.fromkeys((*found.member_fields, *found.keyed, *found.literal_kinds), "table")
    # An unfinished statement is only a word in the tree, so the kinds of errors count words, too.
    words = found.decision_tokens | found.jump_words | found.jumps | found.block_lists
    words |= frozenset().union(*found.block_kinds.values())
    assert {kind: role for kind, role in stated.items() if kind not in nodes | words} == {}
    assert words <= nodes | tokens
    assert found.functions
    assert found.loops
    assert found.decisions


def test_node_kinds_of_all_languages_are_the_union() -> None:
    """A kind of one language is in the set of all; what two languages mean by one word is told apart by language."""
    for name in languages():
        assert node_kinds(name).functions <= node_kinds().functions
        assert node_kinds(name).literals["string"] <= node_kinds().literals["string"]
    assert node_kinds("tsx") == node_kinds("typescript")
    assert "module" in node_kinds("ruby").types - node_kinds("python").types
    assert node_kinds().literal_kinds["null_literal"] == "null"


def test_a_table_with_an_unknown_word_is_refused() -> None:
    with pytest.raises(ValidationError, match="grammer"):
        Language.model_validate({**get_language("go").model_dump(), "grammer": "tree_sitter_go"})


def test_derived_kinds_hold_what_they_are_made_of() -> None:
    for name in ("python", "java", "go"):
        kinds = node_kinds(name)
        assert kinds.branches | kinds.while_loops == kinds.tests
        assert kinds.tests | kinds.do_loops | kinds.for_loops <= kinds.conditioned
        assert kinds.conditioned - kinds.tests <= kinds.do_loops | kinds.for_loops | kinds.condition_clauses | (
            kinds.assertions
        )
        assert kinds.expression_statements <= kinds.discarding
    assert "while_statement" in node_kinds("java").conditioned
    assert "do_statement" in node_kinds("java").conditioned - node_kinds("java").tests
