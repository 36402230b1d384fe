"""Recorded completions in any state: texts that no file of UTF-8 can hold, through all stages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from caretbench import RunConfig, judge, report, score
from caretbench.extraction.policies import POLICIES
from caretbench.models import ModelRequest
from caretbench.reports.output.export import to_csv, to_json, to_markdown
from caretbench.reports.output.terminal import print_summary
from caretbench.reports.run_summary import load_run_folder, write_html
from caretbench.runs.judging.plan import JudgingConfig
from caretbench.runs.run_folder import RunFolder
from tests.support.fakes import FakeClient

HALVES = (
    "\ud83d", "x = '\udc00'\n", "```python\nx = 1 # \ud800\n```", "<think>\udbff</think>\ny = 2\n",
    "    return '\ud83d'\n\ud83d", "\udfff\n" * 40, "Sure! Here is the code:\n\ud800\n",
)  # fmt: skip
IDENTITIES = ("python/low_context/refresh-stale-token", "python/api_usage/latency-percentiles")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    work = tmp_path_factory.mktemp("halves")
    recorded = work / "halves.jsonl"
    rows = [
        json.dumps({"problem_id": identity, "text": text, "sample": sample})
        for identity in IDENTITIES
        for sample, text in enumerate(HALVES)
    ]
    recorded.write_text("".join(f"{row}\n" for row in rows), "ascii")
    suite = {"name": "devbench", "select": f"id={'|'.join(IDENTITIES)}", "policy": tuple(POLICIES)}
    config = RunConfig(suites=(suite,), output=work / "run", execute=False, baselines=())  # type: ignore[arg-type]
    score(config, recorded)
    score(config, recorded)  # the same texts again: no other answer under an old key
    return RunFolder(work / "run")


def test_texts_are_stored_as_they_came(folder: RunFolder) -> None:
    stored = {(row.problem_id, row.sample): row.text for row in folder.completions() if row.model == "halves"}
    assert stored == {(identity, sample): text for identity in IDENTITIES for sample, text in enumerate(HALVES)}
    folder.completions_path.read_bytes().decode()  # a file of UTF-8
    assert len({(row.policy, row.completion_key) for row in folder.scores()}) == len(POLICIES) * len(stored)


def test_they_are_reported_and_exported(folder: RunFolder, tmp_path: Path) -> None:
    summary = report(folder.path)
    for text in (to_json(summary), to_csv(summary), to_markdown(summary, published=True)):
        text.encode()
    with (tmp_path / "terminal").open("w", encoding="utf-8") as stream:
        print_summary(summary, stream)
    page = write_html(folder.path, load_run_folder(folder.path), summary).read_bytes().decode()
    assert "\\ud83d" in page


def test_they_are_judged_without_them(folder: RunFolder) -> None:
    asked: list[str] = []

    def reply(request: ModelRequest, _sample: int) -> str:
        asked.append(request.model_dump_json())
        return '{"reasoning": "half \ud83d", "relevance": 4, "helpfulness": 3}'

    judge(
        folder.path, JudgingConfig(judges={"g": "fake/g"}), opener=lambda spec, _options: FakeClient(reply, name=spec)
    )
    assert asked
    rows = list(folder.judgements())
    assert len(rows) >= len(IDENTITIES)
    assert all(row.values and row.text is not None and "\ud83d" in row.text for row in rows)
    to_json(report(folder.path)).encode()
