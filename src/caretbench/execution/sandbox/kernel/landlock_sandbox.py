"""Landlock isolation, for machines that forbid user namespaces: rules for reading, writing and sockets.

A program may read and execute the toolchains of ``/usr`` and the bound paths, write only in a private folder, and
create no socket. ``landlock_monitor.py`` confines it and kills its remaining processes. The differences from namespaces
are in ``docs/reference/isolation.md``.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import IO

from caretbench.execution.execution_types import Isolation, Limits
from caretbench.execution.sandbox.bubblewrap import (
    FACTS,
    HOME,
    SETTINGS,
    WORK,
    launcher_interpreter,
    public_etc_files,
    reachable_by_others,
    system_folders,
)
from caretbench.execution.sandbox.folder_removal import remove_folder
from caretbench.execution.sandbox.host.program_users import leased_user, program_users, unprivileged_user
from caretbench.execution.sandbox.invocation import MAX_FILES, ResolvedInvocation, tmpfs_options
from caretbench.execution.sandbox.isolation_levels import SandboxUnavailable
from caretbench.execution.sandbox.kernel.cgroups import MemoryGroup
from caretbench.execution.sandbox.kernel.seccomp import landlock_seccomp_filter
from caretbench.execution.sandbox.supervisor import SandboxResult, Supervisor
from caretbench.file_locks import lock_file

_INSIDE = ".inside"
_TEMPORARY = "/tmp"  # noqa: S108  the sandbox's
_PATH = re.compile(r"(^-[A-Za-z]|^|[\s:;,=\"'@])(/[^\s:;,=\"']*)")


class PathMapping:
    """Path mapping of one program, without mounts: a private folder with links to the bound paths.

    With namespaces a program has its files in ``/tmp/work`` and the bound paths at fixed paths. Without namespaces
    these paths are the host's. So they are replaced in arguments, environment and files.

    Args:
        root: The private folder on the host, which is the sandbox's ``/tmp``.
        bound: Path inside -> path on the host, of all that is bound.

    Raises:
        ValueError: something is bound inside something else that is bound elsewhere; links cannot do that.
    """

    def __init__(self, root: str, bound: Mapping[str, str]) -> None:
        self.root = root
        self.folders = [self._under(WORK), self._under(HOME)]
        moved = {inside: outside for inside, outside in sorted(bound.items()) if inside != outside}
        for inside in moved:
            parent = next((other for other in moved if inside.startswith(f"{other}/")), None)
            if parent is not None:
                raise ValueError(f"{inside} lies inside {parent}, which needs namespaces")
        self.links = [(self._under(inside), outside) for inside, outside in moved.items()]
        self._kept = {inside for inside, outside in bound.items() if inside == outside}
        tops = {f"/{inside.split('/')[1]}" for inside in moved}
        absent = {top for top in tops if not os.path.lexists(top)}
        self._moved = {_TEMPORARY, *moved, *absent}

    def _under(self, inside: str) -> str:
        if inside == _TEMPORARY or inside.startswith(f"{_TEMPORARY}/"):
            return self.root + inside.removeprefix(_TEMPORARY)
        return f"{self.root}/{_INSIDE}{inside}"

    def map_path(self, inside: str) -> str:
        """Return the host's path for a path inside."""
        paths = (inside[:end] for end in range(len(inside), 0, -1) if inside[end : end + 1] in ("", "/"))
        nearest = next((path for path in paths if path in self._kept or path in self._moved), None)
        return self._under(inside) if nearest in self._moved else inside

    def map_text(self, text: str) -> str:
        """Return an argument or a variable with every path replaced: alone, in a list, or after an option."""
        return _PATH.sub(lambda match: match[1] + self.map_path(match[2]), text)


MIN_ABI = 3
"""Landlock's first version that keeps files from being truncated (Linux 6.2)."""
NETWORK_ABI, SCOPES_ABI = 4, 6

_CREATE_RULESET = 444
_EXECUTE, _WRITE, _READ_FILE, _READ_FOLDER = 0x1, 0x2, 0x4, 0x8
_DEVICES = 0x40 | 0x800  # to make them
_RIGHTS_OF_ABI = {3: 0x7FFF, 5: 0xFFFF}
_NETWORK, _SCOPES = 0x3, 0x3
_READ_SEARCH = 1 << 2
_PUBLIC_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_PUBLIC_FACTS = (*FACTS, *(f"sys/{name}" for name in SETTINGS))
_PREFIX = "caretbench-box-"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_THREADS_KNOWN_S = 5.0

