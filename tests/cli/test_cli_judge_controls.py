"""Judges that fail their controls, through the command line: no EFCB score contains what they give."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from caretbench import cli
from caretbench.problem import ChoiceCheck, Completion, Question
from caretbench.runs.run_folder import DataInfo, Manifest, RunFolder
from caretbench.suites.efcb.build.build_folder import EfcbFolder
from caretbench.suites.efcb.build.changes import EfcbOptions
from caretbench.suites.efcb.build.problem_building import build_problems
from tests.support.efcb_changes import records
from tests.support.model_server import ModelServer, Recorded
from tests.support.rule_judges import constant, drawn, noisy, noisy_verdict, rating

pytestmark = pytest.mark.dear

JUDGED = {"mpr-gen": "efcb-masked@1", "reverse-qa": "efcb-description@1", "reverse-qa-hallu": "efcb-claims@1"}
LONG = 60.0

Judge = Callable[[str], str]

TRUE = rating(noisy, noisy_verdict)
BAD: dict[str, Judge] = {
    "always 0": constant(0, "unsupported"),
    "always 4": constant(4),
    "always 5": constant(5, "contradicted"),
    "always 10": constant(10, "supported_by_patch"),
    "random": rating(
        lambda one, other, first: drawn(f"{one}{other}{first}", 11),
        lambda said, _: ("supported_by_text", "unsupported")[drawn(said, 2)],
    ),
    "what is shown first": rating(lambda _one, _other, first: 10 if first else 0, lambda *_: "supported_by_text"),
    "the longer the better": rating(
        lambda _one, other, _first: min(10, len(other) / LONG),
        lambda said, _: "supported_by_text" if len(said) > LONG else "unsupported",
    ),
}


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none-of-your-business")


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five tasks of 36 changes of two repositories; the choices are made up, since no judge sees them."""
    pulls = records(24)
    built = build_problems(pulls, EfcbOptions(), tuple(JUDGED), with_leak_report=False)
    choices = [
        problem.model_copy(
            update={
                "id": f"{task}/{problem.id}",
                "shown": Question(text=f"{task}: which is {problem.id}?", choices=("one", "two", "three", "four")),
                "checks": (ChoiceCheck(correct=place % 4),),
                "reference": "ABCD"[place % 4],
                "labels": {**problem.labels, "task": task, "tier": "matched"},
            }
        )
        for task in ("gmcq-easy", "gmcq-hard")
        for place, problem in enumerate(entry for entry in built.problems if entry.label("task") == "reverse-qa")
    ]
    made = EfcbFolder(tmp_path_factory.mktemp("tasks"))
    problems = [*built.problems, *choices]
    made.write_build(built.make_manifest(pulls, (), {}), problems, built.rejected, (), usable=True)
    return made.path


def prompt_of(request: Recorded) -> str:
    return str(request.body["messages"][-1]["content"])


