"""Builds of Codev-Bench: candidates, deciding tests, the gate, and the problems of all scenarios."""

from __future__ import annotations

import shutil
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from caretbench.api import load_suite
from caretbench.build.project_tasks.task_builder import TaskBuilder
from caretbench.build.project_tasks.task_folder import BuiltTasks, TaskFolder
from caretbench.build.validation.mutants import masks, with_span
from caretbench.execution.workspaces.workspace_executor import WorkspaceExecutor
from caretbench.problem import Problem
from caretbench.projects.answer_requests import file_splice, workspace_request
from caretbench.projects.answer_requests import get_tests_check as check_of
from caretbench.projects.code_search import split_tokens
from caretbench.projects.settings import CheckSettings
from caretbench.suites.codevbench.build.builder import CodevOptions
from caretbench.suites.codevbench.build.miner import SpanSampling, block_span
from caretbench.suites.codevbench.similar_functions import block_rules
from caretbench.suites.sample_projects import sample_projects
from caretbench.suites.usage_weights import read_weights
from tests.support.killed_builds import KilledBuilds, content
from tests.support.pytest_copy import copy_pytest
from tests.support.shop_project import COMMANDS, FILES, SHOP, SOURCES, TOOLS, written

MORE = '''


def describe(orders, limit):
    """Return the total as text."""
    try:
        amount = total(orders, limit)
    except TypeError:
        return "no orders"
    words = ["total", str(amount)]
    return " ".join(words)


def unused(value):
    """Return nothing that a test sees."""
    value += 17 * 2
    return None
'''
TESTS = """\
from shop import describe, total, unused


def test_large():
    assert total([10, 200, 30], 100) == 220


def test_small():
    assert total([1, 2], 3) == 3


def test_text():
    assert describe([1, 2], 3) == "total 3"


def test_no_orders():
    assert describe(None, 3) == "no orders"


def test_that_looks_at_nothing():
    unused(3)
"""


def sampling(limit: int | None = None, name: str = "even") -> SpanSampling:
    return SpanSampling(limit, None, read_weights(name))


def built(engine: WorkspaceExecutor, root: Path, out: Path, options: CodevOptions) -> BuiltTasks:
    return TaskBuilder(engine).build(root, TaskFolder(out), options)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    root = written(tmp_path / "shop", {"shop.py": SHOP + MORE, "test_shop.py": TESTS})
    copy_pytest(root / ".deps")
    return root


def pytest_options(limit: int | None = None) -> CodevOptions:
    check = CheckSettings(
        command="python3 -m pytest -q -x -p no:cacheprovider", environment={"PYTHONPATH": ".deps"}, minimum_tests=0
    )
    return CodevOptions(sampling=sampling(limit), check=check, exclude=(".deps/*",))


@pytest.mark.long
def test_all_tests_that_reach_a_block_decide(engine: WorkspaceExecutor, shop: Path, tmp_path: Path) -> None:
    found = built(engine, shop, tmp_path / "dev", pytest_options(60))
    folder = TaskFolder(tmp_path / "dev")
    problems = folder.problems()
    by_block = {
        (problem.label("block"), problem.reference): check_of(problem).tests
        for problem in problems
        if problem.label("scenario") == "full_block"
    }
    assert by_block["statement", "found += round(order * 9 / 10)"] == ("test_shop.py::test_large",)
    assert by_block["catch", 'return "no orders"'] == ("test_shop.py::test_no_orders",)
    assert not [problem for problem in problems if "value += 17" in problem.reference]
    assert found.manifest.rejected["mask_passes"]
    for problem in problems:
        assert check_of(problem).tests
        assert problem.labels["kills_kept"] == 1.0
        assert "test_shop.py::test_that_looks_at_nothing" not in check_of(problem).tests
    depths = {problem.reference: problem.labels["call_depth"] for problem in problems}
    assert depths["found += round(order * 9 / 10)"] == "1"
    noticed = {one.reference: one.labels["construct_removed"] for one in problems if "construct_removed" in one.labels}
    assert noticed[next(text for text in noticed if text.startswith("for order"))] == "noticed"


@pytest.mark.long
def test_references_pass_and_masks_fail_again(engine: WorkspaceExecutor, shop: Path, tmp_path: Path) -> None:
    built(engine, shop, tmp_path / "dev", pytest_options(30))
    problems = [one for one in TaskFolder(tmp_path / "dev").problems() if one.label("cut") == "block"]
    fresh = WorkspaceExecutor(2, workspace_runner=engine.workspace_runner, use_cache=False)
    content = (shop / "shop.py").read_bytes()
    requests = {}
    for problem in problems:
        requests[problem.id] = workspace_request(problem, problem.reference, store=engine.workspace_runner.store)
        for mask in masks(problem, content, block_span(problem), throw=problem.label("block") == "method"):
            masked = with_span(problem, block_span(problem))
            name = f"{problem.id} {mask.name}"
            request = workspace_request(masked, mask.text, store=engine.workspace_runner.store)
            requests[name] = request.model_copy(update={"id": name})
    results = {result.id: result.status.value for result in fresh.submit(requests.values())}
    passed = {name for name, status in results.items() if status == "passed"}
    assert passed == {problem.id for problem in problems}
    assert len(results) > len(problems)


