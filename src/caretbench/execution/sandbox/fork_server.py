"""First process of a warm sandbox, a fork server. Never imported: an interpreter inside the sandbox runs its text.

Building a sandbox costs far more than most programs. So one sandbox serves many: this process creates namespaces,
memory-backed folders, a process table and a system call filter for each program, in some three milliseconds of CPU.
For each program it receives a message with three descriptors: the launcher's channel and the two output streams.

For Python it can also import modules beforehand, which forked programs then share. They are trusted: what runs here
could reach all programs of the sandbox. So of a project's packages only those are imported that the host names.
"""

from __future__ import annotations

import array
import contextlib
import ctypes
import fcntl
import gc
import importlib
import importlib.machinery
import os
import signal
import socket
import struct
import sys
import types
import warnings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NEW_USER, NEW_MOUNTS, NEW_PROCESSES, NEW_IPC, NEW_NETWORK = (0x10000000, 0x20000, 0x20000000, 0x8000000, 0x40000000)
NO_SUID, NO_DEVICES, BIND, RECURSIVE, PRIVATE = 2, 4, 0x1000, 0x4000, 0x40000
READ_ONLY = 1
PR_SET_DUMPABLE = 4
MOVE_MOUNT, HERE, THE_DESCRIPTOR_ITSELF = 429, -100, 4
INTERFACE_FLAGS, UP_AND_RUNNING = 0x8914, 0x41
INSIDE_USER = 1000
ORDER = struct.Struct("=iii")
"""Message: the program's user (0: this process's own), number of proxy sockets (0 or 1), number of mounts."""
MAX_DESCRIPTORS = 64
BOUNDS = (
    ("user/max_inotify_instances", "4"),  # a user has 128, which all programs share that run at a time
    ("user/max_inotify_watches", "1024"),
    ("net/ipv4/tcp_rmem", "4096 131072 262144"),  # what waits in sockets is memory that no mapping shows
    ("net/ipv4/tcp_wmem", "4096 16384 262144"),
)
ARTEFACTS, ARTEFACT = b"/run/artefacts", b"/artefact"
SNAPSHOT, PROJECT = b"/run/snapshot", b"/tmp/work"

launcher = types.ModuleType("launcher")
"""The text of ``launcher.py``, whose functions are used here too; :func:`main` fills it."""
libc = ctypes.CDLL(None, use_errno=True)


def mount(source: bytes, target: bytes, kind: bytes | None, flags: int, options: bytes | None = None) -> None:
    """Mount a file system in this process's mount namespace."""
    launcher.mount(source, target, kind, flags, options)


def write_text(path: str, text: str) -> None:
    """Write a control file of the kernel."""
    with open(path, "w") as stream:
        stream.write(text)


def switch_user(user: int) -> None:
    """Switch to a user that root leased to this program."""
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    launcher.check(libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0), "prctl")  # to write the maps of its own namespace


def enter_namespaces() -> None:
    """Move this process into new namespaces."""
    user, group = os.getuid(), os.getgid()
    namespaces = NEW_USER | NEW_MOUNTS | NEW_PROCESSES | NEW_IPC | NEW_NETWORK
    launcher.check(libc.unshare(namespaces), "unshare")
    map_user(user, group)
    switch_loopback(UP_AND_RUNNING)


def map_user(user: int, group: int) -> None:
    """Map an ordinary user in new user and mount namespaces, and make the mounts private."""
    write_text("/proc/self/setgroups", "deny")
    write_text("/proc/self/uid_map", "%d %d 1" % (INSIDE_USER, user))
    write_text("/proc/self/gid_map", "%d %d 1" % (INSIDE_USER, group))
    mount(b"none", b"/", None, RECURSIVE | PRIVATE)


def limit_namespace_resources() -> None:
    """Set per-namespace limits on inotify and socket buffers, skipping those this kernel lacks."""
    for name, most in BOUNDS:
        try:
            write_text("/proc/sys/" + name, most)
        except OSError:
            continue


