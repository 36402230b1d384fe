"""Programs that live in a project: a snapshot of it, a patch, a command, and the files that the command leaves.

The project is never worked in. Its snapshot is laid below the work folder, to be read; what the patch and the command
change lies in memory and goes with the sandbox. Where a kernel lays no overlay for ordinary users, the patched project
is copied into memory instead: slower, not weaker, and ``WorkspaceResult.placed`` says so.

What decides is the command's exit status and its reports. There is no sentinel: a test runner ends by itself, and has
many processes. So a report that is wanted and not there is ``incomplete``, as is one of too few tests.
"""

from __future__ import annotations

import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Literal

from pydantic import Field

from caretbench.errors import DataError
from caretbench.execution.bundles import Bundle, installed
from caretbench.execution.classification import classify, does_not_compile, missing_module
from caretbench.execution.running import unmet_need
from caretbench.execution.sandbox.host.users import NoUsers
from caretbench.execution.sandbox.index.policy import IndexPolicy
from caretbench.execution.sandbox.index.proxy import IndexProxy
from caretbench.execution.sandbox.program import (
    NO_OVERLAY,
    WORK,
    Invocation,
    Sandbox,
    SandboxResult,
    SandboxUnavailable,
)
from caretbench.execution.toolchains.base import BundleLookup
from caretbench.execution.types import (
    Frozen,
    Isolation,
    Limits,
    Output,
    ProjectTree,
    ResultFile,
    Status,
    Warm,
)
from caretbench.execution.workspaces.comparison import difference
from caretbench.execution.workspaces.java_projects import REMEDY, java_project_tools, names_them
from caretbench.execution.workspaces.java_warm import JavaWarmth
from caretbench.execution.workspaces.patching import Changes, Patch, plain_path
from caretbench.execution.workspaces.prepared import Preparer
from caretbench.execution.workspaces.results import TestCounts, TestOutcome, parse_report
from caretbench.execution.workspaces.snapshots import Snapshot, SnapshotStore
from caretbench.execution.workspaces.spoken import spoken_tests
from caretbench.problem import ExpectedOutput

WORKSPACE_LIMITS = Limits(
    wall_s=300, cpu_s=120, memory_mb=2048, pids=256, tmp_mb=256, fsize_mb=128, nofile=1024, output_kb=256
)
"""What a whole test command may use. ``tmp_mb`` bounds what it writes into the project, and again into ``/tmp``."""

MOST_COPIED_BYTES = 256 << 20
_ATTEMPTS = 3
_SNAPSHOTS = 64
_PYTHON: Mapping[str, str] = {"PYTHONDONTWRITEBYTECODE": "1"}

Placed = Literal["", "overlay", "copy"]


