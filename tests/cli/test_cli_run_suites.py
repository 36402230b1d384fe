"""`run` on several suites, as a user types it: a program is the model, and files are real."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from caretbench.runs.run_folder import RunFolder
from tests.support.command_run import in_this_process

COMPLETER = """
import json, os, sys, time

request = json.load(sys.stdin)
with open(os.environ["REQUESTS"], "a") as log:
    log.write(request["language"] + "\\n")
time.sleep(float(os.environ.get("DELAY", "0")))
print(json.dumps({"text": "A" if request["language"] == "text" else "return None"}))
"""
"""A model that answers questions and at carets, and notes every request."""

SUITES = ("devbench-starter-default", "efcb-starter-default")


class TwoSuites:
    """A run file with DevBench and EFCB in a folder of its own, and the command that runs it."""

    def __init__(self, folder: Path) -> None:
        self.output, self.log, self.path = folder / "both", folder / "requests.txt", folder / "both.toml"
        (folder / "completer.py").write_text(COMPLETER)
        self.path.write_text(
            f'output = "{self.output}"\n'
            '[[suites]]\nname = "devbench"\nselect = "language=python"\nlimit = 3\n'
            '[[suites]]\nname = "efcb"\nlimit = 4\n'
            f'[[models]]\nname = "toy"\nspec = "command/{sys.executable} {folder / "completer.py"}"\n'
        )

    def run(self, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run the file."""
        return in_this_process("run", str(self.path), *options, REQUESTS=str(self.log), **environment)

    def requests(self) -> list[str]:
        """Return the languages of all requests."""
        return self.log.read_text().split() if self.log.exists() else []

    def answers(self) -> list[int]:
        """Return the number of the model's answers in each folder."""
        folders = (RunFolder(self.output / name) for name in SUITES)
        return [sum(row.model == "toy" for row in folder.completions()) for folder in folders]


pytestmark = pytest.mark.dear


@pytest.fixture
def two(tmp_path: Path) -> TwoSuites:
    return TwoSuites(tmp_path)


def test_questions_and_carets_are_asked_in_one_run_whose_page_links_to_the_reports(two: TwoSuites) -> None:
    done = two.run()
    assert done.returncode == 0, done.stderr
    assert sorted(two.requests()) == ["python"] * 3 + ["text"] * 4
    assert two.answers() == [3, 4]
    settings = [RunFolder(two.output / name).manifest().models[0].settings["prompt"] for name in SUITES]
    assert settings == ["fill@1", "question-fill@1"]
    counts = re.findall(r"^(\S+): ([a-z ]+): (\d+) of (\d+)$", done.stderr, re.MULTILINE)
    assert ("devbench-starter-default", "references", "3", "3") in counts
    assert {(name, step): int(total) for name, step, done_now, total in counts if done_now == total} == {
        (name, step): int(total) for name, step, _, total in counts
    }
    assert {name for name, *_ in counts} == set(SUITES)
    assert "1 model on 2 suites" in done.stdout
    for name in SUITES:
        assert f"all tables: caretbench report {two.output / name}\n" in done.stdout
    assert "Models by pass@1" in done.stdout
    assert "Completions by status" not in done.stdout
    assert re.search(r"^Rows by suite\nModel  DevBench  EFCB\ntoy           3     4$", done.stdout, re.MULTILINE)
    assert done.stdout.rstrip().endswith(f"report: {two.output / 'report.html'}")
    page = (two.output / "report.html").read_text("utf-8")
    links = set(re.findall(r'<a href="([^"#]+)"', page))
    assert links == {f"{name}/report.html" for name in SUITES}
    assert all((two.output / link).exists() for link in links)
    (two.output / "report.html").unlink()
    again = in_this_process("report", str(two.output))
    assert again.returncode == 0, again.stderr
    assert (two.output / "report.html").read_text("utf-8") == page


def test_the_overview_names_a_suite_without_answers(two: TwoSuites) -> None:
    broken = two.path.read_text() + "options = { max_retries = 0 }\n"
    two.path.write_text(broken.replace('name = "efcb"\nlimit', 'name = "efcb"\nprompt = "question-fill"\nlimit'))
    completer = two.path.parent / "completer.py"
    completer.write_text(
        completer.read_text().replace("time.sleep", 'assert request["language"] != "text"\ntime.sleep')
    )
    done = two.run("--no-execute")
    assert done.returncode == 1
    assert "toy: 4 of 4" in done.stderr
    assert f"{SUITES[1]}: no answer" in done.stdout
    assert (two.output / "report.html").exists()
    assert in_this_process("report", str(two.output), "--no-html", "--json").returncode == 0
    assert two.answers() == [3, 0]


def test_a_killed_run_goes_on_where_it_stopped(two: TwoSuites) -> None:
    command = [sys.executable, "-m", "caretbench", "run", str(two.path), "--no-html", "--no-execute", "--json"]
    environment = {**os.environ, "REQUESTS": str(two.log), "DELAY": "0.6"}
    two.path.write_text(two.path.read_text() + "options = { connections = 1 }\n")
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    started = time.monotonic()
    while len(two.requests()) < 5 and process.poll() is None and time.monotonic() - started < 180:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    stored = two.answers()
    assert stored[0] == 3
    assert stored[1] < 4
    before = len(two.requests())
    done = two.run("--no-html", "--no-execute", "--json")
    assert done.returncode == 0, done.stderr
    assert two.answers() == [3, 4]
    assert len(two.requests()) - before == 4 - stored[1]
    assert [summary["suite"] for summary in json.loads(done.stdout)] == ["devbench", "efcb"]


def test_one_budget_is_over_all_suites(two: TwoSuites) -> None:
    costs = '[prices."command/*"]\ninput_per_million = 1000\noutput_per_million = 1000\n'
    text = two.path.read_text().replace("[[suites]]", costs + "[[suites]]", 1)
    two.path.write_text("max_cost = 20.0\n" + text)
    forecast = json.loads(two.run("--dry-run", "--json").stdout)
    first, second = (row["worst_cost"] for row in forecast["models"])
    limit = first + second / 2
    two.path.write_text(f"max_cost = {limit}\n" + text)
    done = two.run("--no-html", "--no-execute", "--json")
    assert done.returncode == 1
    assert "the rest of --max-cost does not cover one more answer" in done.stderr
    found, missing = two.answers(), list(RunFolder(two.output / SUITES[1]).missing())
    assert found[0] == 3
    assert {row.kind for row in missing} == {"budget"}
    assert found[1] + len(missing) == 4
    cost = sum(row.cost or 0 for name in SUITES for row in RunFolder(two.output / name).completions())
    assert cost <= limit
