"""System call filters in classic BPF: one for all programs, and a stricter one for programs under Landlock.

Both refuse calls that no benchmark program needs. The numbers are data (``system_calls.toml``). A refused call gives
EPERM; ``clone3`` gives ENOSYS, so that the C library falls back to ``clone``, whose flags a filter can read; a socket
of a family outside the allow-list gives EAFNOSUPPORT (AF_VSOCK would reach a hypervisor even from an empty network
namespace). What holds memory that no mapping shows (nameless files, System V segments, semaphores and queues) is
refused too: the watchdog could not see it. What the kernel bounds for all programs of a user or of the machine is
refused where hardly a program needs it: POSIX queues, contexts of asynchronous input and output, and sockets that send
without a copy. For the same reason buffers of sockets keep the size that the system gives them; who asks for another is
told that he has it.
"""

from __future__ import annotations

import platform
import struct
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from caretbench.execution.execution_types import FrozenModel
from caretbench.files import read_packaged_toml

_EPERM = 1
_ENOSYS = 38
_EAFNOSUPPORT = 97

_ALLOW = 0x7FFF0000
_KILL = 0x80000000
_ERRNO = 0x00050000
_NOTIFY = 0x7FC00000

_LOAD = 0x20  # BPF_LD | BPF_W | BPF_ABS
_EQUAL = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
_AT_LEAST = 0x35  # BPF_JMP | BPF_JGE | BPF_K
_ANY_BIT = 0x45  # BPF_JMP | BPF_JSET | BPF_K
_AND = 0x54  # BPF_ALU | BPF_AND | BPF_K
_RETURN = 0x06  # BPF_RET | BPF_K

# offsets in struct seccomp_data
_NUMBER, _ARCHITECTURE, _ARGUMENT_0, _ARGUMENT_1, _ARGUMENT_2 = 0, 4, 16, 24, 32
# A kernel for x86-64 may have a second table of calls with this bit in their numbers, under the same architecture.
_X32_BIT = 0x40000000
_NAMESPACE_FLAGS = 0x7E020080  # every CLONE_NEW*
_TERMINAL_INJECTION = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX

_SOL_SOCKET = 1
_BUFFER_SIZES = (7, 8, 32, 33)  # SO_SNDBUF, SO_RCVBUF, and both FORCE
# Pages pinned for sending without a copy are counted by user: programs of one user would share the bound.
_ZERO_COPY = 60

# A socket of AF_VSOCK opens in an empty network namespace, and leads to the hypervisor.
SOCKET_FAMILIES = (1, 2, 10, 16)  # UNIX, INET, INET6, NETLINK
_ALIASES = {"amd64": "x86_64", "arm64": "aarch64"}


class SystemCallNumbers(NamedTuple):
    """System call numbers of one processor architecture: the refused ones, and all by name."""

    audit: int
    refused: Mapping[str, int]
    calls: Mapping[str, int]


class _Table(FrozenModel):
    """Data file of system calls: for each call its number on each architecture that has it."""

    machines: tuple[str, ...]
    audit: tuple[int, ...]
    refused: Mapping[str, tuple[int, ...]]
    judged: Mapping[str, tuple[int, ...]]


@cache
def system_call_numbers() -> Mapping[str, SystemCallNumbers]:
    """Return the system call numbers of the known architectures, by name."""
    table = _Table.model_validate(read_packaged_toml("caretbench.execution.sandbox.kernel", "system_calls.toml"))
    numbers_by_machine = {}
    for column, name in enumerate(table.machines):
        refused, judged = (
            {call: numbers[column] for call, numbers in calls.items() if column < len(numbers)}
            for calls in (table.refused, table.judged)
        )
        numbers_by_machine[name] = SystemCallNumbers(table.audit[column], refused, refused | judged)
    return numbers_by_machine


def system_calls_of(name: str | None) -> SystemCallNumbers | None:
    """Return the numbers of an architecture, this machine's by default; None where they are not known."""
    wanted = (name or platform.machine()).lower()
    return system_call_numbers().get(_ALIASES.get(wanted, wanted))


def bpf_instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    """Return one instruction of a filter; the jumps count instructions."""
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _give(action: int) -> bytes:
    return bpf_instruction(_RETURN, action)


