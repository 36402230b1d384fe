"""Classification of the end of a sandboxed program as a status.

The first that applies is used: sandbox error (the program never started), output limit, out of memory, timeout, the
program's own failure, incomplete, passed. A program's output and exit status only choose between failures;
``sandbox_error`` is set by the supervisor alone, before the program's first instruction.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from caretbench.execution.execution_types import REFERENCE_CPU, Limits, Status
from caretbench.execution.sandbox.supervisor import SandboxResult
from caretbench.execution.toolchain_tables import toolchain_tables

CRITERION_VERSION = "8"
"""Part of every cache key; raise it when the same run would get another status."""

WAITS = "the program ended, but a check of it waits for a promise that never settled"
"""The reason of an incomplete program that ended before a check, at a promise that nothing could settle any more."""

_LATE = "it ran for longer than "
_SPENT = "it used more than "

_KILLED: Mapping[str, tuple[Status, str]] = {
    "output": (Status.OUTPUT_LIMIT, "it wrote more than {limits.output_kill_mb} MB"),
    "memory": (Status.OUT_OF_MEMORY, "it used more than {limits.memory_mb} MB"),
    "wall": (Status.TIMEOUT, _LATE + "{limits.wall_s:g} s"),
    "cpu": (Status.TIMEOUT, _SPENT + "{limits.cpu_s:g} s of CPU"),
    # Elsewhere a program meets these two as ENOSPC and EAGAIN, which end it with an error of its own: it has the same
    # status where the supervisor ends it.
    "disk": (Status.RUNTIME_ERROR, "its files took more than {limits.tmp_mb} MB"),
    "processes": (Status.RUNTIME_ERROR, "it had more than {limits.pids} processes"),
}

STARVED_CPU_S = 2.0
"""Minimum CPU time of a wall-clock timeout that the machine's load may have caused. A program that computed less was
waiting, and would wait again: even a thirtieth of a processor provides more."""

_LONG_S = 30.0
"""Minimum seconds of a wait that is the program's own; the cause of a shorter one is uncertain."""

_NEAR_THE_LIMIT = 0.8
"""Share of the CPU limit that counts as reached: the kernel rounds limits to ticks, but not usage."""


def missing_module(text: str) -> str | None:
    """Return the last module, package or header that a runtime's or compiler's message reports as missing."""
    return next(reversed(missing_modules(text)), None)


def missing_modules(text: str) -> tuple[str, ...]:
    """Return all modules, packages and headers that a message reports as missing, each once, by their last place."""
    # Patterns of all languages: a project's command may be a script that runs tools of several.
    patterns = (pattern for table in toolchain_tables().values() for pattern in table.missing_modules)
    places_and_names = sorted((match.start(), match[1]) for pattern in patterns for match in pattern.finditer(text))
    return tuple({name: None for _, name in reversed(places_and_names)})[::-1]


@cache
def _compile_errors() -> re.Pattern[str]:
    patterns = (line for table in toolchain_tables().values() for line in table.compile_errors)
    return re.compile("|".join(patterns), re.MULTILINE)


def reports_compile_error(*outputs: str) -> bool:
    """Return whether the output of a build or test command reports a compile or parse error.

    It distinguishes failures only: a program that prints such a message itself fails as well.
    """
    return any(_compile_errors().search(text) for text in outputs)


def ending_limit(result: SandboxResult, limits: Limits) -> str:
    """Return the name of the limit that ended a run, or an empty text."""
    if result.error is not None:
        return ""
    if result.killed is not None:
        return result.killed
    # At the hard limit the kernel sends SIGKILL, which a program may send to itself, too: only the used CPU tells them
    # apart.
    killed = result.signal == signal.SIGKILL and result.cpu_s >= _NEAR_THE_LIMIT * limits.cpu_s
    return "cpu" if killed or result.signal == signal.SIGXCPU else ""


