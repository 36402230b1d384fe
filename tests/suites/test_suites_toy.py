"""A suite in a package of its own goes through every verb, the Python API and Inspect."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from caretbench.execution.sandbox import bubblewrap
from tests.support.model_server import ModelServer, Recorded, answer, error, silence

pytestmark = pytest.mark.skipif(bubblewrap.find_bubblewrap() is None, reason="bubblewrap is not installed")

TOY = Path(__file__).parents[1] / "support" / "toy"
ROOT = Path(__file__).parents[2]
MODEL = """\
import json, re, sys
asked = sys.stdin.read()
first, second = re.findall(r"The sum of (\\d+) and (\\d+)", asked)[-1]
print(json.dumps({"text": str(int(first) + int(second))}))
"""

LoadedRun = Callable[..., "subprocess.CompletedProcess[str]"]


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
def call(work: Path) -> LoadedRun:
    """Call Python in the folder, the package installed; the exit status must be the expected one."""

    def called(*arguments: str, status: int = 0) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"PYTHONPATH": str(work / "site"), "OPENAI_API_KEY": "k"}
        done = subprocess.run(
            [sys.executable, *arguments], cwd=work, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == status, (arguments, done.stdout, done.stderr)
        return done

    return called


@pytest.fixture(scope="module")
def verb(call: LoadedRun) -> LoadedRun:
    """Call a verb of the command line."""
    return lambda *arguments, **wished: call("-m", "caretbench", *arguments, **wished)


@pytest.fixture(scope="module")
def adder() -> str:
    """The model: a program that can add."""
    return f"command/{sys.executable} adder.py"


@pytest.fixture(scope="module")
def ran(verb: LoadedRun, adder: str, work: Path) -> Path:
    """A run of the model."""
    verb("run", "toy", "-m", f"adder={adder}", "-o", "one", "--no-html")
    return work / "one"


def numbers(verb: LoadedRun, folder: str) -> dict[str, float]:
    """pass@1 of each column of a report."""
    summary = json.loads(verb("report", folder, "--json", "--no-html").stdout)
    return {column["model"]: column["overall"]["pass_at"]["1"]["value"] for column in summary["columns"]}


def test_it_is_listed_and_shown(verb: LoadedRun) -> None:
    assert re.search(r"^toy +whether a model can add$", verb("list").stdout, re.MULTILINE)
    assert "3 of 3 problems" in verb("list", "toy").stdout
    assert json.loads(verb("list", "toy", "--statistics", "--json").stdout)["all"]["prefix_lines"] == 2.0
    assert "The sum of 1 and 2." in verb("show", "toy", "python/1-2").stdout


@pytest.mark.long
def test_it_builds_problems_by_its_own_options(verb: LoadedRun, work: Path) -> None:
    assert "--language" in verb("build", "toy", "--help").stdout
    assert "2 problems" in verb("build", "toy", "4+4", "5+5", "--language", "py", "-o", "mine").stdout
    assert verb("list", "toy", "--data", "mine", "--ids").stdout.split() == ["py/4-4", "py/5-5"]


def docstring(request: Recorded, _choice: int) -> str:
    """Answers to the generator's question."""
    asked = json.dumps(request.body["messages"])
    return f"Generated: {'+'.join(re.findall(r'[0-9]+', asked))}."


def generator(server: ModelServer) -> tuple[str, ...]:
    """The options that name the generator."""
    return ("-m", "generator=openai/gpt-4o-mini", "--base-url", f"{server.url}/v1", "--retries", "0")


@pytest.mark.long
def test_its_build_asks_a_model_once_for_each_problem(verb: LoadedRun, work: Path) -> None:
    with ModelServer(answer=docstring) as server:
        sums = ("build", "toy", "4+4", "5+5", "-o", "asked", *generator(server))
        assert "2 problems" in verb(*sums).stdout
        assert len(server.requests) == 2
        verb(*sums)
        verb(*sums, "6+6")
        assert len(server.requests) == 3
        assert {request.body["max_tokens"] for request in server.requests} == {60}
        verb("build", "toy", "4+4", "-o", "asked", *generator(server), "--max-tokens", "50")
        assert server.requests[-1].body["max_tokens"] == 50
    assert "Generated: 4+4." in verb("show", "toy", "python/4-4", "--data", "asked").stdout
    rows = [json.loads(line) for line in (work / "asked" / "asked.jsonl").read_text().splitlines()]
    assert sorted(row["request"] for row in rows) == ["4+4", "4+4", "5+5", "6+6"]
    assert json.loads(verb("validate", "toy", "--data", "asked", "--json").stdout)[0]["verdict"] == "valid"


