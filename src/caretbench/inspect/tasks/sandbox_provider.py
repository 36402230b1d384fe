"""Inspect's sandbox `caretbench`: isolation for the tools and solvers of any task, without Docker.

Each sample gets a sandbox of its own. Its files, below ``/tmp``, last as long as the sample, in memory; a command's
processes end with the command. A command that timed out is not run again, whatever ``timeout_retry`` is: what it
did already would be done twice.
"""

from __future__ import annotations

import errno
import functools
import math
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, TypeVar, overload

import anyio
import anyio.to_thread
from inspect_ai.util import (
    ExecResult,
    OutputLimitExceededError,
    SandboxEnvironment,
    SandboxEnvironmentConfigType,
    SandboxEnvironmentLimits,
    SandboxUnavailableError,
    SandboxUserUnsupportedError,
    concurrency,
)
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import override

from caretbench.errors import DataError
from caretbench.execution.execution_types import Limits
from caretbench.execution.sandbox.persistent_sandbox import PersistentSandbox
from caretbench.execution.sandbox.program_sandbox import Sandbox, SandboxUnavailable
from caretbench.execution.sandbox.supervisor import SandboxResult
from caretbench.files import read_toml, validated

CONFIG_FILE = "caretbench-sandbox.toml"
_USERS = ("runner", "1000")
_NOT_STARTED = 127
_SIGKILL = 9
"""Number of the signal on Linux, where the sandbox runs; the module is imported elsewhere, too."""
_KILLED = 128 + _SIGKILL
_WHY = {
    "cpu": "more than {0.cpu_s:g} s of CPU time (cpu_s)",
    "memory": "more than {0.memory_mb} MB of memory (memory_mb)",
    "processes": "more than {0.pids} processes (pids)",
    "disk": "more files than it may write",
}

_T = TypeVar("_T")