def switch_loopback(flags: int) -> None:
    """Switch the one network interface on or off."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        fcntl.ioctl(handle, INTERFACE_FLAGS, struct.pack("16sH14s", b"lo", flags, b""))


def mount_overlay(tmpfs_options: str) -> None:
    """Mount an overlay of the snapshot as the work folder; changes are kept in memory.

    Needs a memory-backed file system with user attributes (Linux 6.6): without them a folder that is deleted and made
    again would show what was deleted. The snapshot itself, which may hold what a program is to find out, is hidden.
    """
    # Mounted here: bubblewrap 0.8 has no option for overlays, and drops the capabilities that mounting one needs.
    if os.stat(SNAPSHOT).st_uid != os.getuid():
        raise OSError("no overlay: the snapshot belongs to another user")
    step = "memory"
    try:
        launcher.mount_memory(PROJECT.decode(), tmpfs_options)
        os.mkdir(PROJECT + b"/upper", 0o755)
        os.mkdir(PROJECT + b"/work", 0o700)
        step = "attributes"
        os.setxattr(PROJECT + b"/work", b"user.overlay.opaque", b"y")
        os.removexattr(PROJECT + b"/work", b"user.overlay.opaque")
        step = "layers"
        layers = b"lowerdir=%s,upperdir=%s/upper,workdir=%s/work,userxattr" % (SNAPSHOT, PROJECT, PROJECT)
        mount(b"overlay", PROJECT, b"overlay", NO_SUID | NO_DEVICES, layers)
    except OSError as error:
        raise OSError("no overlay: %s: %s" % (step, error)) from None
    mount(b"tmpfs", SNAPSHOT, b"tmpfs", NO_SUID | NO_DEVICES | READ_ONLY, b"size=4k,mode=0555")


def attach_mounts(mounts_with_targets: list[tuple[int, str]], *, below_tmp: bool) -> None:
    """Attach mounts at their targets; root opened them for the user that the program runs as."""
    for descriptor, target in mounts_with_targets:
        if target.startswith("/tmp/") is below_tmp:
            if below_tmp:
                os.makedirs(target, exist_ok=True)
            done = libc.syscall(MOVE_MOUNT, descriptor, b"", HERE, target.encode(), THE_DESCRIPTOR_ITSELF)
            launcher.check(done, "mount %s" % target)
            os.close(descriptor)


def mount_job_files(job: dict[str, Any], mounts: list[int]) -> None:
    """Mount an empty /tmp and /dev/shm, the compiled program, and the project of a job."""
    mounts_with_targets = list(zip(mounts, job.get("given", []), strict=True))
    attach_mounts(mounts_with_targets, below_tmp=False)
    if job["artefact"]:
        mount(ARTEFACTS + b"/" + job["artefact"].encode(), ARTEFACT, None, BIND | RECURSIVE)
    mount(b"tmpfs", ARTEFACTS, b"tmpfs", NO_SUID | NO_DEVICES | READ_ONLY, b"size=4k,mode=0555")
    launcher.mount_memory(launcher.SHARED, job["memory"])
    launcher.mount_terminals()
    launcher.mount_files(job["memory"])
    tree = job.get("tree") or {}
    if tree.get("overlay"):
        mount_overlay(job["memory"])
    if not tree.get("loopback", True):
        switch_loopback(0)
    for source, target in job["aside"]:
        os.makedirs(target, exist_ok=True)
        mount(source.encode(), target.encode(), None, BIND | RECURSIVE)
    attach_mounts(mounts_with_targets, below_tmp=True)


def drop_privileges(program: bytes) -> None:
    """Drop all capabilities and install the system call filter, in the program's process."""
    launcher.drop_capabilities()
    launcher.check(libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0), "prctl")
    launcher.install_filter(program)


