"""Commands in projects: real processes, in an overlay, in a copy in warm walls, and in a copy in cold ones."""

from __future__ import annotations

import importlib.util
import os
import py_compile
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from caretbench.errors import DataError
from caretbench.execution.execution_types import Limits, Status
from caretbench.execution.sandbox import bind_access as host_mounts
from caretbench.execution.sandbox import bubblewrap as walls
from caretbench.execution.sandbox.host.failure_reasons import NO_NESTING
from caretbench.execution.sandbox.host.program_users import program_users
from caretbench.execution.sandbox.program_sandbox import NO_OVERLAY, Invocation, Sandbox, SandboxUnavailable
from caretbench.execution.sandbox.supervisor import SandboxResult
from caretbench.execution.workspaces.snapshot_store import IGNORED, Snapshot, SnapshotStore
from caretbench.execution.workspaces.workspace_runner import (
    WORKSPACE_LIMITS,
    WorkspaceRequest,
    WorkspaceResult,
    WorkspaceRunner,
)

pytestmark = pytest.mark.skipif(walls.find_bubblewrap() is None, reason="bubblewrap is not installed")

PYTHON = walls.launcher_interpreter()[0]
HIDDEN = "the-hidden-reference-answer"
FILES = {
    "shop/__init__.py": "",
    "shop/prices.py": f"# {HIDDEN}\ndef total(prices):\n    return sum(prices)\n",
    "tests/test_prices.py": """
        import unittest
        from shop.prices import total
        class Prices(unittest.TestCase):
            def test_sum(self):
                self.assertEqual(total([1, 2, 3]), 6)
            def test_nothing(self):
                self.assertEqual(total([]), 0)
    """,
    "data/words.txt": "one\ntwo\n",
    "data/old/a.txt": "a",
}
BROKEN = "def total(prices):\n    return len(prices)\n"
TEST = (PYTHON, "-m", "unittest", "-q", "tests.test_prices")

Take = Callable[..., Snapshot]


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    box = Sandbox()
    try:
        box.probe()
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    yield box
    box.close()


@pytest.fixture(scope="module")
def take(place: Path, store: SnapshotStore) -> Take:
    """A function that takes in the project with some files more."""

    def write(more: dict[str, str] | None = None, ignore: tuple[str, ...] = IGNORED) -> Snapshot:
        root = Path(tempfile.mkdtemp(dir=place))
        for path, text in {**FILES, **(more or {})}.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(textwrap.dedent(text))
        (root / "alias").symlink_to("data/words.txt")
        return store.add(root, ignore=ignore)

    return write


@pytest.fixture(scope="module")
def project(take: Take) -> Snapshot:
    return take()


class ColdSandbox(Sandbox):
    """As where no namespaces can be made inside a sandbox."""

    def run(self, invocation: Invocation) -> SandboxResult:
        return super().run(replace(invocation, warm=None))


@pytest.fixture(params=["overlay", "copy", "cold"])
def workspace_runner(request: pytest.FixtureRequest, sandbox: Sandbox, store: SnapshotStore) -> WorkspaceRunner:
    if request.param == "cold":
        return WorkspaceRunner(ColdSandbox(), store)
    return WorkspaceRunner(sandbox, store, overlay=request.param == "overlay")


@pytest.fixture
def overlay(sandbox: Sandbox, store: SnapshotStore, project: Snapshot) -> WorkspaceRunner:
    """Skips the test where this machine lays no overlay."""
    workspace_runner = WorkspaceRunner(sandbox, store)
    if script(workspace_runner, project, "true").placed != "overlay":
        pytest.skip("no overlay can be laid here")
    return workspace_runner


def script(workspace_runner: WorkspaceRunner, project: Snapshot, text: str, **options: object) -> WorkspaceResult:
    request = {"id": "a", "snapshot": project.id, "command": ("/bin/sh", "-c", text), **options}
    return workspace_runner.run(WorkspaceRequest.model_validate(request))


def python(workspace_runner: WorkspaceRunner, project: Snapshot, text: str, **options: object) -> WorkspaceResult:
    command = (PYTHON, "-c", textwrap.dedent(text))
    request = {"id": "a", "snapshot": project.id, "command": command, **options}
    return workspace_runner.run(WorkspaceRequest.model_validate(request))


