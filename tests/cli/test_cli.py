"""The verbs as a user meets them: exit statuses, one line for a mistake, no tracebacks."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from caretbench import cli
from caretbench.cli.common import escape_control_characters
from caretbench.execution.sandbox.bubblewrap import find_bubblewrap
from caretbench.runs.run_folder import RunFolder
from caretbench.suites.sample_projects import sample_projects
from caretbench.text_tables import align_columns
from tests.support.command_run import in_own_process
from tests.support.command_run import in_this_process as caretbench


def test_help_is_quick() -> None:
    """In CPU time, within CONTRIBUTING's 0.3 s, or on a slow machine within 4 starts of an interpreter with asyncio."""

    def cpu_seconds(run: Callable[[], object]) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    start = [sys.executable, "-c", "import asyncio, dataclasses, email.message, inspect, json, logging, typing"]
    helps, starts = [], []
    for _ in range(3):
        helps.append(cpu_seconds(lambda: in_own_process("--help")))
        starts.append(cpu_seconds(lambda: subprocess.run(start, check=True)))
    assert min(helps) < max(0.3, 4 * min(starts))
    assert "score" in in_own_process("--help").stdout


def test_help_imports_none_of_the_heavy_libraries() -> None:
    heavy = ("polars", "pydantic", "scipy", "numpy", "altair", "httpx")
    code = f"import sys, caretbench.cli; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("list", "nonsense"), "unknown suite 'nonsense'; known: devbench"),
        (
            ("list", "devbench", "--select", "langage=python"),
            "no label 'langage' (did you mean language?); labels: id, language",
        ),
        (("list", "devbench", "--select", "language=cobol"), "unknown language 'cobol'"),
        (("list", "devbench", "--select", "python"), "expected label=value"),
        (("list", "devbench", "--profile", "best"), "'best'"),
        (("list", "devbench", "--sample-seed", "0"), "--sample-seed seeds the sample of --limit, which is not given"),
        (("score", "devbench", "--sample-seed", "3", "--per-cell", "1"), "add --limit N"),
        (("validate", "devbench", "--sample-seed", "3"), "add --limit N"),
        (("list", "devbench", "--data", "/proc/nowhere"), "/proc/nowhere: no such folder"),
        (("show", "devbench", "python/none/1"), "has no problem 'python/none/1'"),
        (("score", "devbench", "--profile", "best"), "--profile 'best'"),
        (("score", "devbench", "--policy", "magic"), "unknown truncation policy 'magic'"),
        (("score", "devbench", "--variant", "cpp"), "expected language=name"),
        (("score", "devbench", "--variant", "cpp=common_header"), "cpp has common_headers"),
        (("report", "/proc/nowhere"), "not a run's folder"),
        (("report", "/proc/nowhere", "--format", "pdf"), "expected one of terminal"),
        (("compare", "/proc/nowhere"), "not a run's folder"),
        (("compare", "/proc/nowhere", "--align", "luck"), "expected one of data"),
        (("reproduce", "/proc/nowhere", "x"), "not a run's folder"),
        (("pull", "efcb"), "nothing to pull"),
        (("pull", "devbench", "--from", "/proc/nowhere"), "not there"),
        (
            ("build", "simcopilot", ".", "--test-command", "x", "--expect-output", "a.txt:fuzzy"),
            "--expect-output 'a.txt:fuzzy': expected FILE[:HOW], with HOW one of exact, whitespace",
        ),
        (("cache", "prune"), "say what to prune"),
        (("deps", "build", "nonsense"), "nonsense"),
    ],
)
def test_a_foreseeable_mistake_is_one_line(arguments: tuple[str, ...], complaint: str, tmp_path: Path) -> None:
    done = caretbench(*arguments, CARETBENCH_CACHE=str(tmp_path))
    assert done.returncode == 2, done.stderr
    assert complaint in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_report_of_problems_names_the_command_that_runs_them(tmp_path: Path) -> None:
    folder = tmp_path / "my tasks"
    folder.mkdir()
    (folder / "manifest.json").write_text('{"schema_version": 1, "suite": "simcopilot"}')
    (folder / "problems.jsonl").write_text("")
    done = caretbench("report", str(folder))
    assert done.returncode == 2
    assert f"run them first: caretbench run SUITE --data '{folder}' -m MODEL" in done.stderr


