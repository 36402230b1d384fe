"""Runs one untrusted program behind walls, and says what became of it.

Synchronous: the calling thread waits for the program, reading its output, its launcher's report and, several
times a second, the process tree's use. Many sandboxes run at a time by calling from many threads; starting
one is mostly waiting in the kernel, so have more in flight than there are processors. A sandbox dies with
the thread that runs it.
"""

from __future__ import annotations

import base64
import contextlib
import marshal
import os
import posixpath
import secrets
import shutil
import signal
import socket
import subprocess
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from caretbench.execution.cache.folders import BOUND
from caretbench.execution.sandbox.bounds import memory_options, resource_limits
from caretbench.execution.sandbox.bubblewrap import (
    DEFAULT_ENVIRONMENT,
    HOME,
    KEPT_OF_PROC,
    LAUNCHER,
    WORK,
    find_bubblewrap,
    inside_files,
    launcher_interpreter,
    script,
    wall_arguments,
)
from caretbench.execution.sandbox.bubblewrap import readable as memory_file
from caretbench.execution.sandbox.host.kernel_facts import COVERS
from caretbench.execution.sandbox.host.mounts import forget_maps
from caretbench.execution.sandbox.host.obstacles import NO_BUBBLEWRAP, NO_FILTER, NO_NESTING, no_sandbox
from caretbench.execution.sandbox.host.users import own_user, unprivileged_user, users
from caretbench.execution.sandbox.index.policy import PROXY_PORT
from caretbench.execution.sandbox.kernel.cgroups import ROOM_MB, MemoryGroup, MemoryGroups, find_groups
from caretbench.execution.sandbox.kernel.landlock import LandlockUnavailable, LandlockWalls
from caretbench.execution.sandbox.kernel.seccomp import seccomp_filter
from caretbench.execution.sandbox.levels import Level, SandboxUnavailable, accepted_levels, say_weaker
from caretbench.execution.sandbox.reaching import opened_for, reached
from caretbench.execution.sandbox.supervisor import START_S, Dialogue, SandboxResult, Supervisor
from caretbench.execution.sandbox.warm import Workers
from caretbench.execution.types import Isolation, Limits, ProjectTree, Warm
from caretbench.files import cache_folder

if TYPE_CHECKING:
    from caretbench.execution.sandbox.index.proxy import IndexProxy

__all__ = ["HOME", "WORK", "Sandbox", "SandboxResult", "SandboxUnavailable", "display_server"]

NO_OVERLAY = "no overlay"
"""How the error of a run begins, or goes on after a colon, whose project cannot be laid over a snapshot here."""
SNAPSHOT = "/run/snapshot"


def display_server() -> str | None:
    """The X server for programs that need a display, or None where it is not installed."""
    return shutil.which("Xvfb", path="/usr/bin:/usr/local/bin")


def _inside(name: str) -> str:
    path = posixpath.normpath(posixpath.join(WORK, name))
    if not path.startswith("/tmp/"):  # noqa: S108 - inside the sandbox
        raise ValueError(f"{name!r} lies outside the sandbox's work folder")
    return path