@pytest.mark.long
def test_its_build_goes_on_where_it_was_stopped(verb: LoadedRun, work: Path) -> None:
    """A failed request ends it with 1, a kill anywhere: in both cases only what is missing is asked again."""
    sums = ("build", "toy", "1+1", "2+2", "3+3", "-o", "stopped", "--connections", "1")
    with ModelServer([answer("first"), error(500)], answer="later") as server:
        done = verb(*sums, *generator(server), status=1)
        assert re.search(r"generator, openai/gpt-4o-mini: 1 of 3 answers are missing \(provider 1\)", done.stderr)
        assert not (work / "stopped" / "problems.jsonl").exists()
        assert (work / "stopped" / "errors.jsonl").exists()
        verb(*sums, *generator(server))
        assert len(server.requests) == 4
        assert not (work / "stopped" / "errors.jsonl").exists()
        asked = work / "stopped" / "asked.jsonl"
        whole = asked.read_text()
        asked.write_text(whole[: whole.rindex('"usage"')])  # as a killed process leaves it
        verb(*sums, *generator(server))
        assert len(server.requests) == 5


@pytest.mark.long
def test_its_build_is_killed_while_it_asks(verb: LoadedRun, work: Path) -> None:
    sums = ("build", "toy", "1+1", "2+2", "-o", "killed", "--connections", "1")
    with ModelServer([answer("first"), silence()], answer="later") as server:
        command = [sys.executable, "-m", "caretbench", *sums, *generator(server)]
        environment = os.environ | {"PYTHONPATH": str(work / "site"), "OPENAI_API_KEY": "k"}
        child = subprocess.Popen(command, cwd=work, env=environment, stderr=subprocess.DEVNULL)
        try:
            until(lambda: len(server.requests) == 2)
        finally:
            child.kill()
            child.wait()
        assert len((work / "killed" / "asked.jsonl").read_text().splitlines()) == 1
        verb(*sums, *generator(server))
        assert len(server.requests) == 3


def until(happened: Callable[[], bool], seconds: float = 120) -> None:
    """Wait for something."""
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, "it does not happen"
        time.sleep(0.05)


@pytest.mark.long
def test_a_dry_run_of_its_build_prints_text_and_address(verb: LoadedRun, work: Path) -> None:
    with ModelServer() as server:
        sums = ("build", "toy", "7+7", "-o", "dry", "--dry-run", *generator(server))
        shown = verb(*sums).stdout
        assert "Describe the sum of 7 and 7 in one short sentence" in shown
        assert f"--- 7+7, docstring: to openai/gpt-4o-mini, remote, {server.url}/v1 ---" in shown
        found = json.loads(verb(*sums, "--json").stdout)
        assert (found["complete"], found["roles"]["generator"]["place"]) == (False, "remote")
        assert "--dry-run: no model" in verb("build", "toy", "7+7", "--dry-run", status=2).stderr
        assert server.requests == server.about == []
    assert not (work / "dry").exists()


@pytest.mark.long
def test_its_build_refuses_models_and_spends_no_more_than_it_may(verb: LoadedRun, work: Path) -> None:
    (work / "prices.toml").write_text(
        '[models."openai/*"]\ninput_per_million = 0\noutput_per_million = 1000000\n'  # a dollar for a token
    )
    with ModelServer(answer="two words") as server:
        sums = ("build", "toy", "8+8", "9+9", "-o", "refused", *generator(server))
        assert "--local-only: openai/gpt-4o-mini" in verb(*sums, "--local-only", status=2).stderr
        assert "no price" in verb(*sums, "--max-cost", "1", status=2).stderr
        named = verb("build", "toy", "8+8", "-m", "writer=openai/gpt-4o-mini", status=2)
        assert "roles of build toy: generator (writes each docstring (optional))" in named.stderr
        assert server.requests == []
        assert not (work / "refused").exists()
        money = (*sums, "--prices", "prices.toml", "--connections", "1", "--max-cost")
        done = verb(*money, "61", status=1)
        assert "1 of 2 answers are missing (budget 1)" in done.stderr
        assert len(server.requests) == 1
        verb(*money, "62")
        assert len(server.requests) == 2


@pytest.mark.long
def test_its_problems_pass_the_gate(verb: LoadedRun) -> None:
    verdicts = json.loads(verb("validate", "toy", "--json", "--fail-under", "1").stdout)
    assert [row["verdict"] for row in verdicts] == ["valid"] * 3


def test_a_model_runs_and_is_reported(verb: LoadedRun, ran: Path) -> None:
    found = numbers(verb, ran.name)
    assert (found["adder"], found["reference"], found["empty"]) == (1.0, 1.0, 0.0)


@pytest.mark.long
def test_its_own_baseline_is_no_model(verb: LoadedRun, ran: Path) -> None:
    summary = json.loads(verb("report", ran.name, "--json", "--no-html").stdout)
    assert [column["model"] for column in summary["columns"] if column["baseline"]] == [
        "reference", "empty", "stub", "copy-context", "one",
    ]  # fmt: skip
    verb("score", "toy", "--baseline", "one,reference", "-o", "own", "--no-html", "--fail-under", "1")
    assert "found: adder" in verb("compare", ran.name, status=2).stderr
    refused = verb("run", "toy", "-m", "one=command/x", "-o", "named", status=2)
    assert "'one' is the name of a baseline" in refused.stderr


