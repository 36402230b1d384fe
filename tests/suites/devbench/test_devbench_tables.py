"""The released tables, digit by digit, from the recorded completions through the whole path."""

from __future__ import annotations

from pathlib import Path

import pytest

from caretbench.extraction.policies import get_policy
from caretbench.reports.frame import load_run
from caretbench.reports.run_summary import summarise
from caretbench.reports.sections.published import compare_with_published
from caretbench.runs.run_folder import DataInfo, Manifest, RunFolder
from caretbench.runs.score import ScoringStage
from caretbench.suites import load_suite


@pytest.mark.long
@pytest.mark.data
def test_tables_6_and_8_come_out_to_the_printed_digit(devbench_data: Path, tmp_path: Path) -> None:
    house = load_suite("devbench")
    loaded = house.load(str(devbench_data))
    folder = RunFolder(tmp_path)
    data = DataInfo(name=loaded.name, hash=loaded.hash, problems=1800, selected=1800)
    folder.write_manifest(Manifest(suite="devbench", data=data, policy="released@2", profile="paper", executed=False))
    scoring = ScoringStage(house, loaded.problems, folder, get_policy("released"), "paper", None)
    by_id = {problem.id: problem for problem in loaded.problems}
    scoring.add_completions(house.recorded_completions(devbench_data, by_id, []))
    scoring.run()
    run = load_run(folder.path, loaded.problems)
    rows = [
        row
        for row in compare_with_published(summarise(run))
        if row.published.table.startswith(("Table 6:", "Table 8:"))
    ]
    # Per model: six languages and six categories, two metrics each.
    assert len(rows) == 2 * 24
    assert [row for row in rows if not row.agrees] == []
