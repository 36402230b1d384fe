"""Persistent sandbox, whose files are kept over many commands, for agents and tools.

It is a warm sandbox (``fork_server``). Each command has its own processes and network; only ``/tmp``, in memory and
bounded, is shared. No process outlives its command. Files are read and written by a process inside the sandbox: the
host never opens a file of a program.
"""

from __future__ import annotations

import base64
import errno
import os
import posixpath
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import cache
from pathlib import Path

from caretbench.execution.execution_types import Isolation, Limits
from caretbench.execution.sandbox.bubblewrap import (
    DEFAULT_ENVIRONMENT,
    WORK,
    find_bubblewrap,
    launcher_interpreter,
    script_text,
)
from caretbench.execution.sandbox.host.failure_reasons import NO_NESTING
from caretbench.execution.sandbox.host.program_users import leased_user, program_users
from caretbench.execution.sandbox.invocation import Invocation, resource_limits, tmpfs_options
from caretbench.execution.sandbox.isolation_levels import SandboxUnavailable
from caretbench.execution.sandbox.kernel.seccomp import seccomp_filter
from caretbench.execution.sandbox.supervisor import SandboxResult, Supervisor
from caretbench.execution.sandbox.warm_sandbox import WarmWorker, WarmWorkerKey

FILE_S = 120.0
"""Maximum wall time in seconds to read or write a file."""
_FAILED = 3
_OF_ALL: Mapping[str, object] = {
    "files": [], "nonce": b"", "display": [], "tree": None, "artefact": "", "lasting": True, "aside": [],
}  # fmt: skip


@cache
def _starter() -> ThreadPoolExecutor:
    """Return a thread that lives as long as the process: a sandbox dies with the thread that started it."""
    return ThreadPoolExecutor(1, thread_name_prefix="lasting-sandboxes")


