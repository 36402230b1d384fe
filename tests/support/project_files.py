"""Projects made of a few texts, and folders that sandboxes can read."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from caretbench.execution.workspaces.snapshot_store import Snapshot, SnapshotStore


def snapshot(folder: Path, files: Mapping[str, str]) -> Snapshot:
    """A snapshot of a project with these files, in a store of the folder."""
    root = folder / "project"
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return SnapshotStore(folder / "store").add(root)


@contextmanager
def open_folder() -> Iterator[Path]:
    """A folder that everybody can reach, as the cache is: pytest's own are closed to a sandbox that gave up root."""
    folder = Path(tempfile.mkdtemp(prefix="caretbench-test-", dir="/var/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)
