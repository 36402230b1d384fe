"""A suite in a package of its own goes through every verb, the Python API and Inspect."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from caretbench.execution.sandbox import bubblewrap
from tests.model_server import ModelServer

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bubblewrap.find_bubblewrap() is None, reason="bubblewrap is not installed"),
]

TOY = Path(__file__).parents[1] / "support" / "toy"
ROOT = Path(__file__).parents[2]
MODEL = """\
import json, re, sys
asked = sys.stdin.read()
first, second = re.findall(r"The sum of (\\d+) and (\\d+)", asked)[-1]
print(json.dumps({"text": str(int(first) + int(second))}))
"""

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package as pip installs it, and a program that can add."""
    folder = tmp_path_factory.mktemp("toy")
    project = tomllib.loads((TOY / "pyproject.toml").read_text("utf-8"))["project"]
    shutil.copytree(TOY / "toy_suite", folder / "site" / "toy_suite")
    metadata = folder / "site" / f"toy_suite-{project['version']}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    (metadata / "entry_points.txt").write_text(
        "".join(
            f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in points.items())
            for group, points in project["entry-points"].items()
        )
    )
    (folder / "adder.py").write_text(MODEL)
    return folder


@pytest.fixture(scope="module")
def call(work: Path) -> Run:
    """Call Python in the folder, the package installed; the exit status must be 0."""

    def called(*arguments: str) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"PYTHONPATH": str(work / "site"), "OPENAI_API_KEY": "k"}
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=work,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (arguments, done.stdout, done.stderr)
        return done

    return called


@pytest.fixture(scope="module")
def verb(call: Run) -> Run:
    """Call a verb of the command line."""
    return lambda *arguments: call("-m", "caretbench", *arguments)


@pytest.fixture(scope="module")
def adder() -> str:
    """The model: a program that can add."""
    return f"command/{sys.executable} adder.py"


@pytest.fixture(scope="module")
def ran(verb: Run, adder: str, work: Path) -> Path:
    """A run of the model."""
    verb("run", "toy", "-m", f"adder={adder}", "-o", "one", "--no-html")
    return work / "one"


def numbers(verb: Run, folder: str) -> dict[str, float]:
    """pass@1 of each column of a report."""
    summary = json.loads(verb("report", folder, "--json", "--no-html").stdout)
    return {column["model"]: column["overall"]["pass_at"]["1"]["value"] for column in summary["columns"]}


def test_it_is_listed_and_shown(verb: Run) -> None:
    assert re.search(r"^toy +whether a model can add$", verb("list").stdout, re.MULTILINE)
    assert "3 of 3 problems" in verb("list", "toy").stdout
    assert json.loads(verb("list", "toy", "--statistics", "--json").stdout)["all"] == {"prefix_lines": 2.0}
    assert "The sum of 1 and 2." in verb("show", "toy", "python/1-2").stdout


def test_it_builds_problems_by_its_own_options(verb: Run, work: Path) -> None:
    assert "--language" in verb("build", "toy", "--help").stdout
    assert "2 problems" in verb("build", "toy", "4+4", "5+5", "--language", "py", "-o", "mine").stdout
    assert verb("list", "toy", "--data", "mine", "--ids").stdout.split() == ["py/4-4", "py/5-5"]


def test_its_problems_pass_the_gate(verb: Run) -> None:
    verdicts = json.loads(verb("validate", "toy", "--json", "--fail-under", "1").stdout)
    assert [row["verdict"] for row in verdicts] == ["valid"] * 3


def test_a_model_runs_and_is_reported(verb: Run, ran: Path) -> None:
    found = numbers(verb, ran.name)
    assert (found["adder"], found["golden"], found["empty"]) == (1.0, 1.0, 0.0)


def test_recorded_answers_are_scored_and_compared(verb: Run, ran: Path, work: Path) -> None:
    rows = [{"problem_id": f"python/{first}-2", "text": "3"} for first in (1, 3, 5)]
    (work / "three.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    verb("score", "toy", "--completions", "three.jsonl", "-o", "two", "--no-html")
    assert numbers(verb, "two")["three"] == pytest.approx(1 / 3)
    compared = json.loads(
        verb("compare", "one", "two", "--model", "adder", "--model", "three", "--json").stdout
    )
    (row,) = compared["overall"]
    assert (row["first_rate"], row["second_rate"]) == (1.0, pytest.approx(1 / 3))


def test_a_judge_is_asked_by_its_own_criterion(verb: Run, ran: Path) -> None:
    with ModelServer([], answer=json.dumps({"reasoning": "short", "brevity": 5})) as server:
        verb(
            "judge", ran.name, "-m", "grader=openai/gpt-4o-mini", "--base-url", f"{server.url}/v1",
            "--criterion", "toy-brevity", "--no-controls",
        )  # fmt: skip
        assert "How short is the inserted text" in json.dumps(server.requests[0].body)
    summary = json.loads(verb("report", ran.name, "--json", "--no-html").stdout)
    assert "toy-brevity@1" in json.dumps(summary["judged"])


def test_the_python_api_runs_it(call: Run, adder: str) -> None:
    program = (
        "import sys, caretbench as cb\n"
        "model = {'spec': sys.argv[1], 'name': 'adder'}\n"
        "cb.run(cb.RunConfig(suites=[{'name': 'toy'}], models=[model], output='api'))\n"
        "columns = {column.model: column.overall.pass_at[1].value for column in cb.report('api').columns}\n"
        "print(len(cb.load_suite('toy').load('starter').problems), columns['adder'])\n"
    )
    assert call("-c", program, adder).stdout.split()[-2:] == ["3", "1.0"]


def test_inspect_evaluates_it(call: Run, adder: str, work: Path) -> None:
    call(
        "-m", "inspect_ai", "eval", "caretbench/toy", "--model", adder, "--log-dir", "logs", "--display", "none",
        "--no-log-realtime", "--log-format", "json",
    )  # fmt: skip
    (log,) = (work / "logs").glob("*.json")
    metrics = json.loads(log.read_text())["results"]["scores"][0]["metrics"]
    assert metrics["pass@1"]["value"] == 1.0


def test_the_page_shows_this_package() -> None:
    page = (ROOT / "docs" / "adding-a-suite.md").read_text("utf-8")
    shown = re.findall(r"```(?:python|toml)\n(.*?)```", page, re.DOTALL)
    files = [*sorted((TOY / "toy_suite").rglob("*.*")), TOY / "pyproject.toml"]
    assert {file.read_text("utf-8") for file in files if file.suffix in (".py", ".toml")} <= {*shown}


def test_nothing_in_the_package_names_it() -> None:
    sources = (ROOT / "src").rglob("*.py")
    assert not [path for path in sources if re.search(r"\btoy\b|toy_suite", path.read_text("utf-8"))]
