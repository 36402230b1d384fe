"""Bubblewrap sandboxes: programs in namespaces of their own, in a new or a warm sandbox."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass

from caretbench.execution.costs import ledger
from caretbench.execution.execution_types import Isolation, WarmSettings
from caretbench.execution.sandbox.bind_access import ReachableBinds, open_mounts, reachable_binds
from caretbench.execution.sandbox.bubblewrap import (
    COVERS,
    KEPT_OF_PROC,
    LAUNCHER,
    bubblewrap_arguments,
    launcher_interpreter,
    memory_file,
    sandbox_files,
)
from caretbench.execution.sandbox.host.failure_reasons import NO_FILTER, NO_NESTING
from caretbench.execution.sandbox.host.program_users import leased_user, program_users, unprivileged_user
from caretbench.execution.sandbox.invocation import NO_OVERLAY, Invocation, ResolvedInvocation, tmpfs_options
from caretbench.execution.sandbox.kernel.cgroups import MemoryGroups, memory_group, memory_mechanism
from caretbench.execution.sandbox.supervisor import SandboxResult, Supervisor
from caretbench.execution.sandbox.warm_sandbox import WarmWorkerPool


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

        def held(content: bytes) -> int:
            descriptor = memory_file(content)
            opened.append(descriptor)
            stack.callback(os.close, descriptor)
            return descriptor

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
                    supervisor = Supervisor(
                        program, program.channel, invocation, self.interrupted, own_processes=0, group=group
                    )
                    supervisor.supervise(ready.job)
                result = supervisor.result(begin, self._isolation(invocation))
                if result.sandbox_cpu_s:  # it ended in order, so that its CPU is the worker's children's, too
                    ledger.add(sandboxes_cpu_s=-result.cpu_s)
            finally:
                program.close()
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