def called(*arguments: str | Path) -> tuple[int, str, str]:
    result = CliRunner().invoke(cli.app, [*map(str, arguments)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


def judged(tasks: Path, path: Path, judge: Judge, task: str, *more: str) -> tuple[int, dict[str, Any], str]:
    """Judge one task's answers; gives status, section, and what was said."""
    folder, problems = RunFolder(path), EfcbFolder(tasks).read_problems()
    path.mkdir()
    folder.write_manifest(
        Manifest(
            suite="efcb", policy="raw@2", profile="default",
            data=DataInfo(name="d", hash="h", problems=len(problems), selected=len(problems)),
        )
    )  # fmt: skip
    folder.write_problems(problems)
    rows = [
        Completion(problem_id=problem.id, model="m", sample=0, text="Title: x\n\nBody: It sells shoes.")
        for problem in problems
        if problem.label("task") == task
    ]
    folder.completions_path.write_text("".join(f"{row.model_dump_json()}\n" for row in rows))
    with ModelServer(answer=lambda request, _: judge(prompt_of(request))) as server:
        code, out, err = called(
            "judge", path, "-m", "openai/gpt-4o-mini", "--base-url", f"{server.url}/v1", "--json",
            "--select", f"task={task}", *more,
        )  # fmt: skip
    [section] = [entry for entry in json.loads(out) if entry["criterion"] == JUDGED[task]]
    return code, section, err


@pytest.mark.parametrize(
    ("name", "task"),
    [
        ("random", "reverse-qa"),
        *(
            pytest.param(name, task, marks=pytest.mark.long)
            for task, names in (
                ("reverse-qa", [name for name in BAD if name != "random"]),
                ("reverse-qa-hallu", ["always 0", "always 4", "random", "the longer the better"]),
                ("mpr-gen", ["random", "the longer the better"]),
            )
            for name in names
        ),
    ],
)
def test_a_bad_judge_fails_its_controls(name: str, task: str, tasks: Path, tmp_path: Path) -> None:
    code, section, err = judged(tasks, tmp_path / "run", BAD[name], task)
    [judge] = section["judges"]
    assert (code, judge["state"]) == (1, "failed"), (name, judge)
    assert f"by {JUDGED[task]}: fails its controls: " in err
    assert section["columns"][0]["refused"]


@pytest.mark.parametrize(
    "task", [pytest.param(task, marks=[] if task == "reverse-qa" else [pytest.mark.long]) for task in JUDGED]
)
def test_a_noisy_and_truthful_judge_passes(task: str, tasks: Path, tmp_path: Path) -> None:
    code, section, err = judged(tasks, tmp_path / "run", TRUE, task)
    [judge] = section["judges"]
    assert (code, judge["state"], judge["reason"]) == (0, "accepted", ""), judge
    assert section["columns"][0]["refused"] == ""
    assert "fails" not in err
    # It is noisy: by no control is it always right or always the same.
    assert task == "reverse-qa-hallu" or judge["consistency"]["same"] < 0.9


def test_too_few_controls_are_said(tasks: Path, tmp_path: Path) -> None:
    code, section, err = judged(tasks, tmp_path / "run", TRUE, "reverse-qa", "--control-problems", "9")
    assert (code, section["judges"][0]["state"]) == (0, "too_few")
    assert "controls (9; 33 " in err
    code, section, err = judged(tasks, tmp_path / "none", TRUE, "reverse-qa", "--no-controls")
    assert (code, section["judges"][0]["state"]) == (0, "unknown")
    assert "no controls were" in err


# --- the score --------------------------------------------------------------------------------------------------


def run(tasks: Path, path: Path, judge: Judge) -> tuple[int, str, str]:
    with ModelServer(answer="B") as model, ModelServer(answer=lambda request, _: judge(prompt_of(request))) as server:
        return called(
            "run", "efcb", "--data", tasks, "-m", "m=openai/gpt-4o-mini", "--base-url", f"{model.url}/v1",
            "-m", "judge=openai/gpt-4.1-mini", "--judge-base-url", f"{server.url}/v1", "-o", path,
            "--connections", "8",
        )  # fmt: skip


def own_tables(path: Path) -> dict[str, dict[str, Any]]:
    _, out, _ = called("report", path, "--json", "--no-html")
    return {table["name"]: table for table in json.loads(out)["suite_tables"]}


def test_a_score_with_a_judge_that_always_says_4_is_withheld_everywhere(tasks: Path, tmp_path: Path) -> None:
    path = tmp_path / "run"
    code, out, err = run(tasks, path, constant(4))
    assert code == 1
    reason = "openai/gpt-4.1-mini by efcb-description@1: fails its controls: reference judged correctly in 0 of"
    assert "the EFCB score is withheld" in err
    assert reason in err
    tables = own_tables(path)
    score = tables["efcb-score"]
    places = {name: place for place, name in enumerate(score["columns"])}
    rows = {row[0]: row for row in score["rows"] if row[1] == "macro"}
    for name in ("m", "reference", "empty"):
        if any(rows[name][places[task]] == "-" for task in ("MPR-Gen", "Reverse-QA", "Reverse-QA-Hallu")):
            continue
        for column in ("EFCB score", "Above floors"):
            assert rows[name][places[column]].startswith("withheld")
        assert "(!)" in rows[name][places["Reverse-QA"]]
        assert "(!)" not in rows[name][places["GMCQ-Easy"]]
    assert rows["m"][places["EFCB score"]].startswith("withheld")
    assert score["withheld"]
    assert reason in score["withheld"][0]
    assert all("(!)" in row[-1] for row in tables["efcb-reverse-qa"]["rows"])
    # Every other form of the report but Markdown, which is made of the same tables: six reports took 36 CPU s.
    assert "withheld" in out
    status, shown, _ = called("report", path, "--no-html")
    assert status == 0
    assert "withheld" in shown
    assert reason in shown
    assert "4.00 (!)" in shown
    _, shown, _ = called("report", path, "--format", "csv", "--no-html")
    notes = {
        row["note"]
        for row in csv.DictReader(io.StringIO(shown))
        if row["model"] and row["metric"].startswith("efcb-description@1:")
    }
    assert notes
    assert all("fails its" in note for note in notes)
    page = (path / "report.html").read_text()
    assert "withheld" in page
    assert reason in page


@pytest.mark.long
def test_a_score_with_a_good_judge_is_given(tasks: Path, tmp_path: Path) -> None:
    path = tmp_path / "run"
    code, _, err = run(tasks, path, TRUE)
    assert code == 0, err
    score = own_tables(path)["efcb-score"]
    row = next(row for row in score["rows"] if row[:2] == ["m", "macro"])
    assert float(row[score["columns"].index("EFCB score")].split("\n")[0]) < 0.6
    assert score["withheld"] == []
    assert "(!)" not in "".join(row)
