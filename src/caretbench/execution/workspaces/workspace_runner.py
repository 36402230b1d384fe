"""Runs of a command in a patched snapshot of a project, and the files that the command writes.

The snapshot is never changed: the work folder is an overlay on it, whose changes are kept in memory. If the kernel
mounts no overlay for ordinary users, the patched project is copied into memory instead, which is slower but not weaker;
``WorkspaceResult.placed`` records it. A project that needs it is prepared once, by a command of its own.
"""

from __future__ import annotations

import tempfile
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Final

from caretbench.errors import DataError
from caretbench.execution.bundles.bundle_model import Bundle
from caretbench.execution.bundles.bundle_store import installed_bundle
from caretbench.execution.cache.cache_folders import UseLock
from caretbench.execution.cache.cache_keys import prepared_project_key
from caretbench.execution.execution_types import ProjectTree, Status, WarmSettings
from caretbench.execution.local_executor import unmet_need
from caretbench.execution.sandbox.bubblewrap import PATH
from caretbench.execution.sandbox.host.program_users import NoProgramUsers
from caretbench.execution.sandbox.invocation import IndexAccess
from caretbench.execution.sandbox.program_sandbox import (
    NO_OVERLAY,
    WORK,
    Invocation,
    Sandbox,
    SandboxResult,
    SandboxUnavailable,
)
from caretbench.execution.toolchains.base_runtime import BundleLookup
from caretbench.execution.workspaces.command_results import command_result
from caretbench.execution.workspaces.project_tools import (
    INSTALL_JDK,
    java_project_tools,
    tool_binds,
    tool_environment,
    tools_of_command,
    uses_java_tools,
)
from caretbench.execution.workspaces.snapshot_archive import (
    MAX_ARCHIVE_BYTES,
    MAX_PART_BYTES,
    PART_PATTERNS,
    add_command_outputs,
    packing_command,
)
from caretbench.execution.workspaces.snapshot_store import Snapshot, SnapshotStore
from caretbench.execution.workspaces.warm.warm_java_compiler import WarmJavaCompiler
from caretbench.execution.workspaces.warm.warm_python import WarmPython
from caretbench.execution.workspaces.workspace_request import (
    WORKSPACE_LIMITS,
    PatchChanges,
    PlacementMode,
    WorkspaceRequest,
    WorkspaceResult,
    checked_path,
)
from caretbench.file_locks import lock_file
from caretbench.files import write_atomically

# A preparing command builds a whole project, once, and its limits decide no verdict.
_AMPLE: Final = {"wall_s": 1800.0, "cpu_s": 900.0, "tmp_mb": 2048, "fsize_mb": 1024, "memory_mb": 4096}


class ProjectPreparer:
    """Preparer of projects: each is compiled once by its own command. Threads and processes may share it.

    Preparation saves time and changes no verdict: if it fails, the project stays as it is. The prepared project is
    another snapshot; the store records which one belongs to which project, command and tools.
    """

    def __init__(self, store: SnapshotStore, run: Callable[[WorkspaceRequest], WorkspaceResult]) -> None:
        self._store = store
        self._run = run
        self._known: dict[str, str] = {}
        self._lock = Lock()

    def prepared_snapshot(self, request: WorkspaceRequest, lock_hash: str = "") -> str:
        """Return the id of the project's snapshot after ``request.prepare``; its own id if that fails.

        Args:
            request: The command that decides; its surroundings are those of the preparing command too.
            lock_hash: Hash of the content of its bundle.

        Raises:
            DataError: the project is not in the store.
        """
        key = prepared_project_key(request, bundle=lock_hash)
        with self._lock:
            if key not in self._known:
                prepared = self._kept_or_made(key, request)
                if prepared is None:
                    return request.snapshot  # the next one tries again
                self._known[key] = prepared
            return self._known[key]

    def _kept_or_made(self, key: str, request: WorkspaceRequest) -> str | None:
        record = self._store.folder / "prepared" / key
        record.parent.mkdir(exist_ok=True)
        with record.with_suffix(".lock").open("w") as lock:
            lock_file(lock)
            return self._kept(record) or self._made(record, request)

    def _kept(self, record: Path) -> str | None:
        try:
            return self._store.get(record.read_text("utf-8")).id
        except (OSError, DataError):  # never made, or pruned since
            return None

    def _made(self, record: Path, request: WorkspaceRequest) -> str | None:
        result = self._run(
            request.model_copy(
                update={
                    "id": "prepare", "command": packing_command(request.prepare, request.directory), "directory": ".",
                    "prepare": (), "patch": {}, "stdin": None, "junit": (), "minimum_tests": 0, "expected": None,
                    "results": PART_PATTERNS, "result_bytes": MAX_PART_BYTES, "total_result_bytes": MAX_ARCHIVE_BYTES,
                    "limits": request.limits.model_copy(update=_AMPLE),
                }
            )
        )  # fmt: skip
        if result.status is Status.SANDBOX_ERROR:
            # The machine's fault says nothing of the project: the next command tries again.
            return None
        if result.status is not Status.PASSED or any(file.problem for file in result.files):
            return request.snapshot
        try:
            made: Snapshot = add_command_outputs(self._store, self._store.get(request.snapshot), result.files)
        except DataError:
            return request.snapshot
        write_atomically(record, made.id)
        return made.id


