"""`run all`: every suite whose data is here, one failure among them, and time or money divided over suites."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from caretbench.errors import UsageError
from caretbench.metrics.power import planned_problems
from caretbench.models import ClientOptions, ModelRequest
from caretbench.problem import Usage
from caretbench.reports.overview import overview_of
from caretbench.runs import runner, session
from caretbench.runs.forecast import forecast_run
from caretbench.runs.plans.config import ALL_SUITES, ModelConfig, RunConfig, SuiteConfig
from caretbench.runs.plans.plan import ALL_LIMIT, ResolvedRun
from caretbench.runs.run_folder import RunFolder
from caretbench.runs.runner import MEASURED, SuiteCost, divided, undivided, with_limits
from tests.support.fakes import FakeClient

FIVE = ["devbench", "simcopilot", "efcb", "c3bench", "codevbench"]


def config_of(root: Path, suites: Sequence[str] = (ALL_SUITES,), **settings: object) -> RunConfig:
    limit = settings.pop("limit", None)
    table = {
        "suites": tuple(SuiteConfig(name=name, limit=limit) for name in suites),  # type: ignore[arg-type]
        "models": (ModelConfig(spec="fake/m"),), "output": root, "together": True, "execute": False, "baselines": (),
    }  # fmt: skip
    return RunConfig.model_validate(table | settings)


def opener(*kinds: str, name: str = "m") -> runner.ClientOpener:
    def opened(_spec: str, _options: ClientOptions) -> FakeClient:
        usage = Usage(input_tokens=10, output_tokens=10)
        return FakeClient(lambda _request, _sample: "x", name=name, accepts=kinds, usage=usage)  # type: ignore[arg-type]

    return opened


def test_all_is_every_suite_with_data_and_a_line_for_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CARETBENCH_CACHE", str(tmp_path / "cache"))
    plan = ResolvedRun.from_config(config_of(tmp_path))
    assert [one.suite.name for one in plan.suites] == FIVE
    assert max(len(one.problems) for one in plan.suites) == ALL_LIMIT
    assert plan.absent["safim"].endswith("caretbench pull safim")
    assert "--data PATH" in plan.absent["repobench"]
    assert len({one.folder.path for one in plan.suites}) == len(FIVE)
    with pytest.raises(UsageError, match="no suite"):
        ResolvedRun.from_config(RunConfig(suites=(SuiteConfig(name=ALL_SUITES, data="nowhere"),)))


def test_a_suite_that_a_model_cannot_be_asked_about_is_a_line_and_the_others_go_on(tmp_path: Path) -> None:
    config = config_of(tmp_path, ["devbench", "c3bench", "efcb"], limit=3, score=False)
    plan = ResolvedRun.from_config(config)
    done = runner.run(plan, opener("text", name="starcoder2"))
    assert [folder.path.name.partition("-")[0] for folder in done.folders] == ["devbench", "efcb"]
    [line] = done.complaints
    assert "no place for an instruction" in line
    assert "--instruction comment" in line
    overview = overview_of(tmp_path, {})
    assert [name.partition("-")[0] for name in overview.absent] == ["c3bench"]
    assert len(forecast_run(plan, opener("text", name="starcoder2")).absent) == 1


def test_an_instruction_goes_by_chat_where_the_model_has_chat(tmp_path: Path) -> None:
    config = config_of(tmp_path, ["devbench", "c3bench"], limit=2, score=False)
    done = runner.run(ResolvedRun.from_config(config), opener("text", "chat", name="starcoder2"))
    assert not done.complaints
    prompts = [str(folder.manifest().models[0].settings["prompt"]) for folder in done.folders]
    assert prompts[0].startswith("fim/starcoder")
    assert prompts[1].startswith("chat@")


def test_a_failure_while_scoring_is_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: session.RunSession) -> None:
        if self.resolved.suite.name == "devbench":
            raise UsageError("the scorer is ill")

    monkeypatch.setattr(session.RunSession, "score", broken)
    config = config_of(tmp_path, ["devbench", "efcb"], limit=2)
    done = runner.run(ResolvedRun.from_config(config), opener("chat"))
    assert [folder.path.name for folder in done.folders] == ["efcb-starter-default"]
    assert done.complaints == ["devbench-starter-default: the scorer is ill"]


def test_a_folder_of_another_run_is_a_line(tmp_path: Path) -> None:
    config = config_of(tmp_path, ["devbench", "efcb"], limit=2, score=False)
    runner.run(ResolvedRun.from_config(config), opener("chat"))
    manifest = tmp_path / "devbench-starter-default" / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"policy": "raw@1"}))
    done = runner.run(ResolvedRun.from_config(config), opener("chat"))
    assert [folder.path.name for folder in done.folders] == ["efcb-starter-default"]
    assert "policy (raw@1 there" in done.complaints[0]


def test_each_suite_gets_what_it_needs_for_the_same_difference(tmp_path: Path) -> None:
    plan = ResolvedRun.from_config(config_of(tmp_path, ["devbench", "c3bench"], minutes=10))
    costs = {0: SuiteCost(2.0, 0.0), 1: SuiteCost(0.5, 0.0)}
    limits, difference = divided(plan, costs, 120, 1.0)
    assert difference is not None
    assert 90 < 2.0 * limits[0] + 0.5 * limits[1] <= 120
    assert limits[0] == planned_problems(difference, [1] * 72)
    assert divided(plan, costs, 1e6, 1.0) == ({0: 72, 1: limits_of(plan, 1)}, None)
    # Money bounds as time does.
    dear = {place: cost._replace(dollars=0.01) for place, cost in costs.items()}
    assert sum(divided(plan, dear, 1e6, 0.5)[0].values()) <= 50


def limits_of(plan: ResolvedRun, place: int) -> int:
    """Number of problems of a suite that do not overlap."""
    return len(with_limits(plan, {place: 10_000}).suites[place].problems)


def test_minutes_are_measured_divided_and_kept_by_the_next_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def timed(self: session.RunSession) -> None:
        self.seconds += MEASURED * (4.0 if self.resolved.suite.name == "devbench" else 1.0)

    monkeypatch.setattr(session.RunSession, "score", timed)
    asked: list[ModelRequest] = []

    def counting(spec: str, options: ClientOptions) -> FakeClient:
        client = opener("chat")(spec, options)
        assert isinstance(client, FakeClient)
        client.asked = asked
        return client

    config = config_of(tmp_path, ["devbench", "efcb"], minutes=2)
    plan = ResolvedRun.from_config(config)
    assert undivided(plan) == {0: None, 1: None}
    runner.run(plan, counting)
    manifests = [RunFolder(one.folder.path).manifest() for one in plan.suites]
    limits = [[entry.limit for entry in manifest.selections] for manifest in manifests]
    assert [found[0] for found in limits] == [MEASURED, MEASURED]
    assert MEASURED < limits[0][-1] < 40  # type: ignore[operator]
    once = len(asked)
    assert once == sum(manifest.data.selected for manifest in manifests)
    runner.run(ResolvedRun.from_config(config), counting)
    assert len(asked) == once


def test_a_number_of_problems_is_not_divided(tmp_path: Path) -> None:
    limited = ResolvedRun.from_config(config_of(tmp_path, ["devbench", "efcb"], limit=4, max_cost=1.0))
    assert undivided(limited) == {}
    alone = ResolvedRun.from_config(config_of(tmp_path, ["devbench"], max_cost=1.0))
    assert undivided(alone) == {}
