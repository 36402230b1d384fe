"""Commands in projects on other machines: the project travels once, verdicts are those of one machine."""

from __future__ import annotations

import gc
import gzip
import io
import itertools
import os
import tarfile
import weakref
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from caretbench.errors import DataError, MachineError
from caretbench.execution.cache.result_cache import ResultCache
from caretbench.execution.cluster.node_messages import (
    BATCH_ADAPTER,
    BATCH_RESULT_ADAPTER,
    AnyBatch,
    AnyBatchResult,
    BatchLost,
    NodeInfo,
    NodeRequirements,
    ProjectBatch,
    ProjectBatchResult,
)
from caretbench.execution.cluster.node_worker import NodeWorker
from caretbench.execution.cluster.remote_executor import (
    COMMAND_BATCH,
    RemoteExecutor,
    RemoteWorkspaceExecutor,
    _RemoteProjects,
)
from caretbench.execution.execution_types import Status, Toolchain
from caretbench.execution.sandbox import bubblewrap as walls
from caretbench.execution.sandbox.program_sandbox import Sandbox, SandboxUnavailable
from caretbench.execution.workspaces import snapshot_archive
from caretbench.execution.workspaces.snapshot_archive import (
    PART_PATTERNS,
    add_command_outputs,
    pack_snapshot,
    packing_command,
    unpack_archive,
    unpack_snapshot,
)
from caretbench.execution.workspaces.snapshot_store import Snapshot, SnapshotStore
from caretbench.execution.workspaces.workspace_runner import WorkspaceRequest, WorkspaceResult, WorkspaceRunner
from tests.support.project_files import open_folder

SHELL = ("/bin/sh", "-c")


@pytest.fixture
def place() -> Iterator[Path]:
    """Return a folder that other users, and so sandboxes, can reach."""
    with open_folder() as folder:
        yield folder


@pytest.fixture
def workspace_runner(place: Path) -> WorkspaceRunner:
    return WorkspaceRunner(store=SnapshotStore(place / "here"))


@pytest.fixture
def project(place: Path, workspace_runner: WorkspaceRunner) -> Snapshot:
    source = place / "project"
    (source / "empty").mkdir(parents=True)
    (source / "a.py").write_text("same\n")
    (source / "b.py").write_text("same\n")
    (source / "ünï code").write_bytes(b"\x00\xff\r\n")
    (source / "run.sh").write_text("exit 0\n")
    (source / "run.sh").chmod(0o755)
    (source / "link").symlink_to("a.py")
    return workspace_runner.store.add(source)


class FakeNodes:
    """Machines that judge by the command's text and know the projects that came to them."""

    def __init__(self, *prints: str, lost: int = 0) -> None:
        self.prints = prints or ("f1",)
        self.projects: set[str] = set()
        self.sent: list[ProjectBatch] = []
        self.out: dict[int, ProjectBatch] = {}
        self.lost = lost
        self.answers_with = self.prints[0]
        self._numbers = itertools.count()

    def processor_count(self) -> int:
        return 2

    def collect_node_infos(self, requirements: NodeRequirements) -> list[NodeInfo]:
        return [
            NodeInfo(
                node=f"n{number}",
                toolchain=Toolchain(language=requirements.language, available=True, version=text, fingerprint=text),
            )
            for number, text in enumerate(self.prints)
        ]

    def send(self, batch: AnyBatch) -> int:
        found = BATCH_ADAPTER.validate_python(batch.model_dump())
        assert isinstance(found, ProjectBatch)
        self.sent.append(found)
        number = next(self._numbers)
        self.out[number] = found
        return number

    def wait(self, handles: Sequence[int], seconds: float) -> int | None:
        return handles[0] if seconds else None

    def fetch(self, handle: int) -> AnyBatchResult:
        batch = self.out.pop(handle)
        if self.lost:
            self.lost -= 1
            raise BatchLost("the machine went away")
        if self.answers_with != self.prints[0]:
            requirements = batch.environments[0].requirements
            tools = Toolchain(language=requirements.language, available=True, fingerprint=self.answers_with)
            return ProjectBatchResult(
                node="n9", mismatch=NodeInfo(node="n9", toolchain=tools), requirements=requirements
            )
        if batch.archive is not None:
            self.projects.add(batch.snapshot)
        if batch.snapshot not in self.projects:
            return ProjectBatchResult(node="n0", needs_archive=True)
        results = tuple(
            WorkspaceResult(
                id=one.id, status=Status.FAILED if "wrong" in one.command[-1] else Status.PASSED, exit_code=0
            )
            for one in batch.requests
        )
        return BATCH_RESULT_ADAPTER.validate_python(ProjectBatchResult(node="n0", results=results).model_dump())

    def cancel(self, handles: Sequence[int]) -> None:
        raise AssertionError(f"{handles} are left over")


