from __future__ import annotations

from pathlib import Path

import pytest
import tree_sitter

from caretbench.files import DataError
from caretbench.languages import languages
from caretbench.suites.devbench.build.cell_languages import CellLanguage, cell_languages
from caretbench.suites.devbench.build.instance_rules.rule_measures import RULE_MEASURES
from caretbench.suites.devbench.cells.cell_tables import CellCategory, cell_categories, read_cell_table, rules
from caretbench.syntax.parser import grammar

CATEGORY = """
order = 1
title = "T"
released = "t"
tests = "whether"
instructions = []
[rules]
{rule}
[bands]
low = [1, 9]
[kinds.one]
about = "one"
"""


def test_six_categories_and_seven_languages_have_a_table() -> None:
    assert list(cell_categories()) == [
        "api_usage", "code_purpose", "code2nl_nl2code", "low_context", "pattern_matching", "syntax_completion",
    ]  # fmt: skip
    assert list(cell_languages()) == [name for name in languages() if name in cell_languages()]
    assert len(cell_languages()) == 7
    assert len(cell_categories()["code2nl_nl2code"].kinds) == 5  # paper, section 2.2
    assert len(cell_categories()["syntax_completion"].kinds) == 4
    assert cell_categories()["low_context"].rules["shown_lines"] == (10, 20)
    assert cell_categories()["pattern_matching"].rules["pattern_examples"] == (2, 3)


def test_each_rule_has_a_measure_and_a_sentence() -> None:
    assert rules().keys() == RULE_MEASURES.keys()
    for rule in rules().values():
        assert "2 to 7" in rule.sentence((2, 7))


def test_features_and_control_structures_are_node_kinds_of_the_language() -> None:
    for name, table in cell_languages().items():
        found: tree_sitter.Language = grammar(name)
        kinds = {found.node_kind_for_id(number) for number in range(found.node_kind_count)}
        named = {*table.features, *table.control, *table.control_parts}
        assert named - kinds == set(), name
        assert not table.control & table.control_parts, name


@pytest.mark.parametrize(
    ("rule", "complaint"),
    [
        ("shown_lines = [20, 10]", "not in order"),
        ("shown_lines = 10", "rules.shown_lines"),
        ("shown_lines = []", "rules.shown_lines"),
        ("shown_pages = [1, 2]", "unknown rule 'shown_pages'"),
        ("[kinds.two]\nabout = 'two'\nbands = ['highest']", "kinds.two: unknown band 'highest'; known: low"),
    ],
)
def test_a_rule_without_bounds_is_refused_with_its_file(tmp_path: Path, rule: str, complaint: str) -> None:
    file = tmp_path / "odd.toml"
    file.write_text(CATEGORY.format(rule=rule))
    with pytest.raises(DataError, match=r"odd\.toml.*") as caught:
        read_cell_table(file, CellCategory)
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_language_needs_constructs_for_each_category(tmp_path: Path) -> None:
    file = tmp_path / "odd.toml"
    file.write_text(
        'documentation_styles = ["a"]\nassertions = "b"\nhandlers = ["("]\ncontrol = ["c"]\n'
        'features = ["c"]\n[constructs]\n'
    )
    with pytest.raises(DataError, match="no regular expression"):
        read_cell_table(file, CellLanguage)
    file.write_text(file.read_text().replace('"("', '"x"'))
    with pytest.raises(DataError, match="of api_usage"):
        read_cell_table(file, CellLanguage)
