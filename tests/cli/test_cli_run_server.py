"""`run` on a server of one's own, as a user types it: a server that fails, and answers without text."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from caretbench import cli
from caretbench.local.server_spec import KEY_VARIABLE
from caretbench.runs.run_folder import RunFolder
from tests.support import model_server, own_servers
from tests.support.model_server import Behaviour, ModelServer, Recorded

FAILURES: dict[str, Callable[[], Behaviour]] = {
    "429 with Retry-After": model_server.rate_limited,
    "429": lambda: model_server.rate_limited(None),
    "500": model_server.error,
    "503": lambda: model_server.error(503),
    "closed connection": lambda: model_server.disconnect(0),
    "cut body": model_server.disconnect,
    "malformed JSON": model_server.garbage,
    "timeout": lambda: model_server.silence(60),
}
FAILING = 33
"""Requests of 72 whose first try fails."""


def asked_text(request: Recorded) -> str:
    body = request.body or {}
    return json.dumps([body.get("prompt"), body.get("messages")])


class Flaky:
    """Fails the first try of 33 prompts, in eight ways in turn; probes, which ask for one token, are answered."""

    def __init__(self) -> None:
        self.failed: Counter[str] = Counter()
        self.seen: set[str] = set()

    def __call__(self, request: Recorded) -> Behaviour | None:
        text = asked_text(request)
        if (request.body or {}).get("max_tokens", 1) == 1 or text in self.seen:
            return None
        self.seen.add(text)
        if len(self.seen) % 2 == 0 or self.failed.total() == FAILING:
            return None
        name = [*FAILURES][self.failed.total() % len(FAILURES)]
        self.failed[name] += 1
        return FAILURES[name]()


def run(server: ModelServer, folder: Path, *more: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli.app, [
        "run", "devbench", "--data", "starter", "-m", f"toy=server/toy@{server.url}/v1", "--no-execute", "--no-html",
        "-o", str(folder), *more,
    ])  # fmt: skip
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stderr


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)


@pytest.mark.long
def test_a_server_that_fails_33_of_72_first_requests_still_gives_72_rows(tmp_path: Path) -> None:
    flaky = Flaky()
    with ModelServer(flaky, paths=own_servers.OPENAI_PATHS, about={}) as server:
        code, said = run(server, tmp_path / "run", "--timeout", "3", "--connections", "8")
    assert code == 0, said
    assert flaky.failed.total() == FAILING
    assert set(flaky.failed) == {*FAILURES}
    folder = RunFolder(tmp_path / "run")
    rows = [row for row in folder.completions() if row.model == "toy"]
    assert len({row.problem_id for row in rows}) == len(rows) == 72
    assert {row.text for row in rows} == {"return 2 * x"}
    assert list(folder.missing()) == []
    assert Counter(row.latency.attempts for row in rows if row.latency) == {1: 72 - FAILING, 2: FAILING}
    assert "toy has chat and completions, not FIM" in said
    assert "prompt left-to-right@3" in said


def test_null_answers_are_rows_and_give_a_warning(tmp_path: Path) -> None:
    def script(request: Recorded) -> Behaviour | None:
        null = (request.body or {}).get("max_tokens") != 1 and "python" in asked_text(request).lower()
        return Behaviour(null=True, whole=True) if null else None

    with own_servers.only("/v1/chat/completions") as server:
        server._script = script
        code, said = run(server, tmp_path / "run", "--limit", "4", "--select", "language=python")
    assert code == 0, said
    rows = [row for row in RunFolder(tmp_path / "run").completions() if row.model == "toy"]
    assert [row.text for row in rows] == [None] * 4
    shown = CliRunner().invoke(cli.app, ["report", str(tmp_path / "run"), "--no-html"])
    assert "toy: 4 of 4 answers are null: the provider sent no text." in shown.stdout
    client = RunFolder(tmp_path / "run").manifest().models[0].settings["client"]
    assert client == {
        "model": f"server/toy@{server.url}", "provider": "server", "address": server.url, "served": "toy",
    }  # fmt: skip