@pytest.mark.long
def test_its_own_chart_is_on_the_page(verb: LoadedRun, ran: Path) -> None:
    verb("report", ran.name)
    page = (ran / "report.html").read_text("utf-8")
    assert "Sums that were found" in page
    assert "own charts" in page


@pytest.mark.long
def test_recorded_answers_are_scored_and_compared(verb: LoadedRun, ran: Path, work: Path) -> None:
    rows = [{"problem_id": f"python/{first}-2", "text": "3"} for first in (1, 3, 5)]
    (work / "three.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    verb("score", "toy", "--completions", "three.jsonl", "-o", "two", "--no-html")
    assert numbers(verb, "two")["three"] == pytest.approx(1 / 3)
    compared = json.loads(verb("compare", "one", "two", "--model", "adder", "--model", "three", "--json").stdout)
    (row,) = compared["overall"]
    assert (row["first_rate"], row["second_rate"]) == (1.0, pytest.approx(1 / 3))


@pytest.mark.long
def test_a_judge_is_asked_by_its_own_criterion(verb: LoadedRun, ran: Path) -> None:
    with ModelServer([], answer=json.dumps({"reasoning": "short", "brevity": 5})) as server:
        verb(
            "judge", ran.name, "-m", "judge=openai/gpt-4o-mini", "--base-url", f"{server.url}/v1",
            "--criterion", "toy-brevity", "--no-controls",
        )  # fmt: skip
        assert "How short is the inserted text" in json.dumps(server.requests[0].body)
    summary = json.loads(verb("report", ran.name, "--json", "--no-html").stdout)
    assert "toy-brevity@1" in json.dumps(summary["judged"])


@pytest.mark.long
def test_an_error_of_its_load_names_it(verb: LoadedRun) -> None:
    named = "the suite 'toy' of toy_suite, --data nowhere: nowhere: no such folder"
    for arguments in (("list", "toy"), ("score", "toy"), ("validate", "toy"), ("show", "toy", "x")):
        assert named in verb(*arguments, "--data", "nowhere", status=2).stderr


@pytest.mark.long
def test_the_python_api_builds_and_validates(call: LoadedRun) -> None:
    program = (
        "import caretbench as cb\nfrom caretbench import build_problems\n"
        "print(build_problems('toy', ['2+2', '3+3'], 'by-api', language='py').numbers)\n"
        "found = cb.validate(cb.SuiteConfig(name='toy', data='by-api', limit=1))\n"
        "print(len(found.problems), found.verdicts[0].verdict, found.share)\n"
        "try:\n    build_problems('toy', ['1+1'], tongue='py')\nexcept ValueError as error:\n    print(error)\n"
        "try:\n    build_problems('toy', ['1+1'], models={'checker': 'a/b'})\n"
        "except ValueError as error:\n    print(error)\n"
    )
    done = call("-c", program).stdout.splitlines()
    assert done[:3] == ["{'problems': 2}", "1 valid 1.0", "build toy has no option tongue; options: language"]
    assert "roles of build toy: generator" in done[3]


@pytest.mark.long
def test_the_python_api_runs_it(call: LoadedRun, adder: str) -> None:
    program = (
        "import sys, caretbench as cb\n"
        "model = {'spec': sys.argv[1], 'name': 'adder'}\n"
        "cb.run(cb.RunConfig(suites=[{'name': 'toy'}], models=[model], output='api'))\n"
        "columns = {column.model: column.overall.pass_at[1].value for column in cb.report('api').columns}\n"
        "print(len(cb.load_suite('toy').load('starter').problems), columns['adder'])\n"
    )
    assert call("-c", program, adder).stdout.split()[-2:] == ["3", "1.0"]


def test_inspect_evaluates_it(call: LoadedRun, adder: str, work: Path) -> None:
    call(
        "-m", "inspect_ai", "eval", "caretbench/toy", "--model", adder, "--log-dir", "logs", "--display", "none",
        "--no-log-realtime", "--log-format", "json",
    )  # fmt: skip
    (log,) = (work / "logs").glob("*.json")
    metrics = json.loads(log.read_text())["results"]["scores"][0]["metrics"]
    assert metrics["pass@1"]["value"] == 1.0


def test_the_page_leads_to_every_file_of_the_package() -> None:
    page = ROOT / "docs" / "how-to" / "adding-a-suite.md"
    targets = {(page.parent / link).resolve() for link in re.findall(r"\]\(([^)#]+)\)", page.read_text("utf-8"))}
    files = [*(TOY / "toy_suite").rglob("*.*"), TOY / "pyproject.toml"]
    assert {file for file in files if file.suffix in (".py", ".toml")} <= targets


def test_nothing_in_the_package_names_it() -> None:
    sources = (ROOT / "src").rglob("*.py")
    assert not [path for path in sources if re.search(r"\btoy\b|toy_suite", path.read_text("utf-8"))]
