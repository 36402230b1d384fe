"""System call filter in classic BPF, which refuses calls that no benchmark program needs.

The numbers are data (``system_calls.toml``). A refused call gives EPERM; ``clone3`` gives ENOSYS, so that the
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
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import NamedTuple

from caretbench.execution.execution_types import FrozenModel

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

# offsets in struct seccomp_data
_NUMBER, _ARCHITECTURE, _ARGUMENT_0, _ARGUMENT_1, _ARGUMENT_2 = 0, 4, 16, 24, 32
_X32_BIT = 0x40000000
_NAMESPACE_FLAGS = 0x7E020080  # every CLONE_NEW*
_TERMINAL_INJECTION = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX

_SOL_SOCKET = 1
_BUFFER_SIZES = (7, 8, 32, 33)  # SO_SNDBUF, SO_RCVBUF, and both FORCE
_ZERO_COPY = 60

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
    text = resources.files(__package__).joinpath("system_calls.toml").read_text("utf-8")
    table = _Table.model_validate(tomllib.loads(text))
    found = {}
    for column, name in enumerate(table.machines):
        refused, judged = (
            {call: numbers[column] for call, numbers in calls.items() if column < len(numbers)}
            for calls in (table.refused, table.judged)
        )
        found[name] = SystemCallNumbers(table.audit[column], refused, refused | judged)
    return found


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
