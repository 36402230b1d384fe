"""``caretbench reproduce`` on an answer that a run has scored."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from caretbench import cli
from caretbench.cli.reproduce import _text
from caretbench.problem import Completion, Score
from caretbench.runs.run_folder import DataInfo, Manifest, RunFolder
from tests.support.questions import question_problem

IDENTITY = "python/api_usage/latency-percentiles"


def caretbench(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(cli.app, arguments)
    return done.exit_code, done.stdout


def test_the_flags_of_an_answer_are_shown(tmp_path: Path) -> None:
    folder, mine = tmp_path / "run", tmp_path / "mine.jsonl"
    mine.write_text(json.dumps({"problem_id": IDENTITY, "text": "    import os\n    os._exit(0)\n"}) + "\n")
    _, scored = caretbench(
        "score", "devbench", "--completions", str(mine), "--select", f"id={IDENTITY}", "--baseline", "reference", "-o",
        str(folder), "--json",
    )  # fmt: skip
    [entry] = json.loads(scored)["flagged"]
    assert (entry["answers"], entry["flagged_passes"]) == (1, 0)
    status, shown = caretbench("reproduce", str(folder), IDENTITY, "--model", "mine", "--no-program")
    assert status == 0
    assert "flags: tamper:early_exit" in shown
    _, shown = caretbench("reproduce", str(folder), IDENTITY, "--model", "mine", "--json")
    assert json.loads(shown)["flags"] == ["tamper:early_exit"]
    _, shown = caretbench("reproduce", str(folder), IDENTITY, "--model", "reference", "--json")
    assert json.loads(shown)["flags"] == []


def test_a_refused_answer_is_not_run(tmp_path: Path) -> None:
    folder, mine = tmp_path / "run", tmp_path / "mine.jsonl"
    mine.write_text(json.dumps({"problem_id": IDENTITY, "text": "pass\n" * 120_000}) + "\n")
    caretbench(
        "score", "devbench", "--completions", str(mine), "--select", f"id={IDENTITY}", "--baseline", "reference", "-o",
        str(folder), "--json",
    )  # fmt: skip
    status, shown = caretbench("reproduce", str(folder), IDENTITY, "--model", "mine", "--json")
    result = json.loads(shown)
    assert (status, result["status"], result["stage"]) == (0, "runtime_error", "none")
    assert result["reason"] == "refused: the answer has 600,000 characters, more than 500,000"


def test_an_answer_to_a_question_is_measured_again(tmp_path: Path) -> None:
    folder, problem = RunFolder(tmp_path / "run"), question_problem("gmcq-easy", "cache")
    folder.path.mkdir()
    about = DataInfo(name="d", hash="h", problems=1, selected=1)
    folder.write_manifest(Manifest(suite="efcb", policy="raw@2", profile="default", data=about))
    folder.write_problems([problem])
    answer = Completion(problem_id=problem.id, model="m", sample=0, text="B")
    folder.completions_path.write_text(answer.model_dump_json() + "\n")
    status, shown = caretbench("reproduce", str(folder.path), problem.id)
    assert status == 0
    assert "--- choice@1 ---\npassed: 1\n" in shown
    stored = Score(
        problem_id=problem.id, model="m", sample=0, scorer="choice@1", policy="raw@2", profile="default",
        values={"passed": 0.0},
    )  # fmt: skip
    folder.scores_path.write_text(stored.model_dump_json() + "\n")
    status, shown = caretbench("reproduce", str(folder.path), problem.id, "--json")
    assert (status, json.loads(shown)["measured"][0]["values"]["passed"]) == (1, 1.0)


def test_what_a_program_writes_steers_no_terminal_that_reads_a_pipe_or_a_file(tmp_path: Path) -> None:
    folder, mine = tmp_path / "run", tmp_path / "mine.jsonl"
    hostile = (
        '    print("\\x1b]0;owned\\x07\\x9b31m", flush=True)\n'
        '    raise ValueError("\\x1b[2J")\n    # \x1b[1m \x9b \ud800\n'
    )
    mine.write_text(json.dumps({"problem_id": IDENTITY, "text": hostile}) + "\n")
    caretbench(
        "score", "devbench", "--completions", str(mine), "--select", f"id={IDENTITY}", "--baseline", "none", "-o",
        str(folder), "--json",
    )  # fmt: skip
    for form in ((), ("--json",)):
        done = CliRunner().invoke(cli.app, ["reproduce", str(folder), IDENTITY, "--model", "mine", *form])
        assert done.exit_code == 0, done.output
        raw = done.stdout_bytes.decode()
        assert not set(raw) & ({chr(number) for number in (*range(32), *range(127, 160))} - set("\n\t"))
        assert "\\u001b]0;owned\\u0007" in raw
    assert "\x1b]0;owned\x07" in json.loads(raw)["stdout"]["text"]


def test_changed_files_of_a_project_are_shown_as_text() -> None:
    assert [_text(content) for content in ("a", b"b\xff", None)] == ["a", "b\ufffd", ""]
