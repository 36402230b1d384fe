"""Set-ups that install packages from an index on this machine, in the sandbox."""

from functools import partial
from pathlib import Path

import pytest

from caretbench.build.package_index.index_proxy import IndexProxy
from caretbench.build.projects.project_storage import store_project
from caretbench.build.projects.setup.project_setup import run_setup, setup_command
from caretbench.execution.workspaces.snapshot_store import Snapshot, SnapshotStore
from caretbench.execution.workspaces.workspace_executor import WorkspaceExecutor
from caretbench.execution.workspaces.workspace_runner import WorkspaceRunner
from tests.support.project_files import open_folder
from tests.support.wheel_index import require_pip, wheel_index

FILES = {
    "setup.cfg": "[options]\ninstall_requires = needone\n",
    "noxfile.py": "@nox.session\ndef tests(session):\n    session.install('needtwo', 'needthree')\n",
    "own.py": "import needone\n",
    "tests/test_own.py": "import unittest\n",
}


def set_up(root: Path, has: tuple[str, ...]) -> tuple[Snapshot, list[str]]:
    """The project after ``--setup auto`` with an index that has some packages, and the modules that it installs."""
    for path, text in FILES.items():
        (root / "project" / path).parent.mkdir(parents=True, exist_ok=True)
        (root / "project" / path).write_text(text)
    with wheel_index(dict.fromkeys(has, "VALUE = 1\n")) as index:
        engine = WorkspaceExecutor(
            1, workspace_runner=WorkspaceRunner(store=SnapshotStore(root / "store"), index=partial(IndexProxy, index))
        )
        try:
            project = store_project(root / "project", engine.workspace_runner.store).snapshot
            command = setup_command(project, ["python"])
            assert command is not None
            done = run_setup(engine, project, command)
        finally:
            engine.close()
    return done, sorted(path for path in done.entries if path.startswith(".deps/") and path.endswith(".py"))


@pytest.mark.long
def test_packages_of_a_nox_session_are_installed_with_the_declared_ones() -> None:
    require_pip()
    with open_folder() as root:
        _, installed = set_up(root, ("needone", "needtwo", "needthree"))
    assert installed == [".deps/needone.py", ".deps/needthree.py", ".deps/needtwo.py"]


@pytest.mark.long
def test_declared_packages_are_installed_alone_if_further_ones_are_not_in_the_index() -> None:
    require_pip()
    with open_folder() as root:
        _, installed = set_up(root, ("needone", "needtwo"))
    assert installed == [".deps/needone.py"]
