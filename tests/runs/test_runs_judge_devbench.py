"""The released completions of one model, judged by a judge of ours: how many calls that takes."""

from __future__ import annotations

import hashlib
import time
from pathlib import Path

import pytest

from caretbench.extraction.policies import get_policy
from caretbench.files import RowAppender
from caretbench.judging.criteria import CriterionProblems, get_criterion
from caretbench.models import ModelRequest
from caretbench.reports.judged.judged_scores import judged_scores
from caretbench.reports.judged.judged_texts import JudgedRun
from caretbench.runs.judge import JudgingSettings, judge_batch
from caretbench.runs.run_folder import DataInfo, Manifest, RunFolder
from caretbench.suites import load_suite
from tests.support.fakes import FakeClient

pytestmark = pytest.mark.data


def by_hash(request: ModelRequest, _sample: int) -> str:
    """Scores that depend on the whole prompt alone."""
    digest = hashlib.sha256(request.prompt.messages[-1].text.encode()).digest()  # type: ignore[union-attr]
    return f'{{"reasoning": "", "relevance": {digest[0] % 6}, "helpfulness": {digest[1] % 11 / 2}}}'


def test_nine_thousand_completions_take_2390_judgements(tmp_path: Path, devbench_data: Path) -> None:
    house = load_suite("devbench")
    loaded = house.load(str(devbench_data))
    folder = RunFolder(tmp_path)
    data = DataInfo(name=loaded.name, hash=loaded.hash, problems=1800, selected=1800)
    folder.write_manifest(Manifest(suite="devbench", data=data, policy="syntax@4", profile="default"))
    folder.write_problems(loaded.problems)
    problems = {problem.id: problem for problem in loaded.problems}
    with RowAppender(folder.completions_path) as appender:
        appender.append(*house.recorded_completions(devbench_data / "completions", problems, ["gpt-4o"]))
    client = FakeClient(by_hash, window=8)
    started = time.process_time()
    part = CriterionProblems(get_criterion("devbench-quality"), loaded.problems)
    settings = JudgingSettings(get_policy("syntax"), control_problems=0)
    result = judge_batch(folder, part, [("judge", client)], settings)
    spent = time.process_time() - started
    assert (result.completions, result.texts, result.judged) == (9000, 2390, 2390)
    assert len(client.asked) == 2390
    assert spent < 20  # measured: 2 to 3 seconds, a third of it the truncation policy
    [judged] = judged_scores(JudgedRun.of_folder(folder))
    [column] = judged.columns
    assert (column.answers, column.rated, column.value and column.value.problems) == (9000, 9000, 1800)
    assert len(column.strata["language / category"]) == 36
    [judge] = judged.judges
    assert (judge.texts, judge.unreadable, judge.controls) == (2390, 0, {})