def test_a_process_ends_with_the_same_line_and_status() -> None:
    done = in_own_process("list", "nonsense")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("caretbench: unknown suite 'nonsense'")


def test_list_counts_and_names() -> None:
    assert "python 12" in caretbench("list", "devbench").stdout
    rows = json.loads(caretbench("list", "devbench", "--json", "--select", "language=c_sharp").stdout)
    assert len(rows) == 12
    assert {row["labels"]["language"] for row in rows} == {"csharp"}
    ids = caretbench("list", "devbench", "--ids", "--per-cell", "1").stdout.split()
    assert len(ids) == 36


def test_show_keeps_hidden_tests_apart() -> None:
    identity = "python/api_usage/latency-percentiles"
    shown = caretbench("show", "devbench", identity).stdout
    assert shown.index("--- prefix (shown) ---") < shown.index("--- reference ---") < shown.index("--- hidden tests")
    assert json.loads(caretbench("show", "devbench", identity, "--json").stdout)["id"] == identity


def test_scoring_without_running_anything(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    mine = tmp_path / "mine.jsonl"
    identity = "python/api_usage/latency-percentiles"
    mine.write_text(json.dumps({"problem_id": identity, "text": "    pass\n"}) + "\n")
    done = caretbench(
        "score", "devbench", "--completions", str(mine), "--select", f"id={identity}", "--no-execute", "-o",
        str(folder), "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    models = {column["model"] for column in json.loads(done.stdout)["columns"]}
    assert models == {"mine", "reference", "empty", "stub", "copy-context"}
    assert (folder / "report.html").exists()
    other = caretbench("score", "devbench", "--no-execute", "--profile", "paper", "-o", str(folder))
    assert other.returncode == 2
    assert "another run" in other.stderr
    for form in ("json", "csv", "markdown", "terminal"):
        assert "mine" in caretbench("report", str(folder), "--format", form, "--no-html").stdout


def test_a_runs_completions_can_be_scored_under_another_policy(tmp_path: Path) -> None:
    mine = tmp_path / "mine.jsonl"
    mine.write_text('{"problem_id": "python/api_usage/latency-percentiles", "text": "a"}\n')
    common = ("score", "devbench", "--select", "language=python,category=api_usage", "--no-execute", "--no-html",
              "--json", "--completions")  # fmt: skip
    assert caretbench(*common, str(mine), "-o", str(tmp_path / "one")).returncode == 0
    stored = str(tmp_path / "one" / "completions.jsonl")
    done = caretbench(*common, stored, "-o", str(tmp_path / "two"), "--policy", "raw", "--baseline", "empty")
    assert done.returncode == 0, done.stderr
    assert {column["model"] for column in json.loads(done.stdout)["columns"]} == {"mine", "empty"}


def test_several_policies_stand_in_one_folder_and_go_on_together(tmp_path: Path) -> None:
    mine = tmp_path / "mine.jsonl"
    mine.write_text('{"problem_id": "python/api_usage/latency-percentiles", "text": "a"}\n')
    common = ("score", "devbench", "--select", "language=python,category=api_usage", "--no-execute", "--no-html",
              "--json", "--baseline", "none", "-o", str(tmp_path / "run"))  # fmt: skip
    two = caretbench(*common, "--completions", str(mine), "--policy", "syntax", "--policy", "raw")
    assert two.returncode == 0, two.stderr
    assert [column["policy"] for column in json.loads(two.stdout)["columns"]] == ["syntax@4", "raw@2"]
    three = json.loads(caretbench(*common, "--policy", "syntax", "--policy", "first_line").stdout)
    assert [column["policy"] for column in three["columns"]] == ["syntax@4", "raw@2", "first_line@3"]
    assert (three["manifest"]["policy"], three["manifest"]["further_policies"]) == (
        "syntax@4", ["raw@2", "first_line@3"],
    )  # fmt: skip


def test_answers_that_are_not_there_fail_the_run_and_are_counted(tmp_path: Path) -> None:
    mine = tmp_path / "mine.jsonl"
    mine.write_text('{"problem_id": "python/api_usage/latency-percentiles", "text": "a"}\n')
    where = tmp_path / "run"
    selection = "language=python,category=api_usage"
    done = caretbench(
        "score", "devbench", "--completions", str(mine), "--select", selection, "-o", str(where), "--no-html",
        "--baseline", "none",
    )  # fmt: skip
    if "sandbox" in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == 1
    assert "mine: coverage 50.0% is below 98% (1 answers" in done.stderr


def test_completions_of_other_problems_are_refused(tmp_path: Path) -> None:
    mine = tmp_path / "mine.jsonl"
    mine.write_text('{"problem_id": "python/low_context/none", "text": ""}\n')
    done = caretbench("score", "devbench", "--completions", str(mine), "--no-execute", "-o", str(tmp_path / "run"))
    assert done.returncode == 2
    assert "ids here: 'python/low_context/none'" in done.stderr
    assert "--data" in done.stderr
    assert not (tmp_path / "run" / "completions.jsonl").exists()


def test_three_ids_that_are_there_and_three_that_are_expected_are_shown(tmp_path: Path) -> None:
    mine = tmp_path / "mine.jsonl"
    mine.write_text("".join(f'{{"problem_id": "mine/{number}", "text": ""}}\n' for number in range(5)))
    common = ("score", "devbench", "--completions", str(mine), "--no-execute", "-o", str(tmp_path / "run"))
    done = caretbench(*common, "--select", "language=python,category=api_usage")
    assert done.returncode == 2
    assert "'mine/0', 'mine/1', 'mine/2' and 2 more" in done.stderr
    assert "'python/api_usage/latency-percentiles', 'python/api_usage/move-stock" in done.stderr
    mine.write_text('{"problem_id": "python/low_context/refresh-stale-token", "text": ""}\n')
    done = caretbench(*common, "--select", "language=python,category=api_usage")
    assert "--select and --limit" in done.stderr
    mine.write_text("")
    done = caretbench(*common)
    assert 'no completions in it; each line is a completion: {"problem_id": ..., "text": ...}' in done.stderr


def test_unknown_problems_are_named_and_changed_answers_refused(tmp_path: Path) -> None:
    mine = tmp_path / "mine.jsonl"
    identity = "python/api_usage/latency-percentiles"
    rows = [{"problem_id": identity, "text": "a"}, {"problem_id": "python/api_usage/latency", "text": ""},
            {"problem_id": "python/low_context/refresh-stale-token", "text": ""}]  # fmt: skip
    mine.write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = ("score", "devbench", "--completions", str(mine), "--select", f"id={identity}", "--no-execute",
               "--no-html", "-o", str(tmp_path / "run"))  # fmt: skip
    done = caretbench(*command)
    assert done.returncode == 0, done.stderr
    assert "no problem 'python/api_usage/latency'" in done.stderr
    mine.write_text(json.dumps(rows[0] | {"text": "b"}) + "\n")
    done = caretbench(*command)
    assert done.returncode == 2
    assert "another answer" in done.stderr
    mine.rename(tmp_path / "reference.jsonl")
    done = caretbench(*(part.replace("mine.jsonl", "reference.jsonl") for part in command))
    assert done.returncode == 2
    assert "is the name of a baseline" in done.stderr


def test_without_execution_there_are_similarities_and_no_rates(tmp_path: Path) -> None:
    done = caretbench("score", "devbench", "--no-execute", "--no-html", "--json", "-o", str(tmp_path / "run"))
    assert done.returncode == 0, done.stderr
    columns = json.loads(done.stdout)["columns"]
    assert [column["overall"]["pass_at"] for column in columns] == [{}] * 4
    assert [column["coverage"] for column in columns] == [None] * 4


def test_one_process_at_a_time_and_nothing_written_by_a_command_that_fails(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    mine = tmp_path / "mine.jsonl"
    mine.write_text('{"problem_id": "python/api_usage/latency-percentiles", "text": "a"}\n{"problem_id": 1}\n')
    command = ("score", "devbench", "--per-cell", "1", "--no-execute", "--no-html", "-o", str(folder.path))
    done = caretbench(*command, "--completions", str(mine))
    assert done.returncode == 2
    assert list(folder.path.iterdir()) == []
    with folder.locked():
        done = in_own_process(*command)
    assert done.returncode == 2
    assert "at work on this run" in done.stderr
    done = caretbench(*command)
    assert done.returncode == 0, done.stderr


def test_what_the_machine_refuses_is_said_in_one_line(tmp_path: Path) -> None:
    """Even root cannot make a folder in /proc, or one below a file."""
    taken = tmp_path / "file"
    taken.touch()
    places = (("/proc/run", "read-only (/proc)"), (str(taken / "run"), f"a file, not a folder ({taken})"))
    verbs = (("score", "devbench", "--limit", "1"), ("run", "devbench", "-m", "command/cat"), ("validate", "devbench"))
    builds = [("build", suite, str(sample_projects()["depot"])) for suite in ("simcopilot", "codevbench", "c3bench")]
    for (place, complaint), verb in [(places[0], verb) for verb in (*verbs, *builds)] + [(places[1], verbs[0])]:
        done = caretbench(*verb, "-o", place)
        assert done.returncode == 2
        assert done.stderr.startswith(f"caretbench: {place}")
        assert complaint in done.stderr
        assert done.stderr.count("\n") == 1


def test_without_a_sandbox_the_remedy_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    where = str(tmp_path)
    monkeypatch.setenv("PATH", where)
    if find_bubblewrap() is not None:
        pytest.skip("the sandbox comes from a wheel here")
    done = caretbench("score", "devbench", "--per-cell", "1", "-o", where, CARETBENCH_CACHE=where)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("caretbench: programs run only in a sandbox")
    assert "Traceback" not in done.stderr


def test_a_terminal_is_not_steered_by_what_a_model_wrote() -> None:
    assert escape_control_characters("a\tb\n\x1b[31mred\x9b0m\x07") == "a\tb\n\\u001b[31mred\\u009b0m\\u0007"


@pytest.mark.data
def test_statistics_are_those_of_table_4(devbench_data: Path) -> None:
    done = caretbench("list", "devbench", "--data", str(devbench_data), "--statistics", "--profile", "paper")
    lines = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines()}
    # Printed: prefix LOC, completion LOC, total LOC, prefix tokens, completion tokens, (total tokens), cyclomatic.
    assert lines["python"] == ["19.5", "4.2", "40.5", "92.6", "21.8", "213.1", "2.2"]
    assert lines["all"] == ["41.4", "6.3", "65.3", "197.2", "44.2", "398.9", "5.5"]


@pytest.mark.data
def test_pull_from_a_local_copy(devbench_data: Path, tmp_path: Path) -> None:
    pulled = caretbench("pull", "devbench", "--from", str(devbench_data), CARETBENCH_CACHE=str(tmp_path))
    assert pulled.returncode == 0, pulled.stderr
    listed = caretbench("list", "devbench", "--data", "released", CARETBENCH_CACHE=str(tmp_path))
    assert "1800 of 1800 problems" in listed.stdout
    missing = caretbench("list", "devbench", "--data", "released", CARETBENCH_CACHE=str(tmp_path / "empty"))
    assert "run: caretbench pull devbench" in missing.stderr


def test_an_interrupted_verb_says_how_to_go_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted() -> None:
        raise SystemExit(130)

    monkeypatch.setattr(cli, "app", interrupted)
    with pytest.raises(SystemExit):
        cli.main()
    assert "run the same command again to resume" in capsys.readouterr().err


def test_columns_are_aligned() -> None:
    assert align_columns([["a", "bbb"]], ("head", "x")) == ["head  x", "a     bbb"]


def test_a_misspelt_suite_of_build_proposes_the_nearest() -> None:
    done = caretbench("build", "codevbnch", "x")
    assert done.returncode == 2
    assert "No such command 'codevbnch'. Did you mean 'codevbench'" in done.stderr
