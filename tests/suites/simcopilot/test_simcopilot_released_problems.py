"""Problems made of the released spans, their tests in both variants, and the gate's verdicts on them."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest

from caretbench.build import load_builder
from caretbench.build.validation.workspace_gate import WorkspaceGate, span_faults
from caretbench.execution.execution_types import Status
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.execution.workspaces.workspace_executor import WorkspaceExecutor
from caretbench.execution.workspaces.workspace_runner import WorkspaceRunner
from caretbench.extraction.policies import get_policy
from caretbench.files import DataError
from caretbench.problem import FileSplice, Problem, TestsCheck
from caretbench.projects.answer_requests import file_splice, original_file, workspace_request
from caretbench.projects.answer_requests import get_tests_check as check_of
from caretbench.suites import load_suite
from caretbench.suites.simcopilot.released.released_problems import VARIANTS, Variant, released_problems, split_variant
from caretbench.suites.simcopilot.released.spans import released_folder, released_path
from tests.support.released_simcopilot import add_java, write_release

needs_java = pytest.mark.skipif(shutil.which("javac") is None, reason="no JDK here")
_TASK = "released/python/simplex_method:3-4:infill"


def by_id(root: Path, variant: Variant, store: SnapshotStore) -> dict[str, Problem]:
    return {problem.id: problem for problem in released_problems(root, variant, store)}


@pytest.fixture
def release(tmp_path: Path) -> Path:
    return write_release(tmp_path / "release")


def test_a_released_span_becomes_a_problem(release: Path, store: SnapshotStore) -> None:
    found = by_id(release, "released", store)
    problem, hidden = found[_TASK], found["released/python/simplex_method:4-4:suffix_hidden"]
    assert len(found) == 4
    assert problem.reference == "    for item in items:\n        result += item"  # tabs become blanks, as released
    assert problem.caret.prefix.endswith("result = 0\n")
    assert problem.caret.suffix.startswith("\n    return result\n")
    assert hidden.caret.suffix == ""
    assert (
        problem.overlap_group
        == hidden.overlap_group
        != found["released/python/simplex_method:9-9:infill"].overlap_group
    )
    assert problem.cluster == problem.label("project") == "simplex_method"
    assert problem.labels["constructs"] == ["local_variable", "loop_body"]
    assert problem.provenance.licence == "CC BY-NC-ND 4.0"
    splice, check = file_splice(problem), check_of(problem)
    assert isinstance(splice, FileSplice)
    assert isinstance(check, TestsCheck)
    content = original_file(splice.snapshot, splice.path, store)
    assert b"\t" not in content
    assert splice.content(content, problem.reference) == content
    assert {"data.txt", "simplex_method.json"} <= store.get(splice.snapshot).entries.keys()


def test_a_clone_without_labels_has_the_same_problems_without_constructs(tmp_path: Path, store: SnapshotStore) -> None:
    found = by_id(write_release(tmp_path, labels=False), "released", store)
    assert found[_TASK].labels["constructs"] == []
    assert "comment_distance" not in found[_TASK].labels


def test_the_suite_selects_the_variant(release: Path) -> None:
    suite = load_suite("simcopilot")
    released, repaired = suite.load(str(release)), suite.load(f"{release}@repaired")
    assert (released.name, repaired.name) == ("release", "release-repaired")
    assert released.hash != repaired.hash
    assert [problem.id for problem in released.problems] == [problem.id for problem in repaired.problems]
    assert split_variant("a@b/c") == ("a@b/c", "released")
    with pytest.raises(DataError, match="@other: no such"):
        suite.load(f"{release}@other")


def test_a_missing_program_or_an_unknown_one_is_named(tmp_path: Path, store: SnapshotStore) -> None:
    release = write_release(tmp_path, labels=False)
    spans = release / "example_code" / "Python" / "Python_tasks_checkpoints.json"
    spans.write_text(spans.read_text().replace("Image_Filtering", "Unknown"))
    with pytest.raises(DataError, match=r"Unknown .*simplex_method"):
        by_id(release, "released", store)
    shutil.rmtree(release / "example_code" / "Python" / "simplex_method")
    with pytest.raises(DataError, match=r"simplex_method .*https://github.*pull simcopilot"):
        by_id(release, "released", store)


def test_a_program_comes_from_its_own_folder_and_links_stay_links(release: Path, store: SnapshotStore) -> None:
    python = release / "example_code" / "Python"
    (python / "a_copy").mkdir()
    (python / "a_copy" / "simplex_method.py").write_text("# another\n" * 20)
    (python / "simplex_method" / "inputs").mkdir()
    (python / "simplex_method" / "inputs" / "elsewhere").symlink_to("missing")
    (python / "simplex_method" / "alias.txt").symlink_to("data.txt")
    problem = by_id(release, "released", store)[_TASK]
    assert problem.reference.startswith("    for item in items:")
    entries = store.get(file_splice(problem).snapshot).entries
    assert {name: entries[name].kind for name in ("alias.txt", "inputs/elsewhere", "data.txt")} == {
        "alias.txt": "link", "inputs/elsewhere": "link", "data.txt": "file",
    }  # fmt: skip


def test_lines_end_with_line_feeds_whatever_the_copy_has(release: Path, store: SnapshotStore) -> None:
    expected = by_id(release, "released", store)
    path = release / "example_code" / "Python" / "simplex_method" / "simplex_method.py"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    found = by_id(release, "released", store)
    assert {name: problem.model_dump() for name, problem in found.items()} == {
        name: problem.model_dump() for name, problem in expected.items()
    }


def test_a_python_program_without_its_cases_is_excluded_with_the_cause(release: Path, store: SnapshotStore) -> None:
    (release / "example_code" / "Python" / "simplex_method" / "simplex_method.json").unlink()
    check = check_of(by_id(release, "released", store)[_TASK])
    assert check.needs == ("the file example_code/Python/simplex_method/simplex_method.json, not in the data",)


@pytest.mark.long
@pytest.mark.parametrize(
    ("variant", "answer", "status"),
    [
        ("released", None, Status.PASSED),
        ("repaired", None, Status.PASSED),
        ("released", "    for item in items:\n        result = item", Status.PASSED),  # the last line alone is compared
        ("repaired", "    for item in items:\n        result = item", Status.FAILED),
        ("released", "    for item in items:\n        result -= item", Status.FAILED),
        ("released", "    raise SystemExit", Status.FAILED),
        ("released", "    return undefined", Status.FAILED),
    ],
)
def test_the_cases_of_a_python_program_decide(
    release: Path, workspace_runner: WorkspaceRunner, variant: Variant, answer: str | None, status: Status
) -> None:
    problem = by_id(release, variant, workspace_runner.store)[_TASK]
    text = problem.reference if answer is None else answer
    result = workspace_runner.run(workspace_request(problem, text, store=workspace_runner.store))
    assert result.status is status, (result.stdout.text, result.stderr.text)
    if answer is not None and "undefined" in answer:
        assert "NameError" in result.stderr.text


@pytest.mark.long
def test_the_gate_decides_every_released_task(release: Path, workspace_runner: WorkspaceRunner) -> None:
    problems = released_problems(release, "released", workspace_runner.store)
    engine = WorkspaceExecutor(1, workspace_runner=workspace_runner, use_cache=False)
    gate = WorkspaceGate(engine, get_policy("block"), store=workspace_runner.store)
    verdicts = {row.problem_id: row for row in gate.decide(problems)}
    assert verdicts[_TASK].verdict == "valid"
    assert verdicts["released/python/simplex_method:9-9:infill"].reasons == ("not_reached: no test runs it",)
    [excluded] = verdicts["released/python/Image_Filtering:1-1:infill"].reasons
    assert excluded.startswith("not_run: ")
    assert "example_code/Python/Image_Filtering/alice.avi" in excluded
    assert verdicts["released/python/Image_Filtering:1-1:infill"].verdict == "unverified"


@needs_java
def test_java_tasks_that_do_not_test_their_code_are_found_without_a_run(release: Path, store: SnapshotStore) -> None:
    add_java(release)

    def faults(variant: Variant) -> Counter[str]:
        problems = [one for one in released_problems(release, variant, store) if one.caret.language == "java"]
        found: Counter[str] = Counter()
        for problem in problems:
            splice = file_splice(problem)
            content = original_file(splice.snapshot, splice.path, store)
            found.update(one.partition(":")[0] for one in span_faults(splice, content, check_of(problem), store))
        return found

    assert faults("released") == {"in_test_code": 1, "shadowed": 1}
    assert faults("repaired") == {"in_test_code": 1}


@needs_java
@pytest.mark.long
def test_jars_come_first_as_released_and_last_when_repaired(release: Path, workspace_runner: WorkspaceRunner) -> None:
    add_java(release)
    text, broken = "    return value + 0;", '    throw new IllegalStateException("broken");'
    statuses = {}
    for variant in VARIANTS:
        found = by_id(release, variant, workspace_runner.store)
        for name, lines in {"shadowed": "11-11", "tested": "5-5"}.items():
            problem = found[f"released/java/FactorizationTester:{lines}:infill"]
            for answer in (problem.reference, broken):
                request = workspace_request(problem, answer, store=workspace_runner.store)
                statuses[variant, name, answer == broken] = workspace_runner.run(request).status is Status.PASSED
    assert (
        by_id(release, "released", workspace_runner.store)["released/java/FactorizationTester:11-11:infill"].reference
        == text
    )
    assert statuses == {
        ("released", "shadowed", False): True, ("released", "shadowed", True): True,
        ("released", "tested", False): True, ("released", "tested", True): False,
        ("repaired", "shadowed", False): True, ("repaired", "shadowed", True): False,
        ("repaired", "tested", False): True, ("repaired", "tested", True): False,
    }  # fmt: skip


@needs_java
@pytest.mark.long
def test_the_repaired_copy_requires_all_tests(release: Path, workspace_runner: WorkspaceRunner) -> None:
    add_java(release)
    name = "released/java/FactorizationTester:5-5:infill"
    checks = {variant: check_of(by_id(release, variant, workspace_runner.store)[name]) for variant in VARIANTS}
    assert {variant: check.minimum_tests for variant, check in checks.items()} == {"released": 1, "repaired": 18}
    problem = by_id(release, "repaired", workspace_runner.store)[name]
    more = problem.model_copy(update={"checks": (checks["repaired"].model_copy(update={"minimum_tests": 19}),)})
    result = workspace_runner.run(workspace_request(more, problem.reference, store=workspace_runner.store))
    assert (result.status, result.reason) == (Status.INCOMPLETE, "exit status 0, but 18 of at least 19 tests ran")


@pytest.fixture
def released_simcopilot() -> Path:
    """The release in the cache of this machine."""
    if not released_path().is_dir():
        pytest.skip("the release is not here; run: caretbench pull simcopilot")
    return released_folder()


@pytest.mark.data
def test_all_released_tasks_load(released_simcopilot: Path) -> None:
    problems = load_suite("simcopilot").load(str(released_simcopilot)).problems
    assert Counter((problem.label("language"), problem.label("mode")) for problem in problems) == {
        ("python", "infill"): 382, ("python", "suffix_hidden"): 212,
        ("java", "infill"): 283, ("java", "suffix_hidden"): 286,
    }  # fmt: skip
    found: Counter[str] = Counter()
    for problem in problems:
        splice = file_splice(problem)
        content = original_file(splice.snapshot, splice.path)
        found.update(one.partition(":")[0] for one in span_faults(splice, content, check_of(problem)))
    assert found == {"in_test_code": 136, "shadowed": 101}


@pytest.mark.data
def test_the_texts_of_the_programs_give_the_paper_s_distances_to_comments(released_simcopilot: Path) -> None:
    [table] = [one for one in load_builder("simcopilot").data_tables("released") if one.name == "comments"]
    assert [row[1:4] for row in table.rows] == [
        ("236", "138", "0"), ("105", "102", "0"), ("206", "72", "0"), ("193", "85", "0"),
    ]  # fmt: skip


@pytest.mark.data
@pytest.mark.long
def test_released_references_that_the_policies_change_are_counted(released_simcopilot: Path) -> None:
    problems = load_suite("simcopilot").load(str(released_simcopilot)).problems
    unchanged = {
        name: sum(get_policy(name).apply(one.reference, one.caret).text == one.reference for one in problems)
        for name in ("block", "simcopilot/clean", "simcopilot/trim", "simcopilot/repair")
    }
    assert unchanged == {"block": 1154, "simcopilot/clean": 1023, "simcopilot/trim": 898, "simcopilot/repair": 573}
