"""`score` is killed at random moments, and the same command ends with every row exactly once."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from caretbench.execution.sandbox.program_sandbox import Sandbox, SandboxUnavailable
from caretbench.runs.run_folder import RunFolder

KILLS = 20


@pytest.mark.long
def test_twenty_kills_lose_and_double_nothing(tmp_path: Path) -> None:
    try:
        Sandbox().probe()
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    folder = RunFolder(tmp_path / "run")
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o755)
    command = [
        sys.executable, "-m", "caretbench", "score", "devbench", "--select", "language=python|javascript",
        "-o", str(folder.path), "--no-html", "--json",
    ]  # fmt: skip
    environment = {**os.environ, "CARETBENCH_CACHE": str(cache)}
    moments = random.Random(7)  # noqa: S311 - moments, not secrets
    interrupted = 0
    for number in range(KILLS):
        before = size(folder.scores_path)
        process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        # Most moments fall into the scoring, some into the start.
        while number % 3 and size(folder.scores_path) == before and process.poll() is None:
            time.sleep(0.02)
        time.sleep(moments.uniform(0.0, 0.4 if number % 3 else 1.5))
        interrupted += process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.wait()
        completed = list(folder.scores()) if folder.scores_path.exists() else []
        assert max(Counter(row.key for row in completed).values(), default=1) == 1
    assert interrupted >= KILLS // 2
    final = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert final.returncode == 0, final.stderr
    completions = list(folder.completions())
    assert len(completions) == len({row.key for row in completions}) == 24 * 4
    keys = Counter(row.key for row in folder.scores())
    assert set(keys.values()) == {1}
    executed = {row.completion_key for row in folder.scores() if row.scorer == "execution@1"}
    assert executed == {row.key for row in completions}
    before = folder.scores_path.read_bytes()
    subprocess.run(command, env=environment, capture_output=True, check=True)
    assert folder.scores_path.read_bytes() == before


def size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