class Sandbox:
    """Bubblewrap with our own arguments, system call filter and launcher.

    Started by root, every program runs as a user of its own who owns nothing, and reads what is bound wherever it lies.
    """

    def __init__(
        self, binary: str | None = None, *, level: str | None = None, groups: MemoryGroups | None = None
    ) -> None:
        """``level``: which walls are accepted (``auto``, ``namespaces``, ``landlock``); ``CARETBENCH_SANDBOX`` else.

        ``groups``: control groups that bound the memory; those of the second version by default, where there are any.
        """
        self._groups = groups or find_groups()
        self._binary = binary or find_bubblewrap()
        self._levels = accepted_levels(level)
        self._confined: LandlockWalls | None = None
        self.fallback = ""
        """Why programs do not run in namespaces; known after :meth:`probe`."""
        self._filter = seccomp_filter()
        self._isolation: Isolation | None = None
        self._looking = threading.RLock()
        self._looks = False
        self._interrupted = threading.Event()
        self._workers = Workers()
        self._closing: list[Callable[[], None]] = []
        weakref.finalize(self, self._workers.close)

    # --- what is known of the walls -----------------------------------------------------------------------

    def probe(self) -> Isolation:
        """Really run a program, once per object, and say which walls stood.

        Raises:
            SandboxUnavailable: with what to install or to set.
        """
        with self._looking:
            if self._isolation is None:
                self._looks = True
                try:
                    self._isolation = self._find_walls()
                finally:
                    self._looks = False
            return self._isolation

    def _settle(self) -> None:
        """Which walls stand must be known before the first program."""
        with self._looking:
            if self._confined is None and self._levels == ("landlock",):
                self._confined = _confined()
            elif self._isolation is None and len(self._levels) > 1 and not (self._looks or self.interrupted):
                self.probe()

    def _find_walls(self) -> Isolation:
        try:
            return self._really_run()
        except SandboxUnavailable as obstacle:
            if len(self._levels) == 1 or self.interrupted:
                raise
            try:
                self._confined = _confined()
                isolation = self._really_run()
            except SandboxUnavailable as error:
                self._confined = None
                if str(error) in str(obstacle):  # neither level can be had, for one reason
                    raise obstacle from None
                raise SandboxUnavailable(f"{obstacle}. Landlock cannot stand in: {error}") from None
            self.fallback = str(obstacle)
            say_weaker(self.fallback)
            return isolation

    def _really_run(self) -> Isolation:
        if self._binary is None and self._levels[0] == "namespaces" and self._confined is None:
            raise SandboxUnavailable(NO_BUBBLEWRAP)
        try:
            result = self.run(
                ["/bin/sh", "-c", "exit 0"], limits=Limits(), wall_s=START_S, read_only=self._expected()
            )
        except OSError as error:  # not even a process, or not as another user
            result = SandboxResult(error=str(error))
        if not result.ok or result.isolation is None:
            said = result.error or result.stderr.text or f"killed: {result.killed}"
            raise SandboxUnavailable(
                no_sandbox(said) if self._confined is None else f"no Landlock walls: {said}"
            )
        return result.isolation

    def _expected(self) -> dict[str, str]:
        """What programs will have bound, so far as it is there: the probe runs with it, as they do."""
        try:
            cache = cache_folder()
        except (OSError, RuntimeError):  # a user without a home has nothing of ours to bind
            return {}
        places = [self._workers.artefacts, *(cache / name for name in BOUND)]
        return {
            f"/run/expected/{number}": str(place)
            for number, place in enumerate(places)
            if place is not None and os.access(place, os.R_OK | os.X_OK)
        }

    @property
    def _memory(self) -> str:
        return self._groups.version if self._groups is not None else "watchdog"

    def _group(self, limits: Limits) -> AbstractContextManager[MemoryGroup | None]:
        """A control group for one program; files in memory count there, too."""
        if self._groups is None:
            return nullcontext()
        return self._groups.group((limits.memory_mb + 2 * limits.tmp_mb + ROOM_MB) << 20)

    @property
    def level(self) -> Level:
        """Which kind of walls programs get."""
        self._settle()
        return "namespaces" if self._confined is None else "landlock"

    @property
    def interrupted(self) -> bool:
        """Whether programs are being ended."""
        return self._interrupted.is_set()

    def interrupt(self) -> None:
        """End every program that runs now, soon; new ones end at once until :meth:`resume`."""
        self._interrupted.set()

    def resume(self) -> None:
        """Let programs run again."""
        self._interrupted.clear()

    # --- running ------------------------------------------------------------------------------------------

    def run(
        self,
        argv: Sequence[str],
        *,
        limits: Limits,
        files: Mapping[str, str | bytes] | None = None,
        read_only: Mapping[str, str] | None = None,
        writable: Mapping[str, Path] | None = None,
        environment: Mapping[str, str] | None = None,
        address_space_limit: bool = True,
        wall_s: float | None = None,
        sentinel: bool = False,
        stdin: bytes | int | None = None,
        dialogue: Dialogue | None = None,
        display: bool = False,
        directory: str = WORK,
        warm: Warm | None = None,
        tree: ProjectTree | None = None,
        index: IndexProxy | None = None,
    ) -> SandboxResult:
        """Run one program in fresh walls and wait for its end.

        Args:
            argv: The program, by its path inside, and its arguments.
            limits: Bounds; ``wall_s`` and ``cpu_s`` in seconds.
            files: Name in the work folder (or a path below ``/tmp``) -> content, written before the start.
            read_only: Path inside -> path on the host.
            writable: Path inside -> folder on the host the program may write to: for compilers only. Started
                by root, the folder is given to the unprivileged user.
            environment: Added to a small default environment; nothing of the host's is passed on.
            address_space_limit: Bound the address space; else data memory only (for runtimes that reserve
                much).
            wall_s: Wall time in seconds, ``limits.wall_s`` by default.
            sentinel: Open the private channel. The program finds ``CARETBENCH_SENTINEL=<in>:<out>``, two
                descriptor
                numbers: a harness reads a 32 byte word from the first before any foreign code runs, and
                writes the same 32 bytes to the second when the program has reached its end. Both are pipes.
            stdin: Standard input, or a descriptor of the host's to read it from; ``/dev/null`` by default.
            dialogue: Hears what the program writes to standard output, which is not in the result then.
            display: Start an X server inside first.
            directory: Working directory inside.
            warm: Build the walls inside a sandbox that stands already, where this machine can; nothing may be
                writable then.
            tree: Make the work folder a project's. With a snapshot, and without loopback, this is done in warm
                walls or not at all: elsewhere the result's error begins with :data:`NO_OVERLAY`.
            index: Let the program reach package indexes through this proxy, which serves one run. For setting
                environments up: what such a program says is no verdict.

        Raises:
            SandboxUnavailable: bubblewrap is not installed, or a display is wanted and ``Xvfb`` is not, or something
                that is bound cannot be reached by the user that the program gets.
        """
        self._settle()
        if self._confined is not None and (display or index is not None):
            wanted = "a display" if display else "a package index"
            raise SandboxUnavailable(
                f"the program needs {wanted}, which the {self.level} level does not give"
            )
        if self._binary is None and self._confined is None:
            raise SandboxUnavailable("bubblewrap is not installed")
        server = display_server() if display else None
        if display and server is None:
            raise SandboxUnavailable("the program needs a display: `apt-get install xvfb`")
        interpreter, interpreter_binds = launcher_interpreter()
        binds = {
            inside: str(Path(path).resolve())
            for inside, path in {**interpreter_binds, **(read_only or {})}.items()
        }
        if tree is not None and tree.snapshot is not None:
            binds[SNAPSHOT] = str(tree.snapshot.resolve())
        folders = {inside: str(path.resolve()) for inside, path in (writable or {}).items()}
        job = {
            "argv": list(argv),
            "directory": directory,
            "environment": {
                **DEFAULT_ENVIRONMENT, **({"DISPLAY": ":99"} if server else {}),
                **(index.environment if index is not None else {}), **(environment or {}),
            },
            "files": [(_inside(name), _bytes(content)) for name, content in (files or {}).items()],
            "rlimits": resource_limits(limits, address_space_limit=address_space_limit),
            "nonce": base64.urlsafe_b64encode(secrets.token_bytes(24)) if sentinel else b"",
            "descriptors": _random_descriptors(limits.nofile),
            "display": [server, ":99", "-screen", "0", "1280x1024x24", "-nolisten", "tcp"] if server else [],
            "stdin": stdin if isinstance(stdin, bytes) else None,
            "tree": _tree(tree) if tree is not None else None,
            "door": index.door.fileno() if index is not None else None,
            "port": PROXY_PORT,
        }  # fmt: skip
        file_bytes = tree.total_bytes if tree is not None and tree.results else 0
        if self._confined is not None:
            if tree is not None and tree.snapshot is not None:
                return SandboxResult(error=f"{NO_OVERLAY}: it needs namespaces")
            with self._group(limits) as group:
                return self._confined.run(
                    job, binds=binds, writable=folders, limits=limits, wall_s=wall_s or limits.wall_s,
                    interrupted=self._interrupted, file_bytes=file_bytes, dialogue=dialogue, group=group,
                    memory=self._memory, stdin=stdin if isinstance(stdin, int) else subprocess.DEVNULL,
                )  # fmt: skip
        assert self._binary is not None  # noqa: S101  looked at above
        if warm is not None and not folders:
            result = self._run_warm(warm, job, binds, limits, wall_s, file_bytes, index)
            if result is not None:
                return result
        if tree is not None and (tree.snapshot is not None or not tree.loopback):
            lacking = NO_OVERLAY if tree.snapshot is not None else "loopback cannot be switched off"
            return SandboxResult(error=f"{lacking}: {self._no_warm(folders)}")
        data = marshal.dumps(job, 2)
        with ExitStack() as stack:
            opened: list[int] = []

            def readable(content: bytes) -> int:
                descriptor = memory_file(content)
                opened.append(descriptor)
                stack.callback(os.close, descriptor)
                return descriptor

            user = stack.enter_context(_user(folders))
            ground = stack.enter_context(reached(self._binary, binds, folders, user))
            arguments = wall_arguments(
                read_only=ground.read_only,
                writable=ground.writable,
                descriptors={
                    path: readable(content) for path, content in inside_files("launcher.py").items()
                },
                capabilities=("CAP_SYS_ADMIN", "CAP_SETPCAP"),
            )
            arguments_fd = readable(b"".join(argument.encode() + b"\0" for argument in arguments))
            rules = readable(self._filter or b"")
            ours, theirs = socket.socketpair()
            stack.callback(ours.close)
            stack.callback(theirs.close)
            begin = time.monotonic()
            process = ground.start(
                [
                    "--args", str(arguments_fd), "--", interpreter, "-I", "-S", "-B", LAUNCHER, str(theirs.fileno()),
                    str(rules), memory_options(limits.tmp_mb), COVERS, *KEPT_OF_PROC,
                ],
                pass_fds=[*opened, theirs.fileno(), *([index.door.fileno()] if index is not None else [])],
                stdin=stdin if isinstance(stdin, int) else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )  # fmt: skip
            theirs.close()
            group = stack.enter_context(self._group(limits))
            supervisor = Supervisor(
                process, ours, limits, wall_s or limits.wall_s, self._interrupted,
                file_bytes=file_bytes, dialogue=dialogue, group=group,
            )  # fmt: skip
            supervisor.supervise(len(data).to_bytes(8, "big") + data)
            return supervisor.result(begin, self._walls(index))

    def _run_warm(
        self,
        warm: Warm,
        job: Mapping[str, object],
        binds: Mapping[str, str],
        limits: Limits,
        wall_s: float | None,
        file_bytes: int,
        index: IndexProxy | None = None,
    ) -> SandboxResult | None:
        """The same behind walls inside warm ones; None where there are none, and the program was not started."""
        if self._binary is None or self._filter is None:
            return None
        ready = self._workers.job(warm, job, binds, tmp_mb=limits.tmp_mb)
        with ExitStack() as stack:
            worker = stack.enter_context(self._workers.lease(ready.key, self._binary, self._filter))
            if worker is None:
                return None
            user = stack.enter_context(own_user())[0] if ready.key.many_users else None
            with opened_for(ready.given, user, self._binary) as mounts:
                program = worker.start(index.door if index is not None else None, user, mounts)
            if program is None:
                if not worker.ended:
                    self._workers.refuse(ready.key, worker)
                return None
            begin = time.monotonic()
            data = marshal.dumps(ready.job, 2)
            try:
                with self._group(limits) as group:
                    supervisor = Supervisor(
                        program, program.channel, limits, wall_s or limits.wall_s, self._interrupted,
                        helpers=0, file_bytes=file_bytes, group=group,
                    )  # fmt: skip
                    supervisor.supervise(len(data).to_bytes(8, "big") + data)
                result = supervisor.result(begin, self._walls(index))
            finally:
                program.close()
            # All behind its walls is killed with a worker, in any order: a program may look killed by itself.
            torn = (
                result.exit_code is None and result.signal in (None, signal.SIGKILL) and result.killed is None
            )
            if torn and result.error is None and worker.ends():
                return result.model_copy(update={"error": "the sandbox that it ran in ended"})
            return result

    def _no_warm(self, folders: Mapping[str, str]) -> str:
        """Return why a program did not run in a warm sandbox."""
        if folders:
            return "the command writes to a folder of the host, which no warm sandbox has"
        if self._filter is None:
            return NO_FILTER
        return self._workers.obstacle or NO_NESTING

    def keep_warm(self, artefacts: Path) -> None:
        """Let compiled programs below ``artefacts`` run in warm sandboxes, which can read all of that folder."""
        self._workers.artefacts = artefacts

    def when_closed(self, close: Callable[[], None]) -> None:
        """Have ``close`` called too whenever the warm sandboxes are ended."""
        self._closing.append(close)

    def close(self) -> None:
        """End the warm sandboxes; they come again when they are asked for."""
        self._workers.close()
        forget_maps()
        for close in self._closing:
            close()

    def _walls(self, index: IndexProxy | None = None) -> Isolation:
        return Isolation(
            backend="bubblewrap",
            level="namespaces",
            memory=self._memory,
            network="none" if index is None else "index",
            seccomp=self._filter is not None,
            user="caller" if users() is None else "unprivileged",
        )


