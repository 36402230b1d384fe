"""Results of builds without problems."""

from __future__ import annotations

from pathlib import Path

from caretbench.suites.efcb.build.build_report import build_result
from caretbench.suites.efcb.build.changes import EfcbOptions
from caretbench.suites.efcb.build.problem_building import build_problems
from tests.support.efcb_changes import records


def test_a_build_without_problems_says_where_the_reasons_are(tmp_path: Path) -> None:
    pulls = records(4)
    built = build_problems(pulls, EfcbOptions())._replace(problems=(), leaks=())
    result = build_result(built.make_manifest(pulls, (), {}), built, tmp_path, 1.0, ())
    assert result.lines[-1].endswith("no task could be made of the accepted changes; see rejected.jsonl")
