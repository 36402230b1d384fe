"""Watch of the files that a program opens or starts, and the addresses that it connects to, in its sandbox's launcher.

Never imported: the launcher runs its text for a job that asks for it. A second system call filter passes these calls
to the launcher (``SECCOMP_RET_USER_NOTIF``), which notes them and lets them continue. That finds habits, not what
hides: another thread may change a path after it was read.
"""

from __future__ import annotations

import _thread
import contextlib
import ctypes
import fcntl
import json
import os
import socket
import struct
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

SET_FILTER, NEW_LISTENER, SET_DUMPABLE = 1, 8, 4
RECEIVE, SEND = 0xC0502100, 0xC0182101
NOTICE, ANSWER = struct.Struct("=QIIiIQ6Q"), struct.Struct("=QqiI")
CONTINUE, BIND = 1, 0x1000
HERE = -100
WRITES = os.O_ACCMODE | os.O_CREAT | os.O_TRUNC
PATH_BYTES, PAGE = 4096, 4096
MOST, SHOWN = 64, 120
"""Maximum number of accesses that are noted, and of their characters: a report has 64 KB."""
WRITABLE = ("/tmp/", "/dev/", "/proc/self/", "/proc/thread-self/")  # noqa: S108 - inside the sandbox
READABLE = (*WRITABLE, "/usr/lib", "/usr/bin/", "/usr/local/", "/usr/share/locale/", "/usr/share/zoneinfo/", "/bin/",
            "/lib", "/run/", "/artefact/")  # fmt: skip
SYSTEM_FOLDERS = ("boot", "etc", "home", "media", "mnt", "opt", "proc", "root", "srv", "sys", "usr", "var")
NAME_SERVICES = {
    "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
    "/etc/hosts": "127.0.0.1 localhost sandbox\n::1 localhost\n",
}
"""Files by which an unknown host's name is looked up by a connection, which is seen, instead of not at all."""

libc = ctypes.CDLL(None, use_errno=True)


def ask_name_services() -> bool:
    """Cover the files of :data:`NAME_SERVICES`; return whether this process may mount."""
    covers = []
    for path, text in NAME_SERVICES.items():
        cover = "/tmp/.cover"  # noqa: S108 - inside the sandbox
        with open(cover, "w") as stream:
            stream.write(text)
        covers.append(libc.mount(cover.encode(), path.encode(), None, ctypes.c_ulong(BIND), None))
        os.unlink(cover)
    return not any(covers)


