"""What all tests share: the real data, where they are, and small problems of our own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from caretbench import build, suites
from caretbench.build.package_index.index_proxy import IndexProxy
from caretbench.execution.sandbox.program_sandbox import Sandbox, SandboxUnavailable
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.execution.workspaces.workspace_executor import WorkspaceExecutor
from caretbench.execution.workspaces.workspace_runner import WorkspaceRunner
from caretbench.files import sha256_text
from caretbench.judging import criteria
from tests.support.make_problem import MakeProblem, make_problem
from tests.support.project_files import open_folder

pytest_plugins = ["tests.support.required"]

# How long an example takes says more about the load of the machine than about the code.
settings.register_profile("caretbench", deadline=None)
settings.load_profile("caretbench")


MAX_SMOKE_FILES = 15
"""Maximum number of files of a folder with a smoke test, as many as a folder of the package may have modules."""


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by -m
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark a smoke test of each file of a room or a suite that has none: its first that is not long or dear.

    12 tests of 334 took a third of the 227 s of CPU: what has no cheaper stand-in is marked ``dear``. Tests of the real
    data are omitted too: a new contributor has none, and they would be skipped. Files in folders below are omitted
    (with them, it would be 450 tests), and so are those of a large folder above its maximum: 54 files of `execution`
    cost half of the time, for paths that its marked tests take too. Files with long tests run first: with several
    workers, none is left alone with one at the end.
    """
    marked = {item.path for item in items if item.get_closest_marker("smoke")}
    long = {item.path for item in items if item.get_closest_marker("long")}
    folders: dict[Path, dict[Path, pytest.Item]] = {}
    for item in items:
        parts = item.nodeid.partition("::")[0].split("/")[:-1]
        of_room = len(parts) <= (3 if {"suites", "build", "people"} & {*parts[1:2]} else 2)
        if of_room and item.path not in marked and not any(map(item.get_closest_marker, ("long", "dear", "data"))):
            folders.setdefault(item.path.parent, {}).setdefault(item.path, item)
    for folder, firsts in folders.items():
        most = MAX_SMOKE_FILES - sum(path.parent == folder for path in marked)
        # By a hash of the name, so that a new file changes the choice of at most one other.
        for path in sorted(firsts, key=lambda path: sha256_text(path.name))[: max(most, 0)]:
            firsts[path].add_marker("smoke")
    items.sort(key=lambda item: item.path not in long)


@pytest.fixture(scope="module", autouse=True)
def registered_suites() -> Iterator[None]:
    """Forget the suites, builders and criteria that the tests of a file registered: other files would find them."""
    known, folders = [{*suites._registered}, {*build._registered}], [*criteria._added]
    yield
    for registered, names in zip((suites._registered, build._registered), known, strict=True):
        for name in registered.keys() - names - {*suites.built_in()}:
            del registered[name]
            suites.load_suite.cache_clear()
    ours = [one.criteria_folder for one in suites._registered.values() if one.criteria_folder is not None]
    kept = [folder for folder in criteria._added if folder in folders or folder in ours]
    if kept != criteria._added:
        criteria._added[:] = kept
        criteria.criteria.cache_clear()


@pytest.fixture(scope="session")
def test_data() -> Path:
    """The folder of real data; the test is skipped where it is absent."""
    folder = Path(os.environ.get("CARETBENCH_TEST_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no real data at {folder}; set CARETBENCH_TEST_DATA")
    return folder


@pytest.fixture(scope="session")
def devbench_data(test_data: Path) -> Path:
    """The released DevBench data."""
    return test_data / "devbench"


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """A folder that everybody can reach, as the cache is; the same for all tests of a file."""
    with open_folder() as folder:
        yield folder


@pytest.fixture(scope="module")
def store(place: Path) -> SnapshotStore:
    """Snapshots of projects that sandboxes can read."""
    return SnapshotStore(place / "store")


@pytest.fixture(scope="module")
def workspace_runner(store: SnapshotStore) -> Iterator[WorkspaceRunner]:
    """Where the snapshots of the store are run; skips where no sandbox stands."""
    made = WorkspaceRunner(Sandbox(), store, index=IndexProxy)  # as builds have it: set-up commands reach an index
    try:
        made.sandbox.probe()
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    yield made
    made.close()


@pytest.fixture(scope="module")
def engine(workspace_runner: WorkspaceRunner) -> WorkspaceExecutor:
    return WorkspaceExecutor(2, workspace_runner=workspace_runner, use_cache=False)


@pytest.fixture(name="make_problem")
def problem_maker() -> MakeProblem:
    """A function that makes a small problem."""
    return make_problem
