"""The edition that ships: its projects of PyPI and npm are pulled into an empty cache and verified."""

from __future__ import annotations

import lzma
import socket
from pathlib import Path

import pytest

from caretbench.build import load_builder
from caretbench.execution.bundles.bundle_store import installed_bundle
from caretbench.execution.dispatcher import open_executor
from caretbench.files import cache_folder, write_rows
from caretbench.progress import Progress
from caretbench.suites.record.edition import LOCKS_FILE, PROJECTS_FILE, RECIPE_FILE, TASKS_FILE, read_edition

INDEXES = {"pypi:": "pypi.org", "npm:": "registry.npmjs.org"}


def reached(host: str) -> bool:
    """Return whether an index answers."""
    try:
        socket.create_connection((host, 443), timeout=5).close()
    except OSError:
        return False
    return True


@pytest.mark.dear
def test_projects_of_package_indexes_are_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Costs downloads and 16 programs: no recorded archive shows that the indexes still have these bytes."""
    silent = [host for host in INDEXES.values() if not reached(host)]
    if silent:
        pytest.skip(f"{silent[0]} is not reached")
    for bundle in ("tools/pytest", "tools/mocha"):
        if installed_bundle(bundle) is None:
            pytest.skip(f"{bundle} is not built: caretbench deps build {bundle}")
    shipped = read_edition("starter")
    projects = [one for one in shipped.projects.values() if one.snapshot and one.source.startswith(tuple(INDEXES))]
    assert {one.source.partition(":")[0] for one in projects} == {"pypi", "npm"}
    names = {one.name for one in projects}
    folder = tmp_path / "registries"
    folder.mkdir()
    write_rows(folder / PROJECTS_FILE, projects)
    tasks = [task for task in shipped.tasks if task.project in names]
    write_rows(folder / TASKS_FILE, tasks)
    (folder / LOCKS_FILE).write_bytes(lzma.decompress((shipped.folder / f"{LOCKS_FILE}.xz").read_bytes()))
    (folder / RECIPE_FILE).write_bytes((shipped.folder / RECIPE_FILE).read_bytes())
    # Test frameworks are not a part of the edition: their bundles are those of the machine.
    (tmp_path / "cache").mkdir()
    for name in ("bundles", "tools"):
        (tmp_path / "cache" / name).symlink_to(cache_folder() / name)
    monkeypatch.setenv("CARETBENCH_CACHE", str(tmp_path / "cache"))
    builder = load_builder("record")
    notes: list[str] = []
    pulled = builder.pull_edition(str(folder), None, lambda _done, _total: None, notes.append)
    assert (pulled, notes) == ((len(projects), len(projects)), [])
    result = builder.verify(str(folder), 8, 0, lambda: open_executor(2, use_cache=False), Progress())
    assert result.numbers["same"] == len(tasks)
    assert (result.numbers["failing_references"], result.numbers["passing_masks"]) == (0, 0), result.lines
