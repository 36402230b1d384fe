"""Projects kept by their content."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from caretbench.errors import DataError
from caretbench.execution.workspaces import snapshot_store
from caretbench.execution.workspaces.snapshot_store import SnapshotStore


@pytest.fixture
def store(tmp_path: Path) -> SnapshotStore:
    return SnapshotStore(tmp_path / "store")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    for path, text in {
        "a.py": "one = 1\n", "b/c.py": "two = 2\n", "b/again.py": "one = 1\n", ".git/config": "[core]\n",
        "b/__pycache__/c.cpython-311.pyc": "stale", "node_modules/x/index.js": "1", "ümlaut.txt": "ü", "nul.bin": "\0",
    }.items():  # fmt: skip
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, "utf-8")
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "run.sh").chmod(0o700)
    (root / "empty").mkdir()
    (root / "b/link.py").symlink_to("../a.py")
    (root / "dangling").symlink_to("nowhere")
    return root


def content(root: Path) -> dict[str, object]:
    found: dict[str, object] = {}
    for place in sorted(root.rglob("*")):
        text = place.readlink() if place.is_symlink() else place.read_bytes() if place.is_file() else None
        found[str(place.relative_to(root))] = (text, place.lstat().st_mode, place.lstat().st_mtime_ns)
    return found


def test_a_project_is_taken_without_what_is_no_part_of_it(store: SnapshotStore, project: Path) -> None:
    before = content(project)
    taken = store.add(project)
    assert content(project) == before
    assert {path for path, entry in taken.entries.items() if entry.kind == "file"} == {
        "a.py", "b/c.py", "b/again.py", "node_modules/x/index.js", "ümlaut.txt", "nul.bin", "run.sh",
    }  # fmt: skip
    assert taken.entries["b/link.py"].content == "../a.py"
    assert (taken.tree / "empty").is_dir()
    assert taken.read("b/c.py") == b"two = 2\n"
    assert stat.S_IMODE((taken.tree / "run.sh").stat().st_mode) == 0o755
    assert stat.S_IMODE((taken.tree / "a.py").stat().st_mode) == 0o644
    assert store.verify(taken.id) == []
    without = store.add(project, ignore=(*snapshot_store.IGNORED, "node_modules", "b/*.py"))
    assert not any(path.startswith(("node_modules", "b/")) for path in without.entries)


def test_content_decides_the_name(store: SnapshotStore, project: Path) -> None:
    first = store.add(project)
    os.utime(project / "a.py", (1, 1))
    assert store.add(project).id == first.id
    seen = {first.id}
    for change in (
        lambda: (project / "a.py").write_text("one = 2\n"),
        lambda: (project / "a.py").chmod(0o755),
        lambda: (project / "a.py").rename(project / "z.py"),
        lambda: (project / "empty").rmdir(),
    ):
        change()
        seen.add(store.add(project).id)
    assert len(seen) == 5


def test_a_link_to_a_project_is_the_project(store: SnapshotStore, project: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(project)
    assert store.add(tmp_path / "link") == store.add(project)


def test_equal_files_are_one_file(store: SnapshotStore, project: Path) -> None:
    first = store.add(project)
    (project / "new.py").write_text("three = 3\n")
    second = store.add(project)
    assert (first.tree / "a.py").samefile(first.tree / "b/again.py")
    assert (first.tree / "a.py").samefile(second.tree / "a.py")


def test_a_tree_that_was_changed_is_found(store: SnapshotStore, project: Path) -> None:
    taken = store.add(project)
    (taken.tree / "b/c.py").write_text("two = 3\n")
    (taken.tree / "more").write_text("")
    (taken.tree / "dangling").unlink()
    assert store.verify(taken.id) == ["b/c.py: differs", "dangling: missing", "more: not in the snapshot"]


@pytest.mark.parametrize("target", ["./a.py", "b/./c.py", "b//c.py", "."])
def test_links_are_kept_as_they_are_written(store: SnapshotStore, project: Path, target: str) -> None:
    (project / "b/c.py").write_text("x = 1\n", "utf-8")
    (project / "alias").symlink_to(target)
    taken = store.add(project)
    assert taken.entries["alias"].content == target
    assert os.readlink(taken.tree / "alias") == target  # noqa: PTH115  pathlib drops "./"
    assert store.add(project).id == taken.id
    assert store.verify(taken.id) == []


@pytest.mark.parametrize(
    ("links", "named"),
    [
        ({"out": "../other"}, "out"),
        ({"out": "/etc/passwd"}, "out"),
        ({"b/out": "../../other"}, "b/out"),
        # Lexically b/deep/down/../x lies inside; the kernel follows `down` first.
        ({"b/deep/down": "../..", "b/deep/out": "down/../x"}, "b/deep/out"),
        ({"first": "second", "second": "../other"}, "first|second"),
    ],
)
def test_links_that_lead_outside_are_refused(
    store: SnapshotStore, project: Path, links: dict[str, str], named: str
) -> None:
    for path, target in links.items():
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).symlink_to(target)
    with pytest.raises(DataError, match=f"({named}): a link that leads outside"):
        store.add(project)


def test_what_is_no_file_is_refused(store: SnapshotStore, project: Path) -> None:
    os.mkfifo(project / "pipe")
    with pytest.raises(DataError, match="pipe: neither"):
        store.add(project)
    with pytest.raises(DataError, match=r"/a\.py: not a"):
        store.add(project / "a.py")


def test_bounds(store: SnapshotStore, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot_store, "MAX_ENTRIES", 3)
    with pytest.raises(DataError, match="than 3 entries"):
        store.add(project)


def test_removing_takes_the_contents_that_no_other_snapshot_has(store: SnapshotStore, project: Path) -> None:
    old = store.add(project)
    (project / "new.py").write_text("three = 3\n")
    (project / "a.py").unlink()
    new = store.add(project)
    os.utime(old.tree.parent / "manifest.json", (1, 1))
    assert [use.id for use in store.list()] == [old.id, new.id]
    assert store.remove(old.id) == 0  # its contents are all in use: b/again.py holds what a.py held
    with pytest.raises(DataError, match="no snapshot"):
        store.get(old.id)
    assert store.verify(new.id) == []
    assert store.remove(new.id)
    assert store.list() == []
    assert not list((store.folder / "objects").glob("*/*"))


@pytest.mark.parametrize("name", ["", "..", "a" * 63, "../" * 21 + "a", "A" * 64])
def test_names_of_snapshots_are_no_paths(store: SnapshotStore, name: str) -> None:
    with pytest.raises(DataError, match="not the name of a snapshot"):
        store.get(name)
