"""Sandbox that runs one untrusted program at the isolation level of this machine.

Synchronous: the calling thread waits for the program, reading its output, its launcher's report and, several
times a second, the process tree's use. Many sandboxes run at a time by calling from many threads; starting
one is mostly waiting in the kernel, so have more in flight than there are processors. A sandbox dies with
the thread that runs it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from caretbench.execution.cache.cache_folders import BOUND
from caretbench.execution.costs import ledger
from caretbench.execution.execution_types import Isolation, Limits, WarmSettings
from caretbench.execution.sandbox.bind_access import (
    NamespaceFailed,
    ReachableBinds,
    close_id_maps,
    open_mounts,
    reachable_binds,
)
from caretbench.execution.sandbox.bubblewrap import (
    COVERS,
    HOME,
    KEPT_OF_PROC,
    LAUNCHER,
    WORK,
    bubblewrap_arguments,
    find_bubblewrap,
    launcher_interpreter,
    memory_file,
    sandbox_files,
)
from caretbench.execution.sandbox.host.failure_reasons import (
    NO_BUBBLEWRAP,
    NO_FILTER,
    NO_NESTING,
    exhausted_namespaces,
    sandbox_failure,
)
from caretbench.execution.sandbox.host.program_users import leased_user, program_users, unprivileged_user
from caretbench.execution.sandbox.invocation import (
    NO_OVERLAY,
    Invocation,
    ResolvedInvocation,
    resolve_invocation,
    tmpfs_options,
)
from caretbench.execution.sandbox.isolation_levels import (
    IsolationLevel,
    SandboxUnavailable,
    accepted_levels,
    warn_weaker_level,
)
from caretbench.execution.sandbox.kernel.cgroups import MemoryGroups, find_memory_groups, memory_group, memory_mechanism
from caretbench.execution.sandbox.kernel.landlock_sandbox import LandlockSandbox
from caretbench.execution.sandbox.kernel.seccomp import seccomp_filter
from caretbench.execution.sandbox.supervisor import START_S, SandboxResult, Supervisor
from caretbench.execution.sandbox.warm_sandbox import WarmWorkerPool
from caretbench.files import cache_folder


@dataclass(frozen=True)
class NamespaceSandbox:
    """Runner of programs with bubblewrap, our own arguments, system call filter and launcher."""

    bubblewrap_path: str
    filter_program: bytes | None  # None where this processor's calls are not known
    workers: WarmWorkerPool
    groups: MemoryGroups | None
    interrupted: threading.Event  # ends programs while it is set

    def run(self, resolved: ResolvedInvocation) -> SandboxResult:
        """Run one program and wait for its end."""
        invocation = resolved.invocation
        # A cold sandbox took 34.5 ms of CPU for /bin/true, a place in a warm one 8.5 (benchmarks/walls.py).
        if invocation.warm is not None and not resolved.writable:
            result = self._run_warm(resolved, invocation.warm)
            if result is not None:
                return result
        tree = invocation.tree
        if tree is not None and (tree.snapshot is not None or not tree.loopback):
            lacking = NO_OVERLAY if tree.snapshot is not None else "loopback cannot be switched off"
            return SandboxResult(error=f"{lacking}: {self._no_warm(resolved.writable)}")
        return self._run_cold(resolved)

    def _run_cold(self, resolved: ResolvedInvocation) -> SandboxResult:
        """Run it in a sandbox that is started for it."""
        invocation = resolved.invocation
        with ExitStack() as stack:
            user = stack.enter_context(_user(resolved.writable))
            read_only_binds = stack.enter_context(
                reachable_binds(self.bubblewrap_path, resolved.read_only_binds, resolved.writable, user)
            )
            ours, theirs = socket.socketpair()
            stack.callback(ours.close)
            stack.callback(theirs.close)
            begin, process = self._started(read_only_binds, invocation, theirs, stack)
            theirs.close()
            group = stack.enter_context(memory_group(self.groups, invocation.limits))
            supervisor = Supervisor(process, ours, invocation, self.interrupted, group=group)
            with ledger.sandbox(process.pid):
                supervisor.supervise(resolved.job)
            result = supervisor.result(begin, self._isolation(invocation))
            ledger.add(sandboxes_cpu_s=result.sandbox_cpu_s)
            return result

    def _started(
        self, read_only_binds: ReachableBinds, invocation: Invocation, theirs: socket.socket, stack: ExitStack
    ) -> tuple[float, subprocess.Popen[bytes]]:
        """Start bubblewrap with the launcher; ``stack`` keeps the files that they read."""
        opened: list[int] = []
        held = partial(memory_file, opened=opened, stack=stack)
        arguments = bubblewrap_arguments(
            read_only=read_only_binds.read_only,
            writable=read_only_binds.writable,
            descriptors={path: held(content) for path, content in sandbox_files("launcher.py").items()},
            capabilities=("CAP_SYS_ADMIN", "CAP_SETPCAP"),
        )
        arguments_fd = held(b"".join(argument.encode() + b"\0" for argument in arguments))
        rules = held(self.filter_program or b"")
        index = invocation.index
        begin = time.monotonic()
        process = read_only_binds.start(
            [
                "--args", str(arguments_fd), "--", launcher_interpreter()[0], "-I", "-S", "-B", LAUNCHER,
                str(theirs.fileno()), str(rules), tmpfs_options(invocation.limits.tmp_mb), COVERS, *KEPT_OF_PROC,
            ],
            pass_fds=[*opened, theirs.fileno(), *([index.listener_channel.fileno()] if index is not None else [])],
            stdin=invocation.stdin_descriptor,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )  # fmt: skip
        return begin, process

    def _run_warm(self, resolved: ResolvedInvocation, warm: WarmSettings) -> SandboxResult | None:
        """Run it in a sandbox inside a warm one; None where there is none, and the program was not started."""
        if self.filter_program is None:
            return None
        invocation = resolved.invocation
        ready = self.workers.prepare_job(warm, resolved.job, resolved.read_only_binds, tmp_mb=invocation.limits.tmp_mb)
        with ExitStack() as stack:
            worker = stack.enter_context(self.workers.lease(ready.key, self.bubblewrap_path, self.filter_program))
            if worker is None:
                return None
            user = stack.enter_context(leased_user())[0] if ready.key.separate_users else None
            with open_mounts(ready.user_binds, user, self.bubblewrap_path) as mounts:
                listener_channel = invocation.index.listener_channel if invocation.index is not None else None
                program = worker.start(listener_channel, user, mounts)
            if program is None:
                if not worker.ended:
                    self.workers.discard(ready.key, worker)
                return None
            begin = time.monotonic()
            try:
                with memory_group(self.groups, invocation.limits) as group:
                    supervisor = Supervisor(program, program.channel, invocation, self.interrupted, group=group)
                    supervisor.supervise(ready.job)
                result = supervisor.result(begin, self._isolation(invocation))
                # It ended in order, so that its CPU is counted with the worker's children, too.
                if result.sandbox_cpu_s:
                    ledger.add(sandboxes_cpu_s=-result.cpu_s)
            finally:
                program.close()
            # A worker that dies takes its programs with it, which look as if they had killed themselves: that is no
            # verdict.
            if result.killed_from_outside and result.error is None and worker.is_ending():
                return result.model_copy(update={"error": "the sandbox that it ran in ended"})
            return result

    def _no_warm(self, writable: Mapping[str, str]) -> str:
        """Return the reason why a program did not run in a warm sandbox."""
        if writable:
            return "the command writes to a folder of the host, which no warm sandbox has"
        if self.filter_program is None:
            return NO_FILTER
        return self.workers.failure_reason or NO_NESTING

    def _isolation(self, invocation: Invocation) -> Isolation:
        return Isolation(
            backend="bubblewrap",
            level="namespaces",
            memory=memory_mechanism(self.groups),
            network="none" if invocation.index is None else "index",
            seccomp=self.filter_program is not None,
            user="caller" if program_users() is None else "unprivileged",
        )


@contextlib.contextmanager
def _user(writable: Mapping[str, str]) -> Iterator[int | None]:
    """Yield the user id that root starts a program as: a leased one, or the owner of its writable folders."""
    if program_users() is None:
        yield None
    elif writable:
        for folder in writable.values():
            os.chown(folder, unprivileged_user(), unprivileged_user())
        yield unprivileged_user()
    else:
        with leased_user() as (user, _):
            yield user


__all__ = [
    "HOME", "NO_OVERLAY", "WORK", "Invocation", "Sandbox", "SandboxResult", "SandboxUnavailable", "display_server",
]  # fmt: skip


def display_server() -> str | None:
    """Return the X server for programs that need a display, or None where it is not installed."""
    return shutil.which("Xvfb", path="/usr/bin:/usr/local/bin")


class Sandbox:
    """Sandbox by bubblewrap, with our own arguments, system call filter and launcher, or by Landlock.

    Started by root, every program runs as a user of its own who owns nothing, and reads what is bound wherever it lies.
    """

    def __init__(
        self, bubblewrap_path: str | None = None, *, level: str | None = None, groups: MemoryGroups | None = None
    ) -> None:
        """``level``: accepted isolation (``auto``, ``namespaces``, ``landlock``); default: ``CARETBENCH_SANDBOX``.

        ``groups``: control groups that bound the memory; those of the second version by default, where there are any.
        """
        self._groups = groups or find_memory_groups()
        bubblewrap_path = bubblewrap_path or find_bubblewrap()
        self._levels = accepted_levels(level)
        self._confined: LandlockSandbox | None = None
        self.fallback_reason = ""
        """Reason why programs do not run in namespaces; known after :meth:`probe`."""
        self._isolation: Isolation | None = None
        # The probe runs a program, which asks for the level again in the same thread.
        self._probe_lock = threading.RLock()
        self._probing = False
        self._interrupted = threading.Event()
        self._workers = WarmWorkerPool()
        self._namespaces = (
            NamespaceSandbox(bubblewrap_path, seccomp_filter(), self._workers, self._groups, self._interrupted)
            if bubblewrap_path is not None
            else None
        )
        self._closing: list[Callable[[], None]] = []
        weakref.finalize(self, self._workers.close)

    def probe(self) -> Isolation:
        """Run a test program, once per object, and return the isolation that it ran in.

        Raises:
            SandboxUnavailable: with what to install or to set.
        """
        with self._probe_lock:
            if self._isolation is None:
                self._probing = True
                try:
                    self._isolation = self._find_isolation()
                finally:
                    self._probing = False
            return self._isolation

    def _choose_level(self) -> None:
        """Determine the isolation level before the first program."""
        with self._probe_lock:
            if self._confined is None and self._levels == ("landlock",):
                self._confined = LandlockSandbox()
            elif self._isolation is None and len(self._levels) > 1 and not (self._probing or self.interrupted):
                self.probe()

    def _find_isolation(self) -> Isolation:
        try:
            return self._run_probe()
        except SandboxUnavailable as obstacle:
            if len(self._levels) == 1 or self.interrupted:
                raise
            try:
                self._confined = LandlockSandbox()
                isolation = self._run_probe()
            except SandboxUnavailable as error:
                self._confined = None
                if str(error) in str(obstacle):  # neither level can be had, for one reason
                    raise obstacle from None
                raise SandboxUnavailable(f"{obstacle}. Landlock cannot stand in: {error}") from None
            self.fallback_reason = str(obstacle)
            warn_weaker_level(self.fallback_reason)
            return isolation

    def _run_probe(self) -> Isolation:
        if self._namespaces is None and self._levels[0] == "namespaces" and self._confined is None:
            raise SandboxUnavailable(NO_BUBBLEWRAP)
        try:
            result = self.run(
                Invocation(
                    ["/bin/sh", "-c", "exit 0"], limits=Limits(), wall_s=START_S, read_only=self._expected_binds()
                )
            )
        except OSError as error:  # not even a process, or not as another user
            result = SandboxResult(error=str(error))
        if not result.ok or result.isolation is None:
            message = result.error or result.stderr.text or f"killed: {result.killed}"
            raise SandboxUnavailable(
                sandbox_failure(message) if self._confined is None else f"no Landlock walls: {message}"
            )
        return result.isolation

    def _expected_binds(self) -> dict[str, str]:
        """Return the paths that programs will have bound, as far as they exist: the probe runs with them, too."""
        try:
            cache = cache_folder()
        except (OSError, RuntimeError):  # a user without a home has nothing of ours to bind
            return {}
        paths = [self._workers.artefacts, *(cache / name for name in BOUND)]
        return {
            f"/run/expected/{number}": str(path)
            for number, path in enumerate(paths)
            if path is not None and os.access(path, os.R_OK | os.X_OK)
        }

    @property
    def level(self) -> IsolationLevel:
        """Isolation level of programs."""
        self._choose_level()
        return "namespaces" if self._confined is None else "landlock"

    @property
    def interrupted(self) -> bool:
        """Return whether programs are being interrupted."""
        return self._interrupted.is_set()

    def interrupt(self) -> None:
        """Interrupt every running program soon; new ones end at once until :meth:`resume`."""
        self._interrupted.set()

    def resume(self) -> None:
        """Allow programs to run again after :meth:`interrupt`."""
        self._interrupted.clear()

    def run(self, invocation: Invocation) -> SandboxResult:
        """Run one program in a fresh sandbox and wait for its end.

        Raises:
            SandboxUnavailable: bubblewrap is not installed, or a display is wanted and ``Xvfb`` is not, or something
                that is bound cannot be reached by the user that the program gets.
        """
        try:
            result = self._run(invocation)
        except NamespaceFailed as error:
            result = SandboxResult(error=str(error))
        # The probe's message has a remedy of its own.
        if result.error is not None and self._isolation is not None:
            result = result.model_copy(update={"error": exhausted_namespaces(result.error)})
        ledger.program_ended(result.cpu_s)
        return result

    def _run(self, invocation: Invocation) -> SandboxResult:
        self._choose_level()
        display = self._display(invocation)
        ready = resolve_invocation(invocation, display)
        if self._confined is not None:
            if invocation.uses_overlay:
                return SandboxResult(error=f"{NO_OVERLAY}: it needs namespaces")
            ready.job.pop("watch", None)  # paths are others there, and sockets are refused before they connect
            with memory_group(self._groups, invocation.limits) as group:
                return self._confined.run(
                    ready, interrupted=self._interrupted, group=group, memory=memory_mechanism(self._groups)
                )
        # The level was chosen above: without bubblewrap it would have raised.
        assert self._namespaces is not None  # noqa: S101  looked at above
        return self._namespaces.run(ready)

    def _display(self, invocation: Invocation) -> str | None:
        """Return the X server to start, or None; raise SandboxUnavailable if the level cannot run the program."""
        if self._confined is not None and (invocation.display or invocation.index is not None):
            wanted = "a display" if invocation.display else "a package index"
            raise SandboxUnavailable(f"the program needs {wanted}, which the {self.level} level does not give")
        if self._namespaces is None and self._confined is None:
            raise SandboxUnavailable("bubblewrap is not installed")
        server = display_server() if invocation.display else None
        if invocation.display and server is None:
            raise SandboxUnavailable("the program needs a display: `apt-get install xvfb`")
        return server

    def set_artefact_folder(self, artefacts: Path) -> None:
        """Set the folder of compiled programs, which warm sandboxes can read."""
        self._workers.artefacts = artefacts

    def add_close_callback(self, close: Callable[[], None]) -> None:
        """Register ``close`` to be called whenever the warm sandboxes end."""
        self._closing.append(close)

    def close(self) -> None:
        """End the warm sandboxes; they start again on demand."""
        self._workers.close()
        close_id_maps()
        for close in self._closing:
            close()
