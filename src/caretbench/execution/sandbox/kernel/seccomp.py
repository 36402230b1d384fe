"""A system call filter in classic BPF, written by hand: what no benchmark program needs is refused.

The numbers are data, one table per machine. A refused call gives EPERM; ``clone3`` gives ENOSYS, so that the
C library falls back to ``clone``, whose flags a filter can read; a socket of a family outside the allow-list
gives EAFNOSUPPORT (AF_VSOCK would reach a hypervisor even from an empty network namespace). What holds memory that no
mapping shows (nameless files, System V segments, semaphores and queues) is refused too: the watchdog could not see it.
What the kernel bounds for all programs of a user or of the machine is refused where hardly a program needs it: POSIX
queues, contexts of asynchronous input and output, and sockets that send without a copy.
For the same reason buffers of sockets keep the size that the system gives them; who asks for another is told that he
has it.
"""

from __future__ import annotations

import platform
import struct
from collections.abc import Mapping
from dataclasses import dataclass

_EPERM = 1
_ENOSYS = 38
_EAFNOSUPPORT = 97

_ALLOW = 0x7FFF0000
_KILL = 0x80000000
_ERRNO = 0x00050000

_LOAD = 0x20  # BPF_LD | BPF_W | BPF_ABS
_EQUAL = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
_AT_LEAST = 0x35  # BPF_JMP | BPF_JGE | BPF_K
_ANY_BIT = 0x45  # BPF_JMP | BPF_JSET | BPF_K
_RETURN = 0x06  # BPF_RET | BPF_K

_NUMBER, _ARCHITECTURE, _ARGUMENT_0, _ARGUMENT_1, _ARGUMENT_2 = (
    0,
    4,
    16,
    24,
    32,
)  # offsets in struct seccomp_data
_X32_BIT = 0x40000000
_NAMESPACE_FLAGS = 0x7E020080  # every CLONE_NEW*
_TERMINAL_INJECTION = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX

_SOL_SOCKET = 1
_BUFFER_SIZES = (7, 8, 32, 33)  # SO_SNDBUF, SO_RCVBUF, and both FORCE
_ZERO_COPY = 60

SOCKET_FAMILIES = (1, 2, 10, 16)  # UNIX, INET, INET6, NETLINK


@dataclass(frozen=True)
class Machine:
    """System call numbers of one processor architecture."""

    audit: int
    denied: Mapping[str, int]
    socket: int
    setsockopt: int
    clone: int
    clone3: int
    ioctl: int


_X86_64 = Machine(
    audit=0xC000003E,
    socket=41,
    setsockopt=54,
    clone=56,
    clone3=435,
    ioctl=16,
    denied={
        "ptrace": 101, "syslog": 103, "personality": 135, "ustat": 136, "sysfs": 139, "vhangup": 153,
        "modify_ldt": 154, "pivot_root": 155, "adjtimex": 159, "chroot": 161, "acct": 163, "settimeofday":
        164, "mount": 165, "umount2": 166, "swapon": 167, "swapoff": 168, "reboot": 169, "sethostname": 170,
        "setdomainname": 171, "iopl": 172, "ioperm": 173, "init_module": 175, "delete_module": 176,
        "quotactl": 179, "lookup_dcookie": 212, "clock_settime": 227, "mbind": 237, "set_mempolicy": 238,
        "kexec_load": 246, "add_key": 248, "request_key": 249, "keyctl": 250, "migrate_pages": 256,
        "unshare": 272, "move_pages": 279, "perf_event_open": 298, "fanotify_init": 300,
        "name_to_handle_at": 303, "open_by_handle_at": 304, "clock_adjtime": 305, "setns": 308,
        "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312, "finit_module": 313,
        "shmget": 29, "semget": 64, "msgget": 68, "memfd_create": 319, "memfd_secret": 447,
        "mq_open": 240, "io_setup": 206,
        "kexec_file_load": 320, "bpf": 321, "userfaultfd": 323, "io_uring_setup": 425, "io_uring_enter": 426,
        "io_uring_register": 427, "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431,
        "fsmount": 432, "fspick": 433, "pidfd_getfd": 438, "mount_setattr": 442, "quotactl_fd": 443,
    },
)  # fmt: skip

