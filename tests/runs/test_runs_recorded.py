"""Recorded completions in any state, through all stages; and how much is parsed, read and validated for them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import tree_sitter

from caretbench import RunConfig, files, judge, report, score
from caretbench.errors import UsageError
from caretbench.extraction.policies import POLICIES
from caretbench.models import ModelRequest
from caretbench.problem import Completion, Score
from caretbench.reports.output.text_output import print_summary, to_csv, to_json, to_markdown
from caretbench.reports.run_summary import load_run_folder, write_html
from caretbench.runs.judging.plan import JudgingConfig
from caretbench.runs.run_folder import RunFolder
from caretbench.suites import load_suite
from caretbench.syntax import parser
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


def test_answers_about_a_block_that_has_changed_are_not_scored(tmp_path: Path) -> None:
    rows = [{"problem_id": one, "text": "x", "block_hash": "1"} for one in IDENTITIES]
    (tmp_path / "old.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    config = RunConfig(suites=({"name": "devbench"},), output=tmp_path / "run", execute=False, baselines=())  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"old\.jsonl: 2 rows, .*starter"):
        score(config, tmp_path / "old.jsonl")


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


def test_parses_and_rows_of_a_fixed_load_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two problems, three models with ten samples of two texts each, one of which does not parse: 60 answers."""
    counts: Counter[str] = Counter()
    whole, lines = parser._parser, files._raw_lines

    class Counted:
        def __init__(self, language: str) -> None:
            self._parser = whole(language)

        def parse(self, *arguments: Any, **options: Any) -> tree_sitter.Tree:
            counts["parses"] += 1
            return self._parser.parse(*arguments, **options)

    def read(path: Path) -> Any:
        for line in lines(path):
            counts[path.name] += 1
            yield line

    for model in (Completion, Score):

        def validated(raw: bytes, check: Any = model.model_validate_json) -> Any:
            counts["validated"] += 1
            return check(raw)

        monkeypatch.setattr(model, "model_validate_json", validated)
    monkeypatch.setattr(parser, "_parser", Counted)
    monkeypatch.setattr(files, "_raw_lines", read)
    problems = [problem for problem in load_suite("devbench").load("starter").problems if problem.id in IDENTITIES]
    recorded = tmp_path / "recorded.jsonl"
    recorded.write_text(
        "".join(
            json.dumps({"problem_id": problem.id, "model": model, "sample": sample, "text": text}) + "\n"
            for problem in problems
            for model in "abc"
            for sample in range(10)
            for text in [problem.reference + ("x = 1\n" if sample % 2 else "x = (\n")]
        )
    )
    suite = {"name": "devbench", "select": f"id={'|'.join(IDENTITIES)}"}
    config = RunConfig(suites=(suite,), output=tmp_path / "run", execute=False, baselines=())  # type: ignore[arg-type]
    counts.clear()
    score(config, recorded)
    assert counts["recorded.jsonl"] <= 60  # today 60; 120 when new ones were counted before they were appended
    assert counts["completions.jsonl"] <= 60  # today 60
    assert counts["parses"] <= 24  # today 24
    assert counts["validated"] <= 15  # today 15; each of the 60 completions before
    counts.clear()
    report(tmp_path / "run")
    assert (counts["completions.jsonl"], counts["scores.jsonl"]) == (60, 180)
    assert counts["validated"] <= 18  # today 17
