"""Answers that set out to make a project's test runner report success, started by an ordinary user.

Each fails, or is flagged by the scan of its text; none finds what is not its own.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from caretbench.execution.bundles.bundle_store import installed_bundle
from caretbench.execution.execution_types import Status
from caretbench.execution.sandbox import bubblewrap as walls
from caretbench.execution.scan.dead_checks import program_flags
from caretbench.execution.scan.tamper import tamper_flags
from tests.support.other_user import PYTHON, USER, attack_home

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user"),
    pytest.mark.skipif(walls.find_bubblewrap() is None, reason="bubblewrap is not installed"),
]

PROJECTS: dict[str, dict[str, Any]] = tomllib.loads(
    Path(__file__).parents[1].joinpath("support", "runner_forgeries.toml").read_text("utf-8")
)
CHILD = """
import json, sys, tempfile
from pathlib import Path
from caretbench.execution.workspaces.workspace_executor import WorkspaceExecutor
from caretbench.execution.workspaces.workspace_runner import WORKSPACE_LIMITS, WorkspaceRequest, WorkspaceRunner
project, secret = json.loads(sys.argv[1]), sys.argv[2]
answers = {"reference": project["reference"], **project["fakes"]}
whole = lambda answer: project["before"] + answer.replace("@SECRET@", secret) + project["after"]
runner = WorkspaceRunner()
with tempfile.TemporaryDirectory() as folder:
    for path, text in {project["path"]: whole(project["reference"]), **project["files"]}.items():
        (Path(folder) / path).parent.mkdir(parents=True, exist_ok=True)
        (Path(folder) / path).write_text(text)
    snapshot = runner.store.add(Path(folder)).id
limits = WORKSPACE_LIMITS.model_copy(update={"tmp_mb": 512, "wall_s": 60, "cpu_s": 40})
requests = [
    WorkspaceRequest(
        id=name, snapshot=snapshot, command=("/bin/sh", "-c", project["command"])
        if "&&" in project["command"] else tuple(project["command"].split()),
        patch={project["path"]: whole(answer)}, junit=project.get("junit", ()), bundle=project.get("bundle"),
        minimum_tests=2, limits=limits, environment={"CARGO_INCREMENTAL": "0", "CARGO_PROFILE_TEST_DEBUG": "0"},
    )
    for name, answer in answers.items()
]
said = {
    result.id: (result.status, result.stdout.text[-3000:] + result.stderr.text[-3000:], result.reason,
                result.isolation and result.isolation.user)
    for result in WorkspaceExecutor(2, workspace_runner=runner, use_cache=False).submit(requests)
}
runner.close()
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    with attack_home() as folder:
        yield folder


@pytest.mark.parametrize("name", PROJECTS)
def test_fakes_of_an_ordinary_user_fail_or_are_flagged(name: str, home: Path) -> None:
    project = PROJECTS[name]
    for program in project["needs"]:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    bundle = project.get("bundle")
    if bundle and installed_bundle(bundle) is None:
        pytest.skip(f"the bundle {bundle} is not built")
    secret = home / "cache" / "secret"
    secret.write_text("planted")
    done = subprocess.run(
        [PYTHON, "-I", "-c", f"import sys; sys.path.insert(0, {str(home)!r})\n{CHILD}", json.dumps(project), secret],
        env={
            "PATH": os.environ["PATH"], "HOME": str(home / "cache"), "CARETBENCH_CACHE": str(home / "cache"),
            "TMPDIR": tempfile.gettempdir(),
        },
        cwd="/", user=USER, group=USER, extra_groups=[], capture_output=True, text=True, check=False, timeout=550,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    results = json.loads(done.stdout)
    reference = results.pop("reference")
    if reference[0] == Status.SKIPPED or "not found" in reference[1]:
        pytest.skip(reference[2] or reference[1])
    assert (reference[0], reference[3]) == (Status.PASSED, "caller"), reference
    assert results.pop("wrong")[0] in (Status.FAILED, Status.RUNTIME_ERROR)
    unseen = {}
    for fake, (status, printed, reason, _) in results.items():
        answer = project["fakes"][fake]
        around = (project["before"], answer, project["after"], project["reference"], project["language"])
        flags = (*tamper_flags(answer, project["reference"], project["language"]), *program_flags(*around))
        if "REACHED" in printed or status == Status.SANDBOX_ERROR or (status == Status.PASSED and not flags):
            unseen[fake] = (status, reason, printed[-600:])
    assert not unseen
