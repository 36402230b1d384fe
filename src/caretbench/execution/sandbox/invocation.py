"""Invocation of one program in a sandbox: its kernel-enforced bounds, and their form for the launcher."""

from __future__ import annotations

import base64
import posixpath
import secrets
import socket
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal, NamedTuple, Protocol, Self

from caretbench.execution.execution_types import Limits, ProjectTree, WarmSettings
from caretbench.execution.sandbox.bubblewrap import DEFAULT_ENVIRONMENT, WORK, launcher_interpreter, script_text
from caretbench.execution.sandbox.kernel.seccomp import access_watch_settings

NO_OVERLAY = "no overlay"
"""Start of the error (possibly after a colon) of a run whose overlay cannot be mounted here."""
SNAPSHOT = "/run/snapshot"
# Without it a program in a cold sandbox made 1,280,222 files and took 1.5 GB of kernel memory; now it stops at 65,533.
MAX_FILES = 65_536
"""Maximum number of files, folders and links in a program's ``/tmp``, and again in its ``/dev/shm``.

The kernel keeps about a kilobyte for each, which the watchdog does not see.
"""
# Virtual machines reserve as much as data without using it.
_MIN_DATA_BYTES = 2 << 30
PROXY_PORT = 3128
"""Port of a proxy to package indexes, on the sandbox's own loopback interface."""
# Timers count as pending signals, and all programs of a user share what the machine allows.
_PENDING_SIGNALS = 2048

KillReason = Literal["wall", "cpu", "memory", "processes", "output", "disk"]


class OutputHandler(Protocol):
    """Handler of a server program's output. Called on the supervising thread; it never blocks."""

    def receive_output(self, data: bytes) -> KillReason | None:
        """Process the program's standard output; return a reason to end the program, if any."""

    def kill_reason(self) -> KillReason | None:
        """Return a reason to end the program, if any; called several times a second."""

    def is_busy(self) -> bool:
        """Return whether the program works on a request; the usage of an idle one is not measured."""


class IndexAccess(Protocol):
    """Access of one program to package indexes; a context manager. ``build/package_index`` has the one that exists."""

    @property
    def environment(self) -> Mapping[str, str]:
        """Environment variables that the program needs."""

    @property
    def files(self) -> Mapping[str, str]:
        """Files that the program's tools read, by path inside."""

    @property
    def listener_channel(self) -> socket.socket:
        """Socket on which the sandbox passes the connections of the program."""

    @property
    def refusals(self) -> Sequence[str]:
        """Reasons of refused connections."""

    def __enter__(self) -> Self:
        """Open the access."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close every connection."""


@dataclass(frozen=True, slots=True)
class Invocation:
    """Program to run in a sandbox: command (with its path inside), limits, files and binds."""

    argv: Sequence[str]
    _: KW_ONLY
    limits: Limits
    files: Mapping[str, str | bytes] | None = None
    """Name in the work folder (or a path below ``/tmp``) -> content, written before the start."""
    read_only: Mapping[str, str] | None = None  # path inside -> path on the host
    writable: Mapping[str, Path] | None = None
    """Path inside -> writable folder on the host: for compilers only. If root starts the program, the folder's owner is
    changed to the unprivileged user."""
    environment: Mapping[str, str] | None = None
    """Environment variables added to a small default; none of the host's are passed."""
    address_space_limit: bool = True
    """Limit the address space; otherwise only data memory, for runtimes that reserve much address space."""
    stack_mb: int | None = None
    """Limit of the stack; None: the machine's."""
    wall_s: float | None = None  # wall time in seconds, ``limits.wall_s`` by default
    sentinel: bool = False
    """Open the private channel: ``CARETBENCH_SENTINEL=<in>:<out>`` contains the descriptor numbers of two pipes. A
    harness reads a 32-byte secret from the first before any other code runs, and writes it to the second when the
    program reaches its end."""
    stdin: bytes | int | None = None
    """Standard input, or a descriptor of the host's to read it from; ``/dev/null`` by default."""
    output_handler: OutputHandler | None = None
    """Handler of the program's standard output, which is then not part of the result."""
    display: bool = False  # start an X server inside first
    directory: str = WORK
    warm: WarmSettings | None = None
    """Run in a warm sandbox if this machine supports it; not with ``writable`` folders."""
    tree: ProjectTree | None = None
    """Make the work folder a project's. With a snapshot, and without loopback, this is done in a warm sandbox or not
    at all: elsewhere the result's error begins with :data:`NO_OVERLAY`."""
    index: IndexAccess | None = None
    """Let the program reach package indexes through this access, which serves one run. For setting environments up:
    the outcome of such a program is no verdict."""
    watched: bool = False
    """Note what the program opens and connects to, for :attr:`SandboxResult.accesses`."""

    @property
    def max_file_bytes(self) -> int:
        """Maximum total bytes of the files that are read out."""
        return self.tree.max_total_bytes if self.tree is not None and self.tree.results else 0

    @property
    def uses_overlay(self) -> bool:
        """Return whether the work folder is an overlay on a snapshot."""
        return self.tree is not None and self.tree.snapshot is not None

    @property
    def stdin_descriptor(self) -> int:
        """Descriptor of the sandbox's standard input."""
        return self.stdin if isinstance(self.stdin, int) else subprocess.DEVNULL


class ResolvedInvocation(NamedTuple):
    """Invocation with resolved host paths."""

    invocation: Invocation
    job: dict[str, object]  # what the launcher reads
    read_only_binds: Mapping[str, str]  # path inside -> path on the host, to be read
    writable: Mapping[str, str]  # path inside -> folder on the host, to be written