_AARCH64 = Machine(
    audit=0xC00000B7,
    socket=198,
    setsockopt=208,
    clone=220,
    clone3=435,
    ioctl=29,
    denied={
        "lookup_dcookie": 18, "umount2": 39, "mount": 40, "pivot_root": 41, "chroot": 51, "vhangup": 58,
        "quotactl": 60, "acct": 89, "personality": 92, "unshare": 97, "kexec_load": 104, "init_module": 105,
        "delete_module": 106, "clock_settime": 112, "syslog": 116, "ptrace": 117, "reboot": 142,
        "sethostname": 161, "setdomainname": 162, "settimeofday": 170, "adjtimex": 171, "add_key": 217,
        "request_key": 218, "keyctl": 219, "swapon": 224, "swapoff": 225, "mbind": 235, "set_mempolicy": 237,
        "migrate_pages": 238, "move_pages": 239, "perf_event_open": 241, "fanotify_init": 262,
        "name_to_handle_at": 264, "open_by_handle_at": 265, "clock_adjtime": 266, "setns": 268,
        "process_vm_readv": 270, "process_vm_writev": 271, "kcmp": 272, "finit_module": 273, "bpf": 280,
        "shmget": 194, "semget": 190, "msgget": 186, "memfd_create": 279, "memfd_secret": 447,
        "mq_open": 180, "io_setup": 0,
        "userfaultfd": 282, "kexec_file_load": 294, "io_uring_setup": 425, "io_uring_enter": 426,
        "io_uring_register": 427, "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431,
        "fsmount": 432, "fspick": 433, "pidfd_getfd": 438, "mount_setattr": 442, "quotactl_fd": 443,
    },
)  # fmt: skip

MACHINES: Mapping[str, Machine] = {
    "x86_64": _X86_64,
    "amd64": _X86_64,
    "aarch64": _AARCH64,
    "arm64": _AARCH64,
}


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _give(action: int) -> bytes:
    return _instruction(_RETURN, action)


def seccomp_filter(machine: str | None = None) -> bytes | None:
    """The compiled filter for ``machine`` (this one by default), or None where its numbers are not known."""
    table = MACHINES.get((machine or platform.machine()).lower())
    if table is None:
        return None
    program = [
        _instruction(_LOAD, _ARCHITECTURE),
        _instruction(_EQUAL, table.audit, if_true=1),
        _give(_KILL),
        _instruction(_LOAD, _NUMBER),
        _instruction(_AT_LEAST, _X32_BIT, if_false=1),
        _give(_KILL),
        _instruction(_EQUAL, table.clone3, if_false=1),
        _give(_ERRNO | _ENOSYS),
    ]
    for number in sorted(table.denied.values()):
        program += [_instruction(_EQUAL, number, if_false=1), _give(_ERRNO | _EPERM)]
    program += [
        _instruction(_EQUAL, table.clone, if_false=4),
        _instruction(_LOAD, _ARGUMENT_0),
        _instruction(_ANY_BIT, _NAMESPACE_FLAGS, if_false=1),
        _give(_ERRNO | _EPERM),
        _give(_ALLOW),
        _instruction(_EQUAL, table.ioctl, if_false=5),
        _instruction(_LOAD, _ARGUMENT_1),
        _instruction(_EQUAL, _TERMINAL_INJECTION[0], if_true=1),
        _instruction(_EQUAL, _TERMINAL_INJECTION[1], if_false=1),
        _give(_ERRNO | _EPERM),
        _give(_ALLOW),
        _instruction(_EQUAL, table.setsockopt, if_false=len(_BUFFER_SIZES) + 7),
        _instruction(_LOAD, _ARGUMENT_1),
        _instruction(_EQUAL, _SOL_SOCKET, if_false=len(_BUFFER_SIZES) + 3),
        _instruction(_LOAD, _ARGUMENT_2),
        *(
            _instruction(_EQUAL, option, if_true=len(_BUFFER_SIZES) + 2 - position)
            for position, option in enumerate(_BUFFER_SIZES)
        ),
        _instruction(_EQUAL, _ZERO_COPY, if_false=1),
        _give(_ERRNO | _EPERM),
        _give(_ALLOW),
        _give(_ERRNO),
        _instruction(_EQUAL, table.socket, if_false=len(SOCKET_FAMILIES) + 2),
        _instruction(_LOAD, _ARGUMENT_0),
    ]
    for position, family in enumerate(SOCKET_FAMILIES):
        program.append(_instruction(_EQUAL, family, if_true=len(SOCKET_FAMILIES) - position))
    program += [_give(_ERRNO | _EAFNOSUPPORT), _give(_ALLOW)]
    return b"".join(program)