# --- what a user has ------------------------------------------------------------------------------------------


@pytest.mark.skipif(program_users() is None, reason="only root opens a snapshot for each program's user")
def test_projects_share_a_worker(take: Take, store: SnapshotStore) -> None:
    """A snapshot belongs to one program; in a worker's key, nine projects in turn cost a worker for each command."""
    box = Sandbox()
    runner = WorkspaceRunner(box, store)
    for number in range(3):
        project = take({"number.txt": str(number)})
        result = script(runner, project, "cat number.txt; ls /run/snapshot")
        if result.placed != "overlay":
            pytest.skip("no overlay can be laid here")
        assert result.stdout.text == str(number)
    assert len(box._workers._workers) == 1
    box.close()


def test_a_patch_decides_whether_the_tests_pass(
    workspace_runner: WorkspaceRunner, project: Snapshot, store: SnapshotStore
) -> None:
    run = [
        workspace_runner.run(WorkspaceRequest(id="1", snapshot=project.id, command=TEST, patch=patch))
        for patch in ({}, {"shop/prices.py": BROKEN}, {"shop/prices.py": FILES["shop/prices.py"].encode()})
    ]
    assert [result.status for result in run] == [Status.PASSED, Status.FAILED, Status.PASSED]
    assert "FAIL: test_sum" in run[1].stderr.text
    assert run[0].isolation is not None
    assert store.verify(project.id) == []


def test_an_overlay_is_laid_where_the_kernel_can(overlay: WorkspaceRunner, project: Snapshot) -> None:
    assert overlay.probe() == "overlay"
    copying = WorkspaceRunner(overlay.sandbox, overlay.store, overlay=False)
    assert script(copying, project, "true").placed == "copy"
    cold = WorkspaceRunner(ColdSandbox(), overlay.store)
    assert script(cold, project, "true").placed == "copy"


def test_the_project_is_the_same_however_it_is_placed(sandbox: Sandbox, store: SnapshotStore, take: Take) -> None:
    project = take({"bin/tool": "#!/bin/sh\n", "deep/er/x": "1"})
    look = """
        import os
        for folder, folders, files in sorted(os.walk(".")):
            for name in sorted(folders + files):
                path = os.path.join(folder, name)
                link = os.path.islink(path)
                print(path, link and os.readlink(path), oct(os.lstat(path).st_mode))
                print(not link and os.access(path, os.W_OK), os.path.isfile(path) and open(path).read())
    """
    options = {"patch": {"deep": None, "new/a.py": "x", "data/words.txt": "three"}}
    cases = (
        WorkspaceRunner(sandbox, store),
        WorkspaceRunner(sandbox, store, overlay=False),
        WorkspaceRunner(ColdSandbox(), store),
    )
    seen = [python(workspace_runner, project, look, **options).stdout.text for workspace_runner in cases]
    assert seen[0]
    assert "./deep" not in seen[0]
    assert seen == [seen[0]] * 3