def limit_fields(result: SandboxResult, limits: Limits, bounded: Limits) -> dict[str, Any]:
    """Return the fields of a result that say which limit ended the run, as arguments for another result.

    ``bounded`` are the limits of the run: ``limits``, or less CPU by the reference's.
    """
    limit = ending_limit(result, bounded)
    by_reference = limit == "cpu" and bounded.cpu_s < limits.cpu_s
    return {"limit": REFERENCE_CPU, "limit_cpu_s": bounded.cpu_s} if by_reference else {"limit": limit}


def classify(
    result: SandboxResult, *, sentinel: bool, limits: Limits, failure_status: Callable[[str, int | None], Status]
) -> tuple[Status, str]:
    """Return the status of a run and its reason, which may be empty.

    ``sentinel``: exit status 0 is a pass only with the sentinel. ``failure_status`` returns the status of a failed run
    from standard error and the exit status, by the rules of the language.
    """
    if result.error is not None:
        return Status.SANDBOX_ERROR, result.error
    if limit := ending_limit(result, limits):
        status, reason = _KILLED[limit]
        return status, reason.format(limits=limits)
    # Its launcher died with it, so nothing is known of its end, and it was not ended by a limit.
    if result.exit_code is None and result.signal is None:
        return Status.RUNTIME_ERROR, "its sandbox ended with it"
    waited = sentinel and result.waits
    if result.exit_code != 0:
        status = failure_status(result.stderr.text, result.exit_code)
        # By its exit status, which the program could have chosen as well: without the sentinel's word it is a plain
        # failure.
        if status is Status.INCOMPLETE:
            return (Status.INCOMPLETE, WAITS) if waited else (Status.RUNTIME_ERROR, "")
        return _failure(status), ""
    if waited:
        return Status.INCOMPLETE, WAITS
    if sentinel and not result.sentinel:
        return Status.INCOMPLETE, "exit status 0, but the end of the program was not reached"
    return Status.PASSED, ""


def _failure(status: Status) -> Status:
    """Return the status of a failure: nothing else can be a language's judgement of one."""
    # Otherwise a program could leave the count, or pass, by printing a text that a pattern of its language matches.
    return Status.RUNTIME_ERROR if status is Status.PASSED or status.is_machine_fault else status


def delayed_by_load(status: Status, reason: str, signal_number: int | None, cpu_s: float) -> bool:
    """Return whether load may have delayed a run: it hit the wall-time limit while using CPU time."""
    return timed_out_by_clock(status, reason) and signal_number is None and cpu_s >= STARVED_CPU_S


def timed_out_by_clock(status: Status, reason: str) -> bool:
    """Return whether the wall-time limit ended a run."""
    return status is Status.TIMEOUT and reason.startswith(_LATE)


def hit_shared_limit(status: Status, stderr: str) -> bool:
    """Return whether a failure may be due to a kernel limit shared by all programs of a user or of the machine.

    Such a program runs again alone. A program that prints such a message itself gains nothing by it.
    """
    failed = status.is_own_failure or status is Status.TIMEOUT
    return failed and _SHORT.search(stderr) is not None


def timed_out_by_itself(status: Status, reason: str, signal_number: int | None, cpu_s: float, wall_s: float) -> bool:
    """Return whether a timeout does not depend on load: CPU time was used up, or the program only waited."""
    if status is not Status.TIMEOUT:
        return False
    waited = reason.startswith(_LATE) and wall_s >= _LONG_S
    return reason.startswith(_SPENT) or (waited and not delayed_by_load(status, reason, signal_number, cpu_s))


_SHORT = re.compile(
    r"too many references|ETOOMANYREFS|too many open files|EMFILE|inotify|out of pty devices"
    r"|(?:openpty|forkpty|openpt|ptmx).{0,200}No space left|No space left on device: '/dev/ptmx'"
    r"|(?:openpty|forkpty)\(3\) failed",
    re.IGNORECASE | re.DOTALL,
)
"""Messages about descriptors in transit, file watches and terminals: limits that all programs of a user share."""
