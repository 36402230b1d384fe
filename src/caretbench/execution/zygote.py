"""The first process inside a warm sandbox. Never imported: the sandbox hands its text to an interpreter inside.

Building walls costs far more than most programs. So one sandbox is built for many: this process is its first, holds
nothing but what programs may read, and gives every program namespaces, memory-backed folders, a process table and a
system call filter of its own, for some three milliseconds of CPU. For each program a message with three descriptors
comes: the channel over which the launcher reads its job and reports, and the program's two output streams.

For Python it can also import what programs import, before they come: a forked program finds it there.
"""

from __future__ import annotations

import array
import ctypes
import fcntl
import gc
import importlib
import os
import signal
import socket
import struct
import sys
import types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NEW_USER, NEW_MOUNTS, NEW_PROCESSES, NEW_IPC, NEW_NETWORK = (
    0x10000000,
    0x20000,
    0x20000000,
    0x8000000,
    0x40000000,
)
NO_SUID, NO_DEVICES, BIND, RECURSIVE, PRIVATE = 2, 4, 0x1000, 0x4000, 0x40000
READ_ONLY = 1
PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_CAPBSET_DROP = 4, 22, 24
FILTER = 2
CAPABILITY_VERSION = 0x20080522
INTERFACE_FLAGS, UP_AND_RUNNING = 0x8914, 0x41
INODES = 65_536
BOUNDS = (
    ("user/max_inotify_instances", "8"),  # a user has 128, which all programs share that run at a time
    ("user/max_inotify_watches", "8192"),
    ("net/ipv4/tcp_rmem", "4096 131072 262144"),  # what waits in sockets is memory that no mapping shows
    ("net/ipv4/tcp_wmem", "4096 16384 262144"),
)
ARTEFACTS, ARTEFACT = b"/run/artefacts", b"/artefact"
SNAPSHOT, PROJECT = b"/run/snapshot", b"/tmp/work"

libc = ctypes.CDLL(None, use_errno=True)


def check(result: int, what: str) -> None:
    """Raise where a call of the C library failed."""
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, "%s: %s" % (what, os.strerror(number)))


def mount(source: bytes, target: bytes, kind: bytes | None, flags: int, options: bytes | None = None) -> None:
    """Mount in this process's own namespace."""
    check(libc.mount(source, target, kind, ctypes.c_ulong(flags), options), "mount %s" % target.decode())


def write_text(path: str, text: str) -> None:
    """Write a control file of the kernel."""
    with open(path, "w") as stream:
        stream.write(text)


def build_walls(user: int, group: int) -> None:
    """Leave the sandbox's namespaces for new ones."""
    check(libc.unshare(NEW_USER | NEW_MOUNTS | NEW_PROCESSES | NEW_IPC | NEW_NETWORK), "unshare")
    map_user(user, group)
    switch_loopback(UP_AND_RUNNING)


def map_user(user: int, group: int) -> None:
    """In new user and mount namespaces: the same user, and mounts that nobody else sees."""
    write_text("/proc/self/setgroups", "deny")
    write_text("/proc/self/uid_map", "%d %d 1" % (user, user))
    write_text("/proc/self/gid_map", "%d %d 1" % (group, group))
    mount(b"none", b"/", None, RECURSIVE | PRIVATE)


def bound_shares() -> None:
    """Leave other programs their part of what the kernel keeps for all; not every kernel counts here."""
    for name, most in BOUNDS:
        try:
            write_text("/proc/sys/" + name, most)
        except OSError:
            continue


