"""`--instruction`: several modes on the same problems in one command, kept apart in rows, reports and comparisons."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from caretbench import cli
from caretbench.execution.sandbox import bubblewrap
from caretbench.files import DataError
from caretbench.models import ClientOptions, ModelRequest
from caretbench.problem import Usage
from caretbench.prompts import get_strategy
from caretbench.prompts.instructions import InstructionPlacement
from caretbench.reports.compare import compare_runs
from caretbench.reports.run_summary import load_run_folder
from caretbench.runs.generate import ModelUnderTest, prompt_text
from caretbench.runs.plans.config import RunConfig, config_from_options
from caretbench.runs.plans.plan import model_plans
from caretbench.runs.plans.roles import NamedModel
from caretbench.runs.run_folder import RunFolder
from tests.support.fakes import FakeClient, Reply, failure
from tests.support.instructed import LOOP, instructed_suite, is_followed, variants
from tests.support.rule_judges import between

needs_sandbox = pytest.mark.skipif(bubblewrap.find_bubblewrap() is None, reason="bubblewrap is not installed")

PRICES = '[models."fake/*"]\ninput_per_million = 1000\noutput_per_million = 1000\n'


class Models:
    """Fake models that follow an instruction wherever they are shown one, and else write a loop."""

    def __init__(self) -> None:
        self.opened: list[FakeClient] = []
        self.fields: dict[str, Any] = {"accepts": ["chat", "text"], "usage": Usage(input_tokens=10, output_tokens=5)}
        self.reply: Callable[[ModelRequest, int], Reply] = self.follow

    @staticmethod
    def follow(request: ModelRequest, _sample: int) -> str:
        texts = variants(int(request.id[1:3]))
        shown = prompt_text(request.prompt)
        return next((text for instruction, text in texts.items() if instruction in shown), texts[LOOP])

    def open(self, spec: str, _options: ClientOptions) -> FakeClient:
        self.opened.append(FakeClient(self.reply, name=spec, **self.fields))
        return self.opened[-1]

    @property
    def asked(self) -> list[ModelRequest]:
        return [request for client in self.opened for request in client.asked]


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> Iterator[Models]:
    found = Models()
    monkeypatch.setattr("caretbench.cli.run.open_client", found.open)
    monkeypatch.setattr("caretbench.cli.run.check_access", lambda _spec, _options: None)
    with instructed_suite():
        yield found


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli.app, ["run", *map(str, arguments)])


PLAIN = ("instructed", "-m", "m=fake/a", "--prompt", "chat", "--no-execute", "--no-html")


# --- the hash ---------------------------------------------------------------------------------------------------


def test_the_default_is_in_no_hash_and_the_other_modes_are() -> None:
    common: dict[str, Any] = {"name": "m", "client": FakeClient(), "strategy": get_strategy("chat")}
    shown = ModelUnderTest(**common)
    none = ModelUnderTest(**common, instruction=InstructionPlacement("none"))
    comment = ModelUnderTest(**common, instruction=InstructionPlacement("comment"))
    assert "instruction" not in shown.settings
    assert (none.settings["instruction"], comment.settings["instruction"]) == ("none@1", "comment@1")
    assert shown.parameters == "efd8120002cd526e"  # as before there was a choice
    assert len({shown.parameters, none.parameters, comment.parameters}) == 3


# --- one command ------------------------------------------------------------------------------------------------


def test_one_command_asks_all_modes_of_the_same_problems(tmp_path: Path, models: Models) -> None:
    folder = RunFolder(tmp_path / "run")
    done = run(*PLAIN, "--instruction", "shown,none,comment", "-o", folder.path, "--json")
    assert done.exit_code == 0, done.stderr
    rows = [row for row in folder.completions() if row.model == "m"]
    infos = {info.parameters: info for info in folder.manifest().models if info.model == "m"}
    by_mode = {str(info.settings.get("instruction", "shown")): key for key, info in infos.items()}
    assert [*by_mode] == ["shown", "none@1", "comment@1"]  # the manifest has the order of asking
    problems = {problem.id for problem in folder.problems()}
    for key in infos:
        assert {row.problem_id for row in rows if row.parameters == key} == problems
    columns = [column for column in json.loads(done.stdout)["columns"] if not column["baseline"]]
    titles = ["m (instruction shown)", "m (instruction none)", "m (instruction comment)"]
    assert [column["title"] for column in columns] == titles
    asked = len(models.asked)
    assert asked == 3 * len(problems)
    assert run(*PLAIN, "--instruction", "none,shown", "-o", folder.path).exit_code == 0
    assert run(*PLAIN, "-o", folder.path).exit_code == 0  # the default is the mode `shown`
    assert len(models.asked) == asked


def test_the_modes_are_paired_in_a_comparison(tmp_path: Path, models: Models) -> None:
    folder = tmp_path / "run"
    assert run(*PLAIN[:-2], "--no-html", "--instruction", "none,shown", "-o", folder).exit_code == 0
    report = compare_runs([load_run_folder(folder)])
    [row] = report.overall
    assert (row.first, row.second) == ("m (instruction none)", "m (instruction shown)")
    assert row.problems == 48
    assert any("instruction none and shown" in note for note in report.notes)


def test_the_prompts_differ_in_the_instruction_alone(tmp_path: Path, models: Models) -> None:
    assert run(*PLAIN, "--data", "1", "--instruction", "shown,none,comment", "-o", tmp_path).exit_code == 0
    loops = [prompt_text(request.prompt) for request in models.asked if request.id.startswith("f00/loop")]
    shown, none, comment = loops
    assert LOOP in shown
    assert LOOP not in none
    assert f"    # {LOOP}\n" in comment
    assert comment.replace(f"    # {LOOP}\n", "") == none


def test_the_client_of_one_model_stays_open_over_its_modes(tmp_path: Path, models: Models) -> None:
    assert run(*PLAIN, "--instruction", "shown,none,comment", "-o", tmp_path).exit_code == 0
    assert len(models.opened) == 1


# --- what is refused before anything is asked -------------------------------------------------------------------


@pytest.mark.parametrize("modes", [[], ["--instruction", "shown"], ["--instruction", "none,shown"]])
def test_a_fim_model_is_refused_the_shown_instruction_before_anything_is_asked(
    tmp_path: Path, models: Models, modes: list[str]
) -> None:
    fim = ("instructed", "-m", "m=fake/starcoder", "--prompt", "fim/starcoder", "--no-execute", "--no-html")
    done = run(*fim, *modes, "-o", tmp_path / "run")
    assert done.exit_code == 1
    told = str(done.exception)
    assert "m: fim/starcoder " in told
    assert "48 of 48 problems" in told
    assert "--instruction none,comment" in told
    assert models.asked == []
    assert not (tmp_path / "run" / "completions.jsonl").exists()
    # It is reported twice: without the instruction, and with it as a comment.
    assert run(*fim, "--instruction", "none,comment", "-o", tmp_path / "run").exit_code == 0
    assert len(models.asked) == 2 * 48


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("devbench", "-m", "m=fake/a", "--instruction", "none"), "the problems of devbench have no instruction"),
        ((*PLAIN, "--instruction", "both"), "'both' is not known; give 'shown', 'none' or 'comment'"),
        ((*PLAIN, "--instruction", "none,none"), "a mode occurs twice"),
        ((*PLAIN, "--instruction", ""), "'' is not known"),
    ],
)
def test_a_wrong_mode_is_refused(tmp_path: Path, models: Models, arguments: tuple[str, ...], told: str) -> None:
    done = run(*arguments, "-o", tmp_path / "run")
    assert done.exit_code == 1
    assert told in str(done.exception)
    assert models.opened == []


def test_two_models_of_one_name_are_refused_even_in_different_modes(tmp_path: Path, models: Models) -> None:
    file = tmp_path / "two.toml"
    file.write_text(
        '[[suites]]\nname = "instructed"\n'
        '[[models]]\nname = "m"\nspec = "fake/a"\ninstruction = ["none"]\n'
        '[[models]]\nname = "m"\nspec = "fake/b"\ninstruction = ["shown"]\n'
    )
    done = run(file)
    assert "called 'm'" in str(done.exception)


# --- run files, forecast, budget, local models ------------------------------------------------------------------


def test_a_run_file_has_modes_for_all_models_or_for_one(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text(
        '[[suites]]\nname = "instructed"\n[defaults]\ninstruction = "shown,none"\n'
        '[[models]]\nspec = "fake/a"\n[[models]]\nspec = "fake/b"\ninstruction = ["comment"]\n'
    )
    plans = model_plans(RunConfig.load(path), path)
    assert [(plan.name, plan.instruction) for plan in plans] == [
        ("fake/a", "shown"), ("fake/a", "none"), ("fake/b", "comment"),
    ]  # fmt: skip
    assert plans[1].title == "fake/a (instruction none)"
    path.write_text('[[suites]]\nname = "instructed"\n[[models]]\nspec = "fake/a"\ninstruction = []\n')
    with pytest.raises(DataError, match=r"models\.0\.instruction: .*none"):
        RunConfig.load(path)
    options = config_from_options("instructed", {"instruction": "none, comment"}, [NamedModel("m", "fake/a")])
    assert options.models[0].instruction == ("none", "comment")
    assert config_from_options("instructed", {}, [NamedModel("m", "fake/a")]).models[0].instruction is None


def test_a_dry_run_forecasts_every_mode_and_sends_nothing(tmp_path: Path, models: Models) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text(PRICES)
    dry = (*PLAIN, "--instruction", "shown,none", "--dry-run", "--prices", prices, "-o", tmp_path / "run")
    done = run(*dry, "--json")
    assert done.exit_code == 0, done.stderr
    rows = json.loads(done.stdout)["models"]
    assert [(row["instruction"], row["samples_to_ask"]) for row in rows] == [(None, 48), ("none@1", 48)]
    assert rows[0]["input_tokens"] > rows[1]["input_tokens"] > 0
    assert "chat@1, none@1" in run(*dry).stdout
    assert models.asked == []
    assert not (tmp_path / "run").exists()


def test_the_budget_holds_over_all_modes(tmp_path: Path, models: Models) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text(PRICES)
    folder = RunFolder(tmp_path / "run")
    both = (*PLAIN, "--instruction", "shown,none", "--max-tokens", "20", "-o", folder.path)
    done = run(*both, "--max-cost", "2.5", "--prices", prices)
    assert done.exit_code == 1
    assert "m (instruction none): " in done.stderr
    assert "missing (budget" in done.stderr
    assert sum(row.cost or 0 for row in folder.completions()) <= 2.5
    first = [request.id for request in models.asked]
    assert 48 < len(first) < 96
    assert run(*both).exit_code == 0
    assert len(models.asked) == 96  # nothing is asked twice


def test_local_only_refuses_a_remote_model_in_every_mode(tmp_path: Path, models: Models) -> None:
    done = run(*PLAIN, "--instruction", "none,comment", "--local-only", "-o", tmp_path / "run")
    assert done.exit_code == 1
    assert "fake/a" in str(done.exception)
    assert models.opened == []


def test_a_failure_names_the_mode(tmp_path: Path, models: Models) -> None:
    def reply(request: ModelRequest, sample: int) -> Reply:
        silent = LOOP not in prompt_text(request.prompt)
        return failure("no answer") if silent and "loop" in request.id else models.follow(request, sample)

    models.reply = reply
    done = run(*PLAIN, "--data", "2", "--instruction", "shown,none", "-o", tmp_path / "run")
    assert done.exit_code == 1
    assert "(instruction none): 2 of 4" in done.stderr
    assert "(instruction shown): 2 of 4" not in done.stderr


# --- with a judge -----------------------------------------------------------------------------------------------


@needs_sandbox
def test_a_run_scores_its_modes_before_the_judge_decides_about_what_passed(tmp_path: Path, models: Models) -> None:
    judged: list[str] = []

    def reply(request: ModelRequest, sample: int) -> Reply:
        text = prompt_text(request.prompt)
        if "INSERTED CODE" not in text:
            answer = models.follow(request, sample)
            return "    return 0\n" if request.id.startswith("f00") else answer
        judged.append(between(text, "INSERTED CODE"))
        decision = is_followed(between(text, "INSTRUCTION"), judged[-1])
        return f"[JUDGMENT]{'yes' if decision else 'no'}[/JUDGMENT]"

    models.reply = reply
    folder = RunFolder(tmp_path / "run")
    prices = tmp_path / "prices.toml"
    prices.write_text(PRICES)
    arguments = (
        "instructed", "-m", "m=fake/a", "-m", "judge=fake/j", "--prompt", "chat", "--instruction", "shown,none",
        "--no-html", "-o", folder.path,
    )  # fmt: skip
    forecast = json.loads(run(*arguments, "--prices", prices, "--dry-run", "--json").stdout)
    assert [row["instruction"] for row in forecast["models"]] == [None, "none@1"]
    assert forecast["judges"][0]["to_ask"] == 2 * 48 + 3 * 48  # all answers as if they passed, and the controls
    assert models.asked == []
    done = run(*arguments, "--json")
    assert done.exit_code == 0, done.stderr
    assert "    return 0\n" not in judged  # it did not pass
    run_tables = {table["name"]: table for table in json.loads(done.stdout)["suite_tables"]}
    first, second = (
        dict(zip(run_tables["effects"]["columns"], row, strict=True)) for row in run_tables["effects"]["rows"]
    )
    assert (first["Measure"], first["Difference (points)"].partition("\n")[0]) == ("By predicate", "+47.9")
    assert (second["Measure"], second["Difference (points)"].partition("\n")[0]) == ("By judge", "+50.0")
    assert {row["Verdict"] for row in (first, second)} == {"better: shown"}
    [scores] = json.loads(done.stdout)["judged"]
    values = {column["title"]: column["value"]["value"] for column in scores["columns"]}
    assert values["m (instruction shown)"] == 1.0
    assert values["m (instruction none)"] == 0.5
    assert scores["judges"][0]["decisions"]["predicate"]["agreement"] == 1.0