@pytest.mark.long
def test_ten_kills_leave_the_bytes_of_an_unbroken_build(engine: WorkspaceExecutor, place: Path, tmp_path: Path) -> None:
    engine.isolation()
    root = written(tmp_path / "shop", FILES)
    kills = {"setup": 2, "tests as they are": 2, "reach": 2, "tests of tasks": 2, "candidates": 2}
    killed = KilledBuilds(root, "codev_options()", kills, place / "codev")
    killed.build_unbroken(tmp_path / "whole")
    killed.build_with_kills(tmp_path / "killed")
    assert content(tmp_path / "killed") == content(tmp_path / "whole")
    assert TaskFolder(tmp_path / "killed").problems()


def test_a_block_is_a_problem_of_each_scenario(engine: WorkspaceExecutor, tmp_path: Path) -> None:
    root = tmp_path / "depot"
    shutil.copytree(sample_projects()["depot"], root)
    built(engine, root, tmp_path / "dev", CodevOptions(sampling=sampling(12)))
    problems = TaskFolder(tmp_path / "dev").problems()
    of_block: dict[tuple[str, str], list[Problem]] = defaultdict(list)
    for problem in problems:
        if problem.label("scenario") != "inner_block":
            of_block[file_splice(problem).path, problem.released["block_span"]].append(problem)
    assert of_block
    for same in of_block.values():
        counts = Counter(problem.label("scenario") for problem in same)
        assert counts["full_block"] == 1
        assert counts["incomplete_suffix"] <= 2
        assert len({problem.reference for problem in same}) == 1
        assert len({check_of(problem).model_dump_json() for problem in same}) == 1
        by_cut = {problem.label("cut"): problem.caret for problem in same}
        if "file_emptied" in by_cut:
            assert by_cut["file_emptied"].suffix == ""
        if "function_emptied" in by_cut:
            whole = next(problem for problem in same if problem.label("scenario") == "full_block").caret
            assert whole.suffix.endswith(by_cut["function_emptied"].suffix)
            assert by_cut["function_emptied"].suffix.lstrip().startswith(("def ", "class ", "@"))
    empty = [problem for problem in problems if problem.label("answer") == "empty"]
    assert all(problem.reference == "" and problem.label("cut") == "empty" for problem in empty)


@pytest.mark.long
@pytest.mark.parametrize("language", ["javascript", "typescript", "java"])
def test_other_languages_take_the_same_way(engine: WorkspaceExecutor, tmp_path: Path, language: str) -> None:
    if shutil.which(TOOLS.get(language, "sh")) is None:
        pytest.skip(f"needs {TOOLS[language]}")
    root = written(tmp_path / "shop", SOURCES[language])
    options = CodevOptions(sampling=sampling(20), check=CheckSettings(command=COMMANDS[language]))
    found = built(engine, root, tmp_path / "dev", options)
    assert found.task_count
    problems = TaskFolder(tmp_path / "dev").problems()
    assert {problem.label("scenario") for problem in problems} >= {"full_block", "incomplete_suffix"}
    assert {problem.label("language") for problem in problems} == {language}


@pytest.mark.smoke
def test_the_starter_set_is_complete() -> None:
    problems = load_suite("codevbench").load("starter").problems
    counts = Counter(problem.label("scenario") for problem in problems)
    assert set(counts) == {"full_block", "inner_block", "incomplete_suffix", "rag"}
    kinds = {problem.label("block") for problem in problems}
    assert kinds == {"method", "if", "for", "while", "try", "catch", "statement", "argument_list", "partial_line"}
    assert any(problem.label("answer") == "empty" for problem in problems)
    for problem in problems:
        if problem.label("scenario") == "rag":
            assert 1 <= len(problem.caret.context) <= 3
            is_long = len(split_tokens(problem.reference)) >= block_rules().min_repeated_tokens
            assert not is_long or all(problem.reference not in file.text for file in problem.caret.context)


def test_no_prompt_of_the_starter_set_is_shown_twice() -> None:
    problems = load_suite("codevbench").load("starter").problems
    shown = Counter((one.caret.prefix, one.caret.suffix, one.caret.path, one.caret.context) for one in problems)
    assert max(shown.values()) == 1