@pytest.fixture(scope="module")
def pytest_bundle(place: Path) -> Path:
    """pytest for the interpreter inside, which has none."""
    version = subprocess.run([PYTHON, "-c", "import sys; print(sys.version_info >= (3, 11))"], capture_output=True)
    if version.stdout.strip() != b"True":
        pytest.skip("the interpreter inside is too old for this pytest")
    bundle = place / "bundle"
    bundle.mkdir()
    for name in ("pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments"):
        found = importlib.util.find_spec(name)
        assert found is not None
        assert found.submodule_search_locations
        source = found.submodule_search_locations[0]
        shutil.copytree(source, bundle / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(Path(pytest.__file__).parents[1] / "py.py", bundle)
    return bundle


def test_pytest_writes_a_report_that_is_read(overlay: WorkspaceRunner, project: Snapshot, pytest_bundle: Path) -> None:
    def run(prices: str, **options: object) -> WorkspaceResult:
        request = {
            "id": "1",
            "snapshot": project.id,
            "command": (PYTHON, "-m", "pytest", "-q", "-x", "--junit-xml=out/report.xml"),
            "environment": {"PYTHONPATH": "/bundle"},
            "read_only": {"/bundle": str(pytest_bundle)},
            "junit": ("out/*.xml",),
            "patch": {"shop/prices.py": prices},
            **options,
        }
        return overlay.run(WorkspaceRequest.model_validate(request))

    good = run(FILES["shop/prices.py"], minimum_tests=2)
    assert good.status is Status.PASSED, good
    assert [(test.name, test.outcome) for test in good.tests] == [
        ("tests.test_prices.Prices::test_nothing", "passed"),
        ("tests.test_prices.Prices::test_sum", "passed"),
    ]
    bad = run(BROKEN)
    assert bad.status is Status.FAILED
    assert "3 != 6" in bad.tests[-1].message
    assert run("def total(:\n").status is Status.RUNTIME_ERROR  # collecting ends with an error, not a failed test
    few = run(FILES["shop/prices.py"], minimum_tests=3)
    assert (few.status, few.reason) == (Status.INCOMPLETE, "exit status 0, but 2 of at least 3 tests ran")
    gone = run("import os\nos._exit(0)\n")
    assert gone.status is Status.INCOMPLETE
    assert gone.reason == "exit status 0, but no report out/*.xml was written"


def test_standard_input_directory_and_environment(workspace_runner: WorkspaceRunner, project: Snapshot) -> None:
    result = script(
        workspace_runner, project, 'cat; pwd; echo "$COLOUR"; cat words.txt',
        stdin=b"typed\n", directory="data", environment={"COLOUR": "blue"},
    )  # fmt: skip
    assert result.stdout.text == "typed\n/tmp/work/data\nblue\none\ntwo\n"


# --- a project for each run -----------------------------------------------------------------------------------


def test_what_is_written_is_gone_afterwards(
    workspace_runner: WorkspaceRunner, project: Snapshot, store: SnapshotStore
) -> None:
    spoil = "echo x >> data/words.txt; rm -r shop; touch new; mkdir data/old/b; chmod 777 tests; ln -sf /etc data/link"
    assert script(workspace_runner, project, spoil).status is Status.PASSED
    after = script(workspace_runner, project, "cat data/words.txt; ls . shop data data/old; cat alias")
    assert after.stdout.text == (
        "one\ntwo\n.:\nalias\ndata\nshop\ntests\n\ndata:\nold\nwords.txt\n\ndata/old:\na.txt\n\nshop:\n__init__.py\n"
        "prices.py\none\ntwo\n"
    )
    assert store.verify(project.id) == []


def test_two_at_the_same_time_do_not_see_each_other(overlay: WorkspaceRunner, project: Snapshot) -> None:
    def work(name: str) -> str:
        text = f"echo {name} > data/words.txt; touch data/{name}; sleep 1; ls data; cat data/words.txt"
        return script(overlay, project, text).stdout.text

    with ThreadPoolExecutor(2) as pool:
        seen = list(pool.map(work, ["left", "right"]))
    assert seen == ["left\nold\nwords.txt\nleft\n", "old\nright\nwords.txt\nright\n"]


def test_deleted_files_are_not_there(workspace_runner: WorkspaceRunner, project: Snapshot) -> None:
    patch = {"data/old": None, "alias": None, "shop/prices.py": None}
    result = script(workspace_runner, project, "ls . data shop; mkdir data/old; ls data/old", patch=patch)
    assert result.stdout.text == ".:\ndata\nshop\ntests\n\ndata:\nwords.txt\n\nshop:\n__init__.py\n"


def test_a_folder_may_take_the_place_of_a_file(workspace_runner: WorkspaceRunner, project: Snapshot) -> None:
    patch = {"shop/prices.py": None, "shop/prices.py/inner": "x", "data/old": None, "data/old/b": "b"}
    result = script(workspace_runner, project, "cat shop/prices.py/inner data/old/b; ls data/old", patch=patch)
    assert result.stdout.text == "xbb\n"


def test_byte_code_of_what_is_patched_does_not_win(
    workspace_runner: WorkspaceRunner, take: Take, tmp_path: Path
) -> None:
    if sys.version_info[:2] != (3, 11) or "python3.11" not in str(Path(PYTHON).resolve()):
        pytest.skip("needs the interpreter inside to be of this version")
    text = tmp_path / "stale.py"
    text.write_text("value = 'stale'\n")
    code = py_compile.compile(str(text), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    assert code is not None
    project = take({"stale.py": "value = 'stale'\n", "main.py": "import stale, sys\nprint(stale.value)\n"})
    assert not any(path.endswith(".pyc") for path in project.entries)
    root = tmp_path / "with"
    shutil.copytree(project.tree, root, symlinks=True)
    shutil.copytree(Path(code).parent, root / "__pycache__")
    kept = workspace_runner.store.add(root, ignore=())
    assert "__pycache__/stale.cpython-311.pyc" in kept.entries
    run = "python3 main.py; find . -name '*.pyc'"
    fresh = script(workspace_runner, kept, run, patch={"stale.py": "value = 'fresh'\n"})
    assert fresh.stdout.text == "fresh\n"
    assert script(workspace_runner, kept, run).stdout.text == "stale\n./__pycache__/stale.cpython-311.pyc\n"


def test_folders_are_moved_by_copying(overlay: WorkspaceRunner, project: Snapshot) -> None:
    result = script(overlay, project, "mv data moved && ls moved moved/old && ls -d data")
    assert result.stdout.text == "moved:\nold\nwords.txt\n\nmoved/old:\na.txt\n"
    renamed = python(overlay, project, "import os\ntry: os.rename('data', 'x')\nexcept OSError as e: print(e.errno)")
    assert renamed.stdout.text == "18\n"


def test_two_thousand_files(overlay: WorkspaceRunner, take: Take) -> None:
    project = take({f"many/{number % 40}/{number}.py": f"number = {number}\n" for number in range(2000)})
    result = script(overlay, project, "find many -name '*.py' | wc -l; cat many/7/1967.py")
    assert (result.placed, result.stdout.text) == ("overlay", "2000\nnumber = 1967\n")
    copied = script(
        WorkspaceRunner(overlay.sandbox, overlay.store, overlay=False), project, "find many -name '*.py' | wc -l"
    )
    assert (copied.placed, copied.stdout.text) == ("copy", "2000\n")


# --- hostile commands -----------------------------------------------------------------------------------------


def test_what_was_patched_away_cannot_be_found(workspace_runner: WorkspaceRunner, project: Snapshot) -> None:
    result = script(
        workspace_runner,
        project,
        f"rm shop/prices.py; grep -rsl {HIDDEN[:-1]}r /tmp /run /var /etc /dev/shm; umount /tmp/work; "
        "unshare -Ur true; ls /run/snapshot; ls /tmp/work/upper; ls -dL /proc/1/root",
        patch={"shop/prices.py": BROKEN},
    )
    assert result.stdout.text == ""
    assert HIDDEN not in result.stderr.text


@pytest.mark.parametrize("path", ["big", "/tmp/big", "/dev/shm/big"])
def test_writes_are_bounded(workspace_runner: WorkspaceRunner, project: Snapshot, path: str) -> None:
    result = script(
        workspace_runner, project, f"head -c 40M /dev/zero > {path}; stat -c %s {path}",
        limits=WORKSPACE_LIMITS.model_copy(update={"tmp_mb": 16}),
    )  # fmt: skip
    assert "No space left" in result.stderr.text
    assert int(result.stdout.text) <= 18 << 20


def test_the_number_of_files_is_bounded(overlay: WorkspaceRunner, project: Snapshot) -> None:
    result = python(overlay, project, "import os; s = os.statvfs('/tmp/work'); print(s.f_files)")
    assert 0 < int(result.stdout.text) <= 65_536


def test_result_files_are_files(workspace_runner: WorkspaceRunner, project: Snapshot) -> None:
    left = """
        import os, subprocess
        os.makedirs("out/inner/deeper")
        for name in ("out/one.txt", "out/inner/two.txt", "out/inner/deeper/three.txt", "out/.hidden.txt"):
            open(name, "w").write(name)
        os.symlink("/etc/passwd", "out/link.txt")
        os.symlink("/etc", "out/folder")
        os.symlink("../data", "out/data")
        os.mkfifo("out/pipe.txt")
        os.mkdir("out/folder.txt")
        open("out/large.txt", "w").write("x" * 2000)
        with open("out/sparse.txt", "w") as stream: stream.truncate(10 << 20)
        open("out/closed.txt", "w").write("x"); os.chmod("out/closed.txt", 0)
        subprocess.Popen(["sh", "-c", "while :; do date > out/one.txt; done"], start_new_session=True)
    """
    result = python(
        workspace_runner, project, left, result_bytes=1000,
        results=("out/*.txt", "out/folder/passwd", "out/data/words.txt", "out/**/t*.txt", "missing", "alias"),
    )  # fmt: skip
    assert result.status is Status.PASSED
    problems = {file.path: file.problem for file in result.files}
    closed = problems.pop("out/closed.txt")
    assert closed in ("", "it cannot be opened: Permission denied")  # the launcher may read what the program may not
    assert problems == {
        "out/one.txt": "",
        "out/.hidden.txt": "",
        "out/inner/two.txt": "",
        "out/inner/deeper/three.txt": "",
        "out/link.txt": "it is a link",
        "out/pipe.txt": "it is not a file",
        "out/large.txt": "it is larger than 1000 bytes",
        "out/sparse.txt": "it is larger than 1000 bytes",
        "alias": "it is a link",
    }
    assert result.file("out/inner/two.txt") == b"out/inner/two.txt"
    assert result.file("out/link.txt") is None


def test_result_files_are_bounded_together(workspace_runner: WorkspaceRunner, project: Snapshot) -> None:
    left = "import os\nfor n in range(400): open(f'{n:03}.out', 'wb').write(bytes([n % 256]) * 100)\n"
    many = python(workspace_runner, project, left, results=("*.out",), result_bytes=100_000)
    assert len(many.files) == 256
    assert many.file("255.out") == b"\xff" * 100
    few = python(workspace_runner, project, left, results=("*.out",), result_bytes=100)
    assert sum(not file.problem for file in few.files) == 4


def test_a_report_of_many_tests_is_read(workspace_runner: WorkspaceRunner, project: Snapshot) -> None:
    write = """
        rows = "".join(f'<testcase classname="{"deep." * 20}Tests" name="test[{n}]"/>' for n in range(40_000))
        open("r.xml", "w").write(f"<testsuites><testsuite>{rows}</testsuite></testsuites>")
    """
    result = python(workspace_runner, project, write, junit=("r.xml",), result_bytes=16 << 20)
    assert (result.status, result.test_counts.passed) == (Status.PASSED, 40_000)
    small = python(workspace_runner, project, write, junit=("r.xml",))
    assert small.status is Status.INCOMPLETE  # the report is larger than the default


def test_a_maze_is_left_in_time(workspace_runner: WorkspaceRunner, project: Snapshot) -> None:
    left = """
        import os
        for number in range(3000): os.mkdir(f"maze{number}")
        folder = os.getcwd()
        for _ in range(500):
            os.mkdir("d"); os.chdir("d")
        open("deep.xml", "w").write("x")
    """
    result = python(workspace_runner, project, left, results=("**/*.xml", "*/**/**/x"))
    assert (result.status, result.files) == (Status.PASSED, ())


def test_a_report_is_not_believed_against_the_exit_status(workspace_runner: WorkspaceRunner, project: Snapshot) -> None:
    passing = "<testsuite><testcase name='a'/></testsuite>"
    failing = "<testsuite><testcase name='a'><failure/></testcase></testsuite>"
    bomb = "<!DOCTYPE l [<!ENTITY l 'l'>]><testsuite name='&l;'/>"
    cases = [(passing, 1), (passing, 0), (failing, 0), (failing, 1), (bomb, 0), ("", 0), (passing, 3)]
    seen = [
        script(workspace_runner, project, f'echo "{text}" > r.xml; exit {code}', junit=("r.xml",)).status.value
        for text, code in cases
    ]
    assert seen == ["runtime_error", "passed", "failed", "failed", "incomplete", "incomplete", "runtime_error"]


def test_tests_that_ran_fail_whatever_packages_the_skipped_ones_lack(
    workspace_runner: WorkspaceRunner, project: Snapshot
) -> None:
    seen = [
        script(workspace_runner, project, f"echo 'cannot load such file -- haml' >&2; echo '{said}'; exit 1").status
        for said in ("9 runs, 9 assertions, 1 failures, 0 errors", "0 examples, 0 failures, 1 error outside", "")
    ]
    assert seen == [Status.FAILED, Status.UNRESOLVED_IMPORT, Status.UNRESOLVED_IMPORT]


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("import time; time.sleep(30)", Status.TIMEOUT),
        ("while True: pass", Status.TIMEOUT),
        ("import os; os.kill(os.getppid(), 9); os.kill(os.getpid(), 9)", Status.RUNTIME_ERROR),
        ("x = [bytearray(b'1' * 9_000_000) for _ in range(40)]\nimport time; time.sleep(9)", Status.OUT_OF_MEMORY),
        ("import absent", Status.UNRESOLVED_IMPORT),
        ("print('x' * 6_000_000)", Status.OUTPUT_LIMIT),
    ],
)
def test_statuses(overlay: WorkspaceRunner, project: Snapshot, text: str, status: Status) -> None:
    limits = Limits(wall_s=8, cpu_s=2, memory_mb=200)
    result = python(overlay, project, text, limits=limits, junit=("r.xml",))
    assert result.status is status
    assert result.files == ()


