"""Monitor process of one program under Landlock. Never imported: an interpreter runs it, once for each program.

Without a process namespace, this process does the work of the namespace's first process: it adopts orphans. When the
launcher that it forks has ended, or the supervisor closes the control pipe (or dies), it kills all processes below it
and removes the private folder. It is not confined itself.
"""

from __future__ import annotations

import ctypes
import errno
import os
import select
import signal
import stat
import struct
import sys
import time
import types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_KEEPCAPS, PR_SET_SECCOMP = 1, 4, 8, 22
PR_CAPBSET_DROP = 24
PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 36, 38, 47
FILTER, AMBIENT_RAISE = 2, 2
CAPABILITY_VERSION, READ_SEARCH, SET_CAPABILITIES = 0x20080522, 2, 8
NEW_MOUNTS = 0x20000
NO_SUID, NO_DEVICES, RECURSIVE, PRIVATE = 2, 4, 0x4000, 0x40000
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
OF_FILES = 0x1 | 0x2 | 0x4 | 0x4000 | 0x8000
"""Landlock's rights that a rule for a single file can have: execute, write, read, truncate, device control."""
OWN_PROCESS, OWN_GROUP = 0x7FFFFFF1, 0x7FFFFFF2
"""Placeholders in the system call filter for the program's process id and its negative."""
DEAF_TO = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)

libc = ctypes.CDLL(None, use_errno=True)


def check(result: int, what: str) -> int:
    """Return the result of a C library call, or raise OSError if it failed."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, "%s: %s" % (what, os.strerror(number)))
    return result


def mount_memory(place: str, size_options: str, user: int, mode: int) -> None:
    """Mount a size-limited tmpfs over a folder in this process's mount namespace."""
    options = b"%s,mode=%o,uid=%d,gid=%d" % (size_options.encode(), mode, user, user)
    flags = ctypes.c_ulong(NO_SUID | NO_DEVICES)
    check(libc.mount(b"tmpfs", place.encode(), b"tmpfs", flags, options), "mount")


def mount_private_folder(confinement: dict[str, Any]) -> bool:
    """Mount the private folder in memory if root may mount; return whether it did. The mounts are private."""
    place = confinement["root"]
    if not confinement["mount"] or libc.unshare(NEW_MOUNTS) != 0:
        return False
    try:
        check(libc.mount(b"none", b"/", None, ctypes.c_ulong(RECURSIVE | PRIVATE), None), "mount")
        mount_memory(place, confinement["memory"], confinement["user"], 0o700)
        mount_memory("/dev/shm", confinement["memory"], confinement["user"], 0o700)  # noqa: S108
    except OSError:
        return False
    return True


def switch_user(user: int, reads_all: bool) -> None:
    """Switch from root to a user; with ``reads_all`` it can read all files that Landlock allows."""
    if reads_all:
        check(libc.prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0), "prctl")
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    if reads_all:  # what is inherited must be so before the bound is dropped, which takes a capability too
        keep_capabilities(1 << READ_SEARCH | 1 << SET_CAPABILITIES)
        drop_bounding_set()
    keep_capabilities(1 << READ_SEARCH if reads_all else 0)
    if reads_all:
        check(libc.prctl(PR_CAP_AMBIENT, AMBIENT_RAISE, READ_SEARCH, 0, 0), "prctl")


def drop_bounding_set() -> None:
    """Drop the capability bounding set, so that no executed file regains a capability."""
    for capability in range(64):
        if libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
            return  # beyond the last one, or no right to


def keep_capabilities(capability_mask: int) -> None:
    """Drop all capabilities except these."""
    header = struct.pack("Ii", CAPABILITY_VERSION, 0)
    check(libc.capset(header, struct.pack("6I", capability_mask, capability_mask, capability_mask, 0, 0, 0)), "capset")


def create_links(confinement: dict[str, Any]) -> None:
    """Create the folders of the private folder, and links to the bound paths."""
    for folder in confinement["folders"]:
        os.makedirs(folder, 0o700, exist_ok=True)
    for link, target in confinement["links"]:
        os.makedirs(os.path.dirname(link), 0o700, exist_ok=True)
        os.symlink(target, link)


def apply_landlock_rules(confinement: dict[str, Any]) -> None:
    """Apply the Landlock rules: only the listed paths can be read, and only the private folder written."""
    handled, network, scopes = confinement["handled"]
    attributes = struct.pack("QQQ", handled, network, scopes)[: confinement["attribute_bytes"]]
    ruleset = check(libc.syscall(CREATE_RULESET, attributes, len(attributes), 0), "landlock")
    for path, rights in (*confinement["rules"], ("/proc/self/", confinement["reading"])):
        try:
            place = os.open(path, os.O_PATH)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR):
                # Not every machine has every path of the list.
                continue
            raise
        if not stat.S_ISDIR(os.fstat(place).st_mode):
            rights &= OF_FILES
        rule = struct.pack("=Qi", rights & handled, place)
        check(libc.syscall(ADD_RULE, ruleset, 1, rule, 0), "landlock rule for %s" % path)
        if path == "/proc/self/":
            os.set_inheritable(place, True)  # a rule holds as long as the kernel remembers this folder
        else:
            os.close(place)
    check(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl")
    check(libc.syscall(RESTRICT_SELF, ruleset, 0), "landlock")
    os.close(ruleset)


def install_filter(program: bytes) -> None:
    """Install the system call filter, with this process's id in place of the placeholders."""
    own = os.getpid()
    for mark, value in ((OWN_PROCESS, own), (OWN_GROUP, (1 << 32) - own)):
        program = program.replace(struct.pack("=I", mark), struct.pack("=I", value))
    code = ctypes.create_string_buffer(program, len(program))
    table = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code))
    check(libc.prctl(PR_SET_SECCOMP, FILTER, table, 0, 0), "seccomp")