def resolve_invocation(invocation: Invocation, display: str | None) -> ResolvedInvocation:
    """Return an invocation with its job and host paths; ``display`` is the X server to start, if any.

    Raises:
        ValueError: a file lies outside the work folder.
    """
    tree = invocation.tree
    read_only_binds = {
        inside: str(Path(path).resolve())
        for inside, path in {**launcher_interpreter()[1], **(invocation.read_only or {})}.items()
    }
    if tree is not None and tree.snapshot is not None:
        read_only_binds[SNAPSHOT] = str(tree.snapshot.resolve())
    writable = {inside: str(path.resolve()) for inside, path in (invocation.writable or {}).items()}
    job = _job(invocation, display)
    if invocation.watched and (settings := access_watch_settings()) is not None:
        job["watch"] = {
            **settings,
            "code": script_text("access_watch.py").decode(),
            "bound": list(read_only_binds),
            "own": [_inside(name) for name in invocation.files or {}],
            "started": posixpath.basename(invocation.argv[0]),
        }
    return ResolvedInvocation(invocation, job, read_only_binds, writable)


def _job(invocation: Invocation, display: str | None) -> dict[str, object]:
    limits, index = invocation.limits, invocation.index
    return {
        "argv": list(invocation.argv),
        "directory": invocation.directory,
        "environment": {
            **DEFAULT_ENVIRONMENT,
            **({"DISPLAY": ":99"} if display else {}),
            **(index.environment if index is not None else {}),
            **(invocation.environment or {}),
        },
        "files": [(_inside(name), _bytes(content)) for name, content in (invocation.files or {}).items()],
        "rlimits": resource_limits(
            limits, address_space_limit=invocation.address_space_limit, stack_mb=invocation.stack_mb
        ),
        "nonce": base64.urlsafe_b64encode(secrets.token_bytes(24)) if invocation.sentinel else b"",
        "descriptors": _random_descriptors(limits.nofile),
        "display": [display, ":99", "-screen", "0", "1280x1024x24", "-nolisten", "tcp"] if display else [],
        "stdin": invocation.stdin if isinstance(invocation.stdin, bytes) else None,
        "tree": _tree(invocation.tree) if invocation.tree is not None else None,
        "door": index.listener_channel.fileno() if index is not None else None,
        "port": PROXY_PORT,
    }


def _tree(tree: ProjectTree) -> dict[str, object]:
    """Return the form that the launcher understands, all paths absolute."""
    return {
        "overlay": tree.snapshot is not None,
        "deleted": [_inside(path) for path in tree.deleted],
        "folders": [_inside(path) for path in tree.folders],
        "links": [(_inside(path), target) for path, target in tree.links],
        "executable": [_inside(path) for path in tree.executable],
        "root": WORK,
        "results": list(tree.results),
        "file_bytes": tree.max_file_bytes,
        "total_bytes": tree.max_total_bytes,
        "loopback": tree.loopback,
        "reader": script_text("result_reader.py").decode() if tree.results else "",
    }


def _inside(name: str) -> str:
    path = posixpath.normpath(posixpath.join(WORK, name))
    if not path.startswith("/tmp/"):  # noqa: S108 - inside the sandbox
        raise ValueError(f"{name!r} lies outside the sandbox's work folder")
    return path


def _bytes(content: str | bytes) -> bytes:
    return content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")


def _random_descriptors(nofile: int) -> list[int]:
    low = min(40, nofile - 40)
    return secrets.SystemRandom().sample(range(low, max(low + 8, nofile - 8)), 2)


def tmpfs_options(size_mb: int) -> str:
    """Return the mount options of a file system in memory that a program may write to."""
    return f"size={size_mb << 20},nr_inodes={MAX_FILES}"


def resource_limits(
    limits: Limits, *, address_space_limit: bool, stack_mb: int | None = None
) -> list[tuple[str, int, int]]:
    """Return names of the ``resource`` module with soft and hard limits (bytes, seconds, numbers).

    Memory is bounded by the watchdog at ``memory_mb``; twice as much is the backstop for what grows faster than it
    looks: of the address space, or else of data memory, for runtimes that reserve much address space.
    """
    room = 2 * limits.memory_mb << 20
    seconds = max(1, round(limits.cpu_s))
    bounds = [
        # A program may catch SIGXCPU; a second later the kernel kills it.
        ("RLIMIT_CPU", seconds, seconds + 1),
        ("RLIMIT_FSIZE", limits.fsize_mb << 20, limits.fsize_mb << 20),
        ("RLIMIT_NOFILE", limits.nofile, limits.nofile),
        ("RLIMIT_NPROC", limits.pids, limits.pids),
        ("RLIMIT_SIGPENDING", _PENDING_SIGNALS, _PENDING_SIGNALS),
        ("RLIMIT_CORE", 0, 0),
    ]
    if stack_mb is not None:
        bounds.append(("RLIMIT_STACK", stack_mb << 20, stack_mb << 20))
    # A list in Python ends at 496 MB under either bound of 512. The JVM, Node.js and .NET reserve far more than they
    # use, so only what they write to counts.
    if address_space_limit:
        bounds.append(("RLIMIT_AS", room, room))
    else:
        room = max(room, _MIN_DATA_BYTES)
        bounds.append(("RLIMIT_DATA", room, room))
    return bounds
