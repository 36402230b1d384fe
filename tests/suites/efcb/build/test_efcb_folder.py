"""Folders that a build writes: what is known of the repositories, and how a build without problems ends."""

from __future__ import annotations

from pathlib import Path

from caretbench.suites.efcb.build.build_folder import EfcbFolder
from caretbench.suites.efcb.build.build_report import build_result
from caretbench.suites.efcb.build.options import EfcbOptions
from caretbench.suites.efcb.build.problem_building import build_problems
from tests.support.efcb_changes import build_tasks, records


def test_facts_are_those_of_the_manifest_and_none_without_one(tmp_path: Path) -> None:
    assert EfcbFolder(tmp_path / "empty").repositories() == {}
    folder = EfcbFolder(build_tasks(tmp_path / "tasks", 4))
    assert folder.repositories() == {entry.repo: entry for entry in folder.read_manifest().repositories}


def test_a_build_without_problems_says_where_the_reasons_are(tmp_path: Path) -> None:
    pulls = records(4)
    built = build_problems(pulls, EfcbOptions())._replace(problems=(), leaks=())
    result = build_result(built.make_manifest(pulls, (), {}), built, tmp_path, 1.0, ())
    assert result.lines[-1].endswith("no task could be made of the accepted changes; see rejected.jsonl")