def run_launcher(channel: int, job: dict[str, Any], launcher: types.ModuleType) -> None:
    """Give up root and run the job, in the launcher's process."""
    confinement = job["walls"]
    os.setsid()
    for number in DEAF_TO:
        signal.signal(number, signal.SIG_DFL)
    try:
        if not confinement["reads_all"]:
            drop_bounding_set()
        if confinement["user"] is not None:
            switch_user(confinement["user"], confinement["reads_all"])
        else:
            keep_capabilities(0)  # the caller may be root of a container that has no other user
        check(libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0), "prctl")
        check(libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "prctl")
        check(libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "prctl")
        create_links(confinement)
    except OSError as error:
        report_fault(channel, error)

    def before() -> None:
        try:
            check(libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0), "prctl")
            apply_landlock_rules(confinement)
            install_filter(confinement["filter"])
        except OSError as error:
            report_fault(channel, error)
        os.close(channel)

    launcher.run_job(channel, job, before)


def report_fault(channel: int, error: OSError) -> None:
    """Report that the confinement failed; the program does not start."""
    said = str(error).replace("\\", "").replace('"', "'")
    os.write(channel, ('{"error": "the walls were not built: %s"}\n' % said).encode())
    os._exit(101)


# --- the end -------------------------------------------------------------------------------------------------------


def descendants_of(pid: int) -> list[int]:
    """Return the ids of all descendants of a process."""
    pids: list[int] = []
    waiting = [pid]
    while waiting:
        place = "/proc/%d/task" % waiting.pop()
        try:
            threads = os.listdir(place)
        except OSError:
            continue
        for thread in threads:
            try:
                with open(place + "/" + thread + "/children") as stream:
                    children = [int(word) for word in stream.read().split()]
            except OSError:
                continue
            pids += children
            waiting += children
    return pids


def send_signal(pids: list[int], number: int) -> None:
    """Send a signal to processes; those that have ended are skipped."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except OSError:
            continue


def kill_descendants(user: int | None) -> None:
    """Stop, kill and reap all processes below this one, until none is left."""
    while True:
        if user is not None:
            # The user is this program's alone: one call reaches everything, however fast it forks.
            child = os.fork()
            if child == 0:
                try:
                    switch_user(user, False)
                    os.kill(-1, signal.SIGKILL)
                finally:
                    os._exit(0)
        # What is stopped cannot fork: after a few rounds nothing new is found.
        seen: set[int] = set()
        while fresh := [pid for pid in descendants_of(os.getpid()) if pid not in seen]:
            send_signal(fresh, signal.SIGSTOP)
            seen.update(fresh)
        send_signal(list(seen), signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.002)


def load_module(name: str, path: str) -> types.ModuleType:
    """Return a module that is executed from a file of the package."""
    module = types.ModuleType(name)
    with open(path, "rb") as stream:
        exec(compile(stream.read(), path, "exec", dont_inherit=True), module.__dict__)
    return module


def main() -> None:
    """Arguments: descriptors of the channel and of the control pipe, and the launcher's file, next to the others."""
    channel, control = int(sys.argv[1]), int(sys.argv[2])
    for name in (PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER):
        libc.prctl(name, int(name == PR_SET_CHILD_SUBREAPER), 0, 0, 0)
    for number in DEAF_TO:
        signal.signal(number, signal.SIG_IGN)  # it goes last
    launcher = load_module("launcher", sys.argv[3])
    removal = load_module("removal", os.path.join(os.path.dirname(sys.argv[3]), "folder_removal.py"))
    job = launcher.read_job(channel)
    confinement = job["walls"]
    user = confinement["user"]
    held = [os.open(path, os.O_PATH) for path, _ in confinement["rules"] if path.startswith("/proc/")]
    in_memory = mount_private_folder(confinement)
    if not in_memory and user is not None:
        os.chown(confinement["root"], user, user)
    if in_memory:
        confinement["rules"].append(("/dev/shm", confinement["handled"][0] & confinement["writing"]))  # noqa: S108
    child = os.fork()
    if child == 0:
        os.close(control)
        for descriptor in (*held, *confinement["held"]):
            os.close(descriptor)
        run_launcher(channel, job, launcher)
        os._exit(101)
    os.close(channel)
    sink = os.open("/dev/null", os.O_RDWR)
    for descriptor in (1, 2):
        os.dup2(sink, descriptor)
    handle = os.pidfd_open(child)
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    poll.register(control, select.POLLIN | select.POLLHUP)
    poll.poll()
    kill_descendants(user)
    if in_memory:
        os.chdir("/")
        # Detached at once, though a process of the program may still be ending in it.
        libc.umount2(confinement["root"].encode(), 2)
    removal.remove_folder(confinement["root"], confinement["held"][0])


main()