def test_network_policies(sandbox: Sandbox, store: SnapshotStore, project: Snapshot) -> None:
    connect = """
        import socket
        server = socket.socket(); server.bind(("127.0.0.1", 0)); server.listen()
        try:
            socket.create_connection(server.getsockname(), 1); print("connected")
        except OSError as error:
            print("alone")
        try:
            socket.create_connection(("192.0.2.1", 80), 2)
        except OSError as error:
            print(error.strerror)
    """
    workspace_runner = WorkspaceRunner(sandbox, store)
    seen = [python(workspace_runner, project, connect, network=name).stdout.text for name in ("loopback", "none")]
    assert seen == ["connected\nNetwork is unreachable\n", "alone\nNetwork is unreachable\n"]
    refused = python(WorkspaceRunner(ColdSandbox(), store), project, connect, network="none")
    assert refused.status is Status.SANDBOX_ERROR
    assert "loopback cannot" in refused.reason


# --- mistakes in requests -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("patch", "complaint"),
    [
        ({"../out": "x"}, "leads out of the project"),
        ({"/etc/passwd": "x"}, "not a plain path"),
        ({"shop/../../out": "x"}, "not a plain path"),
        ({"shop//a": "x"}, "not a plain path"),
        ({"": "x"}, "not a plain path"),
        ({".": "x"}, "leads out"),
        ({"a\0b": "x"}, "not a plain path"),
        ({"alias": "x"}, "it is a link"),
        ({"alias/x": "x"}, "'alias' is no folder"),
        ({"shop": "x"}, "it is a folder"),
        ({"shop/prices.py/x": "x"}, "is no folder"),
        ({"new": "x", "new/er": "x"}, "is a file of the same patch"),
        ({"absent": None}, "which is not there"),
    ],
)
def test_patches_that_lead_astray_are_refused(
    sandbox: Sandbox, store: SnapshotStore, project: Snapshot, patch: dict[str, str | None], complaint: str
) -> None:
    with pytest.raises(DataError, match=complaint):
        script(WorkspaceRunner(sandbox, store), project, "true", patch=patch)


