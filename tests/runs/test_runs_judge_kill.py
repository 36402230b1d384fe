"""The judging stage is killed at random moments and goes on: every judgement once, nothing stored asked twice."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from caretbench.problem import Completion
from caretbench.runs.run_folder import DataInfo, Manifest, RunFolder
from tests.support.make_problem import MakeProblem

PROGRAM = """
import sys, time
from pathlib import Path
from caretbench.extraction.policies import get_policy
from caretbench.judging.criteria import CriterionProblems
from caretbench.runs.judge import JudgingSettings, judge_batch
from caretbench.judging.criteria import get_criterion
from caretbench.runs.run_folder import RunFolder
from tests.support.fakes import FakeClient

folder, asked = RunFolder(Path(sys.argv[1])), Path(sys.argv[2]).open("a", buffering=1)

def reply(request, sample):
    asked.write(f"{request.id.rpartition('#')[0]}\\n")
    time.sleep(0.02)
    return '{"reasoning": "' + "long " * 50 + '", "relevance": 4, "helpfulness": 3}'

print("ready", flush=True)
with folder.locked():
    judges = [(name, FakeClient(reply, name=name)) for name in "ab"]
    part = CriterionProblems(get_criterion("devbench-quality"), tuple(folder.problems()))
    judge_batch(folder, part, judges, JudgingSettings(get_policy("raw"), control_problems=0))
"""
TEXTS, KILLS = 40, 6


@pytest.mark.dear
def test_kills_lose_and_double_nothing(tmp_path: Path, make_problem: MakeProblem) -> None:
    folder, asked = RunFolder(tmp_path / "run"), tmp_path / "asked"
    folder.path.mkdir()
    data = DataInfo(name="d", hash="h", problems=1, selected=1)
    folder.write_manifest(Manifest(suite="devbench", data=data, policy="raw@2", profile="default"))
    problem = make_problem()
    folder.write_problems([problem])
    rows = [Completion(problem_id=problem.id, model="m", sample=n, text=f"{n}") for n in range(TEXTS)]
    folder.completions_path.write_text("".join(f"{row.model_dump_json()}\n" for row in rows))
    program = [sys.executable, "-c", PROGRAM, str(folder.path), str(asked)]
    moments = random.Random(3)  # noqa: S311  # moments, not secrets
    for _ in range(KILLS):
        process = subprocess.Popen(program, stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(moments.uniform(0.02, 0.25))
        process.kill()
        process.wait()
        process.stdout.close()
    subprocess.run(program, check=True, stdout=subprocess.DEVNULL)
    found = list(folder.judgements())
    assert len(found) == len({row.key for row in found}) == 2 * TEXTS
    # A kill can only cost the one answer that was on the way.
    assert len(asked.read_text().splitlines()) <= 2 * TEXTS + KILLS