def seccomp_filter(machine: str | None = None) -> bytes | None:
    """Return the compiled filter for ``machine`` (this one by default), or None where its numbers are not known."""
    table = system_calls_of(machine)
    if table is None:
        return None
    calls = table.calls
    program = [
        bpf_instruction(_LOAD, _ARCHITECTURE),
        bpf_instruction(_EQUAL, table.audit, if_true=1),
        _give(_KILL),
        bpf_instruction(_LOAD, _NUMBER),
        bpf_instruction(_AT_LEAST, _X32_BIT, if_false=1),
        _give(_KILL),
        bpf_instruction(_EQUAL, calls["clone3"], if_false=1),
        _give(_ERRNO | _ENOSYS),
    ]
    for number in sorted(table.refused.values()):
        program += [bpf_instruction(_EQUAL, number, if_false=1), _give(_ERRNO | _EPERM)]
    program += [
        bpf_instruction(_EQUAL, calls["clone"], if_false=4),
        bpf_instruction(_LOAD, _ARGUMENT_0),
        bpf_instruction(_ANY_BIT, _NAMESPACE_FLAGS, if_false=1),
        _give(_ERRNO | _EPERM),
        _give(_ALLOW),
        bpf_instruction(_EQUAL, calls["ioctl"], if_false=5),
        bpf_instruction(_LOAD, _ARGUMENT_1),
        bpf_instruction(_EQUAL, _TERMINAL_INJECTION[0], if_true=1),
        bpf_instruction(_EQUAL, _TERMINAL_INJECTION[1], if_false=1),
        _give(_ERRNO | _EPERM),
        _give(_ALLOW),
        bpf_instruction(_EQUAL, calls["setsockopt"], if_false=len(_BUFFER_SIZES) + 7),
        bpf_instruction(_LOAD, _ARGUMENT_1),
        bpf_instruction(_EQUAL, _SOL_SOCKET, if_false=len(_BUFFER_SIZES) + 3),
        bpf_instruction(_LOAD, _ARGUMENT_2),
        *(
            bpf_instruction(_EQUAL, option, if_true=len(_BUFFER_SIZES) + 2 - position)
            for position, option in enumerate(_BUFFER_SIZES)
        ),
        bpf_instruction(_EQUAL, _ZERO_COPY, if_false=1),
        _give(_ERRNO | _EPERM),
        _give(_ALLOW),
        _give(_ERRNO),
        bpf_instruction(_EQUAL, calls["socket"], if_false=len(SOCKET_FAMILIES) + 2),
        bpf_instruction(_LOAD, _ARGUMENT_0),
    ]
    for position, family in enumerate(SOCKET_FAMILIES):
        program.append(bpf_instruction(_EQUAL, family, if_true=len(SOCKET_FAMILIES) - position))
    program += [_give(_ERRNO | _EAFNOSUPPORT), _give(_ALLOW)]
    return b"".join(program)


OWN_PROCESS, OWN_GROUP = 0x7FFFFFF1, 0x7FFFFFF2
"""Placeholders for the program's process id and its negative; ``landlock_monitor.py`` replaces them."""

# A call that is refused with this number does nothing and seems to succeed.
_DONE = 0
_BEGIN_BYTES = 6 * 8
"""The instructions of the usual filter that look at the architecture; the system call's number is loaded then."""


class SystemCallRule(NamedTuple):
    """System calls that return an error (0: they seem to succeed), possibly only for values of an argument.

    ``allowed`` are the values that pass, ``refused`` those that do not.
    """

    calls: str
    error_number: int = _EPERM
    argument: int = 0
    allowed: Sequence[int] = ()
    refused: Sequence[int] = ()
    mask: int = 0xFFFFFFFF