class PersistentSandbox:
    """Persistent sandbox. Threads may share it, commands may run in parallel; a context manager, which closes it.

    Args:
        limits: Bounds of each command; ``tmp_mb`` is that of all files together.
        environment: Added to a small default environment of each command.
        read_only: Path inside -> path on the host.
    """

    def __init__(
        self,
        limits: Limits,
        *,
        environment: Mapping[str, str] | None = None,
        read_only: Mapping[str, str] | None = None,
    ) -> None:
        """Build it, or raise SandboxUnavailable where it cannot be built here."""
        bubblewrap_path, program = find_bubblewrap(), seccomp_filter()
        if bubblewrap_path is None or program is None:
            raise SandboxUnavailable(
                "a sandbox whose files last needs bubblewrap (`apt-get install bubblewrap`), on a processor whose "
                "system calls are known here (x86-64, AArch64)"
            )
        self.limits = limits
        self._environment = {**DEFAULT_ENVIRONMENT, **(environment or {})}
        binds = {
            inside: str(Path(path).resolve())
            for inside, path in {**launcher_interpreter()[1], **(read_only or {})}.items()
        }
        self._stack = ExitStack()
        user = self._stack.enter_context(leased_user())[0] if program_users() is not None else None
        self.isolation = Isolation(
            backend="bubblewrap",
            level="namespaces",
            memory="watchdog",
            network="none",
            seccomp=True,
            user="caller" if user is None else "unprivileged",
        )
        key = WarmWorkerKey(tuple(sorted(binds.items())), (), (), "system", user, tmpfs_options(limits.tmp_mb))
        try:
            self._worker = _starter().submit(WarmWorker, key, bubblewrap_path, program).result()
        except SandboxUnavailable:
            self._stack.close()
            raise
        except OSError as error:
            self._stack.close()
            raise SandboxUnavailable(f"no sandbox whose files last can be built here: {error}") from None

    def run(
        self,
        argv: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        directory: str = ".",
        stdin: bytes | None = None,
        limits: Limits | None = None,
        wall_s: float | None = None,
        stop: threading.Event | None = None,
    ) -> SandboxResult:
        """Run one command and wait until it and all processes that it started have ended.

        Args:
            argv: The program, searched in the environment's ``PATH``, and its arguments.
            environment: Added to the sandbox's.
            directory: Working directory, relative to the work folder.
            stdin: Standard input; ``/dev/null`` by default.
            limits: Its bounds, the sandbox's by default.
            wall_s: Wall time in seconds, ``limits.wall_s`` by default.
            stop: Ends the command soon when it is set.

        Raises:
            SandboxUnavailable: the sandbox has ended, or no isolation can be built inside it.
        """
        return self._run(
            {"argv": list(argv), "directory": posixpath.join(WORK, directory), "stdin": stdin, "forked": ""},
            {**self._environment, **(environment or {})},
            limits or self.limits,
            wall_s,
            stop or threading.Event(),
        )

    def read(self, path: str, max_bytes: int, stop: threading.Event | None = None) -> bytes:
        """Return a file's content.

        Raises:
            OSError: by its number: ``FileNotFoundError``, ``PermissionError``, ``IsADirectoryError``; ``EFBIG``
                where it has more than ``max_bytes``, ``EINVAL`` where it is no ordinary file.
            TimeoutError: it took more than two minutes.
            SandboxUnavailable: as for :meth:`run`.
        """
        # In base64, four bytes for three, as standard output is kept as text.
        kb = max_bytes * 4 // 3072 + 2
        bounds = {"output_kb": kb, "output_kill_mb": (kb >> 10) + 2}
        done = self._file(["read", path, str(max_bytes)], None, bounds, stop)
        return base64.b64decode(done.stdout.text)

    def write(self, path: str, data: bytes, stop: threading.Event | None = None) -> None:
        """Write a file, and make the folders that it needs.

        Raises:
            OSError: as for :meth:`read`; ``ENOSPC`` where the files of the sandbox would take more than ``tmp_mb``.
            TimeoutError: it took more than two minutes.
            SandboxUnavailable: as for :meth:`run`.
        """
        if 2 * len(data) > self.limits.tmp_mb << 20:  # on its way it is there twice
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
        self._file(["write", path], data, {"fsize_mb": self.limits.tmp_mb}, stop)

    def close(self) -> None:
        """End the sandbox, with all its processes and files."""
        self._worker.close()
        self._stack.close()

    def __enter__(self) -> PersistentSandbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _file(
        self, words: list[str], data: bytes | None, bounds: Mapping[str, int], stop: threading.Event | None
    ) -> SandboxResult:
        path = words[1]
        # A link may still lead elsewhere, but the reader is inside the sandbox, too.
        words[1] = posixpath.join(WORK, path)
        if "\0" in path:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), path)
        done = self._run(
            {
                "argv": ["file", *words],
                "directory": "/",
                "stdin": data,
                "forked": script_text("persistent_files.py").decode(),
            },
            DEFAULT_ENVIRONMENT,
            self.limits.model_copy(update={**bounds, "cpu_s": FILE_S}),
            FILE_S,
            stop or threading.Event(),
        )
        if done.killed == "wall":
            raise TimeoutError(f"{path}: reading or writing it took more than {FILE_S:g} s")
        if not done.ok:
            message = done.stderr.text
            # Only the reader's own status stands for the number of an error: a program that was killed says nothing of
            # the file.
            number = int(message) if done.exit_code == _FAILED and message.isdecimal() else errno.EIO
            raise OSError(number, os.strerror(number), path)
        return done

    def _run(
        self,
        what: Mapping[str, object],
        environment: Mapping[str, str],
        limits: Limits,
        wall_s: float | None,
        stop: threading.Event,
    ) -> SandboxResult:
        program = self._worker.start()
        if program is None:
            raise SandboxUnavailable(
                "the sandbox has ended"
                if self._worker.ended
                else f"no sandbox keeps its files here: {self._worker.failure_reason or NO_NESTING}"
            )
        begin = time.monotonic()
        job = {
            **what,
            "environment": dict(environment),
            "rlimits": resource_limits(limits, address_space_limit=False),
            "memory": tmpfs_options(limits.tmp_mb),
            **_OF_ALL,
        }
        invocation = Invocation((), limits=limits, wall_s=wall_s)
        supervisor = Supervisor(program, program.channel, invocation, stop, own_processes=0)
        try:
            supervisor.supervise(job)
            result = supervisor.result(begin, self.isolation)
        finally:
            program.close()
        # The sandbox may have died under the command, which then looks as if it had been killed itself.
        if (result.killed_from_outside or result.error is not None) and self._worker.is_ending():
            raise SandboxUnavailable("the sandbox has ended")
        return result
