from __future__ import annotations

from collections import Counter, defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caretbench.suites.devbench.build.cell_languages import cell_languages, domains
from caretbench.suites.devbench.build.construction.scenario_grid import (
    cells,
    fitting_bands,
    fitting_boundaries,
    scenario,
    sibling_scenario,
)
from caretbench.suites.devbench.built_instances import Scenario
from caretbench.suites.devbench.cells.cell_tables import cell_categories


def test_seven_languages_times_six_categories_are_42_cells() -> None:
    assert len(list(cells())) == 42
    assert list(cells(["go"], ["api_usage", "low_context"])) == [("go", "api_usage"), ("go", "low_context")]


@given(st.sampled_from(list(cells())), st.integers(1, 500), st.integers(0, 2**31))
def test_the_same_seed_gives_the_same_scenario_with_known_values(cell: tuple[str, str], number: int, seed: int) -> None:
    one = scenario(*cell, number, seed)
    assert one == scenario(*cell, number, seed)
    category = cell_categories()[cell[1]]
    assert one.kind in category.kinds
    assert one.band in category.bands
    table = cell_languages()[cell[0]]
    plain = one.kind == "code_only_prefix"
    assert one.language_construct in (["none"] if plain else table.constructs[cell[1]])
    assert one.documentation in (["none"] if plain else table.documentation_styles)
    assert one.domain in domains().domains
    assert len(set(one.names)) >= 2
    assert Scenario.model_validate_json(one.model_dump_json()) == one


@given(st.sampled_from(list(cells())), st.integers(0, 2**31))
def test_each_value_of_an_axis_occurs_before_one_occurs_again(cell: tuple[str, str], seed: int) -> None:
    kinds = cell_categories()[cell[1]].kinds
    drawn = [scenario(*cell, number, seed) for number in range(1, 2 * len(kinds) + 1)]
    assert Counter(one.kind for one in drawn) == dict.fromkeys(kinds, 2)
    many = [scenario(*cell, number, seed).domain for number in range(1, len(domains().domains) + 1)]
    assert len(set(many)) == len(many)


@given(st.sampled_from(list(cells())), st.integers(1, 300), st.integers(0, 2**31))
def test_the_parts_of_a_scenario_do_not_contradict_each_other(cell: tuple[str, str], number: int, seed: int) -> None:
    one, category = scenario(*cell, number, seed), cell_categories()[cell[1]]
    rules = {**category.rules, **category.kinds[one.kind].rules}
    if rules["reference_lines"][0] > 1 or rules.get("documentation_words", (0, 0))[0] or "statement_lines" in rules:
        assert one.boundary in {"new_line", "declaration", "line"}
    assert one.mode == "suffix" or one.boundary != "call"
    assert one.mode == "suffix" or one.kind not in {"nl_forms", "documentation_styles"}  # there is code to describe
    low, high = category.bands[one.band]
    assert low <= 20 * rules["reference_lines"][1]
    assert high >= 2 * rules["reference_lines"][0]


@pytest.mark.parametrize("language", cell_languages())
def test_the_construct_of_documentation_and_of_code_fits_the_kind(language: str) -> None:
    drawn = [scenario(language, "code2nl_nl2code", number, 11) for number in range(1, 101)]
    by_kind: dict[str, set[str]] = defaultdict(set)
    for one in drawn:
        by_kind[one.kind].add(one.language_construct)
    assert all(len(by_kind[kind]) == 2 for kind in ("nl_only_prefix", "mixed_prefix", "documentation_styles"))
    assert all(one.startswith("code from") for kind in ("nl_only_prefix", "mixed_prefix") for one in by_kind[kind])
    assert by_kind["code_only_prefix"] == {"none"}
    assert len(by_kind["nl_forms"]) == 3
    assert not any(one.startswith("code") for one in by_kind["nl_forms"] | by_kind["documentation_styles"])
    formal = {one.documentation for one in drawn if one.kind == "documentation_styles"}
    assert formal < {*cell_languages()[language].documentation_styles}
    assert not any(word in one for one in formal for word in ("line comments", "block", "usage"))


def test_the_kind_decides_about_boundaries_and_bands() -> None:
    assert set(fitting_boundaries("low_context", "block", "suffix")) == {"new_line", "declaration", "line"}
    assert set(fitting_boundaries("low_context", "expression", "no_suffix")) == {
        "new_line", "declaration", "line", "operator", "word",
    }  # fmt: skip
    assert "call" in fitting_boundaries("low_context", "expression", "suffix")
    assert fitting_bands("low_context", "expression") == ("low", "medium")  # one line has no 45 tokens
    assert fitting_bands("code_purpose", "step") == ("low", "medium")  # two lines have no 60
    assert fitting_bands("api_usage", "call") == ("low", "medium")
    assert fitting_bands("api_usage", "chain") == ("low", "medium", "high")
    assert fitting_bands("low_context", "block") == ("low", "medium", "high")
    for name, category in cell_categories().items():
        for kind in category.kinds:
            assert len(fitting_bands(name, kind)) >= 2
            assert len(fitting_boundaries(name, kind, "no_suffix")) >= 3


@given(st.sampled_from(list(cells())), st.integers(0, 2**31))
def test_the_bands_modes_and_boundaries_of_a_kind_are_balanced(cell: tuple[str, str], seed: int) -> None:
    kinds = cell_categories()[cell[1]].kinds
    drawn = [scenario(*cell, number, seed) for number in range(1, 12 * len(kinds) + 1)]
    for kind in kinds:
        own = [one for one in drawn if one.kind == kind]
        bands = fitting_bands(cell[1], kind)
        assert Counter(one.band for one in own) == dict.fromkeys(bands, len(own) // len(bands))
        modes = Counter(one.mode for one in own)
        assert modes["no_suffix"] in {0, 3}


def test_another_seed_gives_other_scenarios() -> None:
    first = [scenario("go", "api_usage", number, 1) for number in range(1, 40)]
    other = [scenario("go", "api_usage", number, 2) for number in range(1, 40)]
    assert sum(one.domain == two.domain for one, two in zip(first, other, strict=True)) < 10
    assert all(one.names != two.names for one, two in zip(first, other, strict=True))


def test_cells_of_a_language_do_not_share_the_domains_of_one_number() -> None:
    for number in range(1, 30):
        drawn = {scenario("java", category, number, 3).domain for category in cell_categories()}
        assert len(drawn) >= 5


def test_a_sibling_has_the_shape_and_another_domain() -> None:
    original = scenario("python", "code_purpose", 4, 9)
    sibling = sibling_scenario(original, "python/code_purpose/a")
    same = ("language", "category", "kind", "band", "mode", "boundary", "language_construct", "documentation", "seed")
    assert all(getattr(original, name) == getattr(sibling, name) for name in same)
    assert sibling.domain != original.domain
    assert sibling.names != original.names
    assert sibling.sibling_of == "python/code_purpose/a"
    assert sibling.id != original.id