def requests(project: Snapshot, *lines: str) -> list[WorkspaceRequest]:
    return [
        WorkspaceRequest(id=f"r{number}", snapshot=project.id, command=(*SHELL, line))
        for number, line in enumerate(lines)
    ]


def executor(nodes: FakeNodes, workspace_runner: WorkspaceRunner, cache: Path) -> RemoteWorkspaceExecutor:
    return RemoteWorkspaceExecutor(RemoteExecutor(nodes), workspace_runner=workspace_runner, cache=ResultCache(cache))


def test_a_parcel_holds_everything_that_a_snapshot_does(
    place: Path, workspace_runner: WorkspaceRunner, project: Snapshot
) -> None:
    there = SnapshotStore(place / "there")
    assert unpack_snapshot(there, project.id, pack_snapshot(project)).entries == project.entries
    with pytest.raises(DataError, match="another one"):
        unpack_snapshot(there, "0" * 64, pack_snapshot(project))
    with pytest.raises(DataError, match="not arrive whole"):
        unpack_snapshot(there, project.id, pack_snapshot(project)[:-40])


def test_archives_hold_old_files_that_a_command_leaves_and_a_bounded_size(
    workspace_runner: WorkspaceRunner, project: Snapshot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = packing_command("touch -d 2001-01-01 old; truncate -s 2M zeros")
    request = WorkspaceRequest(id="", snapshot=project.id, command=command, results=PART_PATTERNS)
    files = workspace_runner.run(request).files
    left = add_command_outputs(workspace_runner.store, project, files)
    assert {*left.entries} - {*project.entries} == {"old", "zeros"}
    packer = zlib.compressobj(wbits=31)  # a file's content breaks off in bytes that are no block of it
    begun = packer.compress(gzip.decompress(files[0].data)[: 1 << 20]) + packer.flush(zlib.Z_FULL_FLUSH)
    with pytest.raises(DataError, match=r"damaged .*invalid block"):
        unpack_archive(begun + b"\xff" * 600, tmp_path, "damaged")
    monkeypatch.setattr(snapshot_archive, "MAX_BYTES", 1 << 20)
    with pytest.raises(DataError, match="than 0 GB"):
        add_command_outputs(workspace_runner.store, project, files)


def packed_members(*members: tuple[str, bytes, str | bytes, int]) -> bytes:
    """An archive of names, each with its type, its content or target, and its mode."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, kind, content, mode in members:
            member = tarfile.TarInfo(name)
            member.type, member.mode, member.uid = kind, mode, 4321
            if isinstance(content, bytes):
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
            else:
                member.linkname = content
                archive.addfile(member)
    return stream.getvalue()


def test_an_unpacked_file_replaces_what_is_there_and_keeps_only_the_permission_to_execute(tmp_path: Path) -> None:
    """Python 3.11.2, Debian 12's, has no filters for archives, and root would give files away to their owner."""
    place, outside = tmp_path / "place", tmp_path / "outside"
    outside.write_bytes(b"kept")
    place.mkdir()
    (place / "was_link").symlink_to(outside)
    (place / "was_file").write_bytes(b"old")
    members = (
        ("a", tarfile.DIRTYPE, "", 0o700), ("a/run", tarfile.REGTYPE, b"1", 0o4777),
        ("./a/same", tarfile.LNKTYPE, "a/run", 0),
        ("was_link", tarfile.REGTYPE, b"2", 0o600), ("was_file", tarfile.REGTYPE, b"3", 0o000),
        ("a/up", tarfile.SYMTYPE, "../was_file", 0),
    )  # fmt: skip
    unpack_archive(packed_members(*members), place, "failed")
    contents = {
        path.name: (path.read_bytes(), path.lstat().st_mode & 0o7777) for path in place.rglob("*") if path.is_file()
    }
    assert contents == {
        "run": (b"1", 0o755), "same": (b"1", 0o755), "was_link": (b"2", 0o644), "was_file": (b"3", 0o644),
        "up": (b"3", 0o777),
    }  # fmt: skip
    assert outside.read_bytes() == b"kept"
    assert {path.lstat().st_uid for path in place.rglob("*")} == {os.getuid()}


@pytest.mark.parametrize(
    "members",
    [
        [("/tmp/out", tarfile.REGTYPE, b"x", 0o644)],
        [("a/../../out", tarfile.REGTYPE, b"x", 0o644)],
        [("link", tarfile.SYMTYPE, "../outside", 0)],
        [("link", tarfile.SYMTYPE, "/etc/passwd", 0)],
        [("here", tarfile.SYMTYPE, ".", 0), ("here/out", tarfile.REGTYPE, b"x", 0o644)],
        [("d/up", tarfile.SYMTYPE, "..", 0), ("link", tarfile.SYMTYPE, "d/up/..", 0)],
        [("same", tarfile.LNKTYPE, "../outside", 0)],
        [("pipe", tarfile.FIFOTYPE, "", 0o644)],
    ],
)  # fmt: skip
def test_members_that_lead_outside_are_refused(
    tmp_path: Path, members: list[tuple[str, bytes, str | bytes, int]]
) -> None:
    (tmp_path / "outside").write_bytes(b"kept")
    (tmp_path / "place").mkdir()
    with pytest.raises(DataError, match="failed "):
        unpack_archive(packed_members(*members), tmp_path / "place", "failed")
    assert {path.name for path in tmp_path.iterdir()} == {"outside", "place"}
    assert (tmp_path / "outside").read_bytes() == b"kept"


def test_a_project_travels_to_a_node_that_lacks_it_and_only_then(
    place: Path, workspace_runner: WorkspaceRunner, project: Snapshot
) -> None:
    nodes = FakeNodes()
    lines = [f"echo {number}" for number in range(COMMAND_BATCH)] + ["echo wrong", "echo 0"]
    given = {r.id: r for r in executor(nodes, workspace_runner, place / "cache").submit(requests(project, *lines))}
    assert {name: r.status for name, r in given.items()} == {
        f"r{number}": Status.FAILED if line == "echo wrong" else Status.PASSED for number, line in enumerate(lines)
    }
    assert given["r5"].cached  # like r0
    with_parcel = [batch for batch in nodes.sent if batch.archive is not None]
    assert 1 <= len(with_parcel) < len(nodes.sent)
    assert [[one.id for one in batch.requests if not one.id.isalnum()] for batch in nodes.sent] == [[]] * len(
        nodes.sent
    )  # named by what decides them, not by the caller's ids
    again = FakeNodes()
    assert all(r.cached for r in executor(again, workspace_runner, place / "cache").submit(requests(project, *lines)))
    assert not again.sent
    # Verdicts belong to the tools there.
    other = FakeNodes("f2")
    other.projects.add(project.id)
    assert not any(
        r.cached for r in executor(other, workspace_runner, place / "cache").submit(requests(project, *lines[:2]))
    )


def test_machines_that_differ_share_no_run(place: Path, workspace_runner: WorkspaceRunner, project: Snapshot) -> None:
    with pytest.raises(MachineError, match=r"must be alike \(tools for python\): n0: f1 \[f1\]; n1: f2"):
        list(executor(FakeNodes("f1", "f2"), workspace_runner, place / "cache").submit(requests(project, "true")))
    joined = FakeNodes("f1")
    joined.answers_with = "f3"
    with pytest.raises(MachineError, match=r"\(tools for python\)"):
        list(executor(joined, workspace_runner, place / "cache").submit(requests(project, "true")))


def test_what_cannot_travel_is_said(place: Path, workspace_runner: WorkspaceRunner, project: Snapshot) -> None:
    [request] = requests(project, "true")
    bound = request.model_copy(update={"read_only": {"/tmp/x": "/usr"}})
    [result] = executor(FakeNodes(), workspace_runner, place / "cache").submit([bound])
    assert result.status is Status.SKIPPED
    assert "cannot be sent" in result.reason
    missing = request.model_copy(update={"snapshot": "0" * 64})
    with pytest.raises(DataError, match="no snapshot 0000"):
        list(executor(FakeNodes(), workspace_runner, place / "cache").submit([missing]))


def test_a_command_that_takes_machines_down_stands_alone_in_the_end(
    place: Path, workspace_runner: WorkspaceRunner, project: Snapshot
) -> None:
    nodes = FakeNodes(lost=1)
    given = list(executor(nodes, workspace_runner, place / "cache").submit(requests(project, "echo 1", "echo 2")))
    assert [r.status for r in given] == [Status.PASSED] * 2
    nodes = FakeNodes(lost=9)
    [result] = executor(nodes, workspace_runner, place / "cache").submit(requests(project, "echo 3"))
    assert result.status is Status.SANDBOX_ERROR
    assert "no machine came" in result.reason


class OneNode(FakeNodes):
    """A cluster of this process, whose worker has a store of its own."""

    def __init__(self, worker: NodeWorker) -> None:
        super().__init__()
        self.worker = worker

    def collect_node_infos(self, requirements: NodeRequirements) -> list[NodeInfo]:
        return [NodeInfo.model_validate(self.worker.node_info(requirements).model_dump())]

    def fetch(self, handle: int) -> AnyBatchResult:
        return BATCH_RESULT_ADAPTER.validate_python(self.worker.run_batch(self.out.pop(handle)).model_dump())


@pytest.mark.skipif(walls.find_bubblewrap() is None, reason="bubblewrap is not installed")
def test_commands_run_there_as_here(place: Path, workspace_runner: WorkspaceRunner, project: Snapshot) -> None:
    try:
        Sandbox().probe()
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    worker = NodeWorker(1)
    worker._spaces = WorkspaceRunner(worker._sandbox, SnapshotStore(place / "there"))
    try:
        lines = ("./run.sh && test -d empty && test -L link", "exit 3", "cat a.py new.txt")
        asked = requests(project, *lines)
        asked[2] = asked[2].model_copy(update={"patch": {"new.txt": b"bytes\xff"}, "results": ("new.txt",)})
        nodes = OneNode(worker)
        given = {r.id: r for r in executor(nodes, workspace_runner, place / "cache").submit(asked)}
        assert [given[f"r{n}"].exit_code for n in range(3)] == [0, 3, 0]
        assert given["r2"].file("new.txt") == b"bytes\xff"
        assert {r.isolation for r in given.values()} == {worker._sandbox.probe()}
        assert [batch.archive is not None for batch in nodes.sent] == [False, True]
    finally:
        worker.close()


def test_the_archives_of_a_submission_go_with_it() -> None:
    """A cache of a bound method would keep projects of 512 MB until a full garbage collection."""
    nothing: Any = None
    gc.disable()
    try:
        projects = _RemoteProjects(nothing, nothing, WorkspaceRunner())
        kept = weakref.ref(projects)
        del projects
        assert kept() is None
    finally:
        gc.enable()
