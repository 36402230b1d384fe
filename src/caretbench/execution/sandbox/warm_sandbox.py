"""Warm sandboxes: each serves many programs, and isolates every program by itself.

``fork_server`` is the process inside. This module sends it messages, replaces workers after a number of programs, and
starts a program elsewhere if its worker dies.
"""

from __future__ import annotations

import array
import contextlib
import os
import select
import signal
import socket
import struct
import subprocess
import threading
from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, NamedTuple

from caretbench.execution.costs import ledger
from caretbench.execution.execution_types import WarmSettings
from caretbench.execution.sandbox.bind_access import (
    kill_process_group,
    reachable_binds,
    read_child_pid,
    unreachable_paths,
    write_user_maps,
)
from caretbench.execution.sandbox.bubblewrap import (
    COVERS,
    INSIDE_USER,
    KEPT_OF_PROC,
    LAUNCHER,
    WORK,
    bubblewrap_arguments,
    launcher_interpreter,
    memory_file,
    sandbox_files,
)
from caretbench.execution.sandbox.host.failure_reasons import nested_sandbox_failure, user_map_failure
from caretbench.execution.sandbox.host.program_users import program_users, unprivileged_user
from caretbench.execution.sandbox.invocation import SNAPSHOT, tmpfs_options

# 20,000 programs left no process behind; a fresh worker bounds what a kernel may keep all the same.
PROGRAMS_PER_WORKER = 1000
"""Number of programs after which a worker is replaced by a fresh one."""

# `/bin/true` costs 40 ms of CPU in a sandbox of its own, and 8 in one of these.
_ZYGOTE = "/run/caretbench/fork_server.py"
_ARTEFACTS = "/run/artefacts"
_ARTEFACT = "/artefact"
_ASIDE = "/run/aside"
_START_S = 60.0
# A program's end is seen before that of the worker which took it along.
_ENDS_S = 0.25
# Each keeps an interpreter with all that it has imported in memory.
_MAX_WORKERS = 8
_MAX_FAILURES = 3
_CREDENTIALS = struct.Struct("3i")
_ORDER = struct.Struct("=iii")
"""As in ``fork_server.py``: the program's user, number of proxy sockets (0 or 1), number of mounts."""


class WarmWorkerKey(NamedTuple):
    """Properties that programs of one worker share."""

    binds: tuple[tuple[str, str], ...]
    environment: tuple[tuple[str, str], ...]
    preloaded_modules: tuple[str, ...]
    package_source: str
    user: int | None
    """User id that root starts it as; None if an ordinary user starts it."""
    module_folder: str = ""

    @property
    def separate_users(self) -> bool:
        """Return whether each of its programs runs as a different user of the host."""
        return self.user is not None


class WarmJob(NamedTuple):
    """Job for a warm sandbox, with the key of the worker that it needs."""

    key: WarmWorkerKey
    job: dict[str, object]
    user_binds: Mapping[str, str]
    """Path inside -> path on the host, of binds that root opens for this program's user only."""


@dataclass
class WarmProgram:
    """Running program in a warm sandbox: the first process of its own namespaces."""

    pid: int
    descriptor: int
    channel: socket.socket
    stdout: IO[bytes] | None
    stderr: IO[bytes] | None

    def kill(self) -> None:
        """Kill the program, and with it everything in its process namespace."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.descriptor, signal.SIGKILL)

    def wait(self) -> int:
        """Wait until it is gone; the launcher's report contains the outcome."""
        poll = select.poll()
        poll.register(self.descriptor, select.POLLIN)
        poll.poll()
        return 0

    def close(self) -> None:
        """Close its descriptors."""
        os.close(self.descriptor)
        self.channel.close()