class SandboxSettings(BaseModel):
    """Settings of ``caretbench-sandbox.toml``.

    Args:
        wall_s: Seconds of a command for which the caller names no timeout.
        cpu_s: Seconds of CPU time of one command.
        memory_mb: Memory of all processes of one command.
        pids: Processes and threads of one command.
        tmp_mb: All files of one sample, in memory.
        fsize_mb: One file that a command writes.
        nofile: Open files of one process.
        environment: Environment variables of every command.
        read_only: Path inside -> path on this machine: packages, data.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    wall_s: float = Field(default=3600, gt=0)
    cpu_s: float = Field(default=600, gt=0)
    memory_mb: int = Field(default=2048, gt=0)
    pids: int = Field(default=256, gt=0)
    tmp_mb: int = Field(default=512, gt=0)
    fsize_mb: int = Field(default=256, gt=0)
    nofile: int = Field(default=1024, ge=64)
    environment: dict[str, str] = Field(default_factory=dict)
    read_only: dict[str, str] = Field(default_factory=dict)

    def limits(self) -> Limits:
        """Return the resource limits of a command."""
        return Limits(**self.model_dump(exclude={"environment", "read_only"}))


def sandbox_settings(config: SandboxEnvironmentConfigType | None) -> SandboxSettings:
    """Return the settings that a task names: none, a file or the settings themselves.

    Raises:
        DataError: the file cannot be read or contains unknown settings; with its name.
    """
    if config is None:
        return SandboxSettings()
    if isinstance(config, SandboxSettings):
        return config
    if not isinstance(config, str):
        raise DataError(
            f"the sandbox caretbench is configured by a file or SandboxSettings, not {type(config).__name__}"
        )
    return validated(SandboxSettings, read_toml(Path(config)), config)


class CaretbenchSandbox(SandboxEnvironment):
    """Sandbox of one sample."""

    def __init__(self, sandbox: PersistentSandbox) -> None:
        super().__init__()
        self._sandbox = sandbox

    @override
    @classmethod
    def config_files(cls) -> list[str]:
        return [CONFIG_FILE]

    @override
    @classmethod
    def config_deserialize(cls, config: dict[str, Any]) -> BaseModel:
        return SandboxSettings.model_validate(config)

    @override
    @classmethod
    def default_concurrency(cls) -> int | None:
        return 4 * (os.cpu_count() or 1)

    @override
    @classmethod
    async def task_init(cls, task_name: str, config: SandboxEnvironmentConfigType | None) -> None:
        """Check before the first sample that sandboxes can be created on this machine."""
        settings = sandbox_settings(config)
        await _in_thread(lambda: _check_sandbox(settings))

    @override
    @classmethod
    async def sample_init(
        cls, task_name: str, config: SandboxEnvironmentConfigType | None, metadata: dict[str, str]
    ) -> dict[str, SandboxEnvironment]:
        settings = sandbox_settings(config)
        return {"default": cls(await _in_thread(lambda: _build_sandbox(settings)))}

    @override
    @classmethod
    async def sample_cleanup(
        cls,
        task_name: str,
        config: SandboxEnvironmentConfigType | None,
        environments: dict[str, SandboxEnvironment],
        interrupted: bool,
    ) -> None:
        for environment in environments.values():
            await _in_thread(environment.as_type(CaretbenchSandbox)._sandbox.close)

    # Nothing outlives a sample, so ``task_cleanup`` and ``cli_cleanup`` have nothing to do.

    @override
    async def exec(
        self,
        cmd: list[str],
        input: str | bytes | None = None,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        user: str | None = None,
        timeout: int | None = None,
        timeout_retry: bool = True,
        concurrency: bool = True,
    ) -> ExecResult[str]:
        if user is not None and user not in _USERS:
            raise SandboxUserUnsupportedError(
                f"the sandbox caretbench runs commands as its only user, runner, not as {user!r}"
            )
        most = SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE
        limits = self._sandbox.limits.model_copy(
            # Inspect wants the output up to its limit, and an error beyond it; a command that writes on without end is
            # killed at twice that.
            update={"output_kb": math.ceil(most / 1024), "output_kill_mb": (2 * most >> 20) + 1}
        )
        stop = threading.Event()
        work = functools.partial(
            self._sandbox.run,
            cmd,
            environment=env,
            directory=cwd or ".",
            stdin=input.encode() if isinstance(input, str) else input,
            limits=limits,
            wall_s=timeout,
            stop=stop,
        )
        ran = await (_in_bounded_thread(work, stop) if concurrency else _in_thread(work, stop))
        return _to_exec_result(ran, cmd, limits, timeout or limits.wall_s)

    @override
    async def write_file(self, file: str, contents: str | bytes) -> None:
        data = contents.encode() if isinstance(contents, str) else contents
        stop = threading.Event()
        await _in_thread(lambda: self._sandbox.write(file, data, stop), stop)

    @overload
    async def read_file(self, file: str, text: Literal[True] = True) -> str: ...

    @overload
    async def read_file(self, file: str, text: Literal[False]) -> bytes: ...

    @override
    async def read_file(self, file: str, text: bool = True) -> str | bytes:
        most = SandboxEnvironmentLimits.MAX_READ_FILE_SIZE
        stop = threading.Event()
        try:
            data = await _in_thread(lambda: self._sandbox.read(file, most, stop), stop)
        except OSError as error:
            if error.errno != errno.EFBIG:
                raise
            limit = SandboxEnvironmentLimits.MAX_READ_FILE_SIZE_STR
            raise OutputLimitExceededError(limit_str=limit, truncated_output=None) from None
        return data.decode("utf-8") if text else data

    @override
    def default_polling_interval(self) -> float:
        return 0.2


def _build_sandbox(settings: SandboxSettings) -> PersistentSandbox:
    return PersistentSandbox(settings.limits(), environment=settings.environment, read_only=settings.read_only)


def _check_sandbox(settings: SandboxSettings) -> None:
    gone = [place for place in settings.read_only.values() if not Path(place).exists()]
    if gone:
        raise DataError(f"{gone[0]}: not here, and the sandbox is to show it")
    # It tells what to install or to set; the first command would only fail.
    Sandbox().probe()
    with _build_sandbox(settings) as sandbox:
        sandbox.run(["/bin/true"])


async def _in_thread(work: Callable[[], _T], stop: threading.Event | None = None) -> _T:
    """Return the result of ``work`` in a thread of its own; cancelling sets ``stop`` and abandons the thread."""
    try:
        return await anyio.to_thread.run_sync(
            work, abandon_on_cancel=stop is not None, limiter=anyio.CapacityLimiter(1)
        )
    except SandboxUnavailable as error:
        raise SandboxUnavailableError(str(error)) from None
    finally:
        if stop is not None:
            stop.set()


async def _in_bounded_thread(work: Callable[[], _T], stop: threading.Event) -> _T:
    """Return the same, with bounded parallelism: processors are few."""
    async with concurrency("caretbench-sandbox", 4 * (os.cpu_count() or 1)):
        return await _in_thread(work, stop)


def _to_exec_result(ran: SandboxResult, cmd: list[str], limits: Limits, wall_s: float) -> ExecResult[str]:
    """Return a command's result, or the exception that Inspect documents for it."""
    if ran.error is not None:
        raise SandboxUnavailableError(ran.error)
    if ran.killed == "wall":
        raise TimeoutError(f"the command took more than {wall_s:g} s")
    for stream in (ran.stdout, ran.stderr):
        if ran.killed == "output" or stream.bytes_total > SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE:
            limit = SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE_STR
            raise OutputLimitExceededError(limit_str=limit, truncated_output=ran.stdout.text)
    stderr = ran.stderr.text
    # Inspect documents PermissionError for a file that is not executable; a program may exit with 127 itself.
    if ran.exit_code == _NOT_STARTED and stderr == f"cannot start {cmd[0]}: Permission denied\n":
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), cmd[0])
    if ran.killed is not None:
        stderr += f"\ncaretbench: killed: {_WHY[ran.killed].format(limits)}\n"
        code = _KILLED
    else:
        code = ran.exit_code if ran.exit_code is not None else 128 + (ran.signal or _SIGKILL)
    return ExecResult(code == 0, code, ran.stdout.text, stderr)