class WorkspaceRequest(Frozen):
    """A command in a project.

    Args:
        snapshot: The project's name in the store.
        command: The program, searched in the environment's ``PATH``, and its arguments.
        prepare: A command that saves time: it runs once in the project as it is, and what it leaves is there whenever
            ``command`` runs, older than what a patch changes. Without it ``command`` does all by itself.
        patch: Path in the project -> its new content, or None to delete it (a folder with all it holds).
        environment: Added to a small environment; nothing of the host's is passed on.
        directory: Where the command starts, relative to the project.
        stdin: Standard input; ``/dev/null`` by default.
        python_path: Folders of the project that Python looks in first, before those of the environment and the bundle.
        read_only: Path inside -> path on the host: bundles of packages, interpreters. A path below ``/tmp/work`` lies
            in the project.
        bundle: Name of a bundle of packages, which is bound with its environment (``PYTHONPATH``, ``NODE_PATH``,
            ``CLASSPATH``); what the request itself says of the environment goes before.
        tools: What decides beside all that stands here, in any words: a part of the cache's key.
        repeat: The same command with another number really runs again.
        results: Files that are wanted, by path or pattern (``*``, ``?``, ``**`` for any number of folders).
        junit: The same, for reports in JUnit's XML, or as ``go test -json`` writes them: they are parsed, and count.
        minimum_tests: Fewer tests that ran are no pass: as reports count them, or the runner's last words where no
            reports are asked for.
        expected: What the command must print.
        needs: What a machine may lack: ``display``, ``network``; what cannot be given is a reason to skip.
        network: ``loopback``: an interface of its own that leads nowhere else; ``none``: not even that; ``index``:
            package indexes too, to set an environment up. Nothing is judged by such a command: it has no reports.
        limits: Bounds of the command.
        address_space_limit: Bound the address space rather than data memory: for programs that reserve little.
        result_bytes: Bound of one result file; all together may have four times as much.
    """

    id: str
    snapshot: str
    command: tuple[str, ...] = Field(min_length=1)
    prepare: tuple[str, ...] = ()
    patch: Patch = Field(default_factory=dict)
    environment: Mapping[str, str] = Field(default_factory=dict)
    directory: str = "."
    stdin: bytes | None = None
    python_path: tuple[str, ...] = ()
    read_only: Mapping[str, str] = Field(default_factory=dict)
    bundle: str | None = None
    tools: str = ""
    repeat: int = 0
    results: tuple[str, ...] = ()
    junit: tuple[str, ...] = ()
    minimum_tests: int = 0
    expected: ExpectedOutput | None = None
    needs: tuple[str, ...] = ()
    network: Literal["none", "loopback", "index"] = "loopback"
    limits: Limits = WORKSPACE_LIMITS
    address_space_limit: bool = False
    result_bytes: int = Field(default=4 << 20, gt=0, le=16 << 20)


class WorkspaceResult(Frozen):
    """What became of the command. ``files`` holds what was asked for; ``tests`` what its reports say."""

    id: str
    status: Status
    exit_code: int | None = None
    signal: int | None = None
    stdout: Output = Field(default_factory=Output)
    stderr: Output = Field(default_factory=Output)
    files: tuple[ResultFile, ...] = ()
    tests: tuple[TestOutcome, ...] = ()
    missing_module: str | None = None
    wall_s: float = 0.0
    cpu_s: float = 0.0
    memory_mb: float = 0.0
    isolation: Isolation | None = None
    placed: Placed = ""
    """How the project came into the sandbox."""
    attempt: int = 1
    cached: bool = False
    reason: str = ""
    refusals: tuple[str, ...] = ()
    """What of the network was refused to a command that may reach package indexes."""

    @property
    def counts(self) -> TestCounts:
        """The tests of all reports, counted, and by name."""
        return TestCounts.of(self.tests)

    @property
    def no_tests(self) -> bool:
        """Whether no report tells of a test that ran."""
        return not any(test.outcome in ("passed", "failed", "error") for test in self.tests)

    def file(self, path: str) -> bytes | None:
        """The content of a result file, or None where there is none that could be read."""
        return next((file.data for file in self.files if file.path == path and not file.problem), None)


