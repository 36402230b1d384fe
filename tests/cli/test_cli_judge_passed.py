"""A criterion that asks only about answers that passed: a run scores first, then judges those."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from caretbench import cli
from caretbench.execution.sandbox import bubblewrap
from caretbench.files import DataError
from caretbench.judging.criteria import load_criterion
from caretbench.models import ClientOptions, ModelRequest
from caretbench.runs.generate import prompt_text
from caretbench.runs.run_folder import RunFolder
from caretbench.suites import load_suite
from tests.support.fakes import FakeClient

pytestmark = pytest.mark.skipif(bubblewrap.find_bubblewrap() is None, reason="bubblewrap is not installed")

CRITERION = """\
name = "brevity"
version = 1
form = "scores"
only = "passed"
[[scores]]
name = "brevity"
maximum = 5
[prompt]
user = "How short? $prefix|$completion|$suffix"
"""
TWO = ("--select", "language=python,category=low_context")
RIGHT, WRONG = sorted(
    (problem for problem in load_suite("devbench").load("starter").problems
     if (problem.label("language"), problem.label("category")) == ("python", "low_context")),
    key=lambda problem: problem.id,
)  # fmt: skip


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What judges are asked; models solve one of the two problems."""
    asked: list[str] = []

    def reply(request: ModelRequest, _sample: int) -> str:
        text = prompt_text(request.prompt)
        if text.startswith("How short?"):
            asked.append(text)
            return '{"brevity": 4}'
        return RIGHT.reference if request.id.startswith(RIGHT.id) else "    return 17\n"

    def opened(spec: str, _options: ClientOptions) -> FakeClient:
        return FakeClient(reply, name=spec, accepts=["chat"])

    for verb in ("run", "judge"):
        monkeypatch.setattr(f"caretbench.cli.{verb}.open_client", opened)
    return asked


@pytest.fixture
def criterion(tmp_path: Path) -> str:
    path = tmp_path / "brevity.toml"
    path.write_text(CRITERION)
    return str(path)


def call(*arguments: str) -> Result:
    return CliRunner().invoke(cli.app, arguments)


def test_a_run_scores_first_and_judges_what_passed(tmp_path: Path, judged: list[str], criterion: str) -> None:
    run = ("run", "devbench", *TWO, "-m", "m=fake/a", "-m", "judge=fake/judge", "--criterion", criterion)
    folder = RunFolder(tmp_path / "run")
    done = call(*run, "-o", str(folder.path), "--json", "--no-html")
    assert done.exit_code == 0, done.stderr
    completion = next(row for row in folder.completions() if row.model == "m" and row.problem_id == RIGHT.id)
    assert completion.problem_id in {row.problem_id for row in folder.judgements()}
    assert completion.text == RIGHT.reference
    assert not any("    return 17\n" in text for text in judged)
    [section] = json.loads(done.stdout)["judged"]
    [column] = [column for column in section["columns"] if column["model"] == "m"]
    assert (section["only"], column["answers"], column["rated"]) == ("passed", 1, 1)
    count = len(judged)
    shown = call("judge", str(folder.path), "-m", "fake/judge", "--criterion", criterion, "--no-controls")
    assert shown.exit_code == 0, shown.stderr
    assert len(judged) == count
    assert "passed, brevity@1" in " ".join(shown.stdout.split())
    refused = call(*run, "-o", str(folder.path), "--no-score")
    assert "--no-score: brevity@1" in str(refused.exception)


def test_judging_says_that_scores_are_missing(tmp_path: Path, judged: list[str], criterion: str) -> None:
    folder = RunFolder(tmp_path / "run")
    run = ("run", "devbench", *TWO, "-m", "m=fake/a", "-o", str(folder.path), "--no-html")
    assert call(*run, "--no-score").exit_code == 0
    judge = ("judge", str(folder.path), "-m", "fake/judge", "--criterion", criterion, "--no-controls")
    rows = json.loads(call(*judge, "--dry-run", "--json").stdout)
    assert [(row["completions"], row["unscored"]) for row in rows] == [(0, 2)]
    done = call(*judge)
    assert done.exit_code == 1
    assert "2 completions are" in done.stderr
    assert judged == []
    assert call(*run).exit_code == 0
    assert call(*judge).exit_code == 0
    assert len(judged) == 1


def test_only_what_stands_at_a_caret_can_pass_before_it_is_judged(tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text('subject = "answer"\n' + CRITERION.replace("$prefix|$completion|$suffix", "$answer"))
    with pytest.raises(DataError, match="only = 'passed'"):
        load_criterion(path)