def switch_loopback(flags: int) -> None:
    """Switch the one network interface on or off."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        fcntl.ioctl(handle, INTERFACE_FLAGS, struct.pack("16sH14s", b"lo", flags, b""))


def lay_over(memory: bytes) -> None:
    """Make the snapshot the work folder, to be changed at will: what is written lies in memory.

    Needs a memory-backed file system with user attributes (Linux 6.6): without them a folder that is deleted and made
    again would show what was deleted. The snapshot itself, which may hold what a program is to find out, is hidden.
    """
    if os.stat(SNAPSHOT).st_uid != os.getuid():
        raise OSError("no overlay: the snapshot belongs to another user")
    step = "memory"
    try:
        mount(b"tmpfs", PROJECT, b"tmpfs", NO_SUID | NO_DEVICES, memory)
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


def mount_files(memory: bytes) -> None:
    """An empty /tmp with the work folder."""
    mount(b"tmpfs", b"/tmp", b"tmpfs", NO_SUID | NO_DEVICES, memory)
    for folder in ("/tmp/work", "/tmp/home"):
        os.mkdir(folder, 0o700)


def keep_files(size: int) -> None:
    """In the zygote itself: a /tmp that every program of this sandbox finds as the ones before it left it."""
    user, group = os.getuid(), os.getgid()
    check(libc.unshare(NEW_USER | NEW_MOUNTS), "unshare")
    map_user(user, group)
    mount_files(b"size=%d,nr_inodes=%d,mode=1777" % (size, INODES))


def furnish(job: dict[str, Any]) -> None:
    """Mount what the program finds: an empty /tmp and /dev/shm, and its compiled program."""
    memory = b"size=%d,nr_inodes=%d,mode=1777" % (job["tmp_bytes"], INODES)
    if job["artefact"]:
        mount(ARTEFACTS + b"/" + job["artefact"].encode(), ARTEFACT, None, BIND | RECURSIVE)
    mount(b"tmpfs", ARTEFACTS, b"tmpfs", NO_SUID | NO_DEVICES | READ_ONLY, b"size=4k,mode=0555")
    mount(b"tmpfs", b"/dev/shm", b"tmpfs", NO_SUID | NO_DEVICES, memory)
    if not job.get("lasting"):
        mount_files(memory)
    tree = job.get("tree") or {}
    if tree.get("overlay"):
        lay_over(memory)
    if not tree.get("loopback", True):
        switch_loopback(0)
    for source, target in job["aside"]:
        os.makedirs(target, exist_ok=True)
        mount(source.encode(), target.encode(), None, BIND | RECURSIVE)


def close_walls(program: bytes) -> None:
    """In the program's process: no capability, no way to a new one, and the system call filter."""
    header = struct.pack("Ii", CAPABILITY_VERSION, 0)
    for capability in range(64):
        if libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
            break  # beyond the last one that this kernel knows
    check(libc.capset(header, bytes(24)), "capset")
    check(libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0), "prctl")
    if program:
        code = ctypes.create_string_buffer(program, len(program))
        table = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code))
        check(libc.prctl(PR_SET_SECCOMP, FILTER, table, 0, 0), "seccomp")


def serve_one(
    channel: int, door: int | None, launcher: types.ModuleType, filter_program: bytes
) -> dict[str, Any]:
    """Become the first process behind new walls and do one job there; gives it where it is to run in this process."""
    user, group = os.getuid(), os.getgid()
    try:
        build_walls(user, group)
        if os.fork():
            os._exit(0)
        os.setsid()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        check(libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0), "prctl")
        mount(b"proc", b"/proc", b"proc", NO_SUID | NO_DEVICES)
        bound_shares()
        # By the credentials of this message the supervisor finds the process.
        os.write(channel, b'{"here": true}\n')
        job: dict[str, Any] = launcher.read_job(channel)
        job["door"] = door
        furnish(job)
    except OSError as error:
        os.write(
            channel, ('{"error": "the walls were not built: %s"}\n' % str(error).replace('"', "'")).encode()
        )
        os._exit(0)

    def before() -> None:
        close_walls(filter_program)
        os.close(channel)

    launcher.work(channel, job, before)
    return job


def serve(control: socket.socket, launcher: types.ModuleType, filter_program: bytes) -> dict[str, Any]:
    """Fork for every message until the supervisor is gone; gives the job in a program that runs in this process."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no zombies; who waits for a child sets the default again
    room = socket.CMSG_SPACE(4 * 4)
    while True:
        word, ancillary, _, _ = control.recvmsg(1, room)
        if not word:
            os._exit(0)
        handed = array.array("i")
        for _, _, data in ancillary:
            handed.frombytes(data)
        channel, output, errors, *door = handed
        try:
            child = os.fork()
        except OSError:  # no room for a process now: its supervisor sees the channel's end
            child = -1
        if child == 0:
            control.close()
            for number, stream in enumerate((output, errors), start=1):
                os.dup2(stream, number)
                os.close(stream)
            return serve_one(channel, door[0] if door else None, launcher, filter_program)
        for descriptor in handed:
            os.close(descriptor)


def main() -> None:
    """Serve.

    Arguments: descriptors of the control socket and the filter, the launcher, ``bundled`` or ``system``, the size of
    the ``/tmp`` that programs share or 0, modules.
    """
    control = socket.socket(fileno=int(sys.argv[1]))
    with open(int(sys.argv[2]), "rb") as stream:
        filter_program = stream.read()
    path, packages, lasting, modules = sys.argv[3], sys.argv[4], int(sys.argv[5]), sys.argv[6:]
    launcher = types.ModuleType("launcher")
    with open(path, "rb") as stream:
        exec(compile(stream.read(), path, "exec", dont_inherit=True), launcher.__dict__)
    if packages == "bundled":
        sys.path[:] = [place for place in sys.path if not place.endswith("dist-packages")]
    for module in modules:
        try:
            importlib.import_module(module)
        except Exception:  # noqa: S112  a module that is not here is not here for programs either
            continue
    if lasting:
        keep_files(lasting)
    gc.freeze()
    control.send(b"r")
    job = serve(control, launcher, filter_program)
    exec(compile(job["forked"], "<harness>", "exec", dont_inherit=True), {"__name__": "harness"})


main()
