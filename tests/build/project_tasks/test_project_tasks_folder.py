"""The folder of mined tasks."""

import subprocess
import sys
from pathlib import Path

import pytest

from caretbench.build import load_builder
from caretbench.build.project_tasks.task_folder import BuildManifest, TaskFolder, folder_lock
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.files import DataError, sha256_json, write_document, write_rows
from caretbench.problem import Caret, FileSplice, NoSplice, Problem, Provenance
from caretbench.suites import load_suite
from caretbench.suites.suite_types import DEFAULT_STRATIFICATION
from caretbench.suites.validity import Validity

SNAPSHOT = sha256_json(["snapshot 1", []])
"""The name of a project that holds nothing."""
ROW = {"kind": "tests", "command": ("python3", "-m", "pytest")}


def task(number: int) -> Problem:
    return Problem.model_validate(
        {
            "id": f"p/a.py#00000000:{number}-{number + 1}:infill", "suite": "simcopilot",
            "shown": Caret(language="python", prefix="def f(x):\n    ", suffix="\n", path="a.py"),
            "splice": FileSplice(snapshot=SNAPSHOT, path="a.py", start=number, end=number + 1),
            "reference": "return x", "checks": [ROW], "cluster": "p", "provenance": Provenance(source="p"),
            "labels": {"language": "python", "mode": "infill", "constructs": ["if_body", "loop_body"]},
        }
    )  # fmt: skip


def made(root: Path) -> TaskFolder:
    folder = TaskFolder(root)
    manifest = BuildManifest(
        project="p", snapshot=SNAPSHOT, provenance=Provenance(source="p"), languages=("python",), command=("pytest",)
    )
    write_document(folder.manifest_path, manifest)
    write_rows(folder.candidates_path, [task(number) for number in range(4)])
    verdicts = ("valid", "unverified", "invalid")
    write_rows(
        folder.validity_path, [Validity(problem_id=task(n).id, verdict=verdict) for n, verdict in enumerate(verdicts)]
    )
    return folder


def test_only_what_the_gate_let_through_is_run(tmp_path: Path) -> None:
    folder = made(tmp_path)
    with pytest.raises(DataError, match="not ended"):
        folder.problems()
    assert write_rows(folder.problems_path, folder.accepted()) == 1
    assert write_rows(folder.problems_path, folder.accepted(unverified=True)) == 2
    with pytest.raises(DataError, match=f"{SNAPSHOT} is missing"):
        folder.problems()
    folder.snapshot_path(SNAPSHOT).mkdir(parents=True)
    loaded = load_suite("simcopilot").load(str(tmp_path))
    assert [problem.id for problem in loaded.problems] == [task(0).id, task(1).id]
    assert folder.manifest().project == "p"


def test_folders_of_something_else_are_refused(tmp_path: Path) -> None:
    house = load_suite("simcopilot")
    with pytest.raises(DataError, match="no folder of tasks"):
        house.load(str(tmp_path))
    with pytest.raises(DataError, match=r"^nowhere: no such folder"):
        house.load("nowhere")
    (tmp_path / "Python_tasks_checkpoints.json").write_text("[]")
    with pytest.raises(DataError, match="no tasks"):
        house.load(str(tmp_path))
    with pytest.raises(DataError, match=r"'\.\./x' is not"):
        TaskFolder(tmp_path).snapshot_path("../x")
    inline = task(0).model_copy(update={"splice": NoSplice()})
    write_rows(tmp_path / "problems.jsonl", [inline])
    with pytest.raises(DataError, match="no span"):
        house.load(str(tmp_path))


def test_the_suite_says_how_reports_break_its_results_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    house = load_suite("simcopilot")
    found = house.stratification
    assert found.paper_bounds["reference_distance"] == {"python": (10, 30), "java": (30, 100)}
    assert DEFAULT_STRATIFICATION.labels == ("language", "category", "mode")
    assert house.canonical_label("mode", "completion") == "suffix_hidden"
    assert house.canonical_label("language", "py") == "python"
    assert load_builder(house.name).statistics(task(0), "default")["prefix_lines"] == 2
    monkeypatch.setenv("CARETBENCH_CACHE", str(tmp_path / "cache"))
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.py").write_text("return x")
    splice = FileSplice(snapshot=SnapshotStore().add(project).id, path="a.py", start=0, end=8)
    inside = task(0).model_copy(update={"splice": splice})
    assert house.measure(inside, "return x", "default")[0].values["cosine"] == 1


def test_the_next_build_removes_the_partial_file_of_a_killed_one(tmp_path: Path) -> None:
    killed = """
import os, pathlib, signal
from caretbench.files import write_rows
def rows():
    os.kill(os.getpid(), signal.SIGKILL)
    yield
write_rows(pathlib.Path("problems.jsonl"), rows())
"""
    process = subprocess.run([sys.executable, "-c", killed], cwd=tmp_path, check=False)
    assert process.returncode < 0
    (tmp_path / ".gitignore").touch()
    assert len(list(tmp_path.iterdir())) == 2
    with folder_lock(tmp_path):
        assert [path.name for path in tmp_path.iterdir()] == [".gitignore"]
