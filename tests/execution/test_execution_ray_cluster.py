"""The engine on a real Ray cluster of this machine: a node killed, a node joined, every result once.

In processes of their own: Ray changes the signal handling of the process that uses it. Where Ray is not installed
(``SETUP_EXTRAS=ray scripts/setup.sh``), only the message about it is tested here; the scheduling has tests without
Ray. CI installs it, and fails where these tests are skipped (``CARETBENCH_REQUIRE=ray``).
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from caretbench.cli import app
from caretbench.errors import MachineError
from caretbench.execution.cluster.ray_cluster import RayNodePool
from caretbench.execution.cluster.remote_executor import RemoteExecutor
from caretbench.execution.sandbox.program_sandbox import Sandbox, SandboxUnavailable

ROOT = Path(__file__).parents[2]
INSTALLED = importlib.util.find_spec("ray") is not None
needs_ray = pytest.mark.skipif(not INSTALLED, reason="Ray is not installed: SETUP_EXTRAS=ray scripts/setup.sh")


def test_without_ray_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MachineError, match=r"pip install 'caretbench\[ray\]'"):
        RemoteExecutor(RayNodePool())


@pytest.mark.parametrize("verb", ["score", "run", "validate"])
def test_an_engine_that_is_not_known(verb: str) -> None:
    model = ["-m", "command/cat"] if verb == "run" else []
    done = CliRunner().invoke(app, [verb, "devbench", "--limit", "1", "--engine", "slurm", *model])
    assert done.exit_code != 0
    assert "--engine 'slurm'" in str(done.exception or done.output)


@pytest.mark.long
@pytest.mark.requires("ray")
@needs_ray
def test_every_result_once_though_a_node_is_killed_and_one_joins() -> None:
    try:
        Sandbox().probe()
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    done = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / "several_machines.py", "--programs", "150"],
        capture_output=True, text=True, timeout=400, check=False,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    figures = json.loads(done.stdout)  # nothing but the figures: Ray must not print among results
    assert figures["disturbed"]["results"] == 150
    assert len(figures["disturbed"]["events"]) == 2
    assert figures["isolation"]["level"] == "namespaces"
