"""From an answer to a command in a project; projects of a folder of tasks are taken into the store."""

from pathlib import Path

import pytest

from caretbench.errors import DataError
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.execution.workspaces.workspace_runner import WORKSPACE_LIMITS
from caretbench.problem import Caret, ExpectedOutput, FileSplice, Problem, ProgramCheck, Provenance, TestsCheck
from caretbench.projects import answer_requests
from caretbench.projects.answer_requests import original_file, store_projects, workspace_request

CONTENT = b"def double(x):\r\n    y = 2 * x\r\n    return y\r\n"
SPAN = CONTENT.index(b"y = 2"), CONTENT.index(b"\r\n    return")
CHECK = TestsCheck(
    command=("python3", "-m", "unittest"), environment={"A": "b"}, directory="src", junit=("r.xml",),
    minimum_tests=3, output=ExpectedOutput(text="done"), reference_s=3.0,
)  # fmt: skip


def problem(snapshot: str, **changes: object) -> Problem:
    made = Problem(
        id="p/a.py",
        suite="simcopilot",
        shown=Caret(language="python", prefix="def double(x):\n    ", suffix="\n    return y\n", path="a.py"),
        splice=FileSplice(snapshot=snapshot, path="a.py", start=SPAN[0], end=SPAN[1], newline="\r\n"),
        reference="y = 2 * x",
        checks=(CHECK,),
        cluster="p",
        provenance=Provenance(source="p"),
    )
    return made.model_copy(update=changes)


@pytest.fixture
def project(tmp_path: Path) -> tuple[SnapshotStore, Path, str]:
    root = tmp_path / "project"
    root.mkdir()
    (root / "a.py").write_bytes(CONTENT)
    store = SnapshotStore(tmp_path / "store")
    return store, root, SnapshotStore(tmp_path / "elsewhere").add(root, ignore=()).id


def test_a_project_is_taken_in_once_and_only_if_it_is_what_its_name_says(
    project: tuple[SnapshotStore, Path, str],
) -> None:
    store, root, identity = project
    with pytest.raises(DataError, match="no snapshot"):
        workspace_request(problem(identity), "x", store=store)
    store_projects([(identity, root)], store)
    assert original_file(identity, "a.py", store) == CONTENT
    (root / "a.py").write_text("changed")
    store_projects([(identity, root)], store)  # it is there: the folder is not looked at
    with pytest.raises(DataError, match=f"{root}: not the"):
        store_projects([("0" * 64, root)], store)


def test_the_command_gets_the_file_with_the_answer_in_its_place(project: tuple[SnapshotStore, Path, str]) -> None:
    store, root, identity = project
    store_projects([(identity, root)], store)
    request = workspace_request(problem(identity), "y = x\n    y += x", store=store)
    assert request.patch == {"a.py": CONTENT.replace(b"y = 2 * x", b"y = x\r\n    y += x")}
    assert (request.command, request.directory, request.environment) == (CHECK.command, "src", {"A": "b"})
    assert (request.junit, request.minimum_tests, request.expected) == (("r.xml",), 3, CHECK.output)
    assert (request.limits.cpu_s, request.limits.wall_s) == (15.0, 90.0)
    reference = workspace_request(problem(identity), "y = 2 * x", store=store)
    assert reference.patch == {"a.py": CONTENT}
    timeless = problem(identity, checks=(CHECK.model_copy(update={"reference_s": None}),))
    unbounded = workspace_request(timeless, "", store=store)
    assert unbounded.limits == WORKSPACE_LIMITS


def test_what_cannot_be_run_so_is_refused(project: tuple[SnapshotStore, Path, str]) -> None:
    store, root, identity = project
    store_projects([(identity, root)], store)
    with pytest.raises(DataError, match="0 checks"):
        answer_requests.get_tests_check(problem(identity, checks=(ProgramCheck(),)))
    with pytest.raises(DataError, match="2 checks"):
        answer_requests.get_tests_check(problem(identity, checks=(CHECK, CHECK)))
    far = FileSplice(snapshot=identity, path="a.py", start=3, end=10_000)
    with pytest.raises(DataError, match="at 10000"):
        workspace_request(problem(identity, splice=far), "x", store=store)
    absent = FileSplice(snapshot=identity, path="b.py", start=0, end=0)
    with pytest.raises(DataError, match=r"no file 'b.py'"):
        workspace_request(problem(identity, splice=absent), "x", store=store)