class Workspaces:
    """Runs commands in projects. Threads may share it.

    Args:
        sandbox: The walls.
        store: Where the snapshots lie; the user's cache by default.
        overlay: False: always copy.
        bundles: From a bundle's name to the built bundle.
        index: What commands reach whose network is ``index``; the public package indexes by default.
    """

    def __init__(
        self,
        sandbox: Sandbox | None = None,
        store: SnapshotStore | None = None,
        *,
        overlay: bool = True,
        bundles: BundleLookup = installed,
        index: IndexPolicy | None = None,
    ) -> None:
        self.sandbox = sandbox or Sandbox()
        self.store = store or SnapshotStore()
        self.overlay = overlay
        self.no_overlay = ""
        """What the last attempt to lay an overlay said, where it failed."""
        self._look_up = bundles
        self._index = index
        self._preparer = Preparer(self.store, self.run)
        self._java = JavaWarmth(self.sandbox)
        self._bundles: dict[str, Bundle | None] = {}
        self._snapshots: OrderedDict[str, tuple[Snapshot, ExitStack]] = OrderedDict()
        self._lock = threading.Lock()

    def probe(self) -> Placed:
        """How projects are placed on this machine, found by really placing one.

        Raises:
            SandboxUnavailable: no sandbox can be built here, or no command runs in a project; with what it said.
        """
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "file").write_text("a project\n")
            snapshot = self.store.add(Path(folder)).id
        command = ("/bin/sh", "-c", "echo more >> file")
        result = self.run(WorkspaceRequest(id="probe", snapshot=snapshot, command=command))
        if result.status is not Status.PASSED:
            raise SandboxUnavailable(result.reason or result.stderr.text.strip())
        return result.placed

    def run(self, request: WorkspaceRequest, attempt: int = 1) -> WorkspaceResult:
        """Run one command, up to three times where the sandbox fails; ``attempt`` is the number of the first time.

        Raises:
            DataError: the snapshot is not here or damaged, a path of the request leads out of the project, or
                reports are wanted of a command that reaches package indexes.
            SandboxUnavailable: no sandbox can be built here.
        """
        if request.junit and request.network == "index":
            raise DataError(
                "a command that reaches package indexes sets an environment up: no tests count there"
            )
        unmet = (unmet_need(need, self.sandbox.level) for need in request.needs)
        reason = next((why for why in unmet if why is not None), None)
        if reason is not None:
            return WorkspaceResult(id=request.id, status=Status.SKIPPED, reason=reason)
        bundle = self.bundle(request.bundle)
        if request.bundle is not None and bundle is None:
            reason = f"the bundle {request.bundle} is not built: caretbench deps build {request.bundle}"
            return WorkspaceResult(id=request.id, status=Status.SKIPPED, reason=reason)
        if names_them(request.command) and java_project_tools() is None:
            return WorkspaceResult(id=request.id, status=Status.SKIPPED, reason=REMEDY)
        snapshot = self.snapshot(request.snapshot)
        if request.prepare:
            lock_hash = bundle.lock_hash if bundle is not None else ""
            snapshot = self.snapshot(self._preparer.snapshot(request, lock_hash))
        compiled = self._java.compiled(request, snapshot, bundle)
        changes = Changes(snapshot, {**request.patch, **compiled.patch})
        for pattern in (*request.results, *request.junit):
            plain_path(pattern)
        directory = WORK if request.directory == "." else f"{WORK}/{plain_path(request.directory)}"
        last = attempt + _ATTEMPTS - 1
        ran, placed = self._run_once(request, snapshot, changes, directory, bundle)
        while ran.error is not None and placed and attempt < last and not self.sandbox.interrupted:
            attempt += 1
            ran, placed = self._run_once(request, snapshot, changes, directory, bundle)
        ran = ran.model_copy(update={"cpu_s": ran.cpu_s + compiled.cpu_s})
        return _judged(request, ran, placed, attempt)

    def _run_once(
        self,
        request: WorkspaceRequest,
        snapshot: Snapshot,
        changes: Changes,
        directory: str,
        bundle: Bundle | None,
    ) -> tuple[SandboxResult, Placed]:
        packages = _environment(bundle) if bundle is not None else {}
        tools = java_project_tools() if names_them(request.command) else None
        said = {**_PYTHON, **packages, **request.environment, **_class_path(packages, request.environment)}
        environment = _with_python_path(said, request.python_path)

        def behind_walls(
            tree: ProjectTree, files: Mapping[str, bytes], limits: Limits, proxy: IndexProxy | None = None
        ) -> SandboxResult:
            try:
                return self.sandbox.run(
                    Invocation(
                        request.command,
                        limits=limits,
                        files=files,
                        read_only={
                            **(bundle.read_only if bundle is not None else {}),
                            **(tools.read_only if tools is not None else {}),
                            **request.read_only,
                        },
                        environment=environment,
                        address_space_limit=request.address_space_limit,
                        stdin=request.stdin,
                        directory=directory,
                        warm=Warm(),
                        tree=tree._replace(
                            results=(*request.junit, *request.results),
                            file_bytes=request.result_bytes,
                            total_bytes=4 * request.result_bytes,
                            loopback=request.network != "none",
                        ),
                        index=proxy,
                        display="display" in request.needs,
                    )
                )
            except NoUsers as error:  # others have them all now: tried again, and no other row's end
                return SandboxResult(error=str(error))

        def run(tree: ProjectTree, files: Mapping[str, bytes], limits: Limits) -> SandboxResult:
            if request.network != "index":
                return behind_walls(tree, files, limits)
            with IndexProxy(self._index) as proxy:
                ran = behind_walls(tree, files, limits, proxy)
            return ran.model_copy(update={"refusals": tuple(proxy.refusals)})

        if self.overlay:
            ran = run(ProjectTree(snapshot.tree, changes.deleted), changes.written, request.limits)
            if ran.error is None or NO_OVERLAY not in ran.error:
                return ran, "overlay"
            self.no_overlay = ran.error
        size = changes.copied_bytes()
        if size > MOST_COPIED_BYTES:
            most = MOST_COPIED_BYTES >> 20
            error = f"the project takes {size >> 20} MB; where no overlay can be laid, at most {most} MB are copied"
            return SandboxResult(error=error), ""
        room = request.limits.tmp_mb + (size >> 20) + 1
        limits = request.limits.model_copy(update={"tmp_mb": room})
        tree = ProjectTree(folders=changes.folders(), links=changes.links(), executable=changes.executable())
        return run(tree, changes.files(), limits), "copy"

    def bundle(self, name: str | None) -> Bundle | None:
        """The built bundle of this name, looked for once; None where there is none.

        Raises:
            BundleError: no specification has this name.
        """
        if name is None:
            return None
        with self._lock:
            if name not in self._bundles:
                self._bundles[name] = self._look_up(name)
            return self._bundles[name]

    def snapshot(self, identity: str) -> Snapshot:
        """A snapshot, compared byte by byte when it is asked for first, and held: it is not pruned while in use.

        Raises:
            DataError: it is not here, or damaged.
        """
        with self._lock:
            if identity not in self._snapshots:
                with ExitStack() as stack:
                    stack.enter_context(self.store.held(identity))
                    wrong = self.store.verify(identity)
                    if wrong:
                        raise DataError(
                            f"snapshot {identity} is damaged ({wrong[0]}); take the project again"
                        )
                    self._snapshots[identity] = (self.store.get(identity), stack.pop_all())
                if len(self._snapshots) > _SNAPSHOTS:
                    self._snapshots.popitem(last=False)[1][1].close()
            self._snapshots.move_to_end(identity)
            return self._snapshots[identity][0]

    def close(self) -> None:
        """End the warm sandboxes, and let the snapshots go."""
        self.sandbox.close()
        with self._lock:
            for _, held in self._snapshots.values():
                held.close()
            self._snapshots.clear()


