"""What of a project is taken, what is mined, and why the rest is not."""

import os
import re
from pathlib import Path

import pytest

from caretbench.errors import DataError
from caretbench.execution.workspaces.snapshots import SnapshotStore
from caretbench.problem import FileSplice, Provenance, TestsCheck
from caretbench.projects.project import (
    AnalysedProject,
    StoredProject,
    analyse_project,
    export_snapshot,
    project_languages,
    store_project,
)
from caretbench.suites.simcopilot.mining.tasks import ProjectMiner, TaskOrigin, TaskSampling

CODE = "def f(items):\n    for item in items:\n        if item.size > 3:\n            item.close(3)\n    return 1\n"


def taken(root: Path, store: Path, *ignore: str) -> StoredProject:
    return store_project(root, SnapshotStore(store), ignore)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    (root / "a.py").write_text(CODE)
    return root


def readable(project: Path, *exclude: str) -> AnalysedProject:
    return analyse_project(taken(project, project.parent / "store"), ["python"], exclude)


def test_links_that_lead_outside_are_left_out_and_named(project: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.py").write_text("x = 1\n")
    (project / "inside.py").symlink_to("a.py")
    (project / "up.py").symlink_to("../secret.py")
    (project / "far.py").symlink_to(tmp_path / "secret.py")
    (project / "folder").symlink_to("..")
    os.mkfifo(project / "pipe.py")
    found = taken(project, tmp_path / "store")
    assert found.files == {"a.py"}
    assert found.snapshot.entries.keys() == {"a.py", "inside.py"}
    assert found.excluded == {
        "up.py": "a link that leads out of the project",
        "far.py": "a link that leads out of the project",
        "folder": "a link that leads out of the project",
        "pipe.py": "neither file, link nor folder",
    }
    over = analyse_project(found, ["python"]).skipped
    assert over.keys() == {"up.py", "far.py", "pipe.py"}


def test_histories_environments_and_what_builds_leave_are_not_taken(project: Path, tmp_path: Path) -> None:
    for path in (".git/config", ".venv/lib/x.py", "venv/x.py", "build/x.py", "dist/x.py", "target/x.py",
                 "a/__pycache__/x.pyc", "A.class", "notes/x.py"):  # fmt: skip
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_text(CODE)
    assert taken(project, tmp_path / "store", "notes").files == {"a.py"}


def test_what_tests_may_need_is_taken_and_not_mined(project: Path, tmp_path: Path) -> None:
    for path in ("node_modules/x/a.py", "vendor/a.py", "api_pb2.py", "tools/a.py", "tests/test_a.py"):
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_text(CODE)
    found = taken(project, tmp_path / "store")
    assert len(found.files) == 6
    assert project_languages(found) == ("python",)
    files = analyse_project(found, ["python"], ["tools/*"])
    assert files.mined == {"python": ("a.py",)}
    assert files.skipped == {
        "api_pb2.py": "written by a tool",
        "node_modules/x/a.py": "in node_modules/, which is not mined",
        "tools/a.py": "excluded by tools/*",
        "vendor/a.py": "in vendor/, which is not mined",
    }


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\x7fELF\x00\x01\xff" * 9, "UTF-8|text|zero|NUL|binary"),
        (b"x = 1\n" * 50_000, r"50,000 lines; files of more than 20,000 .*most_lines = 50000"),
        (b"def f(:\n    return ((\n", r"does not parse: line \d"),
        (b"x = '\xe4'\n", "UTF-8"),
        (b"x = 1\n" + (b"y = '" + b"z" * 3000 + b"'\n") * 6, "written by a tool"),
    ],
)
def test_files_that_cannot_be_mined_are_named(project: Path, content: bytes, said: str) -> None:
    (project / "b.py").write_bytes(content)
    files = readable(project)
    assert files.mined == {"python": ("a.py",)}
    [(path, reason)] = files.skipped.items()
    assert path == "b.py"
    assert re.search(said, reason), reason


@pytest.mark.parametrize(
    "content",
    [
        CODE.replace("\n", "\r\n").encode(),
        CODE.replace("    ", "\t").encode(),
        CODE.replace("item", "größe").replace("3", "'日本🙂'").encode(),
        CODE.rstrip("\n").encode(),
        b"\xef\xbb\xbf" + CODE.encode(),
    ],
    ids=["CRLF", "tabs", "many bytes", "no last line end", "byte order mark"],
)
def test_files_as_they_come_are_mined_and_put_together_again(project: Path, content: bytes) -> None:
    (project / "a.py").write_bytes(content)
    found = taken(project, project.parent / "store")
    files = analyse_project(found, ["python"])
    miner = ProjectMiner(files.analysis)
    chosen = miner.sample_candidates(miner.find_candidates(["a.py"]), TaskSampling(limit=None), ["a.py"])
    origin = TaskOrigin("p", found.snapshot.id, Provenance(source="p"), TestsCheck(command=("true",)))
    problems = miner.make_problems(chosen, origin)
    assert problems
    for problem in problems:
        assert isinstance(problem.splice, FileSplice)
        assert problem.splice.content(content, problem.reference) == content


def test_what_is_no_project_is_refused(project: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    with pytest.raises(DataError, match="no such folder"):
        taken(tmp_path / "none", store)
    with pytest.raises(DataError, match="give the folder of a project"):
        taken(project / "a.py", store)
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="an empty folder"):
        taken(tmp_path / "empty", store)
    with pytest.raises(DataError, match="no file of java"):
        analyse_project(taken(project, store), ["java"])


def test_a_snapshot_is_laid_down_once_and_whole(project: Path, tmp_path: Path) -> None:
    snapshot = taken(project, tmp_path / "store").snapshot
    place = tmp_path / "out" / "snapshots" / snapshot.id
    (place.parent / f".{snapshot.id}.12345").mkdir(parents=True)  # what a killed build leaves
    export_snapshot(snapshot, place)
    assert (place / "a.py").read_text() == CODE
    (place / "a.py").write_text("changed")
    export_snapshot(snapshot, place)
    assert (place / "a.py").read_text() == "changed"
    assert [path.name for path in place.parent.iterdir()] == [snapshot.id]