class AccessWatch:
    """Watch of one program, between the launcher and the program's process."""

    def __init__(self, settings: dict[str, Any]) -> None:
        """``settings``: the filter, numbers of calls, the bound paths and the program's files."""
        self.settings = settings
        self.readable = (*READABLE, *(path + "/" for path in settings["bound"]))
        self.read: set[str] = set()
        self.accesses: list[str] = []
        self.ours, self.theirs = socket.socketpair()
        self.sees_names = ask_name_services()
        self.works = False

    def begin(self, before: Callable[[], None] | None) -> Callable[[], None]:
        """Return what the program's process calls last: ``before``, then the filter, whose listener it sends."""

        def install() -> None:
            if before is not None:
                before()
            libc.prctl(SET_DUMPABLE, 1, 0, 0, 0)  # the launcher reads paths in its memory
            program = self.settings["filter"]
            code = ctypes.create_string_buffer(program, len(program))
            table = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code))
            listener = libc.syscall(self.settings["seccomp"], SET_FILTER, NEW_LISTENER, table)
            # Within a container that watches its programs, there is no second listener.
            if listener >= 0:
                socket.send_fds(self.theirs, [b"w"], [listener])
                os.close(listener)
            self.ours.close()
            self.theirs.close()

        return install

    def serve(self) -> None:
        """Note the calls of the program's processes, in a thread, as long as this process lives."""
        self.theirs.close()
        _thread.start_new_thread(self._serve, ())

    def _serve(self) -> None:
        _, received, _, _ = socket.recv_fds(self.ours, 1, 1)
        if not received:
            return
        self.works = self.sees_names
        while True:
            notice = bytearray(NOTICE.size)
            try:
                fcntl.ioctl(received[0], RECEIVE, notice)
            except OSError:
                time.sleep(0.001)  # a signal interrupted the call, or no process is left
                continue
            identity, pid, _, number, _, _, *arguments = NOTICE.unpack(notice)
            # Its process may have ended, or have given an address that it does not have.
            with contextlib.suppress(OSError, ValueError):
                self._note(pid, self.settings["calls"].get(number, ""), arguments)
            with contextlib.suppress(OSError):
                fcntl.ioctl(received[0], SEND, ANSWER.pack(identity, 0, 0, CONTINUE))

    def _note(self, pid: int, call: str, arguments: list[int]) -> None:
        if call in ("connect", "sendto"):
            place, size = arguments[1:3] if call == "connect" else arguments[4:6]
            access = connection(read_memory(pid, place, min(size, 128)))
        else:
            folder, path, flags = arguments[:3] if call in ("openat", "openat2", "execveat") else (HERE, *arguments[:2])
            if call == "openat2":
                flags = int.from_bytes(read_memory(pid, flags, 8), "little")
            name = read_memory(pid, path, PATH_BYTES).partition(b"\0")[0].decode("utf-8", "replace")
            full = absolute(pid, ctypes.c_int(folder & 0xFFFFFFFF).value, name)
            if call.startswith("exec"):
                access = "" if full.endswith("/" + self.settings["started"]) else "starts %s" % full
            else:
                access = self._opening(full, call == "creat" or flags & WRITES != 0)
        access = access[:SHOWN]
        if access and access not in self.accesses and len(self.accesses) < MOST:
            self.accesses.append(access)

    def _opening(self, path: str, writes: bool) -> str:
        """Return the access to a file in words; empty if a program may open it."""
        if path in self.settings["own"] and not writes:
            again = path in self.read
            self.read.add(path)
            return "reads its own source" if again else ""
        top, _, rest = path[1:].partition("/")
        # A file in a folder that no machine has, such as /nonexistent, is missing everywhere.
        if (path + "/").startswith(WRITABLE if writes else self.readable) or not (writes or top in SYSTEM_FOLDERS):
            return ""
        own_process = top == "proc" and rest.partition("/")[0].isdigit()
        return "" if own_process else "%s %s" % ("writes" if writes else "reads", path)

    def report(self, channel: int) -> None:
        """Report what was noted; nothing if this machine cannot watch."""
        if self.works:
            os.write(channel, json.dumps({"accesses": self.accesses}).encode() + b"\n")


def read_memory(pid: int, place: int, size: int) -> bytes:
    """Return memory of a process, up to the end of what it has."""
    data = b""
    with open("/proc/%d/mem" % pid, "rb", 0) as memory:
        while len(data) < size and b"\0" not in data[-PAGE:]:
            step = min(size - len(data), PAGE - (place + len(data)) % PAGE)
            try:
                more = os.pread(memory.fileno(), step, place + len(data))
            except OSError:
                break
            data += more
    return data


def connection(data: bytes) -> str:
    """Return a connection in words; empty for the loopback interface, where the program itself listens, and for others.

    Port 53 is never the program's own: that is how a host's name is looked up here.
    """
    family, port = int.from_bytes(data[:2], "little"), int.from_bytes(data[2:4], "big")
    if family == socket.AF_INET:
        host = socket.inet_ntop(family, data[4:8])
        own = data[4] in (0, 127)
    elif family == socket.AF_INET6:
        host = socket.inet_ntop(family, data[8:24])
        own = host in ("::", "::1") or host.startswith("::ffff:127.")
    else:
        return ""
    if own and port == 53:
        return "looks up a host's name"
    return "" if own else "connects to %s, port %d" % (host, port)


def absolute(pid: int, folder: int, path: str) -> str:
    """Return the absolute path of a file that a process names, relative to a folder that it has open."""
    if not path.startswith("/"):
        path = os.path.join(os.readlink("/proc/%d/%s" % (pid, "cwd" if folder == HERE else "fd/%d" % folder)), path)
    return os.path.normpath(path)
