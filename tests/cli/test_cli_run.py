"""`run` as a user meets it: with a model in this process, and with programs and servers outside it."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from caretbench import cli
from caretbench.files import DataError
from caretbench.models import ChatPrompt, ClientOptions, ModelRequest, Sampling
from caretbench.problem import Usage
from caretbench.reports.results.run_settings import selection_notes
from caretbench.reports.run_summary import load_run_folder
from caretbench.runs.generate import prompt_text
from caretbench.runs.plans.config import RunConfig
from caretbench.runs.plans.plan import ResolvedRun
from caretbench.runs.plans.roles import parse_model_option
from caretbench.runs.run_folder import RunFolder
from caretbench.suites.sample_projects import sample_projects
from caretbench.suites.selection import Selection
from tests.support.fakes import FakeClient, Reply, failure
from tests.support.model_server import Behaviour, ModelServer, Recorded, drip, error

ONE = ("--select", "language=python,category=low_context", "--no-execute", "--no-html")
"""Two problems, nothing executed."""


class Models:
    """Stands in for the providers: every model that is opened is a fake one, and is kept here."""

    def __init__(self) -> None:
        self.opened: list[FakeClient] = []
        self.options: list[ClientOptions] = []
        self.reply: Callable[[ModelRequest, int], Reply] = lambda _request, sample: f"answer {sample}"
        self.fields: dict[str, Any] = {"accepts": ["chat"], "usage": Usage(input_tokens=100, output_tokens=10)}

    def open(self, spec: str, options: ClientOptions) -> FakeClient:
        client = FakeClient(self.reply, name=spec, **self.fields)
        self.opened.append(client)
        self.options.append(options)
        return client

    @property
    def asked(self) -> list[tuple[str, int]]:
        return [sample for client in self.opened for sample in client.samples_asked]


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> Models:
    found = Models()
    monkeypatch.setattr("caretbench.cli.run.open_client", found.open)
    monkeypatch.setattr("caretbench.cli.run.check_access", lambda _spec, _options: None)
    return found


class Done:
    def __init__(self, *arguments: str) -> None:
        result = CliRunner().invoke(cli.app, ["run", *arguments])
        self.code, self.out, self.err = result.exit_code, result.stdout, result.stderr
        self.error = result.exception


def missing(folder: Path) -> list[str]:
    return [row.kind for row in RunFolder(folder).missing()]


PRICES = '[models."fake/*"]\ninput_per_million = 1000\noutput_per_million = 10000\n'


@pytest.fixture
def prices(tmp_path: Path) -> str:
    path = tmp_path / "prices.toml"
    path.write_text(PRICES)
    return str(path)


def test_a_run_asks_scores_and_reports(tmp_path: Path, models: Models, prices: str) -> None:
    folder = tmp_path / "run"
    done = Done("devbench", "-m", "m=fake/a", "-n", "2", *ONE, "-o", str(folder), "--json", "--prices", prices)
    assert done.code == 0, done.err
    columns = json.loads(done.out)["columns"]
    assert [column["model"] for column in columns] == ["m", "reference", "empty", "stub", "copy-context"]
    assert columns[0]["samples"] == 2
    [info] = RunFolder(folder).manifest().models[:1]
    assert (info.model, info.source, info.settings["prompt"]) == ("m", "model", "chat@1")
    rows = [row for row in RunFolder(folder).completions() if row.model == "m"]
    assert {row.parameters for row in rows} == {info.parameters}
    assert rows[0].cost == pytest.approx(0.2)
    assert missing(folder) == []
    asked = len(models.asked)
    assert Done("devbench", "-m", "m=fake/a", "-n", "3", *ONE, "-o", str(folder)).code == 0
    assert len(models.asked) - asked == 2


def test_the_options_reach_the_model(tmp_path: Path, models: Models) -> None:
    done = Done(
        "devbench", "-m", "fake/a", *ONE, "-o", str(tmp_path / "run"), "--preset", "c3-paper", "--top-p", "none",
        "--seed", "3", "--connections", "2", "--timeout", "9", "--mode", "fast", "--threads", "1", "--base-url",
        "http://localhost:1/v1", "--one-by-one", "--prompt", "natural", "--no-score",
    )  # fmt: skip
    assert done.code == 0, done.err
    sampling = models.opened[-1].asked[0].sampling
    assert sampling == Sampling(max_tokens=1024, temperature=0, top_p=None, seed=3)
    assert models.options[-1] == ClientOptions(
        connections=2, timeout_s=9, mode="fast", threads=1, base_url="http://localhost:1/v1", per_request=False
    )
    assert not (tmp_path / "run" / "scores.jsonl").exists()


def test_two_models_stand_in_one_report_and_are_open_one_at_a_time(tmp_path: Path, models: Models) -> None:
    done = Done("devbench", "-m", "fake/a", "-m", "b=fake/b", *ONE, "-o", str(tmp_path / "run"), "--json")
    assert done.code == 0, done.err
    assert {"fake/a", "b"} < {column["model"] for column in json.loads(done.out)["columns"]}
    assert [client.name for client in models.opened] == ["fake/a", "fake/b", "fake/a", "fake/b"]
    assert all(client.closed for client in models.opened)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("devbench",), "no model; name one with -m"),
        (("devbench", "-m", "gpt-4o"), "expected PROVIDER/MODEL"),
        (("devbench", "-m", "empty"), "a baseline runs next to a model: -m PROVIDER/MODEL --baseline empty"),
        (("devbench", "-m", "judge=gpt-4o", "-m", "fake/a"), "expected PROVIDER/MODEL"),
        (("devbench", "-m", "fake/a", "-m", "fake/a"), "two models are called 'fake/a'"),
        (("devbench", "-m", "reference=fake/a"), "is the name of a baseline"),
        (("devbench", "-m", "fake/a", "--temperature", "hot"), "--temperature 'hot': expected a number"),
        (("devbench", "-m", "fake/a", "--temperature", "-1"), "--temperature '-1': expected a number from 0 to 2"),
        (
            ("devbench", "-m", "fake/a", "--mode", "quick"),
            "--mode: 'quick' is not known; give 'reproducible' or 'fast'",
        ),
        (("devbench", "-m", "fake/a", "--preset", "x"), "unknown preset 'x'; known: devbench-paper"),
        (("devbench", "-m", "fake/a", "--prompt", "x"), "unknown prompt 'x'"),
        (("devbench", "-m", "fake/a", "--prompt", "fill"), "fake/a takes chat prompts"),
        (("devbench", "-m", "fake/a", "--preprocess", "x"), "unknown preprocessor 'x'"),
        (("devbench", "-m", "fake/a", "--baseline", "x"), "unknown baseline 'x'"),
        (("devbench", "-m", "fake/a", "--policy", "x"), "unknown truncation policy 'x'"),
        (("devbench", "-m", "fake/a", "--max-cost", "1"), "no price is known for fake/a"),
        (("devbench", "-m", "fake/a", "--prices", "/proc/nowhere"), "/proc/nowhere: cannot be read"),
        (("devbench", "-m", "fake/a", "-m", "judge=fake/g", "--criterion", "x"), "unknown criterion 'x'"),
        (("nothing", "-m", "fake/a"), "unknown suite 'nothing'"),
        (("devbnch", "-m", "openai/gpt-4o"), "unknown suite 'devbnch'"),
        (("nothing.toml",), "nothing.toml: cannot be read"),
        (("nothing.toml", "-m", "fake/a", "-n", "2"), "--samples, --model: set it in the run file instead"),
    ],
)
def test_a_mistake_is_found_before_anything_is_asked_or_written(
    arguments: tuple[str, ...], complaint: str, tmp_path: Path, models: Models
) -> None:
    done = Done(*arguments, "--no-execute", "-o", str(tmp_path / "run"))
    assert isinstance(done.error, ValueError | KeyError), done.err
    assert complaint in str(done.error.args[0])
    assert models.asked == []
    assert not (tmp_path / "run").exists()


def test_another_runs_folder_is_refused_before_anything_is_asked(tmp_path: Path, models: Models) -> None:
    assert Done("devbench", "-m", "fake/a", *ONE, "-o", str(tmp_path)).code == 0
    asked = len(models.asked)
    done = Done("devbench", "-m", "fake/a", *ONE, "-o", str(tmp_path), "--policy", "raw")
    assert "another run" in str(done.error)
    assert len(models.asked) == asked


def test_what_is_missing_fails_the_run_in_one_line(tmp_path: Path, models: Models) -> None:
    models.reply = lambda _request, sample: failure("busy") if sample else "fine"
    done = Done("devbench", "-m", "m=fake/a", "-n", "2", *ONE, "-o", str(tmp_path))
    assert done.code == 1
    assert "m: 2 of 4 answers are missing (provider 2): busy; the same command asks for them again" in done.err
    assert "errors.jsonl" in done.err
    models.reply = lambda _request, _sample: "fine"
    assert Done("devbench", "-m", "m=fake/a", "-n", "2", *ONE, "-o", str(tmp_path)).code == 0
    assert missing(tmp_path) == []


def test_where_nothing_was_answered_nothing_is_scored(tmp_path: Path, models: Models) -> None:
    models.reply = lambda _request, _sample: failure("no such model")
    done = Done("devbench", "-m", "m=fake/a", *ONE, "-o", str(tmp_path))
    assert (done.code, done.out) == (1, "")
    assert not (tmp_path / "scores.jsonl").exists()


GOOD = '{"reasoning": "it fits", "relevance": 4, "helpfulness": 3}'


def test_judges_judge_before_the_scores_are_shown(tmp_path: Path, models: Models, prices: str) -> None:
    models.reply = lambda request, _sample: GOOD if asks_a_judge(request) else "    pass\n"
    done = Done(
        "devbench", "-m", "m=fake/a", "-m", "judge=fake/judge", *ONE, "-o", str(tmp_path / "run"), "--prices",
        prices, "--base-url", "http://localhost:1/v1",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "--base-url applies" in done.err
    folder = RunFolder(tmp_path / "run")
    assert [info.model for info in folder.manifest().judges] == ["fake/judge"]
    judged = list(folder.judgements())
    assert {row.values["relevance"] for row in judged} == {4.0}
    assert "fake/judge" in done.out
    asked = len(models.asked)
    reached = {client.name: options.base_url for client, options in zip(models.opened, models.options, strict=True)}
    assert reached == {"fake/a": "http://localhost:1/v1", "fake/judge": None}
    again = Done(
        "devbench", "-m", "m=fake/a", "-m", "judge=fake/judge", *ONE, "-o", str(tmp_path / "run"), "--judge-base-url",
        "http://localhost:2/v1",
    )  # fmt: skip
    assert again.code == 0
    assert len(models.asked) == asked
    assert {one.base_url for one in models.options[len(reached) :]} >= {None, "http://localhost:2/v1"}
    nobody = Done("devbench", "-m", "fake/a", *ONE, "--judge-base-url", "http://localhost:2/v1")
    assert "--judge-base-url: there" in str(nobody.error)


def test_a_judge_that_cannot_be_read_fails_the_run(tmp_path: Path, models: Models) -> None:
    done = Done("devbench", "-m", "m=fake/a", "-m", "judge=fake/judge", *ONE, "-o", str(tmp_path / "run"))
    assert done.code == 1
    assert "fake/judge, devbench-quality@1: " in done.err
    assert "could not be read; the same command" in done.err


def asks_a_judge(request: ModelRequest) -> bool:
    return isinstance(request.prompt, ChatPrompt) and "relevance" in prompt_text(request.prompt).lower()


def test_a_probe_comes_first(tmp_path: Path, models: Models) -> None:
    done = Done("devbench", "-m", "m=fake/a", *ONE, "-o", str(tmp_path / "run"), "--probe", "--no-score")
    assert done.code == 0, done.err
    assert "probe got" in done.err
    models.reply = lambda _request, _sample: failure("nobody there")
    done = Done("devbench", "-m", "m=fake/a", *ONE, "-o", str(tmp_path / "other"), "--probe")
    assert "fake/a does not answer: nobody" in str(done.error)
    assert not (tmp_path / "other").exists()


def test_a_limit_of_the_cost_is_kept(tmp_path: Path, models: Models, prices: str) -> None:
    # An answer costs 0.2 dollars; its worst case is 800 tokens at a cent each, and the prompt.
    common = ("devbench", "-m", "m=fake/a", *ONE, "-o", str(tmp_path / "run"), "--prices", prices)
    done = Done(*common, "--max-cost", "1")
    assert done.code == 1
    assert models.asked == []
    assert "m: 2 of 2 answers are missing (budget 2)" in done.err
    assert missing(tmp_path / "run") == ["budget", "budget"]
    assert Done(*common, "--max-cost", "40").code == 0


def test_a_dry_run_says_what_it_would_cost_and_does_nothing(tmp_path: Path, models: Models, prices: str) -> None:
    folder = tmp_path / "run"
    common = ("devbench", "-m", "m=fake/a", "-n", "2", *ONE, "-o", str(folder), "--prices", prices)
    done = Done(*common, "--dry-run", "--max-cost", "2")
    assert done.code == 0, done.err
    assert "estimated, 3 bytes" in done.out
    assert "--max-cost $2: does not cover the expected cost" in done.out
    assert models.asked == []
    assert not folder.exists()
    [row] = json.loads(Done(*common, "--dry-run", "--json").out)["models"]
    assert (row["samples_wanted"], row["samples_to_ask"], row["prompts"]) == (4, 4, 2)
    assert row["worst_output_tokens"] == 4 * 800
    assert 0 < row["expected_cost"] < row["worst_cost"]
    assert row["tokens_counted"] is False
    assert Done(*common, "--no-score").code == 0
    models.fields["count"] = len
    [row] = json.loads(Done(*common, "--dry-run", "--json").out)["models"]
    assert (row["samples_stored"], row["samples_to_ask"], row["worst_cost"]) == (4, 0, 0)
    assert row["tokens_counted"] is True


def test_a_dry_run_counts_the_judges_too(tmp_path: Path, models: Models, prices: str) -> None:
    models.reply = lambda request, _sample: GOOD if asks_a_judge(request) else "    pass\n"
    common = ("devbench", "-m", "m=fake/a", "-n", "2", *ONE, "-o", str(tmp_path / "run"), "--prices", prices)
    graded = (*common, "-m", "judge=fake/judge")
    [row] = json.loads(Done(*graded, "--dry-run", "--json").out)["judges"]
    assert row["judge"] == "fake/judge"
    assert (row["judgements"], row["to_ask"]) == (4 + 2 * 4, 4 + 2 * 4)  # four controls of each problem
    assert row["worst_cost"] > row["expected_cost"] > 40
    done = Done(*graded, "--dry-run", "--max-cost", "40")
    assert "judge       folder" in done.out
    assert "does not cover the expected cost" in done.out
    assert "does not" not in Done(*common, "--dry-run", "--max-cost", "40").out
    assert Done(*graded, "--no-score").code == 0
    [row] = json.loads(Done(*graded, "--dry-run", "--json").out)["judges"]
    assert (row["stored"], row["to_ask"], row["worst_cost"]) == (2 * 5, 0, 0)  # equal texts are judged once


def test_no_two_columns_of_a_dry_run_have_one_name(tmp_path: Path, models: Models, prices: str) -> None:
    common = ("devbench", "-m", "m=fake/a", "-m", "judge=g=fake/j", *ONE, "-o", str(tmp_path / "run"))
    heads = [re.split(r"  +", line) for line in Done(*common, "--dry-run", "--prices", prices).out.splitlines()]
    for first in ("model", "judge"):
        [names] = [line for line in heads if line[0] == first]
        assert len({*names}) == len(names) > 8


def test_without_a_price_a_dry_run_says_so(tmp_path: Path, models: Models) -> None:
    done = Done("devbench", "-m", "m=fake/a", *ONE, "-o", str(tmp_path / "run"), "--dry-run")
    assert "no price" in done.out
    assert done.code == 0


def test_the_completions_of_a_run_can_be_scored_under_another_policy(tmp_path: Path, models: Models) -> None:
    assert Done("devbench", "-m", "m=fake/a", *ONE, "-o", str(tmp_path / "x")).code == 0
    stored = [row for row in RunFolder(tmp_path / "x").completions() if row.model == "m"]
    result = CliRunner().invoke(
        cli.app,
        ["score", "devbench", *ONE, "--completions", str(tmp_path / "x" / "completions.jsonl"), "--policy",
         "first_line", "-o", str(tmp_path / "y")],
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    assert [row for row in RunFolder(tmp_path / "y").completions() if row.model == "m"] == stored
    manifests = [RunFolder(tmp_path / name).manifest() for name in "xy"]
    assert [manifest.policy for manifest in manifests] == ["syntax@4", "first_line@3"]
    assert manifests[1].models[-1].settings == manifests[0].models[0].settings


# --- run files ----------------------------------------------------------------------------------------------------

RUN_FILE = """
max_cost = 100.0
baselines = ["reference"]
execute = false

