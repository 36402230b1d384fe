"""What cost a newcomer an hour: spellings of addresses, a server that is off, gateways, misspelled names."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from caretbench import cli
from caretbench.errors import MachineError, UsageError
from caretbench.extraction.policies import get_policy
from caretbench.local.server_spec import canonical_spec
from caretbench.models import ClientOptions
from caretbench.prompts.registry import get_strategy
from caretbench.runs.plans.options import options_to_tables
from caretbench.runs.plans.plan import sampling_preset
from caretbench.runs.run_folder import RunFolder
from caretbench.suites import load_suite
from tests.support.fakes import FakeClient
from tests.support.model_server import ModelServer

ONE = ("--select", "language=python,category=low_context", "--no-execute", "--no-html")


def call(*arguments: object) -> Result:
    return CliRunner().invoke(cli.app, [*map(str, arguments)])


def test_two_spellings_of_an_address_are_one_model() -> None:
    spellings = (
        "server/toy@127.0.0.1:8000",
        "server/toy@http://127.0.0.1:8000",
        "server/toy@http://127.0.0.1:8000/v1/",
    )
    assert {canonical_spec(spec) for spec in spellings} == {"server/toy@http://127.0.0.1:8000"}
    for spec in ("openai/gpt-4o@2024", "server/toy", "server/toy@not a host"):
        assert canonical_spec(spec) == spec


def test_stored_answers_are_scored_while_the_server_is_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    is_on = True

    def opened(spec: str, _options: ClientOptions) -> FakeClient:
        if not is_on:
            raise MachineError(f"{spec}: nobody listens")
        return FakeClient(lambda _request, _sample: "x", name=spec, accepts=["chat"])

    def checked(spec: str, _options: ClientOptions) -> None:
        if not is_on:
            raise MachineError(f"{spec}: nobody listens")

    monkeypatch.setattr("caretbench.cli.run.open_client", opened)
    monkeypatch.setattr("caretbench.cli.run.check_access", checked)
    command = ("run", "devbench", "-m", "m=fake/a", *ONE, "-o", tmp_path / "run")
    assert call(*command, "--no-score").exit_code == 0
    is_on = False
    done = call(*command)
    assert done.exit_code == 0, done.exception
    assert "all answers are stored" in done.stderr
    assert {row.model for row in RunFolder(tmp_path / "run").scores()} >= {"m"}
    # Another temperature, or one more sample, is not there.
    for further in (("--temperature", "0"), ("-n", "2")):
        assert isinstance(call(*command, *further).exception, MachineError)


def test_headers_go_with_every_request_and_are_stored_nowhere(tmp_path: Path) -> None:
    with ModelServer() as server:
        done = call(
            "run", "devbench", "-m", f"server/model@{server.url}", *ONE, "-o", tmp_path / "run",
            "--header", "X-Team: sesame-street", "--header", "X-Mode=a=b",
        )  # fmt: skip
        assert done.exit_code == 0, done.exception
        told = [*server.requests, *server.about]
        for request in told:
            found = {name.lower(): value for name, value in request.headers.items()}
            assert (found.get("x-team"), found.get("x-mode")) == ("sesame-street", "a=b"), request.path
        assert {request.path for request in server.requests} & {"/v1/chat/completions", "/v1/completions", "/infill"}
    assert not [path for path in (tmp_path / "run").rglob("*.json*") if "sesame-street" in path.read_text()]
    for wrong in ("X-Team", "=v", "X Team=v", "X-Team=ä"):
        with pytest.raises(UsageError, match="expected NAME=VALUE"):
            options_to_tables({"header": [wrong]})


@pytest.mark.parametrize(
    ("find", "wrong", "right"),
    [
        (load_suite, "devbnech", "devbench"),
        (sampling_preset, "devbench-papr", "devbench-paper"),
        (get_policy, "sintax", "syntax"),
        (get_strategy, "chta", "chat"),
        (get_strategy, "fim/qwen25-coder", "fim/qwen2.5-coder"),
    ],
)
def test_a_misspelled_name_is_answered_by_the_nearest_one(find: object, wrong: str, right: str) -> None:
    assert callable(find)
    with pytest.raises(UsageError, match=re.escape(f"mean {right}?")):
        find(wrong)


def test_recorded_rows_keep_further_fields_and_null_answers_are_named(tmp_path: Path) -> None:
    mine = tmp_path / "mine.jsonl"

    def score(*rows: dict[str, object]) -> Result:
        named = [{"problem_id": "python/low_context/refresh-stale-token", "text": "a"} | row for row in rows]
        mine.write_text("".join(json.dumps(row) + "\n" for row in named))
        return call("score", "devbench", "--completions", mine, *ONE, "-o", tmp_path / "run")

    done = score({"temperature": 0.3, "note": "run 7"}, {"text": None})
    assert done.exit_code == 0, done.exception
    assert "null as text" in done.stderr
    stored = [row for row in RunFolder(tmp_path / "run").completions() if row.model == "mine"]
    assert stored[0].model_extra == {"temperature": 0.3, "note": "run 7"}
    assert "field 'modle'" in str(score({"modle": "x"}).exception)


def test_prompts_are_written_where_they_can_be(tmp_path: Path) -> None:
    path = tmp_path / "prompts.jsonl"
    done = call("show", "c3bench", "--prompts", path, "--prompt", "devbench-paper")
    assert isinstance(done.exception, UsageError)
    assert "without --prompt" in str(done.exception)
    done = call("show", "efcb", "--prompts", path, "--limit", "5")
    assert done.exit_code == 0
    assert len(path.read_text().splitlines()) == 5


@pytest.mark.parametrize(
    ("select", "limit", "said"),
    [
        (("--select", "language=python"), 40, "--limit 40 took all 12 that --select"),
        ((), 600, "the others overlap these"),
    ],
)
def test_a_limit_that_is_not_reached_says_why(select: Sequence[str], limit: int, said: str, tmp_path: Path) -> None:
    suite = "devbench" if select else "simcopilot"
    done = call("score", suite, "--baseline", "empty", "--no-execute", "--no-html", *select, "--limit", limit,
                "-o", tmp_path / "run")  # fmt: skip
    assert said in done.stderr


def test_a_wrong_option_is_named_before_a_server_that_is_off() -> None:
    off = ["run", "devbench", "-m", "server/toy@http://127.0.0.1:1"]
    for wrong in (["--policy", "sintax"], ["--select", "language=pyton"], ["--data", "nowhere"]):
        assert wrong[1].rpartition("=")[2] in str(call(*off, *wrong).exception)