def _environment(bundle: Bundle) -> Mapping[str, str]:
    paths = {"CLASSPATH": ":".join((".", *bundle.class_path))} if bundle.class_path else {}
    return {**paths, **bundle.environment}


def _class_path(bundle: Mapping[str, str], said: Mapping[str, str]) -> Mapping[str, str]:
    """Jars that a request names go before those of its bundle, and do not hide them."""
    found = [paths["CLASSPATH"] for paths in (said, bundle) if paths.get("CLASSPATH")]
    return {"CLASSPATH": ":".join(found)} if found else {}


def _with_python_path(environment: Mapping[str, str], folders: tuple[str, ...]) -> Mapping[str, str]:
    if not folders:
        return environment
    first = [f"{WORK}/{plain_path(folder)}" for folder in folders]
    others = environment.get("PYTHONPATH")
    return {**environment, "PYTHONPATH": ":".join([*first, *([others] if others else [])])}


# --- what became of it ------------------------------------------------------------------------------------------------


def _judged(request: WorkspaceRequest, ran: SandboxResult, placed: Placed, attempt: int) -> WorkspaceResult:
    tests, complaint = _tests(request, ran)
    of_failure = _failure(tests, ran.stdout.text)
    status, reason = classify(ran, profile="paper", limits=request.limits, of_failure=of_failure)
    if status is Status.PASSED:
        status, reason = _of_reports(request, tests, complaint, (ran.stdout.text, ran.stderr.text))
    if status is Status.PASSED and request.expected is not None:
        status, reason = _of_output(request, request.expected, ran.stdout)
    missing = missing_module(ran.stderr.text) if status is Status.UNRESOLVED_IMPORT else None
    return WorkspaceResult(
        id=request.id,
        status=status,
        exit_code=ran.exit_code,
        signal=ran.signal,
        stdout=ran.stdout,
        stderr=ran.stderr,
        files=ran.files,
        tests=tests,
        missing_module=missing,
        wall_s=ran.wall_s,
        cpu_s=ran.cpu_s,
        memory_mb=ran.memory_mb,
        isolation=ran.isolation,
        placed=placed,
        attempt=attempt,
        reason=reason,
        refusals=ran.refusals,
    )


