"""Supervisor of one running sandbox: reads its output and report, and ends it when it exceeds a limit."""

from __future__ import annotations

import base64
import contextlib
import json
import marshal
import os
import selectors
import signal
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any, Protocol

from pydantic import Field

from caretbench.execution.execution_types import CapturedOutput, FrozenModel, Isolation, ResultFile
from caretbench.execution.sandbox.invocation import Invocation, KillReason
from caretbench.execution.sandbox.kernel.cgroups import MemoryGroup
from caretbench.execution.sandbox.kernel.watchdog import TreeUsage, tree_activity, tree_usage
from caretbench.execution.sandbox.work_slots import report_activity

POLL_S = 0.2
WAITING_S = 2.0
"""Seconds after which a program that uses no processor counts as waiting."""
# A program that waits out 60 s would take 0.3 s of CPU, if it were looked at as often as others.
_WAITING_POLL_S = 0.5
_MIN_WORK_S = 0.05
"""CPU seconds below which a program has not worked: timers and event loops wake up for less."""
START_S = 60.0
"""Maximum wall time of building the isolation; it is long on a busy machine."""
# Reports come from inside the sandbox: without a bound they could fill our memory.
_REPORT_BYTES = 65_536
_NAMES_BYTES = 4 << 20


class SandboxResult(FrozenModel):
    """Result of one sandboxed program.

    ``error`` is set only where the program was never started: our fault, not its. ``exit_code`` and
    ``signal`` are the program's own as its launcher saw them; both are None where it was killed from outside.
    """

    exit_code: int | None = None
    signal: int | None = None
    sentinel: bool = False
    waits: bool = False
    """True if it ended in order while one of its checks waited for a promise that never settled."""
    killed: KillReason | None = None
    stdout: CapturedOutput = Field(default_factory=CapturedOutput)
    stderr: CapturedOutput = Field(default_factory=CapturedOutput)
    wall_s: float = 0.0
    cpu_s: float = 0.0
    sandbox_cpu_s: float = 0.0
    """CPU of the sandbox's first process, as far as it is known; the program's is not in it."""
    memory_mb: float = 0.0
    error: str | None = None
    isolation: Isolation | None = None
    files: tuple[ResultFile, ...] = ()
    """Files read out of a project; none if the program was killed from outside."""
    accesses: tuple[str, ...] | None = None
    """Accesses of a watched program beyond its own files and the language's; None if unseen."""
    refusals: tuple[str, ...] = ()
    """Refused network accesses of a program that may reach package indexes."""

    @property
    def ok(self) -> bool:
        """Return whether the program ended with exit status 0."""
        return self.error is None and self.killed is None and self.exit_code == 0

    @property
    def killed_from_outside(self) -> bool:
        """Return whether something else may have ended the program: no exit code, SIGKILL at most, no limit of ours."""
        return self.exit_code is None and self.signal in (None, signal.SIGKILL) and self.killed is None


