"""Numbers of the paper's tables as rows of the suite's tables."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from caretbench.problem import Problem
from caretbench.suites.efcb.efcb_score import PUBLISHED_FORMULA
from caretbench.suites.efcb.problem_metadata import TASKS
from caretbench.suites.efcb.suite import Efcb
from caretbench.suites.efcb.tables.result_tables import (
    ALL,
    order_repositories,
    printed_counts,
    printed_models,
    printed_notes,
    printed_numbers,
    printed_rows,
    printed_score_rows,
    result_tables,
)
from tests.support.released_efcb import NAMES, repository_rows, write_release

SUITE = Efcb()


def test_all_printed_numbers_are_there() -> None:
    assert printed_models() == ("Llama-3.3-70B", "o4-mini")
    names = ["mastodon", "indigo", "cloudflared", "duckdb", "tailscale", "chroma"]
    assert order_repositories(sorted(names)) == names
    assert len(printed_numbers()) == 2 * (5 * 7 + 1)
    assert sum(printed_counts()[task, ALL] for task in TASKS) == 5512
    assert printed_numbers()["o4-mini", "gmcq-easy", "tailscale"] == "0.824"
    first = printed_rows("reverse-qa", ["duckdb", "elsewhere"])[0]
    assert first == ("Llama-3.3-70B (printed, whole release)", "3.97\nn = 215", "-", "3.74\nn = 1161")


def test_printed_averages_give_the_printed_score() -> None:
    for model, mean, *cells, score, corrected in printed_score_rows():
        assert (mean, corrected) == ("macro", "-")
        settings = [f"{task}={value}" for task, value in zip(TASKS, cells, strict=True)]
        assert PUBLISHED_FORMULA.apply(settings) == pytest.approx(float(score), abs=6e-4), model


def test_repositories_have_the_papers_order_and_others_follow() -> None:
    assert order_repositories(["chroma", "a", "mastodon", "b"]) == ["mastodon", "chroma", "a", "b"]


def test_a_part_of_the_data_is_called_not_comparable() -> None:
    whole = [(task, printed_counts()[task, ALL]) for task in TASKS]
    assert len(printed_notes(whole)) == 1
    assert printed_notes([*whole, ("mpr-gen", 5)])[-1].startswith("Not comparable")


@pytest.mark.parametrize("profile", ["paper", "default"])
def test_tables_of_released_problems_have_printed_rows_and_a_score(tmp_path: Path, profile: str) -> None:
    root = write_release(tmp_path, tailscale=repository_rows(NAMES[:4]), moor=repository_rows(NAMES[4:]))
    problems: dict[str, Problem] = {problem.id: problem for problem in SUITE.load(str(root)).problems}
    rows = [
        {
            "problem_id": problem.id, "model": "m", "parameters": "p" * 16, "profile": profile, "sample": 0,
            "cluster": problem.cluster, "passed": problem.reference == "A" if problem.shown.choices else None,
            "judged": None if problem.shown.choices else 0.5,
        }
        for problem in problems.values()
    ]  # fmt: skip
    tables = {table.name: table for table in result_tables(pl.DataFrame(rows, infer_schema_length=None), problems, 0)}
    score = {row[0]: row for row in tables["efcb-score"].rows}
    ours = dict(zip(tables["efcb-score"].columns, tables["efcb-score"].rows[0], strict=True))
    assert float(ours["EFCB score"].split("\n")[0]) == pytest.approx((0.25 + 0.25 + 0.05 + 0.05 + 0.5) / 5, abs=6e-4)
    assert score["Llama-3.3-70B (printed, whole release)"][-2] == "0.482"
    easy = tables["efcb-gmcq-easy"]
    assert easy.columns == ("Model", "tailscale", "moor", "Average")
    assert easy.rows[0][:3] == ("m", "0.250\nn = 4", "0.250\nn = 4")
    assert easy.rows[-1] == ("o4-mini (printed, whole release)", "0.824\nn = 187", "-", "0.892\nn = 1161")
    assert easy.notes[-1].startswith("Not comparable")
