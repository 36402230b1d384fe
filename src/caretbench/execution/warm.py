"""Sandboxes that stand already: each serves many programs, and every program gets walls of its own inside it.

See :mod:`caretbench.execution.zygote` for the inside. Here stand the messages to it, how many programs one serves, and
what happens when it dies: nothing but that the program is started again elsewhere.
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
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, NamedTuple

from caretbench.execution.types import Warm
from caretbench.execution.walls import (
    LAUNCHER,
    STUBS,
    UNPRIVILEGED_USER,
    launcher_interpreter,
    readable,
    script,
    wall_arguments,
)

PROGRAMS_PER_WORKER = 1000
"""After so many programs a worker is replaced by a fresh one."""

_ZYGOTE = "/run/caretbench/zygote.py"
_ARTEFACTS = "/run/artefacts"
_ARTEFACT = "/artefact"
_ASIDE = "/run/aside"
_START_S = 60.0
_ENDS_S = 0.25
_MOST_WORKERS = 8
_MOST_FAILURES = 3
_CREDENTIALS = struct.Struct("3i")


class WorkerKey(NamedTuple):
    """What makes programs fit for one worker."""

    binds: tuple[tuple[str, str], ...]
    environment: tuple[tuple[str, str], ...]
    modules: tuple[str, ...]
    packages: str
    dropped: bool
    """Whether root is given up first."""
    lasting_bytes: int = 0
    """Size of a ``/tmp`` that all programs share; 0: each gets one of its own."""


class Ready(NamedTuple):
    """A job, and the worker that it needs."""

    key: WorkerKey
    job: dict[str, object]


class WarmProgram:
    """A program in a warm sandbox, as its supervisor holds it: the first process behind its own walls."""

    def __init__(
        self, pid: int, descriptor: int, channel: socket.socket, stdout: IO[bytes], stderr: IO[bytes]
    ) -> None:
        self.pid = pid
        self.channel = channel
        self.stdout: IO[bytes] | None = stdout
        self.stderr: IO[bytes] | None = stderr
        self._descriptor = descriptor

    def kill(self) -> None:
        """End it, and with it everything in its process namespace."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._descriptor, signal.SIGKILL)

    def wait(self) -> int:
        """Until it is gone; what became of the program is in its launcher's report."""
        poll = select.poll()
        poll.register(self._descriptor, select.POLLIN)
        poll.poll()
        return 0

    def close(self) -> None:
        """Give its descriptors back."""
        os.close(self._descriptor)
        self.channel.close()


