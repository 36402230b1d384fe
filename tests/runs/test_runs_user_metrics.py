"""Metrics of users: found by place or entry point, measured on stored answers, refused in one line."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import caretbench
from caretbench.errors import DataError
from caretbench.plugins import PluginError
from caretbench.runs.user_metrics import user_metric
from tests.support.make_problem import make_problem

SELECT = "id=python/low_context/refresh-stale-token|python/code_purpose/checkout-hold"
SOURCE = "def half(answer, problem):\n    return 0.5 if answer else 0\n"


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module in the working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "ours", raising=False)
    path = tmp_path / "ours.py"
    path.write_text(SOURCE)
    return path


def scored(*metrics: str, suite: str = "devbench", profile: str = "default", **fields: object) -> caretbench.RunConfig:
    suites = [{"name": suite, "metrics": metrics, "profile": profile, **(fields or {"select": SELECT})}]
    settings = {"suites": suites, "baselines": ["reference", "empty"], "execute": False, "output": "run"}
    return caretbench.RunConfig.model_validate(settings)


def rows(folder: Path) -> list[tuple[str, str, float]]:
    found = [json.loads(line) for line in (folder / "scores.jsonl").read_text().splitlines()]
    return [
        (row["model"], row["scorer"].rpartition("@")[2], value)
        for row in found
        for name, value in row["values"].items()
        if name == "metric:ours:half"
    ]


@pytest.mark.parametrize("profile", ["default", "paper"])
def test_a_report_has_the_mean_of_a_users_metric(plugin: Path, profile: str) -> None:
    folder = caretbench.score(scored("ours:half", profile=profile), [])
    summary = caretbench.report(folder.path)
    means = {column.title: column.overall.similarity["metric:ours:half_mean"].value for column in summary.columns}
    assert means == {"reference": 0.5, "empty": 0.0}
    assert summary.columns[0].similarity_titles["metric:ours:half_mean"] == "Half, mean of n"


def test_a_suite_with_tables_of_its_own_shows_it_too(plugin: Path) -> None:
    folder = caretbench.score(scored("ours:half", suite="c3bench", limit=2), [])
    summary = caretbench.report(folder.path)
    titles = ["Accepted prefix, mean of n", "Half, mean of n"]
    assert [[*column.similarity_titles.values()] for column in summary.columns] == [titles] * 2


def test_it_measures_stored_answers_once_and_again_when_the_file_changes(plugin: Path) -> None:
    folder = caretbench.score(scored(), []).path
    assert rows(folder) == []
    caretbench.score(scored("ours:half"), [])
    first = rows(folder)
    assert len(first) == 4
    caretbench.score(scored("ours:half"), [])
    assert rows(folder) == first
    plugin.write_text(SOURCE.replace("0.5", "0.25"))
    del sys.modules["ours"]
    caretbench.score(scored("ours:half"), [])
    changed = rows(folder)
    assert sorted(value for _, _, value in changed) == [0, 0, 0.25, 0.25]
    assert not {version for _, version, _ in changed} & {version for _, version, _ in first}


def test_a_missing_answer_scores_nothing(plugin: Path) -> None:
    plugin.write_text("def half(answer, problem):\n    return len(answer) > 0\nhalf.version = 3\n")
    metric = user_metric("ours:half")
    assert metric.measure(make_problem(), None) == ("metric:ours:half@3", {"metric:ours:half": 0.0}, {})
    assert metric.measure(make_problem(), "a").values == {"metric:ours:half": 1.0}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return 1.5", "returned 1.5 for .*; expected a number from 0 to 1"),
        ("return float('nan')", "returned nan"),
        ("return 'near'", "returned 'near'"),
        ("return 1 / 0", "failed on an answer to .*: ZeroDivisionError"),
    ],
)
def test_a_wrong_value_names_the_metric_and_the_problem(plugin: Path, body: str, message: str) -> None:
    plugin.write_text(f"def half(answer, problem):\n    {body}\n")
    with pytest.raises(PluginError, match=rf"ours:half \(module ours\): {message}"):
        user_metric("ours:half").measure(make_problem(), "a")


def test_what_is_no_metric_is_refused(plugin: Path) -> None:
    plugin.write_text("half = 3\nclass Whole: ...\n")
    for name in ("half", "Whole"):
        with pytest.raises(PluginError, match=r"\(answer, problem\)"):
            user_metric(f"ours:{name}")
    with pytest.raises(DataError, match=r"metric 'half'; .*module:object"):
        user_metric("half")