def serve_program(
    channel: int,
    listener_channel: int | None,
    mounts: list[int],
    user: int,
    proc_covers: tuple[str, list[str]],
    filter_program: bytes,
) -> dict[str, Any]:
    """Enter new namespaces and run one job there; return the job if it is to run in this process."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        if user:
            switch_user(user)
        enter_namespaces()
        if os.fork():
            os._exit(0)
        os.setsid()
        # The program runs as the same user: it must not write to this process through /proc/1/mem.
        launcher.check(libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0), "prctl")
        mount(b"proc", b"/proc", b"proc", NO_SUID | NO_DEVICES)
        # Before /proc is covered: it writes below /proc/sys.
        limit_namespace_resources()
        launcher.cover_proc_files(*proc_covers)
        # By the credentials of this message the supervisor finds the process.
        os.write(channel, b'{"here": true}\n')
        job: dict[str, Any] = launcher.read_job(channel)
        job["door"] = listener_channel
        mount_job_files(job, mounts)
    except OSError as error:
        os.write(channel, ('{"error": "the walls were not built: %s"}\n' % str(error).replace('"', "'")).encode())
        os._exit(0)

    def before() -> None:
        drop_privileges(filter_program)
        os.close(channel)

    launcher.run_job(channel, job, before)
    return job


def wait_for_ended(*_: object) -> None:
    """Wait for all children that have ended: the kernel adds the CPU of those alone to this process's children."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def serve_programs(control: socket.socket, proc_covers: tuple[str, list[str]], filter_program: bytes) -> dict[str, Any]:
    """Fork for every message until the supervisor ends; in the child, return a job to run in this process."""
    signal.signal(signal.SIGCHLD, wait_for_ended)
    room = socket.CMSG_SPACE(MAX_DESCRIPTORS * 4)
    while True:
        words, ancillary, _, _ = control.recvmsg(ORDER.size, room)
        if len(words) != ORDER.size:
            os._exit(0)
        user, doors, count = ORDER.unpack(words)
        handed = array.array("i")
        for _, _, data in ancillary:
            handed.frombytes(data)
        channel, output, errors, *others = handed
        try:
            child = os.fork()
        except OSError:
            # No room for a process now: its supervisor sees the channel's end, and tries again.
            child = -1
        if child == 0:
            control.close()
            for number, stream in enumerate((output, errors), start=1):
                os.dup2(stream, number)
                os.close(stream)
            listener_channel = others[0] if doors else None
            mounts = others[doors : doors + count]
            return serve_program(channel, listener_channel, mounts, user, proc_covers, filter_program)
        for descriptor in handed:
            os.close(descriptor)


class NamedModules:
    """Finder of modules by name in one folder, in which no other module is found."""

    def __init__(self, folder: str, names: set[str]) -> None:
        self.folder = folder
        self.names = names

    def find_spec(self, name: str, path: object = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        """Return where a module is; None for modules of packages, which are found in the package."""
        if path is not None or name not in self.names:
            return None
        return importlib.machinery.PathFinder.find_spec(name, [self.folder], target)


def import_modules(modules: list[str]) -> None:
    """Import modules; one that is not here is not here for programs either."""
    for module in modules:
        try:
            importlib.import_module(module)
        except Exception:  # noqa: S112  programs see the error
            continue


def import_from(folder: str, modules: list[str]) -> None:
    """Import modules, those outside of the standard library from ``folder`` alone.

    One whose import warns is imported by the programs that need it: they may make errors of warnings.
    """
    names = {module.partition(".")[0] for module in modules} - sys.stdlib_module_names
    sys.meta_path.insert(0, NamedModules(folder, names))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        import_modules(modules)
    del sys.meta_path[0]


def main() -> None:
    """Serve.

    Arguments: descriptors of the control socket and the filter, the launcher, the source of packages and the folder of
    modules (``WarmSettings``), the folder of the
    covers, what is kept of /proc (with commas), modules.
    """
    control = socket.socket(fileno=int(sys.argv[1]))
    with open(int(sys.argv[2]), "rb") as stream:
        filter_program = stream.read()
    # What bubblewrap was given and left open would be open in every program.
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) != control.fileno():
            with contextlib.suppress(OSError):
                os.close(int(name))
    path, packages, module_folder, covers, kept, *modules = sys.argv[3:]
    with open(path, "rb") as stream:
        exec(compile(stream.read(), path, "exec", dont_inherit=True), launcher.__dict__)
    if packages == "bundled":
        sys.path[:] = [place for place in sys.path if not place.endswith("dist-packages")]
    if module_folder:
        import_from(module_folder, modules)
    else:
        import_modules(modules)
    # A collection in a program would write to all objects that it shares with this process, and so copy their pages.
    gc.freeze()
    control.send(b"r")
    job = serve_programs(control, (covers, kept.split(",")), filter_program)
    exec(compile(job["forked"], "<harness>", "exec", dont_inherit=True), {"__name__": "harness"})


main()