__all__ = ["WORKSPACE_LIMITS", "PlacementMode", "WorkspaceRequest", "WorkspaceResult", "WorkspaceRunner"]

MAX_COPIED_BYTES = 256 << 20
_ATTEMPTS = 3
# Each is locked against removal while it is held.
_SNAPSHOTS = 64
# Byte code would be written into the overlay, which is thrown away.
_PYTHON: Mapping[str, str] = {"PYTHONDONTWRITEBYTECODE": "1"}


class WorkspaceRunner:
    """Runner of commands in projects. Threads may share it.

    Args:
        sandbox: The sandbox.
        store: Store of the snapshots; the user's cache by default.
        overlay: False: always copy.
        bundles: From a bundle's name to the built bundle.
        index: Opens the access of one command with network ``index``; None: such commands are refused.
        warm_python: False: each start of pytest is that of an interpreter.
    """

    def __init__(
        self,
        sandbox: Sandbox | None = None,
        store: SnapshotStore | None = None,
        *,
        overlay: bool = True,
        bundles: BundleLookup = installed_bundle,
        index: Callable[[], IndexAccess] | None = None,
        warm_python: bool = True,
    ) -> None:
        self.sandbox = sandbox or Sandbox()
        self.store = store or SnapshotStore()
        self._use = UseLock(self.store.folder.parent)
        self.overlay = overlay
        self.overlay_failure = ""
        """Error of the last attempt to mount an overlay, if it failed."""
        self._bundles = cache(bundles)
        self._index = index
        self._preparer = ProjectPreparer(self.store, self.run)
        self._java = WarmJavaCompiler(self.sandbox)
        self._python = WarmPython() if warm_python else None
        self._snapshots: OrderedDict[str, tuple[Snapshot, ExitStack]] = OrderedDict()
        self._lock = Lock()

    def probe(self) -> PlacementMode:
        """Return the placement mode of projects on this machine, determined by running a command in one.

        Raises:
            SandboxUnavailable: no sandbox can be built here, or no command runs in a project.
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
        # What a command finds in an index differs from day to day, and may bring its own verdict.
        if request.junit and request.network == "index":
            raise DataError("set-up commands may not count tests")
        obstacle = self._skip_reason(request)
        if obstacle:
            return WorkspaceResult(id=request.id, status=Status.SKIPPED, reason=obstacle)
        bundle = self.bundle(request.bundle)
        snapshot = self.snapshot(request.snapshot)
        if request.prepare:
            lock_hash = bundle.lock_hash if bundle is not None else ""
            snapshot = self.snapshot(self._preparer.prepared_snapshot(request, lock_hash))
        compiled = self._java.compile_patch(request, snapshot, bundle)
        changes = PatchChanges(snapshot, {**request.patch, **compiled.patch})
        for pattern in (*request.results, *request.junit):
            checked_path(pattern)
        invocation = _invocation(request, bundle)
        if self.overlay and self._python is not None:
            warm = self._python.settings(request, invocation, snapshot, bundle)
            invocation = replace(invocation, warm=warm or invocation.warm)
        last = attempt + _ATTEMPTS - 1
        ran, placed = self._run_once(request, snapshot, changes, invocation)
        while ran.error is not None and placed and attempt < last and not self.sandbox.interrupted:
            attempt += 1
            ran, placed = self._run_once(request, snapshot, changes, invocation)
        # What the warm compiler did is the answer's work, as if its own command had compiled.
        ran = ran.model_copy(update={"cpu_s": ran.cpu_s + compiled.cpu_s})
        return command_result(request, ran, placed, attempt)

    def _skip_reason(self, request: WorkspaceRequest) -> str:
        """Return the reason why this machine cannot run a command, with a remedy; empty if it can."""
        unmet = unmet_need(request.needs, self.sandbox.level)
        if unmet is not None:
            return unmet
        if request.bundle is not None and self.bundle(request.bundle) is None:
            return f"the bundle {request.bundle} is not built: caretbench deps build {request.bundle}"
        return INSTALL_JDK if uses_java_tools(request.command) and java_project_tools() is None else ""

    def _run_once(
        self, request: WorkspaceRequest, snapshot: Snapshot, changes: PatchChanges, invocation: Invocation
    ) -> tuple[SandboxResult, PlacementMode]:
        """Run it in an overlay on the snapshot, or in a copy if no overlay can be mounted."""
        tree = ProjectTree(
            results=(*request.junit, *request.results),
            max_file_bytes=request.result_bytes,
            max_total_bytes=request.total_result_bytes or 4 * request.result_bytes,
            loopback=request.network != "none",
        )
        if self.overlay:
            over = tree._replace(snapshot=snapshot.tree, deleted=changes.deleted)
            overlaid = replace(invocation, tree=over, files=changes.written)
            ran = self._started(request, overlaid)
            if ran.error is not None and NO_OVERLAY in ran.error and invocation.warm != WarmSettings():
                ran = self._started(request, replace(overlaid, warm=WarmSettings()))
            if ran.error is None or NO_OVERLAY not in ran.error:
                return ran, "overlay"
            self.overlay_failure = ran.error
        size = changes.copy_bytes()
        if size > MAX_COPIED_BYTES:
            most = MAX_COPIED_BYTES >> 20
            error = f"the project takes {size >> 20} MB; where no overlay can be laid, at most {most} MB are copied"
            return SandboxResult(error=error), ""
        room = request.limits.tmp_mb + (size >> 20) + 1
        copied = replace(
            invocation,
            warm=WarmSettings(),
            limits=request.run_limits.model_copy(update={"tmp_mb": room}),
            files=changes.files(),
            tree=tree._replace(folders=changes.folders(), links=changes.links(), executable=changes.executable()),
        )
        return self._started(request, copied), "copy"

    def _started(self, request: WorkspaceRequest, invocation: Invocation) -> SandboxResult:
        """Run an invocation, with a proxy to package indexes where the request wants one."""
        try:
            if request.network != "index":
                return self.sandbox.run(invocation)
            if self._index is None:
                raise DataError("a command that reaches package indexes runs in builds only")
            with self._index() as proxy:
                files = {**(invocation.files or {}), **proxy.files}
                ran = self.sandbox.run(replace(invocation, index=proxy, files=files))
            return ran.model_copy(update={"refusals": tuple(proxy.refusals)})
        except NoProgramUsers as error:  # others have them all now: tried again, and no other row's end
            return SandboxResult(error=str(error))

    def bundle(self, name: str | None) -> Bundle | None:
        """Return the built bundle of this name, cached; None if there is none.

        Raises:
            BundleError: no specification has this name.
        """
        return self._bundles(name) if name is not None else None

    def snapshot(self, identity: str) -> Snapshot:
        """Return a snapshot, locked against pruning while in use; at first use it is compared byte by byte.

        Raises:
            DataError: it is not here, or damaged.
        """
        with self._lock:
            if identity not in self._snapshots:
                with ExitStack() as stack:
                    stack.enter_context(self.store.lock_snapshot(identity))
                    # Once for each process: a damaged file would change every verdict of the project.
                    wrong = self.store.verify(identity)
                    if wrong:
                        raise DataError(f"snapshot {identity} is damaged ({wrong[0]}); take the project again")
                    self._snapshots[identity] = (self.store.get(identity), stack.pop_all())
                if len(self._snapshots) > _SNAPSHOTS:
                    self._snapshots.popitem(last=False)[1][1].close()
            self._snapshots.move_to_end(identity)
            return self._snapshots[identity][0]

    def close(self) -> None:
        """End the warm sandboxes, and release the snapshots."""
        self.sandbox.close()
        with self._lock:
            for _, held in self._snapshots.values():
                held.close()
            self._snapshots.clear()
        self._use.close()


def _invocation(request: WorkspaceRequest, bundle: Bundle | None) -> Invocation:
    """Return the invocation without the project; refuse a path that leads out of it."""
    directory = WORK if request.directory == "." else f"{WORK}/{checked_path(request.directory)}"
    packages = _environment(bundle) if bundle is not None else {}
    tools = java_project_tools() if uses_java_tools(request.command) else None
    environment = {**_PYTHON, **packages, **request.environment, **_class_path(packages, request.environment)}
    named = tools_of_command(request.command)
    variables = tool_environment(named, environment.get("PATH", PATH))
    environment = {**variables, **environment, **({"PATH": variables["PATH"]} if variables else {})}
    return Invocation(
        request.command,
        limits=request.run_limits,
        read_only={
            **(bundle.read_only if bundle is not None else {}),
            **(tools.read_only if tools is not None else {}),
            **tool_binds(named),
            **request.read_only,
        },
        environment=_with_python_path(environment, request.python_path),
        address_space_limit=request.address_space_limit,
        stdin=request.stdin,
        directory=directory,
        warm=WarmSettings(),
        display="display" in request.needs,
        watched=request.watched,
    )


def _environment(bundle: Bundle) -> Mapping[str, str]:
    paths = {"CLASSPATH": ":".join((".", *bundle.class_path))} if bundle.class_path else {}
    return {**paths, **bundle.environment}


def _class_path(bundle: Mapping[str, str], environment: Mapping[str, str]) -> Mapping[str, str]:
    """Return the class path: a request's jars go before those of its bundle, and do not hide them."""
    paths = [variables["CLASSPATH"] for variables in (environment, bundle) if variables.get("CLASSPATH")]
    return {"CLASSPATH": ":".join(paths)} if paths else {}


def _with_python_path(environment: Mapping[str, str], folders: tuple[str, ...]) -> Mapping[str, str]:
    if not folders:
        return environment
    first = [f"{WORK}/{checked_path(folder)}" for folder in folders]
    others = environment.get("PYTHONPATH")
    return {**environment, "PYTHONPATH": ":".join([*first, *([others] if others else [])])}