_KILL_OTHER_PROCESSES = '''

def kill_other_processes():
    """There is no namespace: the launcher's children are ended, and what they leave, which comes to it."""
    while True:
        for thread in os.listdir("/proc/self/task"):
            with open("/proc/self/task/" + thread + "/children") as stream:
                for word in stream.read().split():
                    try:
                        os.kill(int(word), signal.SIGKILL)
                    except OSError:
                        continue
        try:
            os.wait()
        except ChildProcessError:
            return
'''
"""Put after the text of ``result_reader.py``: its own way would reach every process of the user."""


def landlock_abi() -> int:
    """Return the version of Landlock that the kernel offers; 0 where there is none."""
    return max(0, int(ctypes.CDLL(None).syscall(_CREATE_RULESET, None, 0, 1)))


class LandlockProcess:
    """Monitor process as its supervisor uses it; it kills all processes when the control pipe closes."""

    def __init__(self, process: subprocess.Popen[bytes], control: int) -> None:
        self.pid = process.pid
        self.stdout: IO[bytes] | None = process.stdout
        self.stderr: IO[bytes] | None = process.stderr
        self._process = process
        self._control: int | None = control
        self._lock = threading.Lock()

    def kill(self) -> None:
        """Kill everything inside the sandbox."""
        with self._lock:
            if self._control is not None:
                os.close(self._control)
                self._control = None

    def wait(self) -> int:
        """Wait until the process has ended."""
        return self._process.wait()