def _tests(request: WorkspaceRequest, ran: SandboxResult) -> tuple[tuple[TestOutcome, ...], str]:
    """The tests of all reports, and what is wrong with a report."""
    found: list[TestOutcome] = []
    complaint = ""
    reports = [file for file in ran.files if file.pattern in request.junit]
    for file in reports:
        problem = file.problem
        try:
            found += parse_report(file.data) if not problem else []
        except DataError as error:
            problem = str(error)
        complaint = complaint or (f"{file.path}: {problem}" if problem else "")
    if request.junit and not reports:
        complaint = f"no report {', '.join(request.junit)} was written"
    return tuple(found), complaint


def _failure(tests: tuple[TestOutcome, ...], stdout: str) -> Callable[[str, int | None], Status]:
    def of_failure(stderr: str, exit_code: int | None) -> Status:
        outcomes = {test.outcome for test in tests}
        if not outcomes and does_not_compile(stderr, stdout):
            return Status.UNRESOLVED_IMPORT if missing_module(stderr) else Status.COMPILE_ERROR
        if "failed" in outcomes or (not outcomes and exit_code == 1 and not missing_module(stderr)):
            return Status.FAILED
        return Status.UNRESOLVED_IMPORT if missing_module(stderr) else Status.RUNTIME_ERROR

    return of_failure


def _of_reports(
    request: WorkspaceRequest, tests: tuple[TestOutcome, ...], complaint: str, said: tuple[str, str]
) -> tuple[Status, str]:
    """The status of a command that ended with exit status 0."""
    bad = next((test for test in tests if test.outcome in ("failed", "error")), None)
    if bad is not None:
        return Status.FAILED, f"exit status 0, but {bad.name} did not pass"
    if complaint:
        return Status.INCOMPLETE, f"exit status 0, but {complaint}"
    ran = sum(test.outcome == "passed" for test in tests) if request.junit else spoken_tests(*said) or 0
    if ran < request.minimum_tests:
        return Status.INCOMPLETE, f"exit status 0, but {ran} of at least {request.minimum_tests} tests ran"
    return Status.PASSED, ""


def _of_output(request: WorkspaceRequest, expected: ExpectedOutput, stdout: Output) -> tuple[Status, str]:
    """The status of a command that did everything else right."""
    if stdout.truncated:
        kept = request.limits.output_kb
        return Status.OUTPUT_LIMIT, f"it prints more than the {kept} kB that are kept to be compared"
    differs = difference(expected, stdout.text)
    return (Status.FAILED, differs) if differs else (Status.PASSED, "")