[prices."fake/*"]
input_per_million = 1
output_per_million = 1

[defaults]
preset = "devbench-paper"
sampling = { seed = 5 }
options = { connections = 3 }

[[models]]
spec = "fake/a"

[[models]]
name = "b"
spec = "fake/b"
samples = 1
sampling = { temperature = "none", max_tokens = 50 }
prompt = "natural"

[[suites]]
name = "devbench"
select = "language=python,category=low_context"

[[suites]]
name = "devbench"
profile = "paper"
select = "language=python,category=low_context"
limit = 1
"""


def test_a_run_file_makes_a_folder_for_each_suite_and_profile(tmp_path: Path, models: Models) -> None:
    path = tmp_path / "both.toml"
    path.write_text(RUN_FILE)
    done = Done(str(path), "-o", str(tmp_path / "out"), "--no-html", "--dry-run", "--json")
    assert [row["samples_to_ask"] for row in json.loads(done.out)["models"]] == [10, 5, 2, 1]
    done = Done(str(path), "-o", str(tmp_path / "out"), "--no-html")
    assert done.code == 0, done.err
    folders = sorted(entry.name for entry in (tmp_path / "out").iterdir())
    assert folders == ["devbench-starter-default", "devbench-starter-paper"]
    for name in folders:
        manifest = RunFolder(tmp_path / "out" / name).manifest()
        assert [info.model for info in manifest.models] == ["fake/a", "b", "reference"]
    counts = [len(client.samples_asked) for client in models.opened if client.asked]
    assert counts == [15, 3]
    assert models.opened[-1].asked[0].sampling == Sampling(max_tokens=50, temperature=None, seed=5)
    assert models.options[-1].connections == 3
    asked = len(models.asked)
    done = Done(str(path), "-o", str(tmp_path / "out"), "--no-html", "--json")
    assert len(models.asked) == asked
    assert [len(summary["columns"]) for summary in json.loads(done.out)] == [3, 3]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (("max_cost = 100.0", "max_costs = 100.0"), "max_costs: there is no such key; correct its name"),
        (('spec = "fake/a"', 'name = "a"'), "models.0.spec: it is missing; add it"),
        (('spec = "fake/a"', 'spec = "a"'), "models.0.spec: 'a' names no model"),
        (('spec = "fake/a"', 'spec = "fake/a"\nspek = "b"'), "models.0.spek: there is no such key"),
        (("seed = 5", "seeds = 5"), "defaults.sampling.seeds: there is no such key"),
        (("max_tokens = 50", "max_tokens = 0"), "models.1.sampling.max_tokens: 0 is too small; give 1 or more"),
        (("connections = 3", "connection = 3"), "models.0.options.connection: there is no such key"),
        (('preset = "devbench-paper"', 'preset = "x"'), "models.0.preset: unknown preset 'x'"),
        (('profile = "paper"', 'profile = "x"'), "suites.1: --profile 'x'"),
        (('name = "devbench"\nprofile', 'name = "x"\nprofile'), "suites.1: unknown suite 'x'"),
        (("input_per_million = 1", "input_per_million = -1"), "prices"),
        (("[[suites]]", "[[suits]]"), "suits: there is no such key"),
        (("max_cost = 100.0", "max_cost = "), "not TOML"),
    ],
)
def test_a_faulty_run_file_names_itself_and_the_key(tmp_path: Path, change: tuple[str, str], complaint: str) -> None:
    path = tmp_path / "faulty.toml"
    assert change[0] in RUN_FILE
    path.write_text(RUN_FILE.replace(*change))
    with pytest.raises(DataError, match="faulty") as caught:
        ResolvedRun.from_config(RunConfig.load(path), path)
    assert complaint in str(caught.value)


def test_a_role_is_no_name_of_a_model_in_a_run_file(tmp_path: Path) -> None:
    path = tmp_path / "role.toml"
    path.write_text(RUN_FILE.replace('name = "b"', 'name = "judge"'))
    done = Done(str(path), "-o", str(tmp_path / "out"), "--dry-run")
    assert "'judge' is the name of a role" in str(done.error)


def test_a_models_own_preset_wins_over_the_sampling_of_defaults(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    own = RUN_FILE.replace("seed = 5", "temperature = 0.9").replace(
        'spec = "fake/a"', 'spec = "fake/a"\npreset = "greedy"'
    )
    path.write_text(own)
    first, second = ResolvedRun.from_config(RunConfig.load(path), path).models
    assert (first.sampling.temperature, second.sampling.temperature) == (0.0, None)
    path.write_text(own.replace('preset = "greedy"', ""))
    assert ResolvedRun.from_config(RunConfig.load(path), path).models[0].sampling.temperature == 0.9


def test_a_flag_that_says_the_default_wins_over_a_run_file(tmp_path: Path, models: Models) -> None:
    path = tmp_path / "both.toml"
    path.write_text("score = false\n" + RUN_FILE)
    out = tmp_path / "out"
    assert Done(str(path), "-o", str(out), "--no-html").code == 0
    assert not (out / "devbench-starter-default" / "scores.jsonl").exists()
    done = Done(str(path), "-o", str(out), "--no-html", "--score", "--baseline", "all")
    assert done.code == 0, done.err
    scored = {row.model for row in RunFolder(out / "devbench-starter-default").scores()}
    assert scored == {"fake/a", "b", "reference", "empty", "stub", "copy-context"}


def test_the_choice_of_problems_is_kept_and_compared(tmp_path: Path, models: Models) -> None:
    common = ("devbench", "-m", "m=fake/a", "--no-execute", "--no-html", "--select", "language=python")
    done = Done(*common, "--limit", "40", "-o", str(tmp_path / "one"))
    assert "--limit 40 took all 12" in done.err
    [chosen] = RunFolder(tmp_path / "one").manifest().selections
    assert chosen == Selection(select="language=python", limit=40)
    assert Done(*common, "-o", str(tmp_path / "two")).code == 0
    Done(*common, "-o", str(tmp_path / "two"))
    assert len(RunFolder(tmp_path / "two").manifest().selections) == 1
    Done(*common, "--per-cell", "1", "-o", str(tmp_path / "two"))
    assert len(RunFolder(tmp_path / "two").manifest().selections) == 2
    runs = [load_run_folder(tmp_path / name) for name in ("one", "two")]
    [note] = selection_notes(runs)
    assert note == (
        "The runs chose their problems differently. one: --select language=python --limit 40 --sample-seed 0; two: "
        "--select language=python and --select language=python --per-cell 1. Only common problems are compared."
    )
    assert list(selection_notes(runs[:1])) == []


def test_two_suites_in_one_folder_are_refused(tmp_path: Path, models: Models) -> None:
    path = tmp_path / "same.toml"
    path.write_text(RUN_FILE.replace('profile = "paper"', "") + "\n")
    assert "two suites" in str(Done(str(path), "-o", str(tmp_path / "out")).error)
    path.write_text(RUN_FILE.replace('profile = "paper"', 'folder = "small"'))
    assert Done(str(path), "-o", str(tmp_path / "out"), "--no-html").code == 0
    assert (tmp_path / "out" / "small" / "manifest.json").exists()


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ("openai/gpt-4o-mini", ("openai/gpt-4o-mini", "openai/gpt-4o-mini")),
        ("mini=openai/gpt-4o-mini", ("mini", "openai/gpt-4o-mini")),
        ("command/my-completer --mode=fast", ("command/my-completer --mode=fast",) * 2),
        ("c=command/my-completer --a=b", ("c", "command/my-completer --a=b")),
        ("gguf//models/a=b.gguf", ("gguf//models/a=b.gguf",) * 2),
    ],
)
def test_names_of_models(option: str, expected: tuple[str, str]) -> None:
    assert parse_model_option(option)[:2] == expected


# --- real processes -----------------------------------------------------------------------------------------------


def command(server: ModelServer, folder: Path, *more: str) -> list[str]:
    return [
        sys.executable, "-m", "caretbench", "run", "devbench", "-m", "m=openai/gpt-4o-mini", "--base-url",
        f"{server.url}/v1", *ONE, "-o", str(folder), *more,
    ]  # fmt: skip


KEY = {"OPENAI_API_KEY": "sk-test-0123456789abcdef"}


@pytest.mark.long
def test_a_wrong_key_is_one_line_and_stands_nowhere(tmp_path: Path) -> None:
    refusals = [error(401, f"Incorrect API key provided: {KEY['OPENAI_API_KEY']}", code="invalid_api_key")]
    with ModelServer(refusals * 10) as server:
        done = subprocess.run(
            command(server, tmp_path / "run"), env={**os.environ, **KEY}, capture_output=True, text=True, check=False
        )
    assert done.returncode == 1
    complaints = [line for line in done.stderr.splitlines() if "Incorrect API key" in line]
    assert len(complaints) == 1
    assert complaints[0].startswith("m: 2 of 2 answers are missing (")
    assert "Traceback" not in done.stderr
    written = [path.read_text() for path in (tmp_path / "run").rglob("*") if path.is_file()]
    assert KEY["OPENAI_API_KEY"] not in done.stdout + done.stderr + "".join(written)
    assert len(missing(tmp_path / "run")) == 2


@pytest.mark.long
def test_ctrl_c_keeps_what_came_and_the_same_command_goes_on(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    hurry = threading.Event()

    def script(_request: Recorded) -> Behaviour | None:
        return None if hurry.is_set() else drip(0.2)

    with ModelServer(script) as server:
        line = command(server, folder.path, "-n", "6", "--connections", "1", "--one-by-one", "--no-score")
        process = subprocess.Popen(
            line, env={**os.environ, **KEY}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        deadline = time.monotonic() + 300
        while len(list(folder.completions())) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, complaint = process.communicate(timeout=300)
        assert process.returncode == 130, complaint
        assert "same command" in complaint
        assert "Traceback" not in complaint
        kept = list(folder.completions())
        assert 2 <= len(kept) < 12
        hurry.set()
        before = len(server.requests)
        done = subprocess.run(line, env={**os.environ, **KEY}, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert len(server.requests) - before == 12 - len(kept)
    assert list(folder.completions())[: len(kept)] == kept
    assert list(folder.missing()) == []


def test_a_project_is_built_and_run(models: Models, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    root = tmp_path / "depot"
    shutil.copytree(sample_projects()["depot"], root)
    arguments = ["run", "codevbench", "--project", str(root), "-m", "openai/one", "--no-execute", "--no-html"]
    result = CliRunner().invoke(cli.app, [*arguments, "--limit", "2"])
    assert result.exit_code == 0, result.exception
    assert (tmp_path / "tasks" / "codevbench-depot-2" / "problems.jsonl").is_file()
    assert len((tmp_path / "tasks" / "codevbench-depot-2" / "candidates.jsonl").read_text().splitlines()) <= 4
    assert len(models.opened) == 1
    for more, message in (("--data", "cannot be combined with --data"), ("", "makes no problems of a project")):
        wrong = ["run", "codevbench" if more else "devbench", "--project", str(root), "-m", "openai/one"]
        refused = CliRunner().invoke(cli.app, [*wrong, *([more, "x"] if more else [])])
        assert message in str(refused.exception)
    with next(root.glob("**/*.py")).open("a") as stream:
        stream.write("\n# changed\n")
    changed = CliRunner().invoke(cli.app, [*arguments, "--limit", "2"])
    assert "in tasks/codevbench-depot-2" in str(changed.exception)


def test_a_cache_that_cannot_be_written_is_found_before_a_model_is_asked(
    models: Models, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CARETBENCH_CACHE", str(tmp_path / "file" / "cache"))
    arguments = ["run", "devbench", "-m", "openai/one", "--limit", "1", "--output", str(tmp_path / "run")]
    result = CliRunner().invoke(cli.app, arguments)
    assert f"({tmp_path / 'file'}); choose another" in str(result.exception)
    assert not (tmp_path / "run" / "completions.jsonl").exists()


def test_another_selection_in_the_same_folder_is_noted(models: Models, tmp_path: Path) -> None:
    arguments = ["run", "devbench", "-m", "openai/one", "--no-execute", "--no-html", "--output", str(tmp_path / "run")]
    first = CliRunner().invoke(cli.app, [*arguments, "--select", "language=python"])
    assert "command chooses" not in first.output
    second = CliRunner().invoke(cli.app, [*arguments, "--select", "language=python,mode=suffix"])
    assert "holds 12 problems, and this command chooses 10: the report is about all 12; -o chooses" in second.output
    assert second.exit_code == 0, second.exception
    assert "holds openai/one" not in second.output
    arguments[3] = "openai/two"
    other = CliRunner().invoke(cli.app, [*arguments, "--select", "language=python"])
    assert "holds openai/one" in other.output


def test_another_selection_is_refused_before_a_model_is_asked(models: Models, tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    arguments = ["run", "devbench", "-m", "openai/one", "--no-execute", "--no-html", "--output", str(folder.path)]

    def run(*more: str) -> Result:
        return CliRunner().invoke(cli.app, [*arguments, *more])

    assert run("--limit", "4").exit_code == 0
    before = folder.completions_path.read_bytes()
    for more in (("--select", "language=python"), ("--limit", "4", "--sample-seed", "1")):
        for dry in ((), ("--dry-run",)):
            refused = run(*more, *dry)
            assert "of 4 problems" in str(refused.exception)
            assert "with --add" in str(refused.exception)
    assert folder.completions_path.read_bytes() == before
    assert len(models.opened) == 1
    assert run("--limit", "6").exit_code == 0
    assert len(folder.problems()) == 6
    assert run("--select", "language=python", "--add").exit_code == 0
    assert len(folder.problems()) > 12
    assert len(folder.manifest().selections) == 3
