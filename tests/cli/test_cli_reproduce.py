"""``caretbench reproduce`` on an answer that a run has scored."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from caretbench import cli
from caretbench.cli.reproduce import _text
from caretbench.problem import Completion, Problem, Score
from caretbench.runs.run_folder import DataInfo, Manifest, RunFolder
from caretbench.suites import load_suite
from tests.support.conventional_layouts import crosscodeeval
from tests.support.questions import question_problem

IDENTITY = "python/api_usage/latency-percentiles"


def caretbench(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(cli.app, arguments)
    return done.exit_code, done.stdout


def question_run(path: Path) -> tuple[RunFolder, Problem]:
    """Write a run without answers to one question."""
    folder, problem = RunFolder(path), question_problem("gmcq-easy", "cache")
    path.mkdir()
    about = DataInfo(name="d", hash="h", problems=1, selected=1)
    folder.write_manifest(Manifest(suite="efcb", policy="raw@2", profile="default", data=about))
    folder.write_problems([problem])
    return folder, problem


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
    assert result["reason"].startswith("refused: ")
    assert "more than 500,000" in result["reason"]


def test_an_answer_to_a_question_is_measured_again(tmp_path: Path) -> None:
    folder, problem = question_run(tmp_path / "run")
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


def test_an_answer_that_no_program_checks_is_measured_as_it_was_inserted(tmp_path: Path) -> None:
    data, folder, mine = crosscodeeval(tmp_path / "data"), tmp_path / "run", tmp_path / "mine.jsonl"
    [problem] = load_suite("crosscodeeval").load(str(data)).problems
    mine.write_text(json.dumps({"problem_id": problem.id, "text": "```python\nf(x, 2)\n```"}) + "\n")
    status, _ = caretbench(
        "score", "crosscodeeval", "--data", str(data), "--completions", str(mine), "-o", str(folder), "--policy",
        "syntax", "--policy", "raw", "--json",
    )  # fmt: skip
    assert status == 0
    for policy, passed in (("syntax", 1.0), ("raw", 0.0)):
        status, shown = caretbench("reproduce", str(folder), problem.id, "--policy", policy, "--json")
        [measured] = [row for row in json.loads(shown)["measured"] if "passed" in row["values"]]
        assert (status, measured["values"]["passed"]) == (0, passed)
    done = CliRunner().invoke(cli.app, ["reproduce", str(folder), problem.id, "--policy", "block"])
    assert "syntax@" in str(done.exception)


def test_the_completion_is_named_as_far_as_it_must_be(tmp_path: Path) -> None:
    folder, problem = question_run(tmp_path / "run")
    rows = [
        Completion(problem_id=problem.id, model=model, parameters=parameters, sample=0, text=text)
        for model, parameters, text in (("reference", "none", "B"), ("m", "p", "B"), ("m", "q", "A"))
    ]
    folder.completions_path.write_text("".join(row.model_dump_json() + "\n" for row in rows))
    for options, fault in (
        ((), "m with parameters p, m with parameters q"),
        (("--model", "n"), "m sample 0, reference"),
    ):
        done = CliRunner().invoke(cli.app, ["reproduce", str(folder.path), problem.id, *options])
        assert fault in str(done.exception)
    _, shown = caretbench("reproduce", str(folder.path), problem.id, "--parameters", "q", "--json")
    assert json.loads(shown)["text"] == "A"
    folder.completions_path.write_text("".join(row.model_dump_json() + "\n" for row in rows[:2]))
    _, shown = caretbench("reproduce", str(folder.path), problem.id)
    assert "  m  sample 0" in shown


def test_a_row_without_a_verdict_contradicts_none(tmp_path: Path) -> None:
    folder, mine = tmp_path / "run", tmp_path / "mine.jsonl"
    mine.write_text(json.dumps({"problem_id": IDENTITY, "text": "    pass\n"}) + "\n")
    caretbench(
        "score", "devbench", "--completions", str(mine), "--select", f"id={IDENTITY}", "--baseline", "none", "-o",
        str(folder), "--json",
    )  # fmt: skip
    scores = folder / "scores.jsonl"
    rows = [Score.model_validate_json(line) for line in scores.read_text().splitlines()]
    for outcome, counted, expected in (("excluded", False, 0), ("passed", True, 1)):
        changed = [
            row.model_copy(update={"outcome": outcome, "counted": counted})
            if row.scorer.startswith("execution@")
            else row
            for row in rows
        ]
        scores.write_text("".join(row.model_dump_json() + "\n" for row in changed))
        status, _ = caretbench("reproduce", str(folder), IDENTITY, "--model", "mine", "--no-program")
        assert status == expected


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
