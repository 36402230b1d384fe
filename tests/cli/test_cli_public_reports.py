"""Inputs after reports of the public: command lines with users' mistakes, and projects that set-up read wrongly.

They lie in a folder beside the repository (``CARETBENCH_TEST_REPORTS``); without it the tests are skipped.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from caretbench import cli
from caretbench.build.projects.setup.command_detection import project_checks
from caretbench.build.projects.setup.project_setup import resolve_setup
from caretbench.errors import CaretBenchError
from caretbench.execution.workspaces.snapshot_store import SnapshotStore

REPORTS = Path(os.environ.get("CARETBENCH_TEST_REPORTS", Path(__file__).parents[3] / "shared" / "reports"))
pytestmark = pytest.mark.skipif(not REPORTS.is_dir(), reason=f"no reports at {REPORTS}; set CARETBENCH_TEST_REPORTS")
# A server of one's own counts as free, so that a limit of money is no mistake: the forecast says so.
NO_MISTAKES = {"--max-cost 1 --dry-run --limit 3": "count as free; give them a price in a file: --prices FILE"}


@pytest.fixture(scope="module")
def server() -> Iterator[int]:
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        port = int(chosen.getsockname()[1])
    process = subprocess.Popen([sys.executable, str(REPORTS / "server.py"), str(port), "plain"])
    for _ in range(100):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models", timeout=5).close()
            break
        except OSError:
            time.sleep(0.1)
    yield port
    process.kill()
    process.wait()


@pytest.mark.long  # 32 commands
def test_a_wrong_command_line_ends_with_place_cause_and_remedy(
    server: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = (REPORTS / "commands.txt").read_text().splitlines()
    assert len(lines) == 32
    for line in lines:
        *before, command = re.sub(r"toy-\w", "m", line).replace("127.0.0.1:18102", f"127.0.0.1:{server}").split("; ")
        for step in before:
            subprocess.run(["/bin/sh", "-c", step], check=True)
        done = CliRunner().invoke(cli.app, shlex.split(command)[1:])
        said = done.output + str(done.exception or "")
        note = next((note for words, note in NO_MISTAKES.items() if "server/" in line and words in line), None)
        if note is not None:
            assert (done.exit_code, note in said) == (0, True), (line, said)
            continue
        assert done.exit_code != 0, (line, said)
        assert isinstance(done.exception, CaretBenchError | SystemExit), (line, repr(done.exception))
        assert "nobody listens" not in said, (line, said)
        # A message of one word names neither place nor remedy.
        assert len(said.split()) > 4, (line, said)


@pytest.mark.parametrize(
    ("name", "languages", "packages"),
    [
        ("cpp-requirements", ["cpp"], set()),
        ("cpp-requirements", ["cpp", "python"], set()),
        ("pytest-flake8", ["python"], {"pytest"}),
    ],
)
def test_projects_of_the_reports_are_set_up(
    name: str, languages: list[str], packages: set[str], tmp_path: Path
) -> None:
    """A ``requirements.txt`` of another tool is not pip's, and a linter's plug-in is no need of the tests."""
    shutil.copytree(REPORTS / "projects" / name, tmp_path / name)
    project = SnapshotStore(tmp_path / "store").add(tmp_path / name)
    setup = resolve_setup("auto", project, languages) or ""
    assert project_checks(project, languages)
    assert "nlohmann" not in setup
    assert "flake8" not in setup
    assert all(package in setup for package in packages)
