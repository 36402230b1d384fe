"""The whole build: the same bytes whatever the order of the changes, and what rotations add."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caretbench.build import load_builder
from caretbench.build.sources.git_mining import MiningPeriod, newest_changes
from caretbench.files import DataError
from caretbench.problem import ChoiceCheck, Problem, Question
from caretbench.suites.efcb.build.build_folder import EfcbFolder
from caretbench.suites.efcb.build.changes import EfcbOptions
from caretbench.suites.efcb.build.problem_building import BuiltProblems, build_problems, task_and_tier
from caretbench.suites.efcb.problem_metadata import seeded_random
from caretbench.suites.efcb.suite import Efcb
from caretbench.suites.efcb.tables.result_tables import data_tables
from tests.support.efcb_changes import build_tasks, changes, records

SUITE = Efcb()


def written(built: BuiltProblems) -> list[str]:
    """All that a folder holds of a build but its manifest."""
    rows = (*built.problems, *built.rejected, *built.leaks)
    return [row.model_dump_json() for row in rows]


@pytest.mark.long
@settings(deadline=None, max_examples=2)
@given(st.integers(0, 50), st.sampled_from(["default", "paper"]))
def test_the_order_of_the_changes_is_irrelevant(shuffle: int, profile: str) -> None:
    pulls = [*changes(7), *changes(5, "other/one", seed=1)]
    options = EfcbOptions.model_validate({"profile": profile})
    mixed = seeded_random(shuffle, "order", profile).sample(pulls, len(pulls))
    assert written(build_problems(mixed, options)) == written(build_problems(pulls, options))


@pytest.mark.long
def test_rotations_add_orders_and_change_nothing_else() -> None:
    once, often = (build_problems(changes(7), EfcbOptions(rotations=count)) for count in (1, 4))
    first = [problem for problem in often.problems if problem.labels.get("rotation", 0.0) == 0.0]
    assert [*once.problems] == first
    assert once.rejected == often.rejected
    orders: dict[str, list[Problem]] = {}
    for problem in often.problems:
        if any(isinstance(check, ChoiceCheck) for check in problem.checks):
            orders.setdefault(f"{task_and_tier(problem)} {problem.cluster}", []).append(problem)
    assert orders
    for turned in orders.values():
        assert Counter(problem.reference for problem in turned) == Counter("ABCD")
        right = set()
        for problem in turned:
            assert isinstance(problem.shown, Question)
            right.add(problem.shown.choices["ABCD".index(problem.reference)])
        assert len(right) == 1


def test_a_task_alone_is_the_same_as_among_others(tmp_path: Path) -> None:
    whole = EfcbFolder(build_tasks(tmp_path)).read_problems()
    (alone,) = (build_problems(records(16), EfcbOptions(), [task]).problems for task in ("reverse-qa",))
    assert [*alone] == [problem for problem in whole if problem.label("task") == "reverse-qa"]


def test_repositories_and_questions_are_counted_by_hand(tmp_path: Path) -> None:
    problems = EfcbFolder(build_tasks(tmp_path)).read_problems()
    turned = build_problems(changes(7), EfcbOptions(rotations=4), ["gmcq-easy", "reverse-qa"]).problems
    repositories, questions, *_leaks = load_builder("efcb").data_tables(str(tmp_path))
    assert (repositories, questions) == (*data_tables(problems),)
    by_name = {row[1]: dict(zip(repositories.columns, row, strict=True)) for row in repositories.rows}
    assert by_name["name"]["Organization"] == "owner"
    assert by_name["name"]["Primary Language"] == "Go"
    assert by_name["one"]["Licence"] == "MIT"
    assert by_name["name"]["Merged"] == "2026-01-01 to 2026-01-16"
    told = {row[0]: row for row in questions.rows}
    assert told["Reverse-QA"] == ("Reverse-QA", "8", "16", "24", "24")
    assert told["Total"][-1] == str(len(problems))
    _, often = data_tables(turned)
    assert ("GMCQ-Easy random", "4", "4", "16") in often.rows
    assert (*data_tables([]),) == ()


def test_a_folder_that_has_no_problems_says_why(tmp_path: Path) -> None:
    folder = EfcbFolder(tmp_path)
    with pytest.raises(DataError, match="run the same `caretbench build efcb` command again"):
        folder.read_problems()
    with pytest.raises(DataError, match="manifest"):
        folder.read_manifest()
    folder.manifest_path.write_text(json.dumps({"profile": "other"}))
    with pytest.raises(DataError, match="profile"):
        folder.read_manifest()


def test_the_newest_of_each_repository_within_a_time() -> None:
    pulls = [*changes(6), *changes(4, "other/one")]
    mixed = seeded_random(0, "order", "newest").sample(pulls, len(pulls))
    assert [pull.merged_at[8:10] for pull in newest_changes(mixed, MiningPeriod(limit=2))] == ["04", "03", "06", "05"]
    inside = newest_changes(mixed, MiningPeriod("2026-01-02", "2026-01-04T00:00:00Z"))
    assert [(pull.repo, pull.merged_at[8:10]) for pull in inside] == [
        ("other/one", "03"), ("other/one", "02"), ("owner/name", "03"), ("owner/name", "02"),
    ]  # fmt: skip
    with pytest.raises(DataError, match="no date"):
        newest_changes(mixed, MiningPeriod("last week"))
