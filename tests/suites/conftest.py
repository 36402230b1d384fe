"""Real sandboxes for projects: one engine for each file of tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from caretbench.execution.sandbox.program import Sandbox, SandboxUnavailable
from caretbench.execution.workspaces.engine import WorkspaceExecutor
from caretbench.execution.workspaces.snapshots import SnapshotStore
from caretbench.execution.workspaces.workspace import Workspaces


@pytest.fixture(scope="module")
def spaces(store: SnapshotStore) -> Iterator[Workspaces]:
    """Where the snapshots of the store are run; skips where no sandbox stands."""
    made = Workspaces(Sandbox(), store)
    try:
        made.sandbox.probe()
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    yield made
    made.close()


@pytest.fixture(scope="module")
def engine(spaces: Workspaces) -> WorkspaceExecutor:
    return WorkspaceExecutor(2, spaces=spaces, use_cache=False)
