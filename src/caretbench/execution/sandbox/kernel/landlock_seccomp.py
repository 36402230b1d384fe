"""Stricter system call filter for Landlock, which refuses calls that namespaces would isolate.

Landlock does not restrict sockets other than TCP (a Unix socket can reach the session bus), System V shared memory,
and modes, owners and times of files. So a program gets no socket except connected pairs. These rules come before those
of ``seccomp``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from caretbench.execution.sandbox.kernel.seccomp import bpf_instruction, seccomp_filter, system_calls_of

OWN_PROCESS, OWN_GROUP = 0x7FFFFFF1, 0x7FFFFFF2
"""Placeholders for the program's process id and its negative; ``landlock_monitor.py`` replaces them."""

_LOAD, _AND, _EQUAL, _RETURN = 0x20, 0x54, 0x15, 0x06
_NUMBER_OFFSET, _ARGUMENTS_OFFSET = 0, 16  # in struct seccomp_data
_ERRNO = 0x00050000
_EPERM, _ENOSYS, _EAFNOSUPPORT, _DONE = 1, 38, 97, 0
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


_ALWAYS = (
    SystemCallRule("socket", _EAFNOSUPPORT),
    SystemCallRule("connect bind listen"),
    SystemCallRule("socketpair", allowed=(1,)),  # a Unix pair; and not of datagrams, which could be sent elsewhere
    SystemCallRule("socketpair", argument=1, allowed=(1, 5), mask=0xF),
    SystemCallRule("shmget shmat semget msgget mq_open", _ENOSYS),
    SystemCallRule("prlimit64", allowed=(0,)),  # the limits of others
    SystemCallRule("setpriority ioprio_set process_madvise process_mrelease"),
    # When and where others run. Runtimes place their own threads: the one that calls (0), and the program's first.
    # .NET gives every thread that it makes its processors by the thread's number, and ends where that is refused.
    SystemCallRule("sched_setaffinity", _DONE, allowed=(0, OWN_PROCESS)),
    SystemCallRule("sched_setscheduler sched_setparam sched_setattr", allowed=(0, OWN_PROCESS)),
)
_OF_THE_CALLERS_FILES = (
    SystemCallRule("chmod fchmod fchmodat fchmodat2 utime utimes futimesat utimensat", _DONE),
    SystemCallRule("chown fchown lchown fchownat setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr "
         "setxattrat removexattrat file_setattr"),
)  # fmt: skip
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
        body = [bpf_instruction(_LOAD, _ARGUMENTS_OFFSET + 8 * rule.argument), bpf_instruction(_AND, rule.mask)]
        for left, value in zip(range(len(values) - 1, -1, -1), values, strict=True):
            # A value that is listed jumps over the rest of the list; what is not listed falls through it.
            skip = left + 1 if rule.allowed else left
            body.append(bpf_instruction(_EQUAL, value, if_true=skip, if_false=1 if rule.refused and not left else 0))
        body += [refuse, bpf_instruction(_LOAD, _NUMBER_OFFSET)]
    for name in rule.calls.split():
        if name in numbers:
            yield bpf_instruction(_EQUAL, numbers[name], if_false=len(body))
            yield from body


def landlock_seccomp_filter(
    *, owns_other_files: bool, signals_scoped: bool, machine: str | None = None
) -> bytes | None:
    """Return the filter for programs under Landlock; None if this machine's system call numbers are not known.

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
    added = b"".join(part for rule in rules for part in _compiled(rule, table.calls))
    return usual[:_BEGIN_BYTES] + added + usual[_BEGIN_BYTES:]