class LandlockSandbox:
    """Runner of programs under Landlock, a system call filter and resource limits.

    Args:
        abi: Use no later version of Landlock than this one.

    Raises:
        SandboxUnavailable: this kernel has no Landlock or an old one, or the machine's system calls are not known.
    """

    def __init__(self, abi: int | None = None) -> None:
        offered = landlock_abi()
        self.abi = min(offered, abi or offered)
        if self.abi < MIN_ABI:
            has = f"offers version {self.abi} of Landlock" if self.abi else "offers no Landlock"
            raise SandboxUnavailable(
                f"this kernel {has}; version {MIN_ABI} is needed (Linux 6.2, with `landlock` among the security "
                "modules of /sys/kernel/security/lsm)"
            )
        if landlock_seccomp_filter(owns_other_files=True, signals_scoped=False) is None:
            raise SandboxUnavailable("the system call numbers of this processor are not known")
        self._root = program_users() is not None
        self._threads = (0.0, 0)
        remove_leftover_folders()

    def run(
        self,
        resolved: ResolvedInvocation,
        *,
        interrupted: threading.Event,
        group: MemoryGroup | None = None,
        memory: str = "watchdog",
    ) -> SandboxResult:
        """Run one program and wait for its end; ``interrupted`` ends it when it is set.

        ``group`` is the control group that bounds its memory; ``memory`` names the mechanism for the result.
        """
        invocation, read_only_binds, writable = resolved.invocation, resolved.read_only_binds, resolved.writable
        with ExitStack() as stack:
            user, name = stack.enter_context(leased_user()) if self._root else (None, None)
            root, folder_held = stack.enter_context(_private_folder())
            # The keeper holds them until its own end.
            held = [folder_held, *([name] if name is not None else [])]
            try:
                path_mapping = PathMapping(root, {**read_only_binds, **writable})
            except ValueError as error:
                return SandboxResult(error=str(error))
            closed = _closed(read_only_binds, writable)
            reads_all = self._root and bool(closed)
            if reads_all and not _may_read_all():
                return SandboxResult(
                    error=f"{closed[0]} cannot be read by an unprivileged user: set CARETBENCH_CACHE to a folder "
                    "that everybody may read"
                )
            given = tuple(writable.values()) if user is not None else ()
            for folder in given:
                os.chown(folder, user or -1, user or -1)
            translated = _placed(resolved.job, path_mapping)
            if not self._root:
                translated["rlimits"] = self._rlimits(translated["rlimits"], invocation.limits)
            translated["walls"] = self._confinement(resolved, path_mapping, user, reads_all, held)
            begin, process, ours = _started(stack, held, invocation.stdin_descriptor)
            full_bytes = invocation.limits.tmp_mb << 20
            supervisor = Supervisor(
                process, ours, invocation, interrupted, group=group,
                extra_check=lambda: "disk" if _is_full(root, full_bytes) else None,
            )  # fmt: skip
            supervisor.supervise(translated)
            for folder in given:
                _give_away(folder, user or -1)
            return supervisor.result(begin, self._isolation(reads_all, memory))

    def _isolation(self, reads_all: bool, memory: str) -> Isolation:
        user = "unprivileged-reader" if reads_all else "unprivileged"
        return Isolation(
            backend="landlock", level="landlock", memory=memory, network="none, no loopback", seccomp=True,
            user=user if self._root else "caller",
        )  # fmt: skip

    def _confinement(
        self, resolved: ResolvedInvocation, paths: PathMapping, user: int | None, reads_all: bool, held: list[int]
    ) -> dict[str, object]:
        read_only_binds, writable = resolved.read_only_binds, resolved.writable
        memory = tmpfs_options(resolved.invocation.limits.tmp_mb)
        rights = _RIGHTS_OF_ABI[max(abi for abi in _RIGHTS_OF_ABI if abi <= self.abi)]
        reading, running = _READ_FILE | _READ_FOLDER, _READ_FILE | _READ_FOLDER | _EXECUTE
        writing = rights & ~_DEVICES
        rules = [
            *((path, running) for path in (*system_folders(), *sorted(set(read_only_binds.values())))),
            *((path, reading) for path in public_etc_files()),
            *((path, _READ_FILE | _WRITE) for path in _PUBLIC_DEVICES),
            *((f"/proc/{name}", reading) for name in _PUBLIC_FACTS),
            *((path, writing) for path in (paths.root, *writable.values())),
        ]
        signals_scoped = self.abi >= SCOPES_ABI
        # The caller's own files need more care, but a compiler must set the mode of what it makes.
        owns_other_files = user is None and not writable
        return {
            "root": paths.root, "folders": paths.folders, "links": paths.links,
            "user": user, "reads_all": reads_all, "mount": user is not None, "memory": memory,
            "handled": (rights, _NETWORK if self.abi >= NETWORK_ABI else 0, _SCOPES if signals_scoped else 0),
            "attribute_bytes": 24 if signals_scoped else 16 if self.abi >= NETWORK_ABI else 8,
            "reading": reading, "writing": writing, "rules": rules, "held": held,
            "filter": landlock_seccomp_filter(
                owns_other_files=owns_other_files, signals_scoped=signals_scoped or user is not None
            ),
        }  # fmt: skip

    def _rlimits(self, bounds: object, limits: Limits) -> list[tuple[str, int, int]]:
        """Return the resource limits. Processes count per user: the caller's and other programs' are added."""
        now = time.monotonic()
        if now - self._threads[0] > _THREADS_KNOWN_S:
            self._threads = (now, _threads_of(os.getuid()))
        # Other programs of this user start processes between two counts: eight times the program's own number leaves
        # room.
        most = self._threads[1] + 8 * limits.pids
        assert isinstance(bounds, list)  # noqa: S101  ours
        return [(name, most, most) if name == "RLIMIT_NPROC" else (name, soft, hard) for name, soft, hard in bounds]


def _closed(read_only_binds: Mapping[str, str], writable: Mapping[str, str]) -> list[str]:
    """Return the bound paths that an unprivileged user cannot reach."""
    closed = [path for path in read_only_binds.values() if not reachable_by_others(path)]
    return closed + [path for path in writable.values() if not reachable_by_others(Path(path).parent)]


