"""The starter set: tasks of our sample projects, kept as spans."""

import shutil
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.simcopilot_starter import starter_task
from caretbench.build.projects.project_analysis import analyse_project
from caretbench.build.projects.project_storage import store_project
from caretbench.build.projects.setup.command_detection import project_checks
from caretbench.build.validation.workspace_gate import WorkspaceGate
from caretbench.cli.listing import listing
from caretbench.errors import DataError
from caretbench.execution.toolchains.java import usable_jdk
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.execution.workspaces.workspace_executor import WorkspaceExecutor
from caretbench.extraction.policies import get_policy
from caretbench.files import read_rows
from caretbench.problem import Problem
from caretbench.projects import answer_requests
from caretbench.projects.answer_requests import file_splice, original_file
from caretbench.projects.settings import read_settings
from caretbench.suites import load_suite
from caretbench.suites.simcopilot import starter
from caretbench.suites.simcopilot.build.tasks import ProjectMiner

FEWEST = {"wayfarer": (100, 20), "tallyhouse": (100, 0)}
"""By project: so many tasks at least, and so many in its script."""
LEAVES = {"python": "import os; os._exit(0)", "java": "System.exit(0);"}
"""By language: an answer that leaves with exit status 0."""


@pytest.fixture(scope="module")
def problems(store: SnapshotStore) -> list[Problem]:
    return starter.load(store)


def test_there_are_enough_in_both_modes(problems: list[Problem]) -> None:
    for name, (fewest, in_script) in FEWEST.items():
        own = [problem for problem in problems if problem.cluster == name]
        script = [one for one in own if file_splice(one).path == "delivery_day.py"]
        assert (len(own) >= fewest, len(script) >= in_script) == (True, True)
        modes = Counter(problem.label("mode") for problem in own)
        assert min(modes["infill"], modes["suffix_hidden"]) >= fewest // 4
    assert len({problem.id for problem in problems}) == len(problems)


def test_they_are_what_would_be_mined_today(problems: list[Problem], store: SnapshotStore) -> None:
    for name, root in starter.sample_projects().items():
        own = {(file_splice(one), one.label("mode")) for one in problems if one.cluster == name}
        if not own:
            continue
        languages = {problem.caret.language for problem in problems if problem.cluster == name}
        readable = analyse_project(store_project(root, store), languages)
        miner = ProjectMiner(readable.analysis)
        found = miner.find_candidates({path for paths in readable.mined.values() for path in paths})
        mined = {(path, *one.span, one.mode) for path, group in found.candidates.items() for one in group}
        assert {(splice.path, splice.start, splice.end, mode) for splice, mode in own} <= mined


def test_the_stored_checks_are_those_that_building_detects(store: SnapshotStore) -> None:
    for name, root in starter.sample_projects().items():
        if starter.starter_tasks_path(name).is_file():
            snapshot = store_project(root, store).snapshot
            detected = project_checks(snapshot, (), settings=read_settings(root).checks)
            stored = [*read_rows(starter.starter_checks_path(name), starter.StarterCheck)]
            assert [(one.name, one.check) for one in stored] == [(one.name, one.check) for one in detected]


def test_right_answers_stand_in_their_places_and_suffixes_are_hidden(
    problems: list[Problem], store: SnapshotStore
) -> None:
    for problem in problems:
        splice = file_splice(problem)
        content = original_file(splice.snapshot, splice.path, store)
        assert splice.content(content, problem.reference) == content
        assert (problem.caret.suffix == "") >= (problem.label("mode") == "suffix_hidden")
        check = answer_requests.get_tests_check(problem)
        assert check.minimum_tests or check.output is not None
        assert check.reference_s


def test_a_task_loses_nothing_on_its_way(problems: list[Problem], store: SnapshotStore) -> None:
    problem = problems[0]
    splice = file_splice(problem)
    checks = project_checks(
        store.get(splice.snapshot), (), settings=read_settings(starter.sample_projects()[problem.cluster]).checks
    )
    row = starter_task(problem, original_file(splice.snapshot, splice.path, store), checks)
    first = starter.starter_tasks_path(problem.cluster).read_text().splitlines()[0]
    assert starter.StarterTask.model_validate_json(first) == row


def test_tasks_of_another_project_are_refused(
    store: SnapshotStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "wayfarer"
    shutil.copytree(starter.sample_projects()["wayfarer"], root)
    (root / "delivery_day.py").write_text("print('changed')\n")
    monkeypatch.setattr(starter, "sample_projects", lambda: {"wayfarer": root})
    with pytest.raises(DataError, match="it again"):
        starter.load(store)


def test_the_suite_has_it_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, problems: list[Problem]) -> None:
    monkeypatch.setenv("CARETBENCH_CACHE", str(tmp_path))
    found = load_suite("simcopilot").load("starter")
    assert found.name == "starter"
    assert [problem.id for problem in found.problems] == [problem.id for problem in problems]


def test_lists_count_each_construct_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CARETBENCH_CACHE", str(tmp_path))
    listing("simcopilot")
    [line] = [line for line in capsys.readouterr().out.splitlines() if line.startswith("constructs: ")]
    names = [entry.rpartition(" ")[0] for entry in line.removeprefix("constructs: ").split(", ")]
    assert len(names) == len(set(names)) <= 9
    assert "loop_body" in names


def test_an_answer_that_leaves_with_status_0_is_wrong(problems: list[Problem], engine: WorkspaceExecutor) -> None:
    store = engine.workspace_runner.store
    chosen = {
        tests_of.command: problem
        for problem in problems
        if problem.label("block") == "statement" and problem.labels["cursor_column"]
        for tests_of in [answer_requests.get_tests_check(problem)]
    }
    assert ("python3", "-m", "unittest", "-f") in chosen
    assert {problem.caret.language for problem in chosen.values()} == set(LEAVES)
    for problem in chosen.values():
        leaves = LEAVES[problem.caret.language]
        if problem.caret.language == "java" and usable_jdk() is None:
            continue
        for text, status in ((problem.reference, "passed"), (leaves, "incomplete failed compile_error")):
            request = answer_requests.workspace_request(problem, text, store=store)
            [result] = engine.submit([request])
            assert result.status.value in status.split(), (problem.id, result.reason)


@pytest.mark.long
def test_a_sample_still_passes_the_gate(problems: list[Problem], engine: WorkspaceExecutor) -> None:
    sample = problems[:: max(1, len(problems) // 6)]
    gate = WorkspaceGate(engine, get_policy("block"), store=engine.workspace_runner.store)
    verdicts = {row.problem_id: row.verdict for row in gate.decide(sample, all_problems=problems)}
    assert verdicts == {problem.id: "valid" for problem in sample}