@contextlib.contextmanager
def _user(writable: Mapping[str, str]) -> Iterator[int | None]:
    """Whom root starts a program as: a user of its own, or the owner of the folders of the host that it writes to."""
    if users() is None:
        yield None
    elif writable:
        for folder in writable.values():
            os.chown(folder, unprivileged_user(), unprivileged_user())
        yield unprivileged_user()
    else:
        with own_user() as (user, _):
            yield user


def _tree(tree: ProjectTree) -> dict[str, object]:
    """The form that the launcher understands, all paths absolute."""
    return {
        "overlay": tree.snapshot is not None,
        "deleted": [_inside(path) for path in tree.deleted],
        "folders": [_inside(path) for path in tree.folders],
        "links": [(_inside(path), target) for path, target in tree.links],
        "executable": [_inside(path) for path in tree.executable],
        "root": WORK,
        "results": list(tree.results),
        "file_bytes": tree.file_bytes,
        "total_bytes": tree.total_bytes,
        "loopback": tree.loopback,
        "reader": script("readout.py").decode() if tree.results else "",
    }


def _bytes(content: str | bytes) -> bytes:
    return content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")


def _random_descriptors(nofile: int) -> list[int]:
    low = min(40, nofile - 40)
    first, second = secrets.SystemRandom().sample(range(low, max(low + 8, nofile - 8)), 2)
    return [first, second]


def _confined() -> LandlockWalls:
    try:
        return LandlockWalls()
    except LandlockUnavailable as error:
        raise SandboxUnavailable(str(error)) from None
