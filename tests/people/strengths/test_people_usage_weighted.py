"""Pass@1 by usage: numbers worked out by hand, and the option of the command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from caretbench.errors import DataError
from caretbench.files import write_rows
from caretbench.people.strengths.usage_weighted import with_usage_table
from caretbench.problem import Completion, Score
from caretbench.reports.output.text_output import to_markdown
from caretbench.reports.run_summary import load_run_folder, summarise_run
from caretbench.runs.run_folder import DataInfo, Manifest, ModelInfo, RunFolder
from caretbench.suites.usage_weights import Weights
from tests.support.command_run import in_this_process as caretbench
from tests.support.report_runs import make_problem

PASSED = {("python", "api_usage"): (1, 1, 0, 0), ("python", "low_context"): (1, 1, 1, 1), ("java", "api_usage"): (0, 0)}
EVEN = {"block": {"if": 1}, "scenario": {"full_block": 1}, "cut": {"token": 1}}


def weights(**tables: dict[str, float]) -> Weights:
    return Weights.model_validate({"name": "mine", "source": "9 events", **EVEN, **tables})


def make_run(folder: Path) -> Path:
    """A run of ten problems in three cells."""
    files = RunFolder(folder)
    problems, completions, scores = [], [], []
    for (language, category), values in PASSED.items():
        for number, value in enumerate(values):
            problem = make_problem(language, category, number)
            problems.append(problem)
            completions.append(Completion(problem_id=problem.id, model="m", sample=0, text="x"))
            scores.append(
                Score(
                    problem_id=problem.id, model="m", sample=0, policy="syntax@4", profile="default",
                    scorer="execution@1", values={"passed": float(value)}, outcome="passed" if value else "failed",
                )
            )  # fmt: skip
    folder.mkdir(parents=True)
    data = DataInfo(name="d", hash="h", problems=len(problems), selected=len(problems))
    models = [ModelInfo(model="m", source="recorded")]
    files.write_manifest(Manifest(suite="devbench", data=data, models=models, policy="syntax@4", profile="default"))
    files.write_problems(problems)
    write_rows(files.completions_path, completions)
    write_rows(files.scores_path, scores)
    return folder


def by_usage(folder: Path, found: Weights) -> tuple[tuple[str, ...], str]:
    run = load_run_folder(folder)
    summary = with_usage_table(run, summarise_run(run), found)
    [table] = [one for one in summary.suite_tables if one.name == "usage_weights"]
    assert f"usage ({found.name})" in to_markdown(summary)
    [row] = table.rows
    return tuple(field.partition("\n")[0] for field in row), table.notes[0]


@pytest.mark.parametrize(
    ("tables", "value", "problems"),
    [
        ({"category": {"api_usage": 3, "low_context": 1}}, "50.0", 10),  # 3/4 of 2/6, 1/4 of 4/4
        ({"category": {"api_usage": 1}}, "33.3", 6),
        ({"language": {"python": 1, "java": 1}}, "37.5", 10),
        # python × api 1/2 · 1/2 of 2/4, python × low 1/4 of 1, java × api 1/4 of 0; java × low has no problem
        ({"language": {"python": 1, "java": 1}, "category": {"api_usage": 1, "low_context": 1}}, "50.0", 10),
        ({"language": {"py": 1, "java": 0}}, "75.0", 8),
    ],
)
def test_weighted_means(tmp_path: Path, tables: dict[str, dict[str, float]], value: str, problems: int) -> None:
    row, _ = by_usage(make_run(tmp_path / "run"), weights(**tables))
    assert row[:4] == ("m", value, "60.0", str(problems))


def test_notes_say_what_is_used_and_what_is_omitted(tmp_path: Path) -> None:
    _, note = by_usage(make_run(tmp_path / "run"), weights(category={"api_usage": 1, "syntax_completion": 3}))
    assert note.startswith("Weights mine: 9 events. Used: category;")
    assert note.endswith("Groups without problems are omitted: 75.0% of category (syntax_completion).")


def test_names_of_one_language_are_added(tmp_path: Path) -> None:
    """Python has twice the usage of Java; 6 of its 8 problems pass, and none of Java."""
    shares = {"py": 1, "python": 1, "java": 1, "cobol": 0.5, "fortran": 0.5}
    row, note = by_usage(make_run(tmp_path / "run"), weights(language=shares))
    assert row[1] == "50.0"
    assert note.endswith("Groups without problems are omitted: 25.0% of language (cobol, fortran).")


def test_a_table_that_no_problem_matches_is_named(tmp_path: Path) -> None:
    tables = {"category": {"api_usage": 1.0}, "language": {"typescriptreact": 1.0, "cobol": 3.0}}
    _, note = by_usage(make_run(tmp_path / "run"), weights(**tables))
    assert "Used: category;" in note
    assert note.endswith("Groups without problems are omitted: 100.0% of language (cobol, typescript).")


def test_weights_of_other_labels_are_an_error(tmp_path: Path) -> None:
    run = load_run_folder(make_run(tmp_path / "run"))
    for tables in ({}, {"category": {"none_of_them": 1.0}}):
        with pytest.raises(DataError, match=r": category, language"):
            with_usage_table(run, summarise_run(run), weights(**tables))


def test_the_option_of_the_command(tmp_path: Path) -> None:
    run = str(make_run(tmp_path / "run"))
    path = tmp_path / "weights.toml"
    path.write_text(
        'name = "mine"\nsource = "9 events"\n[block]\nif = 1\n[scenario]\nrag = 1\n[cut]\ntoken = 1\n'
        "[category]\napi_usage = 3\nlow_context = 1\n"
    )
    printed = caretbench("report", run, "--weights", str(path), "--format", "markdown", "--no-html")
    assert printed.returncode == 0, printed.stderr
    assert "usage (mine)" in printed.stdout
    tables = json.loads(caretbench("report", run, "--weights", str(path), "--json").stdout)["suite_tables"]
    assert [one["rows"][0][1].split("\n")[0] for one in tables if one["name"] == "usage_weights"] == ["50.0"]
    assert "Pass@1 by usage" in (tmp_path / "run/report.html").read_text()
    for words, expected in [(("usage",), "no problem of this run"), (("none.toml",), "no such file of weights")]:
        wrong = caretbench("report", run, "--weights", *words)
        assert wrong.returncode == 2
        assert expected in wrong.stderr
        assert len(wrong.stderr.strip().splitlines()) == 1
