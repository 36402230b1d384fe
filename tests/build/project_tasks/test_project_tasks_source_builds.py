from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from caretbench.build.project_sources import folder_names
from caretbench.build.project_tasks.build import BuildClock, BuiltSource, build_sources, sources_result
from caretbench.build.sources.fetching.project_folders import ProjectFolder, ProjectFolders
from caretbench.build.sources.fetching.source_spec import parse_source
from caretbench.errors import DataError, MachineError
from caretbench.progress import Progress
from caretbench.suites.stored_tasks import read_outcomes


class Notes(Progress):
    def __init__(self) -> None:
        self.steps: list[tuple[str, int, int | None]] = []
        self.notes: list[str] = []

    def __call__(self, step: str, added: int, total: int | None, detail: str = "") -> None:
        del detail
        self.steps.append((step, added, total))

    def note(self, line: str) -> None:
        self.notes.append(line)


def failing(error: Exception) -> Callable[..., int]:
    def build_one(_project: ProjectFolder, _folder: Path, _clock: BuildClock) -> int:
        raise error

    return build_one


def builds(
    tmp_path: Path, actions: dict[str, Callable[..., int]], *, max_s: float = 1e9
) -> tuple[list[BuiltSource], Notes]:
    """Build one folder for each action."""
    specs = []
    for name in actions:
        (tmp_path / "given" / name).mkdir(parents=True, exist_ok=True)
        specs.append(parse_source(str(tmp_path / "given" / name)))

    def build_one(project: ProjectFolder, folder: Path, clock: BuildClock) -> int:
        assert folder == tmp_path / "out" / project.name
        return actions[project.name](project, folder, clock)

    (tmp_path / "out").mkdir(exist_ok=True)
    notes = Notes()
    folders = ProjectFolders(tmp_path / "cache")
    made = build_sources(folder_names(specs), tmp_path / "out", folders, build_one, notes, max_s=max_s)
    return made, notes


def test_each_source_ends_as_problems_or_with_its_reason_and_the_rest_goes_on(tmp_path: Path) -> None:
    actions: dict[str, Callable[..., int]] = {
        "data": failing(DataError("its tests fail")), "disk": failing(OSError(28, "No space left on device")),
        "deep": failing(RecursionError("too deep")), "none": lambda *_: 0, "good": lambda *_: 7,
    }  # fmt: skip
    built, notes = builds(tmp_path, actions)
    reasons = {one.folder: one.reason for one, *_ in built}
    assert "CaretBench, RecursionError" in reasons.pop("deep")
    assert reasons == {
        "data": "its tests fail", "disk": "[Errno 28] No space left on device",
        "none": "no valid task", "good": "",
    }  # fmt: skip
    assert [one.problems for one, *_ in built] == [0, 0, 0, 0, 7]
    assert read_outcomes(tmp_path / "out") == tuple(one for one, *_ in built)
    assert notes.notes[0].rpartition("/")[2] == "data: its tests fail"
    assert notes.steps[0] == ("sources", 0, 5)
    result = sources_result("simcopilot", built, tmp_path / "out")
    assert result.usable
    assert "7 tasks of 1 of 5 sources" in result.lines[-1]
    assert json.loads(json.dumps(result.numbers))["sources"][0]["reason"] == "its tests fail"
    again, _ = builds(tmp_path, actions)
    assert [one for one, *_ in again] == [one for one, *_ in built]


def test_a_source_that_cannot_be_fetched_is_a_row(tmp_path: Path) -> None:
    specs = folder_names([parse_source("file:///nowhere/lib.git")])
    folders = ProjectFolders(tmp_path / "cache")
    built = build_sources(specs, tmp_path, folders, failing(AssertionError()), Progress(), max_s=1e9)
    assert built[0].outcome.reason.startswith("git fetch: ")
    assert not sources_result("simcopilot", built, tmp_path).usable


def test_each_source_has_its_own_time(tmp_path: Path) -> None:
    def slow(_project: ProjectFolder, _folder: Path, clock: BuildClock) -> int:
        clock.started -= 61
        clock("reach", 0, None)
        raise AssertionError("it goes on")

    built, _ = builds(tmp_path, {"slow": slow, "good": lambda *_: 1}, max_s=60)
    assert [one.reason for one, *_ in built] == ["takes longer than 1 min (--source-minutes)", ""]


def test_a_machine_that_lacks_something_ends_the_build(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match="no sandbox"):
        builds(tmp_path, {"good": lambda *_: 1, "bad": failing(MachineError("no sandbox"))})
    assert not (tmp_path / "out/sources.jsonl").exists()


def test_a_row_with_a_folder_elsewhere_is_refused(tmp_path: Path) -> None:
    (tmp_path / "sources.jsonl").write_text('{"source": "x", "folder": "../other", "problems": 1}\n')
    with pytest.raises(DataError, match=r"sources\.jsonl"):
        read_outcomes(tmp_path)
