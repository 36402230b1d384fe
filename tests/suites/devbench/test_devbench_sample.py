"""Real data through the whole path: 180 references and the recorded samples of 180 problems, 30 per language."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from caretbench.execution.bundles.bundle_store import installed_bundle
from caretbench.execution.sandbox.program_sandbox import Sandbox, SandboxUnavailable
from caretbench.execution.toolchains import load_runtime
from caretbench.runs.run_folder import RunFolder
from caretbench.suites.devbench.cells.cell_tables import RELEASED_LANGUAGES

# References that must pass, of the 30 of each language: the first five problems of each category.
REFERENCES = {"python": 27, "javascript": 27, "typescript": 29, "java": 29, "cpp": 25, "csharp": 24}


def runnable() -> list[str]:
    """Languages whose toolchain and bundle are here."""
    found = []
    for name in RELEASED_LANGUAGES.values():
        needs_bundle = name != "csharp"
        if load_runtime(name).toolchain().available and (not needs_bundle or installed_bundle(f"devbench/{name}")):
            found.append(name)
    return found


@pytest.mark.long
@pytest.mark.data
def test_recorded_samples_are_scored(devbench_data: Path, tmp_path: Path) -> None:
    try:
        Sandbox().probe()
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    names = runnable()
    if not names:
        pytest.skip("no toolchain with its bundle is here; see `caretbench doctor`")
    folder = RunFolder(tmp_path / "run")
    command = [
        sys.executable, "-m", "caretbench", "score", "devbench", "--data", str(devbench_data), "--completions",
        str(devbench_data), "--model", "gpt-4o", "--per-cell", "5", "--select", f"language={'|'.join(names)}",
        "-o", str(folder.path), "--json",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    scores = [row for row in folder.scores() if row.scorer == "execution@1"]
    references = Counter(
        row.problem_id.partition("/")[0] for row in scores if row.model == "reference" and row.values.get("passed") == 1
    )
    short = {name: references[name] for name in names if references[name] < REFERENCES[name]}
    assert short == {}
    assert Counter(row.model for row in scores)["gpt-4o"] == len(names) * 30 * 5
    [column] = [column for column in summary["columns"] if column["model"] == "gpt-4o"]
    assert column["coverage"] >= 0.98
    assert column["overall"]["pass_at"]["1"]["value"] > 0.6
    # Identical programs run once: gpt-4o's samples repeat each other (devbench.md section 5: 73.4 %).
    ran = sum(1 for row in scores if row.model == "gpt-4o" and row.counted and not row.details.get("cached"))
    assert ran < 0.45 * sum(1 for row in scores if row.model == "gpt-4o" and row.counted)
