"""Run of a program with bytes as input and output; its process group ends with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import NamedTuple

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream, Process

_LAST_WORDS_S = 1.0  # a child may hold the pipes open after the program has ended
_COMPLAINT = 2000


class ProcessResult(NamedTuple):
    """Result of a process. ``stderr_tail``: end of standard error; ``status``: exit status, negative for a signal."""

    output: bytes
    stderr_tail: bytes
    status: int
    truncated: bool

    @property
    def status_text(self) -> str:
        """Exit status or signal as text: ``ended with status 1``, ``was killed by SIGKILL``."""
        if self.status >= 0:
            return f"ended with status {self.status}"
        return f"was killed by {_signal_name(-self.status)}"


async def run_process(argv: Sequence[str], data: bytes, max_output: int) -> ProcessResult:
    """Run ``argv`` with ``data`` on standard input; at most ``max_output`` bytes of output are kept.

    A program that writes more is killed; so are, when it ends or the caller is cancelled, its children.

    Raises:
        OSError: it does not start.
    """
    process = await anyio.open_process(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    output, stderr_tail = _Kept(max_output), _Kept(_COMPLAINT, tail=True)
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(_write, process.stdin, data)
            group.start_soon(_read, process.stdout, output, process)
            group.start_soon(_read, process.stderr, stderr_tail, process)
            await process.wait()
            group.cancel_scope.deadline = anyio.current_time() + _LAST_WORDS_S
    finally:
        with anyio.CancelScope(shield=True):
            _kill(process)
            await process.aclose()
    return ProcessResult(output.data, stderr_tail.data, process.returncode or 0, output.full)


class _Kept:
    """Bytes up to a limit: the first ones, or the last ones (``tail``)."""

    def __init__(self, limit: int, *, tail: bool = False) -> None:
        self._limit = limit
        self._tail = tail
        self._data = bytearray()
        self.full = False

    def add(self, chunk: bytes) -> None:
        self._data += chunk
        if len(self._data) > self._limit:
            self.full = not self._tail
            del self._data[slice(None, -self._limit) if self._tail else slice(self._limit, None)]

    @property
    def data(self) -> bytes:
        return bytes(self._data)


async def _write(stream: ByteSendStream | None, data: bytes) -> None:
    if stream is None:
        return
    try:
        await stream.send(data)
        await stream.aclose()
    except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        pass  # a program may answer without reading everything


async def _read(stream: ByteReceiveStream | None, kept: _Kept, process: Process) -> None:
    if stream is None:
        return
    try:
        async for chunk in stream:
            kept.add(chunk)
            if kept.full:
                _kill(process)
                return
    except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        pass  # the pipe broke with the program: its exit status tells more


def _kill(process: Process) -> None:
    """Kill the program and all of its group, which has the program's number."""
    try:
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass  # nothing is left of it (macOS says so by EPERM where only a zombie is)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
