"""Limits of a set, and how costs that are not known are said."""

import json
from pathlib import Path

import pytest

from caretbench.people.releases.datasheet import Datasheet
from caretbench.people.releases.datasheet_page import limits
from caretbench.people.releases.release import ReleaseOptions, release_set
from tests.support.built_sets import read_jsonl, write_jsonl, write_programs, write_set


@pytest.fixture(scope="module")
def sheet(tmp_path_factory: pytest.TempPathFactory) -> Datasheet:
    root = tmp_path_factory.mktemp("limits")
    return release_set(write_set(root / "mine"), root / "out", ReleaseOptions()).public


def with_families(sheet: Datasheet, *families: str | None) -> Datasheet:
    one = next(iter(sheet.generation.generators.values()))
    found = {f"model-{number}": one.model_copy(update={"family": name}) for number, name in enumerate(families)}
    return sheet.model_copy(update={"generation": sheet.generation.model_copy(update={"generators": found})})


@pytest.mark.parametrize(
    ("families", "is_said"),
    [(("gpt",), True), (("gpt", "gpt"), True), (("gpt", "claude"), False), ((None, None), False), ((), False)],
)
def test_one_family_is_said_of_one_family_alone(sheet: Datasheet, families: tuple[str | None], is_said: bool) -> None:
    lines = [*limits(with_families(sheet, *families))]
    assert any(line.startswith("One family of models wrote all") for line in lines) is is_said


@pytest.mark.parametrize("number", [19, 20])
def test_cells_with_few_problems_are_counted(sheet: Datasheet, number: int) -> None:
    figures = sheet.figures.model_copy(update={"cells": {"a/b": number, "c/d": 50}})
    lines = [*limits(sheet.model_copy(update={"figures": figures}))]
    assert ("1 of 2 cells have fewer than 20 problems: their rates say little." in lines) is (number < 20)


@pytest.mark.parametrize("number", [0, 3])
def test_private_texts_are_a_limit(sheet: Datasheet, number: int) -> None:
    figures = sheet.figures.model_copy(update={"private_texts": number})
    said = [line for line in limits(sheet.model_copy(update={"figures": figures})) if "a person's name" in line]
    assert said == [f"{number} problems contain a text in the shape of a person's name or an address."] * (number > 0)


def test_the_hours_of_the_generation_are_unknown_without_a_manifest(tmp_path: Path) -> None:
    built = write_set(tmp_path / "mine")
    text = "hours of the generation on the clock: the manifest has none"
    assert text not in release_set(built, tmp_path / "with", ReleaseOptions()).public.unknown
    path = built / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"wall_hours": None}))
    assert text in release_set(built, tmp_path / "without", ReleaseOptions()).public.unknown


def test_an_unknown_cost_is_not_a_sum_of_the_known_ones(tmp_path: Path) -> None:
    """The manifest has the same: no number. One generator's cost is known here, the other's is not."""
    found = release_set(write_set(tmp_path / "mine"), tmp_path / "out", ReleaseOptions()).public
    assert (found.generation.cost, found.generation.unpriced) == (None, 1)
    costs = {name: one.cost for name, one in found.generation.generators.items()}
    assert sorted(cost is None for cost in costs.values()) == [False, True]
    assert "cost of the generation: 1 answers have no known price" in found.unknown
    page = (tmp_path / "out/datasheet.md").read_text("utf-8")
    assert "known price | 1 |" in page
    assert "| cost in US dollars |" not in page
    assert "0.0000" not in page


def test_known_costs_are_added(tmp_path: Path) -> None:
    built = write_set(tmp_path / "mine")
    rows = read_jsonl(built / "asked.jsonl")
    write_jsonl(built / "asked.jsonl", (row | {"cost": 0.25} for row in rows))
    found = release_set(built, tmp_path / "out", ReleaseOptions()).public
    assert (found.generation.cost, found.generation.unpriced) == (0.25 * len(rows), 0)
    assert not [line for line in found.unknown if "cost of the generation" in line]
    assert f"| cost in US dollars | {0.25 * len(rows):.4f} |" in (tmp_path / "out/datasheet.md").read_text("utf-8")


def test_a_cost_that_no_row_has_is_unknown(tmp_path: Path) -> None:
    built = write_programs(tmp_path / "mine")
    found = release_set(built, tmp_path / "out", ReleaseOptions(licence="MIT")).public
    assert found.generation.cost is None
    assert "cost of the generation" in found.unknown