class _Capture:
    """Capture of a stream's head and tail; the middle is dropped."""

    def __init__(self, kept_bytes: int) -> None:
        self._half = max(1, kept_bytes // 2)
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0

    def add(self, data: bytes) -> None:
        self.total += len(data)
        room = self._half - len(self._head)
        self._head += data[:room] if room > 0 else b""
        self._tail += data[max(room, 0) :]
        if len(self._tail) > 2 * self._half:
            del self._tail[: -self._half]

    def output(self) -> CapturedOutput:
        tail = self._tail[-self._half :]
        dropped = self.total - len(self._head) - len(tail)
        if dropped:
            texts = (data.decode("utf-8", "replace") for data in (self._head, tail))
            text = f"\n[... {dropped} bytes left out ...]\n".join(texts)
        else:
            text = (self._head + tail).decode("utf-8", "replace")
        return CapturedOutput(text=text, bytes_total=self.total, truncated=dropped > 0)


class SandboxedProcess(Protocol):
    """Protocol of a running sandbox: its first process seen from outside, and its output."""

    pid: int
    stdout: IO[bytes] | None
    stderr: IO[bytes] | None

    def kill(self) -> None:
        """Kill everything inside the sandbox."""

    def wait(self) -> int:
        """Wait until the process has ended."""


class Supervisor:
    """Supervisor of a running sandbox: reads output, watches usage, and ends it when it exceeds a limit."""

    def __init__(
        self,
        process: SandboxedProcess,
        channel: socket.socket,
        invocation: Invocation,
        interrupted: threading.Event,
        *,
        extra_check: Callable[[], KillReason | None] | None = None,
        group: MemoryGroup | None = None,
    ) -> None:
        """Take charge of a sandbox that has just been started for an invocation.

        ``extra_check``: asked several times a second whether the program has too much of something else.
        ``group``: control group that limits the memory.
        """
        limits, file_bytes = invocation.limits, invocation.max_file_bytes
        self._group = group
        self._extra_check = extra_check
        self._output_handler = invocation.output_handler
        # Files come in base64, their names too.
        self._report_bytes = _REPORT_BYTES + (2 * file_bytes + _NAMES_BYTES if file_bytes else 0)
        self._interrupted = interrupted
        self._process = process
        self._channel = channel
        self._limits = limits
        self._wall_s = invocation.wall_s or limits.wall_s
        self._streams = [_Capture(limits.output_kb << 10), _Capture(limits.output_kb << 10)]
        self._reports = bytearray()
        self._killed: KillReason | None = None
        self._late = False
        self._fault: str | None = None
        self._started_at: float | None = None
        self._memory_mb = 0.0
        self._cpu_s = 0.0
        self._waits = False
        self._worked = (0.0, time.monotonic())
        """CPU seconds and time when it was last seen to work."""

    def supervise(self, job: Mapping[str, object]) -> None:
        """Send the job and wait for the end of the sandbox."""
        process = self._process
        report_activity(works=True)
        assert process.stdout is not None  # noqa: S101  pipes, as its opener made them
        assert process.stderr is not None  # noqa: S101
        try:
            if self._group is not None:
                # The sandbox waits for its job: the program is not there yet.
                self._group.add_process(process.pid)
            self._channel.settimeout(START_S)
            data = marshal.dumps(dict(job), 2)
            # It may have died while it started: its words are on standard error.
            with contextlib.suppress(OSError):
                self._channel.sendall(len(data).to_bytes(8, "big") + data)
            self._channel.setblocking(False)
            with selectors.DefaultSelector() as selector:
                for stream, capture in zip((process.stdout, process.stderr), self._streams, strict=True):
                    os.set_blocking(stream.fileno(), False)
                    selector.register(stream, selectors.EVENT_READ, capture)
                selector.register(self._channel, selectors.EVENT_READ, None)
                self._wait(selector)
        finally:
            process.kill()
            process.wait()
            # A program whose processes the kernel killed for memory may hang until its wall time: memory is the cause.
            if self._group is not None and self._group.limit_exceeded() and self._killed in (None, "wall"):
                self._killed = "memory"
            process.stdout.close()
            process.stderr.close()

    def _wait(self, selector: selectors.BaseSelector) -> None:
        begin = time.monotonic()
        next_look = begin + POLL_S
        while selector.get_map():
            now = time.monotonic()
            started_at = self._started_at
            deadline = begin + START_S if started_at is None else started_at + self._wall_s
            if now >= deadline and self._killed is None:
                self._late = self._started_at is None
                self._kill("wall")
            if now >= next_look:
                self._check_usage()
                next_look = time.monotonic() + (_WAITING_POLL_S if self._waits else POLL_S)
            until = min(next_look, deadline) if self._killed is None else next_look
            for key, _ in selector.select(max(0.0, until - time.monotonic())):
                self._read(selector, key.fileobj, key.data)

    def _kill(self, why: KillReason) -> None:
        if self._killed is None:
            self._killed = why
            self._cpu_s = max(self._cpu_s, tree_activity(self._process.pid)[0])
            self._process.kill()

    def _read(self, selector: selectors.BaseSelector, source: Any, capture: _Capture | None) -> None:
        try:
            data = os.read(source.fileno(), 65_536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            selector.unregister(source)
        elif capture is None:
            self._reports += data[: self._report_bytes - len(self._reports)]
            if self._started_at is None and b"\n" in self._reports:
                self._started_at = time.monotonic()
                self._worked = 0.0, self._started_at  # on a busy machine the isolation takes seconds to build
        elif self._output_handler is not None and capture is self._streams[0]:
            why = self._output_handler.receive_output(data)
            if why is not None:
                self._kill(why)
        else:
            capture.add(data)
            if sum(stream.total for stream in self._streams) > self._limits.output_kill_mb << 20:
                self._kill("output")

    def _check_usage(self) -> None:
        if self._interrupted.is_set() and self._killed is None:
            self._fault = "interrupted"
            self._kill("wall")
        if self._started_at is None or self._killed is not None:
            return
        if self._output_handler is not None:
            why = self._output_handler.kill_reason()
            if why is not None:
                self._kill(why)
            if why is not None or not self._output_handler.is_busy():
                return
        if self._waits and not self._has_worked(*tree_activity(self._process.pid)):
            report_activity(works=False, memory_mb=self._memory_mb)  # once more: there may be room for it now
            return  # without a processor it can neither start processes nor take memory
        usage = tree_usage(self._process.pid, self._limits.pids + 2)
        self._note_activity(usage)
        self._memory_mb = max(self._memory_mb, usage.memory_mb)
        self._cpu_s = max(self._cpu_s, usage.cpu_s)
        if usage.processes > self._limits.pids + 2:
            self._kill("processes")
        elif usage.memory_mb > self._limits.memory_mb:
            self._kill("memory")
        elif usage.cpu_s > self._limits.cpu_s + 2.0:
            # The kernel's limit counts each process by itself, this one the tree. It is 2 s higher, so that a single
            # process ends by the kernel's signal.
            self._kill("cpu")
        elif self._extra_check is not None and (more := self._extra_check()) is not None:
            self._kill(more)

    def _has_worked(self, cpu_s: float, is_runnable: bool) -> bool:
        """Return whether a program has used a processor since it was last seen to work, or would if it got one."""
        return is_runnable or abs(cpu_s - self._worked[0]) >= _MIN_WORK_S  # less: one of its processes has ended

    def _note_activity(self, usage: TreeUsage) -> None:
        """Lend the program's slot after two seconds without work; take it back when it works again."""
        now = time.monotonic()
        if self._has_worked(usage.cpu_s, usage.is_runnable):
            self._worked = usage.cpu_s, now
        waits = now - self._worked[1] >= WAITING_S
        if waits != self._waits:
            self._waits = waits
            report_activity(works=not waits, memory_mb=usage.memory_mb)

    def result(self, begin: float, isolation: Isolation) -> SandboxResult:
        """Return the result of the program."""
        stdout, stderr = (stream.output() for stream in self._streams)
        reports = [_report(line) for line in bytes(self._reports).splitlines()]
        last = next((report for report in reports if "code" in report), {})
        error = self._error(reports, stderr.text)
        # The launcher's last word and files do not count where the program was killed from outside.
        outcome, sent = (last, reports) if self._killed is None else ({}, [])
        code = int(outcome["code"]) if outcome else None
        return SandboxResult(
            exit_code=code if code is not None and code >= 0 else None,
            signal=-code if code is not None and code < 0 else None,
            sentinel=bool(outcome.get("sentinel")),
            waits=bool(outcome.get("waits")),
            killed=self._killed if error is None else None,
            stdout=stdout,
            stderr=stderr,
            wall_s=time.monotonic() - (self._started_at or begin),
            cpu_s=max(float(last["cpu_s"]), 0.0) if last else self._cpu_s,
            sandbox_cpu_s=float(last.get("own_s", 0.0)),
            memory_mb=max(float(last["peak_kb"]) / 1024 if last else 0.0, self._memory_mb),
            error=error,
            isolation=isolation,
            accesses=next((tuple(report["accesses"]) for report in sent if "accesses" in report), None),
            files=tuple(_file(report) for report in sent if "file" in report),
        )

    def _error(self, reports: Sequence[Mapping[str, Any]], message: str) -> str | None:
        """Return the reason why the program was never started; None if it ran."""
        faults = [str(report["error"]) for report in reports if "error" in report]
        if self._fault or faults:
            return self._fault or faults[0]
        if any("started" in report for report in reports):
            return None
        return "it took too long to build" if self._late else message.strip()[-2000:] or "it did not start"


def _file(report: Mapping[str, Any]) -> ResultFile:
    path, pattern = (base64.b64decode(report[name]).decode("utf-8", "replace") for name in ("file", "pattern"))
    return ResultFile(path=path, pattern=pattern, data=base64.b64decode(report["data"]), problem=report["problem"])


def _report(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