@pytest.mark.parametrize("options", [{"results": ("../*",)}, {"junit": ("/etc/*",)}, {"directory": "../x"}])
def test_paths_that_lead_out_are_refused(
    sandbox: Sandbox, store: SnapshotStore, project: Snapshot, options: dict[str, object]
) -> None:
    with pytest.raises(DataError, match=r"leads out|plain "):
        script(WorkspaceRunner(sandbox, store), project, "true", **options)


def test_a_minimum_of_tests_needs_reports(sandbox: Sandbox, store: SnapshotStore, project: Snapshot) -> None:
    silent = script(WorkspaceRunner(sandbox, store), project, "true", minimum_tests=1)
    assert (silent.status, silent.reason) == (Status.INCOMPLETE, "exit status 0, but 0 of at least 1 tests ran")
    spoken = script(WorkspaceRunner(sandbox, store), project, "echo 'Ran 2 tests in 0.1s' >&2", minimum_tests=1)
    assert spoken.status is Status.PASSED


def test_a_project_that_is_too_large_to_copy_is_ours(
    sandbox: Sandbox, store: SnapshotStore, project: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("caretbench.execution.workspaces.workspace_runner.MAX_COPIED_BYTES", 1000)
    result = script(WorkspaceRunner(sandbox, store, overlay=False), project, "true")
    assert result.status is Status.SANDBOX_ERROR
    assert "no overlay can" in result.reason


def test_a_folder_of_somebody_else_is_given_to_the_program_or_copied(
    sandbox: Sandbox, place: Path, project: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder away")
    other = SnapshotStore(place / "other")
    taken = other.add(project.tree)
    for path in (taken.tree, *taken.tree.rglob("*")):
        os.lchown(path, 12, 12)
    told = "cat data/words.txt > before; echo x >> data/words.txt; chmod 600 data/words.txt; rm -r data"
    assert script(WorkspaceRunner(sandbox, other), taken, told).placed == "overlay"
    assert taken.tree.stat().st_uid == 12

    def none(*_: object) -> int:
        raise OSError("no such mounts")

    monkeypatch.setattr(host_mounts, "_id_map", none)  # a file system on which files have one owner alone
    assert script(WorkspaceRunner(sandbox, other), taken, "echo x >> data/words.txt").placed == "copy"


ORDINARY = """
import sys
from pathlib import Path
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.execution.workspaces.workspace_runner import WorkspaceRequest, WorkspaceRunner
root = Path(sys.argv[1])
store = SnapshotStore(root / "store")
taken = store.add(root / "project")
spaces = WorkspaceRunner(store=store)
command = ("/bin/sh", "-c", "echo more >> a.txt && rm b/c.txt && cat a.txt && ls b && echo made > out")
patch = {"a.txt": "patched "}
result = spaces.run(
    WorkspaceRequest(id="1", snapshot=taken.id, command=command, patch=patch, results=("out",))
)
spaces.sandbox.close()
print(result.status, result.placed, result.stdout.text.split(), result.file("out"))
print(store.verify(taken.id), result.reason)
"""


def test_as_an_ordinary_user(place: Path, overlay: WorkspaceRunner) -> None:
    setpriv = shutil.which("setpriv")
    if os.geteuid() != 0 or setpriv is None:
        pytest.skip("needs root, to become somebody else")
    command = [setpriv, "--reuid", "12345", "--regid", "12345", "--clear-groups", sys.executable, "-c"]
    if subprocess.run(
        [*command, "import caretbench.execution.workspaces.workspace_runner"], capture_output=True
    ).returncode:
        pytest.skip("this interpreter cannot be reached by others")
    root = place / "ordinary"
    (root / "project/b").mkdir(parents=True)
    (root / "project/a.txt").write_text("a\n")
    (root / "project/b/c.txt").write_text("c\n")
    for path in (root, *root.rglob("*")):
        os.chown(path, 12345, 12345)
    ran = subprocess.run([*command, ORDINARY, str(root)], capture_output=True, text=True, check=False)
    assert ran.stdout == "passed overlay ['patched', 'more'] b'made\\n'\n[] \n", ran.stderr


def test_the_error_names_what_lacks() -> None:
    result = ColdSandbox().run(Invocation(["/bin/true"], limits=Limits(), tree=_tree_on(Path("/usr/share"))))
    assert result.error == f"{NO_OVERLAY}: {NO_NESTING}"


def _tree_on(folder: Path) -> object:
    from caretbench.execution.execution_types import ProjectTree

    return ProjectTree(snapshot=folder)