# Landlock does not restrict sockets other than TCP (a Unix socket can reach the session bus), System V shared memory,
# and modes, owners and times of files. So a program there gets no socket except connected pairs.
_ALWAYS = (
    SystemCallRule("socket", _EAFNOSUPPORT),
    SystemCallRule("connect bind listen"),
    SystemCallRule("socketpair", allowed=(1,)),  # a Unix pair; and not of datagrams, which could be sent elsewhere
    SystemCallRule("socketpair", argument=1, allowed=(1, 5), mask=0xF),
    SystemCallRule("shmget shmat semget msgget mq_open", _ENOSYS),
    SystemCallRule("prlimit64", allowed=(0,)),  # the limits of others
    # An ordinary user's program changed the scheduling of that user's other processes.
    SystemCallRule("setpriority ioprio_set process_madvise process_mrelease"),
    # When and where others run. Runtimes place their own threads: the one that calls (0), and the program's first.
    # .NET gives every thread that it makes its processors by the thread's number, and ends where that is refused.
    SystemCallRule("sched_setaffinity", _DONE, allowed=(0, OWN_PROCESS)),
    SystemCallRule("sched_setscheduler sched_setparam sched_setattr", allowed=(0, OWN_PROCESS)),
)
_OF_THE_CALLERS_FILES = (
    SystemCallRule("chmod fchmod fchmodat fchmodat2 utime utimes futimesat utimensat", _DONE),
    SystemCallRule(
        "chown fchown lchown fchownat setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr "
        "setxattrat removexattrat file_setattr"
    ),
)
_SIGNALS_TO_ITSELF = (
    SystemCallRule("kill", allowed=(0, OWN_PROCESS, OWN_GROUP)),
    SystemCallRule("tgkill rt_sigqueueinfo rt_tgsigqueueinfo", allowed=(OWN_PROCESS,)),
    SystemCallRule("tkill pidfd_send_signal"),
    SystemCallRule("fcntl", argument=1, refused=(8, 15)),  # F_SETOWN, F_SETOWN_EX: whom the kernel signals
    SystemCallRule("ioctl", argument=1, refused=(0x8901, 0x8902)),  # the same, of sockets
)


def _compiled(rule: SystemCallRule, numbers: Mapping[str, int]) -> Iterator[bytes]:
    refuse = bpf_instruction(_RETURN, _ERRNO | rule.error_number)
    values = rule.allowed or rule.refused
    body = [refuse]
    if values:
        body = [bpf_instruction(_LOAD, _ARGUMENT_0 + 8 * rule.argument), bpf_instruction(_AND, rule.mask)]
        for left, value in zip(range(len(values) - 1, -1, -1), values, strict=True):
            # A value that is listed jumps over the rest of the list; what is not listed falls through it.
            skip = left + 1 if rule.allowed else left
            body.append(bpf_instruction(_EQUAL, value, if_true=skip, if_false=1 if rule.refused and not left else 0))
        body += [refuse, bpf_instruction(_LOAD, _NUMBER)]
    for name in rule.calls.split():
        if name in numbers:
            yield bpf_instruction(_EQUAL, numbers[name], if_false=len(body))
            yield from body


def landlock_seccomp_filter(
    *, owns_other_files: bool, signals_scoped: bool, machine: str | None = None
) -> bytes | None:
    """Return the filter for programs under Landlock; None if this machine's system call numbers are not known.

    Its own rules come before those of :func:`seccomp_filter`.

    Args:
        owns_other_files: True if the program's user owns other files, whose modes, owners and times must not change.
        signals_scoped: True if Landlock confines signals; otherwise the program may signal itself only.
        machine: The processor architecture, this one's by default.
    """
    usual = seccomp_filter(machine)
    table = system_calls_of(machine)
    if usual is None or table is None:
        return None
    rules = (
        *_ALWAYS,
        *(_OF_THE_CALLERS_FILES if owns_other_files else ()),
        *(() if signals_scoped else _SIGNALS_TO_ITSELF),
    )
    added = b"".join(instruction for rule in rules for instruction in _compiled(rule, table.calls))
    return usual[:_BEGIN_BYTES] + added + usual[_BEGIN_BYTES:]


_WATCHED = ("open", "creat", "openat", "openat2", "connect", "sendto", "execve", "execveat")


def access_watch_settings() -> dict[str, object] | None:
    """Return the filter that passes opened files and connections to ``access_watch.py``, and the calls' numbers.

    None if this machine's system call numbers are not known.
    """
    table = system_calls_of(None)
    if table is None:
        return None
    numbers = {table.calls[name]: name for name in _WATCHED if name in table.calls}
    program = [bpf_instruction(_LOAD, _NUMBER)]
    for number in numbers:
        program += [bpf_instruction(_EQUAL, number, if_false=1), _give(_NOTIFY)]
    return {"filter": b"".join([*program, _give(_ALLOW)]), "seccomp": table.calls["seccomp"], "calls": numbers}