class Worker:
    """One warm sandbox."""

    def __init__(self, key: WorkerKey, binary: str, filter_program: bytes) -> None:
        """Build it and wait until it takes programs.

        Raises:
            OSError: it did not come up.
        """
        self.served = 0
        self.under_way = 0
        self.proved = False
        """Whether a program's walls were ever built in it."""
        self._lock = threading.Lock()
        interpreter, interpreter_binds = launcher_interpreter()
        flags = [] if key.modules else ["-I", "-S", "-B"]
        contents = {LAUNCHER: script("launcher.py"), _ZYGOTE: script("zygote.py")}
        contents |= {path: text.encode() for path, text in STUBS.items()}
        self._control, theirs = socket.socketpair()
        opened: list[int] = []
        try:
            descriptors = {path: readable(content) for path, content in contents.items()}
            opened += descriptors.values()
            walls = wall_arguments(
                tmp_mb=64,
                read_only={**interpreter_binds, **dict(key.binds)},
                writable={},
                descriptors=descriptors,
                seccomp=None,
                folders=(_ARTEFACT, _ARTEFACTS),
            )
            for name, value in key.environment:
                walls += ["--setenv", name, value]
            opened.append(arguments := readable(b"".join(word.encode() + b"\0" for word in walls)))
            opened.append(program := readable(filter_program))
            user, groups = (UNPRIVILEGED_USER, ()) if key.dropped else (None, None)
            self._process = subprocess.Popen(
                [
                    binary, "--args", str(arguments), "--", interpreter, *flags, _ZYGOTE,
                    str(theirs.fileno()), str(program), LAUNCHER, key.packages,
                    str(key.lasting_bytes), *key.modules,
                ],
                env={"PATH": "/usr/bin:/bin"},
                cwd="/",
                pass_fds=[*opened, theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                user=user,
                group=user,
                extra_groups=groups,
                process_group=0,
            )  # fmt: skip
        finally:
            theirs.close()
            for descriptor in opened:
                os.close(descriptor)
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
        """Whether it is gone."""
        return self._process.poll() is not None

    def ends(self) -> bool:
        """Whether it is gone, or goes in this moment."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_ENDS_S)
        return self.ended

    def start(self, door: socket.socket | None = None) -> WarmProgram | None:
        """New walls in it, which wait for their job; None where it is gone or cannot build them.

        ``door``: over which the launcher hands the proxy its listening socket.
        """
        ours, theirs = socket.socketpair()
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        out_read, out_write = os.pipe2(os.O_CLOEXEC)
        error_read, error_write = os.pipe2(os.O_CLOEXEC)
        doors = [door.fileno()] if door is not None else []
        handed = array.array("i", [theirs.fileno(), out_write, error_write, *doors])
        try:
            with self._lock:
                self._control.sendmsg([b"p"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, handed)])
        except OSError:
            handed = array.array("i")
        finally:
            theirs.close()
            os.close(out_write)
            os.close(error_write)
        descriptor = _first_process(ours) if handed else None
        if descriptor is None:
            ours.close()
            os.close(out_read)
            os.close(error_read)
            return None
        pid, handle = descriptor
        self.proved = True
        return WarmProgram(pid, handle, ours, os.fdopen(out_read, "rb", 0), os.fdopen(error_read, "rb", 0))

    def close(self) -> None:
        """End it, with whatever still runs in it."""
        self._control.close()
        self._process.kill()
        self._process.wait()


def _first_process(channel: socket.socket) -> tuple[int, int] | None:
    """The first process behind the new walls, by the credentials of its greeting: its number here, and a handle."""
    channel.settimeout(_START_S)
    try:
        words, ancillary, _, _ = channel.recvmsg(4096, socket.CMSG_SPACE(_CREDENTIALS.size))
    except OSError:
        return None
    if not words.startswith(b'{"here"'):
        return None
    pid = next(
        (
            _CREDENTIALS.unpack(data[: _CREDENTIALS.size])[0]
            for level, kind, data in ancillary
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS)
        ),
        0,
    )
    if pid <= 0:
        return None
    try:
        return pid, os.pidfd_open(pid)
    except OSError:
        return None


class Workers:
    """The warm sandboxes of one :class:`caretbench.execution.sandbox.Sandbox`. Threads share it."""

    def __init__(self) -> None:
        self.artefacts: Path | None = None
        """Where compiled programs lie; programs from elsewhere run in sandboxes of their own."""
        self._workers: OrderedDict[WorkerKey, Worker] = OrderedDict()
        self._retired: list[Worker] = []
        self._failures: Counter[WorkerKey] = Counter()
        self._lock = threading.Lock()
        # A sandbox dies with the thread that started it: this one lives as long as the process.
        self._keeper: ThreadPoolExecutor | None = None

    def job(
        self,
        warm: Warm,
        job: Mapping[str, object],
        binds: Mapping[str, str],
        *,
        tmp_bytes: int,
        dropped: bool,
    ) -> Ready:
        """The job in the form that a worker understands, and which worker that is."""
        kept = dict(binds)
        artefact = ""
        root = self.artefacts.resolve() if self.artefacts is not None else None
        place = Path(kept.get(_ARTEFACT, "/"))
        if root is not None and place.is_relative_to(root):
            del kept[_ARTEFACT]
            kept[_ARTEFACTS] = str(root)
            artefact = str(place.relative_to(root))
        # What belongs below /tmp, where each program gets a folder of its own, is bound aside and bound again there.
        aside = {
            f"{_ASIDE}/{number}": inside
            for number, inside in enumerate(sorted(place for place in kept if place.startswith("/tmp/")))  # noqa: S108
        }
        kept |= {place: kept.pop(inside) for place, inside in aside.items()}
        environment = job["environment"] if warm.harness else {}
        assert isinstance(environment, dict)  # noqa: S101  ours
        key = WorkerKey(
            tuple(sorted(kept.items())),
            tuple(sorted(environment.items())),
            warm.modules,
            warm.packages,
            dropped,
        )
        extra: dict[str, object] = {
            "forked": warm.harness,
            "artefact": artefact,
            "tmp_bytes": tmp_bytes,
            "aside": list(aside.items()),
        }
        if warm.harness:  # as an interpreter sees its arguments that is started with `-c TEXT`
            argv = job["argv"]
            assert isinstance(argv, list)  # noqa: S101  ours
            extra["argv"] = ["-c", *argv[3:]]
        return Ready(key, {**job, **extra})

    @contextlib.contextmanager
    def lease(self, key: WorkerKey, binary: str, filter_program: bytes) -> Iterator[Worker | None]:
        """A worker for one program; None where none can be built on this machine."""
        worker = self._take(key, binary, filter_program)
        try:
            yield worker
        finally:
            if worker is not None:
                with self._lock:
                    worker.under_way -= 1
                    done = [old for old in self._retired if not old.under_way]
                    self._retired = [old for old in self._retired if old.under_way]
                for old in done:
                    old.close()

    def refuse(self, key: WorkerKey, worker: Worker) -> None:
        """Build another one next time. Where none ever built walls, it is this kernel, and no more are tried.

        One that did may have met a moment without memory, or without room for processes.
        """
        with self._lock:
            if not worker.proved:
                self._failures[key] += 1
            if self._workers.get(key) is worker:
                self._retired.append(self._workers.pop(key))

    def _take(self, key: WorkerKey, binary: str, filter_program: bytes) -> Worker | None:
        with self._lock:
            if self._failures[key] >= _MOST_FAILURES:
                return None
            worker = self._workers.get(key)
            if worker is not None and worker.proved:
                del self._failures[key]
            if worker is not None and (worker.ended or worker.served >= PROGRAMS_PER_WORKER):
                self._retired.append(self._workers.pop(key))
                worker = None
            if worker is None:
                self._keeper = self._keeper or ThreadPoolExecutor(1, thread_name_prefix="warm-sandboxes")
                try:
                    worker = self._keeper.submit(Worker, key, binary, filter_program).result()
                except OSError:
                    self._failures[key] += 1
                    return None
                self._workers[key] = worker
            self._workers.move_to_end(key)
            if len(self._workers) > _MOST_WORKERS:
                self._retired.append(self._workers.popitem(last=False)[1])
            worker.served += 1
            worker.under_way += 1
            return worker

    def close(self) -> None:
        """End them all."""
        with self._lock:
            workers = [*self._workers.values(), *self._retired]
            self._workers.clear()
            self._retired.clear()
            keeper, self._keeper = self._keeper, None
        for worker in workers:
            worker.close()
        if keeper is not None:
            keeper.shutdown(wait=False)