def _started(stack: ExitStack, held: list[int], stdin: int) -> tuple[float, LandlockProcess, socket.socket]:
    """Start the monitor; return the start time, its process and the channel to it, which ``stack`` closes."""
    ours, theirs = socket.socketpair()
    stack.callback(ours.close)
    stack.callback(theirs.close)
    control, let_go = os.pipe2(os.O_CLOEXEC)
    stack.callback(os.close, control)
    here = Path(__file__)
    monitor = here.with_name("landlock_monitor.py")
    command = [
        launcher_interpreter()[0], "-I", "-S", "-B", str(monitor),
        str(theirs.fileno()), str(control), str(here.parents[1] / "launcher.py"),
    ]  # fmt: skip
    begin = time.monotonic()
    try:
        # A session of its own: stopping what it ends, it would be hung up by the kernel's job control.
        process = LandlockProcess(
            subprocess.Popen(
                command, env={"PATH": "/usr/bin:/bin"}, cwd="/", stdin=stdin,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
                pass_fds=[theirs.fileno(), control, *held],
            ),
            let_go,
        )  # fmt: skip
    except OSError:
        os.close(let_go)
        raise
    theirs.close()
    return begin, process, ours


def _placed(job: Mapping[str, object], path_mapping: PathMapping) -> dict[str, object]:
    """Return the job with every path translated to its place here."""
    translated = dict(job)
    files, environment, argv, tree = (job[name] for name in ("files", "environment", "argv", "tree"))
    assert isinstance(files, list)  # noqa: S101  ours, as all below
    assert isinstance(environment, dict)  # noqa: S101
    assert isinstance(argv, list)  # noqa: S101
    translated["files"] = [(path_mapping.map_path(path), data) for path, data in files]
    translated["environment"] = {name: path_mapping.map_text(value) for name, value in environment.items()}
    translated["argv"] = [path_mapping.map_text(word) for word in argv]
    translated["directory"] = path_mapping.map_path(str(job["directory"]))
    if tree is not None:
        assert isinstance(tree, dict)  # noqa: S101
        lists = ("deleted", "folders", "executable")
        translated["tree"] = {
            **tree,
            **{name: [path_mapping.map_path(path) for path in tree[name]] for name in lists},
            "links": [(path_mapping.map_path(path), target) for path, target in tree["links"]],
            "root": path_mapping.map_path(tree["root"]),
            "reader": tree["reader"] + _KILL_OTHER_PROCESSES if tree["reader"] else "",
        }
    return translated


# --- what a program has for itself --------------------------------------------------------------------------------


@contextlib.contextmanager
def _private_folder() -> Iterator[tuple[str, int]]:
    """Provide a fresh folder, with a descriptor whose lock marks it as in use."""
    root = tempfile.mkdtemp(prefix=_PREFIX)
    held = os.open(root, _FOLDER)
    try:
        lock_file(held, shared=True)
        yield root, held
    finally:
        remove_folder(root, held)
        os.close(held)


def remove_leftover_folders() -> None:
    """Remove private folders whose programs and supervisors were all killed.

    Other users may create folders of such names: only those of this user, or of root's program users, are removed.
    """
    owners = (os.geteuid(), *(program_users() or ()))
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            held = os.open(folder, _FOLDER)
            try:
                if os.fstat(held).st_uid in owners:
                    lock_file(held, wait=False)
                    remove_folder(str(folder), held)
            finally:
                os.close(held)


def _is_full(root: str, max_bytes: int) -> bool:
    """Return whether a folder takes more than ``max_bytes`` of disk blocks, or holds too many entries."""
    waiting, entries, size = [root], 0, 0
    while waiting:
        try:
            with os.scandir(waiting.pop()) as folder:
                for entry in folder:
                    entries += 1
                    size += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entries > MAX_FILES or size > max_bytes:
                        return True
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        except OSError:
            continue
    return False


def _give_away(folder: str, user: int) -> None:
    """Give a compiler's output to a user that no program has; files of others (hard links) stay as they are."""
    to = unprivileged_user()
    for _, folders, files, opened in os.fwalk(folder):
        for name in (".", *folders, *files):
            if os.stat(name, dir_fd=opened, follow_symlinks=False).st_uid == user:
                os.chown(name, to, to, dir_fd=opened, follow_symlinks=False)


def _may_read_all() -> bool:
    words = dict(line.split(":\t", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":\t" in line)
    return bool(int(words["CapPrm"], 16) & _READ_SEARCH)


def _threads_of(user: int) -> int:
    count = 0
    for name in os.listdir("/proc"):  # noqa: PTH208
        if name.isdigit():
            with contextlib.suppress(OSError):
                if Path("/proc", name).stat().st_uid == user:
                    count += len(os.listdir(f"/proc/{name}/task"))  # noqa: PTH208
    return count
