"""``caretbench show``: the prompts of all problems in a file, for outputs that are made elsewhere."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from caretbench.models import ChatPrompt
from caretbench.prompts import get_strategy
from caretbench.runs.generate import ModelUnderTest
from caretbench.suites import load_problems, load_suite
from tests.support.command_run import in_this_process as caretbench
from tests.support.fakes import FakeClient
from tests.support.model_server import ModelServer

_PAGE = Path(__file__).parents[2] / "docs/how-to/recorded.md"
_CHOSEN = ("--select", "language=python,category=low_context")


def written(path: Path, *arguments: str) -> list[dict[str, Any]]:
    done = caretbench("show", *arguments, "--prompts", str(path))
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.mark.parametrize(("suite", "prompt"), [("devbench", "chat"), ("efcb", "question")])
def test_the_prompts_are_those_that_a_run_sends(suite: str, prompt: str, tmp_path: Path) -> None:
    rows = {row["problem_id"]: row for row in written(tmp_path / "prompts.jsonl", suite, "--limit", "6")}
    problems = [problem for problem in load_problems(load_suite(suite), "starter").problems if problem.id in rows]
    assert len(problems) == 6
    sent = ModelUnderTest(name="model", client=FakeClient(), strategy=get_strategy(prompt))
    for pending in sent.pending_samples(problems, {}):
        assert isinstance(pending.prompt, ChatPrompt)
        conversation = [{"role": message.role, "content": message.text} for message in pending.prompt.messages]
        row = rows[pending.item.id]
        assert row["messages"] == conversation
        assert row["strategy"] == get_strategy(prompt).key
        if suite == "devbench":
            caret = pending.item.caret
            assert (row["prefix"], row["suffix"], row["language"]) == (caret.prefix, caret.suffix, caret.language)


def test_base_models_get_a_text_and_endpoints_the_parts(tmp_path: Path) -> None:
    path = tmp_path / "prompts.jsonl"
    [fim] = written(path, "devbench", "--limit", "1", "--prompt", "fim/starcoder")
    assert fim["prompt"].startswith(f"<fim_prefix>{fim['prefix']}<fim_suffix>")
    [fill] = written(path, "devbench", "--limit", "1", "--prompt", "fill")
    assert fill["prefix"] == fim["prefix"]
    assert "messages" not in fill
    [question] = written(path, "efcb", "--limit", "1", "--prompt", "question-text")
    assert question["prompt"].endswith("Answer:")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("devbench",), "or write all prompts with --prompts FILE"),
        (("devbench", "--limit", "1"), "--limit: give it with --prompts FILE"),
        (("devbench", "some/id", "--prompts", "x"), "cannot be combined with a problem"),
        (("devbench", "--prompts", "x", "--prompt", "nonsense"), "unknown prompt 'nonsense'"),
        (("efcb", "--prompts", "x", "--prompt", "chat"), "caret; this problem is a question"),
        (("devbench", "--prompts", "x", "--prompt", "question"), "is for questions"),
    ],
)
def test_what_cannot_be_shown_is_refused(
    arguments: tuple[str, ...], complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = caretbench("show", *arguments)
    assert done.returncode == 2
    assert complaint in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_script_of_the_page_answers_all_problems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shown = re.search(r"^```python\n(.*?)^```", _PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert shown is not None
    assert shown[1].count("\n") <= 15
    prompts = written(tmp_path / "prompts.jsonl", "devbench", *_CHOSEN)
    with ModelServer(answer="pass") as server:
        script = shown[1].replace("http://127.0.0.1:8000", server.url)
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        assert [request.body["messages"] for request in server.requests] == [row["messages"] for row in prompts]
    (tmp_path / "mine.jsonl").write_text(done.stdout)
    scored = caretbench("score", "devbench", *_CHOSEN, "--completions", "mine.jsonl", "--no-execute", "--no-html")
    assert scored.returncode == 0, scored.stderr
    rows = map(json.loads, (tmp_path / "runs/devbench-starter-default/completions.jsonl").read_text().splitlines())
    assert {row["problem_id"] for row in rows if row["model"] == "mine"} == {row["problem_id"] for row in prompts}