class WarmWorker:
    """Handle of a running warm sandbox, which starts many programs, each isolated from the others."""

    def __init__(self, key: WarmWorkerKey, bubblewrap_path: str, filter_program: bytes) -> None:
        """Start the sandbox and wait until it accepts programs, or raise OSError if it does not start."""
        self.served = 0
        self.running_programs = 0
        self.isolation_works = False
        """True once a program's isolation was built in it."""
        self.failure_reason = ""
        """Reason why the last program's isolation failed."""
        self._lock = threading.Lock()
        self._control, theirs = socket.socketpair()
        try:
            with contextlib.ExitStack() as stack:
                self._process = self._started(key, bubblewrap_path, filter_program, theirs, stack)
                theirs.close()
                self._await_ready()
                ledger.worker_started(self._process.pid)
        except BaseException:
            self._control.close()
            theirs.close()
            raise

    def _started(
        self,
        key: WarmWorkerKey,
        bubblewrap_path: str,
        filter_program: bytes,
        theirs: socket.socket,
        stack: contextlib.ExitStack,
    ) -> subprocess.Popen[bytes]:
        """Return bubblewrap with the fork_server; ``stack`` keeps its resources until it has started."""
        interpreter, interpreter_binds = launcher_interpreter()
        flags = [] if key.preloaded_modules else ["-I", "-S", "-B"]
        opened: list[int] = []
        held = partial(memory_file, opened=opened, stack=stack)
        binds = {**interpreter_binds, **dict(key.binds)}
        reachable = stack.enter_context(reachable_binds(bubblewrap_path, binds, {}, key.user))
        options = bubblewrap_arguments(
            read_only=reachable.read_only,
            writable={},
            descriptors={path: held(text) for path, text in sandbox_files("launcher.py", "fork_server.py").items()},
            capabilities=("CAP_SETUID", "CAP_SETGID") if key.separate_users else (),
            folders=(_ARTEFACT, _ARTEFACTS, *(() if SNAPSHOT in binds else (SNAPSHOT,))),
            user=0 if key.separate_users else INSIDE_USER,
        )
        for name, value in key.environment:
            options += ["--setenv", name, value]
        maps = stack.enter_context(_Maps()) if key.separate_users else None
        options += maps.arguments if maps is not None else []
        words = [
            interpreter, *flags, _ZYGOTE, str(theirs.fileno()), str(held(filter_program)), LAUNCHER, key.package_source,
            key.module_folder, COVERS, ",".join(KEPT_OF_PROC), *key.preloaded_modules,
        ]  # fmt: skip
        process = reachable.start(
            ["--args", str(held(b"".join(word.encode() + b"\0" for word in options))), "--", *words],
            pass_fds=[*opened, theirs.fileno(), *(maps.theirs if maps is not None else [])],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            if maps is not None:
                maps.write()
        except BaseException:
            kill_process_group(process)
            raise
        return process

    def _await_ready(self) -> None:
        self._control.settimeout(_START_S)
        try:
            ready = self._control.recv(1)
        except OSError:
            ready = b""
        if ready != b"r":
            self.close()
            raise OSError("the warm sandbox did not come up")

    @property
    def ended(self) -> bool:
        """Return whether the sandbox is gone."""
        return self._process.poll() is not None

    def is_ending(self) -> bool:
        """Return whether the sandbox is gone or about to go."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_ENDS_S)
        return self.ended

    def start(
        self, listener_channel: socket.socket | None = None, user: int | None = None, mounts: Sequence[int] = ()
    ) -> WarmProgram | None:
        """Start a process in new namespaces that waits for its job; None if the sandbox has ended or cannot.

        ``listener_channel``: socket over which the launcher passes its listening socket to the proxy. ``user``: the
        program's user on the host, where each program has its own. ``mounts``: mounts that root opened for this user.
        """
        ours, theirs = socket.socketpair()
        # The kernel vouches for the sender's process id: nothing that the sandbox says of itself is believed.
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        out_read, out_write = os.pipe2(os.O_CLOEXEC)
        error_read, error_write = os.pipe2(os.O_CLOEXEC)
        doors = [listener_channel.fileno()] if listener_channel is not None else []
        handed = array.array("i", [theirs.fileno(), out_write, error_write, *doors, *mounts])
        inside = user - unprivileged_user() if user is not None else 0
        order = _ORDER.pack(inside, len(doors), len(mounts))
        try:
            with self._lock:
                self._control.sendmsg([order], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, handed)])
        except OSError:
            handed = array.array("i")
        finally:
            theirs.close()
            os.close(out_write)
            os.close(error_write)
        try:
            if not handed:
                raise OSError("it has ended")  # noqa: TRY301  as where nothing answers
            pid, handle = _first_process(ours)
        except OSError as error:
            self.failure_reason = nested_sandbox_failure(str(error))
            ours.close()
            os.close(out_read)
            os.close(error_read)
            return None
        self.isolation_works = True
        return WarmProgram(pid, handle, ours, os.fdopen(out_read, "rb", 0), os.fdopen(error_read, "rb", 0))

    def close(self) -> None:
        """End the sandbox and all processes in it."""
        ledger.worker_ends(self._process.pid)
        self._control.close()
        kill_process_group(self._process)


class _Maps:
    """User maps of a sandbox with many users: root writes them while bubblewrap waits."""

    def __enter__(self) -> _Maps:
        gate, self._go = os.pipe2(os.O_CLOEXEC)
        self._facts, info = os.pipe2(os.O_CLOEXEC)
        self.theirs = [gate, info]
        self.arguments = ["--userns-block-fd", str(gate), "--info-fd", str(info)]
        return self

    def write(self) -> None:
        """Let bubblewrap go on, or raise OSError where it did not start, or may not have these users."""
        for descriptor in self.theirs:
            os.close(descriptor)
        self.theirs = []
        users = program_users()
        assert users is not None  # noqa: S101  root alone comes here
        rows = f"0 {users.start} {len(users)}\n"
        child = read_child_pid(self._facts)
        try:
            write_user_maps(child, rows, rows)
        except PermissionError as error:
            raise PermissionError(user_map_failure(error)) from None
        os.write(self._go, b"g")

    def __exit__(self, *_: object) -> None:
        for descriptor in (*self.theirs, self._go, self._facts):
            os.close(descriptor)


def _for_one_user(binds: Mapping[str, str]) -> dict[str, str]:
    """Return the binds that root opens for one program: closed paths, and a snapshot that its user must own."""
    closed = set(unreachable_paths(list(binds.values())))
    return {inside: path for inside, path in binds.items() if path in closed or inside == SNAPSHOT}


def _first_process(channel: socket.socket) -> tuple[int, int]:
    """Return the first process of the new isolation, by the credentials of its greeting, and a handle of it."""
    channel.settimeout(_START_S)
    words, ancillary, _, _ = channel.recvmsg(4096, socket.CMSG_SPACE(_CREDENTIALS.size))
    if not words.startswith(b'{"here"'):
        said = words.decode("utf-8", "replace").strip().removeprefix('{"error": "').removesuffix('"}')
        raise OSError(said or "no process could be started")
    pid = next(
        (
            _CREDENTIALS.unpack(data[: _CREDENTIALS.size])[0]
            for level, kind, data in ancillary
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS)
        ),
        0,
    )
    if pid <= 0:
        raise OSError("its process is not known here")
    return pid, os.pidfd_open(pid)


class WarmWorkerPool:
    """Warm sandboxes of one :class:`caretbench.execution.sandbox.program_sandbox.Sandbox`. Threads share it."""

    def __init__(self) -> None:
        self.artefacts: Path | None = None
        """Folder of compiled programs; programs from elsewhere run in sandboxes of their own."""
        self._workers: OrderedDict[WarmWorkerKey, WarmWorker] = OrderedDict()
        self._retired: list[WarmWorker] = []
        self._failures: Counter[WarmWorkerKey] = Counter()
        self.failure_reason = ""
        """Reason why the last failed one could not be built, or could not isolate a program."""
        self._lock = threading.Lock()
        # A sandbox dies with the thread that started it: this one lives as long as the process.
        self._starter: ThreadPoolExecutor | None = None

    def prepare_job(
        self, warm: WarmSettings, job: Mapping[str, object], binds: Mapping[str, str], *, tmp_mb: int
    ) -> WarmJob:
        """Return the job in the format of the fork server, with the key of the worker that it needs."""
        kept = dict(binds)
        artefact = ""
        root = self.artefacts.resolve() if self.artefacts is not None else None
        artefact_folder = Path(kept.get(_ARTEFACT, "/"))
        if root is not None and artefact_folder.is_relative_to(root):
            del kept[_ARTEFACT]
            kept[_ARTEFACTS] = str(root)
            artefact = str(artefact_folder.relative_to(root))
        # What belongs below /tmp, where each program gets a folder of its own, is bound aside and bound again there.
        aside = {
            f"{_ASIDE}/{number}": inside
            for number, inside in enumerate(sorted(path for path in kept if path.startswith("/tmp/")))  # noqa: S108
        }
        kept |= {set_aside: kept.pop(inside) for set_aside, inside in aside.items()}
        # Where programs see it, so that modules have the same paths in the worker.
        if warm.package_source == "project":
            kept[WORK] = kept[SNAPSHOT]
        user = unprivileged_user() if program_users() is not None else None
        user_binds = _for_one_user(binds) if user is not None else {}
        # It is mounted for each program: a worker for each project would cost 0.07 s of CPU.
        if SNAPSHOT in user_binds:
            kept.pop(SNAPSHOT)
        key = WarmWorkerKey(
            tuple(sorted(kept.items())),
            tuple(sorted(warm.preload_environment)),
            warm.preloaded_modules,
            warm.package_source,
            user,
            module_folder=warm.module_folder,
        )
        extra: dict[str, object] = {
            "forked": warm.harness_code,
            "artefact": artefact,
            "memory": tmpfs_options(tmp_mb),
            "aside": [(set_aside, inside) for set_aside, inside in aside.items() if inside not in user_binds],
            "given": list(user_binds),
        }
        if _ARTEFACT in user_binds:
            extra["artefact"] = ""
        if warm.harness_code:  # as an interpreter sees its arguments that is started with `-c TEXT`
            argv = job["argv"]
            assert isinstance(argv, list)  # noqa: S101  ours
            extra["argv"] = ["-c", *argv[3 if argv[1] == "-c" else 1 :]]
        return WarmJob(key, {**job, **extra}, user_binds)

    @contextlib.contextmanager
    def lease(self, key: WarmWorkerKey, bubblewrap_path: str, filter_program: bytes) -> Iterator[WarmWorker | None]:
        """Provide a worker for one program; None if none can be built on this machine."""
        worker = self._take(key, bubblewrap_path, filter_program)
        try:
            yield worker
        finally:
            if worker is not None:
                with self._lock:
                    worker.running_programs -= 1
                    done = [old for old in self._retired if not old.running_programs]
                    self._retired = [old for old in self._retired if old.running_programs]
                for old in done:
                    old.close()

    def discard(self, key: WarmWorkerKey, worker: WarmWorker) -> None:
        """Retire a worker that failed to isolate a program; after three that never isolated one, build none.

        A worker that did may have lacked memory or processes for a moment.
        """
        with self._lock:
            self.failure_reason = worker.failure_reason
            if not worker.isolation_works:
                self._failures[key] += 1
            if self._workers.get(key) is worker:
                self._retired.append(self._workers.pop(key))

    def _take(self, key: WarmWorkerKey, bubblewrap_path: str, filter_program: bytes) -> WarmWorker | None:
        with self._lock:
            if self._failures[key] >= _MAX_FAILURES:
                return None
            worker = self._workers.get(key)
            if worker is not None and worker.isolation_works:
                del self._failures[key]
            if worker is not None and (worker.ended or worker.served >= PROGRAMS_PER_WORKER):
                self._retired.append(self._workers.pop(key))
                worker = None
            if worker is None:
                self._starter = self._starter or ThreadPoolExecutor(1, thread_name_prefix="warm-sandboxes")
                try:
                    worker = self._starter.submit(WarmWorker, key, bubblewrap_path, filter_program).result()
                except OSError as error:
                    self._failures[key] += 1
                    self.failure_reason = str(error)
                    return None
                self._workers[key] = worker
            self._workers.move_to_end(key)
            if len(self._workers) > _MAX_WORKERS:
                self._retired.append(self._workers.popitem(last=False)[1])
            ledger.add(reused=int(worker.served > 0))
            worker.served += 1
            worker.running_programs += 1
            return worker

    def close(self) -> None:
        """End all workers."""
        with self._lock:
            workers = [*self._workers.values(), *self._retired]
            self._workers.clear()
            self._retired.clear()
            starter, self._starter = self._starter, None
        for worker in workers:
            worker.close()
        if starter is not None:
            starter.shutdown(wait=False)
