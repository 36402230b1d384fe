from __future__ import annotations

from pathlib import Path

import pytest

from caretbench.errors import DataError
from caretbench.execution.execution_types import Status
from caretbench.execution.sandbox import bubblewrap
from caretbench.execution.workspaces.bounded_executor import BoundedExecutor
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.execution.workspaces.workspace_runner import WorkspaceRequest, WorkspaceRunner

pytestmark = pytest.mark.skipif(bubblewrap.find_bubblewrap() is None, reason="bubblewrap is not installed")


def test_requests_end_at_the_bound_and_the_executor_goes_on(tmp_path: Path) -> None:
    store = SnapshotStore(tmp_path / "store")
    (tmp_path / "project").mkdir()
    (tmp_path / "project/file").write_text("1\n")
    snapshot = store.add(tmp_path / "project")
    left = 3

    def check() -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise DataError("over")

    runner = WorkspaceRunner(store=store)
    engine = BoundedExecutor(1, workspace_runner=runner, check=check)
    requests = [
        WorkspaceRequest(id=str(number), snapshot=snapshot.id, command=("/bin/sh", "-c", f"exit {number % 2}"))
        for number in range(5)
    ]
    found = []
    try:
        with pytest.raises(DataError, match="over"):
            found.extend(result.id for result in engine.submit(requests))
        assert len(found) <= 3
        left = 0
        with pytest.raises(DataError, match="over"):
            next(iter(engine.submit(requests)))
        left = 100
        assert {one.id: one.status for one in engine.submit(requests)}["2"] == Status.PASSED
    finally:
        engine.close()
