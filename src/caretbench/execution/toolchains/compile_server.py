"""Compile servers: sandboxed compilers that serve many programs, isolated from each other.

A compiler takes a second to warm up and milliseconds for a program once it is hot, so it stays for many. A server
reads requests on standard input, each a line ``ID OPTION BYTES`` and that number of bytes of program text. It says
``{"ready": true}`` once, and then one line of JSON per request, which holds the files that it made: nothing of the
host's is writable to it. It ends when its input does.

A program that the server does not survive is compiled again, first thing in a fresh server: only what happens there is
the program's own doing. The CPU time that the server counts is the program's own anyway, so too much of it is a verdict
at once. The id is drawn for each request, and a server that says anything but the answer that is waited for is ended.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import secrets
import threading
import time
import weakref
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from pydantic import Base64Bytes, BaseModel, ValidationError

from caretbench.execution.costs import ledger
from caretbench.execution.execution_types import CompileResult, ExecutionRequest, Limits, Status
from caretbench.execution.sandbox.invocation import Invocation, KillReason
from caretbench.execution.sandbox.program_sandbox import Sandbox
from caretbench.execution.sandbox.supervisor import START_S, SandboxResult
from caretbench.execution.toolchains.base_runtime import BaseRuntime, compile_limits, shorten_diagnostics

COMPILE_BATCH = 10
"""Programs per call of the compile servers."""
CPU_PER_PROGRAM_S = 30.0
"""CPU time, in seconds, that a compiler may spend on one program."""
# Servers get faster with what they compile: in a run of 12 programs a language, TypeScript took 154 ms a program and
# Java 139, in one of 40 it was 120 and 118.
PROGRAMS_PER_SERVER = 1000
"""Number of programs after which a server is replaced by a fresh one."""

_IDLE_S = 30.0
"""Seconds after which an idle server ends."""
_MIN_KEPT_MB = 1100.0
_UNKNOWN_MB = 150.0
"""Assumed memory of a server before its own report."""
_ENDS_S = 5.0
# The CPU and wall time of a server have no limit of their own: those of each request are watched.
_LIFE_S = 1e6
_ANSWER_BYTES = 96 << 20
_FILES = 20_000
# Limits of Linux: a name beyond them is the program's fault, and must not look like a fault of the disk.
_NAME_BYTES = 255
_PATH_BYTES = 2000
_OUT_OF_MEMORY = ("OutOfMemory", "Out of memory", "heap out of memory")


@cache
def servers_mb() -> float:
    """Return the memory of all servers of one sandbox in MB, a quarter of the machine's; at least what one needs.

    Beyond it idle servers are ended, the longest idle first.
    """
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(_MIN_KEPT_MB, pages / (4 << 20))


class ServerAnswer(BaseModel):
    """Server's answer about one program; ``kind`` is ``ok`` or the kind of error."""

    id: str
    kind: str
    missing: str | None = None
    diagnostics: str = ""
    seconds: float = 0.0
    memory_mb: float = 0.0
    """Memory that the server uses now."""
    files: dict[str, Base64Bytes] = {}
    """The artefact: path -> content."""


def default_verdict(answer: ServerAnswer, request: ExecutionRequest) -> Status | None:
    """Return the status of an answer: a missing module, a timeout, or else a compile error; None if it compiled."""
    del request
    statuses = {"ok": None, "module": Status.UNRESOLVED_IMPORT, "timeout": Status.TIMEOUT}
    return statuses.get(answer.kind, Status.COMPILE_ERROR)


class CompilerSettings(NamedTuple):
    """Settings of a language's compile server: its start, and when it is replaced."""

    arguments: Sequence[str]
    read_only: Mapping[str, str]
    environment: Mapping[str, str]
    max_memory_mb: float
    """Memory limit in MB; a server that uses more after a program is replaced by a new one."""
    classify_answer: Callable[[ServerAnswer, ExecutionRequest], Status | None] = default_verdict
    """Function from an answer to a status; None if the program can run."""
    file_mode: int = 0o644

    @property
    def key(self) -> tuple[object, ...]:
        """Properties that programs must share to use the same server."""
        binds, settings = (tuple(sorted(each.items())) for each in (self.read_only, self.environment))
        return tuple(self.arguments), binds, settings


class CompileJob(NamedTuple):
    """Request, empty folder for its artefact, and an option (without blanks) for the server."""

    request: ExecutionRequest
    folder: Path
    option: str = "-"


def compile_programs(
    sandbox: Sandbox, compiler_for: Callable[[ExecutionRequest], CompilerSettings], programs: Sequence[CompileJob]
) -> list[CompileResult]:
    """Compile programs, each into its own folder; one result each, in order.

    Args:
        sandbox: Sandbox of the compilers: they read untrusted text. Servers stay until it is closed, or nobody asks.
        compiler_for: The compiler for a request's bundle and profile.
        programs: Programs to compile.
    """
    servers = _servers_of(sandbox)
    compilers: dict[tuple[str | None, str], CompilerSettings] = {}
    results = []
    for program in programs:
        # TypeScript has another compiler under each profile.
        key = program.request.bundle, program.request.profile
        if key not in compilers:
            compilers[key] = compiler_for(program.request)
        results.append(servers.compile(sandbox, compilers[key], program))
    return results


class ServerCompiledRuntime(BaseRuntime):
    """Base of the runtimes whose compiler is a server: programs are compiled one by one, none seeing another."""

    compile_batch_size = COMPILE_BATCH

    @abstractmethod
    def compiler_for(self, request: ExecutionRequest) -> CompilerSettings:
        """Return the compile server for a request's bundle and profile."""

    def server_option(self, request: ExecutionRequest) -> str:
        """Return the option for the server, without blanks."""
        del request
        return "-"

    def compile(self, requests: Sequence[ExecutionRequest], artefacts: Sequence[Path]) -> list[CompileResult]:
        """Compile programs, each into its own folder; one result each, in order."""
        jobs = [
            CompileJob(request, folder, self.server_option(request))
            for request, folder in zip(requests, artefacts, strict=True)
        ]
        return compile_programs(self.sandbox, self.compiler_for, jobs)


class CompileServer:
    """Sandboxed compiler and the thread that supervises it. One thread at a time may use it."""

    def __init__(self, sandbox: Sandbox, compiler: CompilerSettings, limits: Limits) -> None:
        self.compiler = compiler
        self.programs = 0
        self.memory_mb = _UNKNOWN_MB
        self.outcome = SandboxResult()
        self.ready = False
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._answers: queue.SimpleQueue[ServerAnswer | None] = queue.SimpleQueue()
        self._received = bytearray()
        self._unsound = False
        self._awaited: str | None = None
        self._since = time.monotonic()
        self._wall_s = limits.compile_wall_s
        self._closed_at: float | None = None
        self._ended = False
        self._source, self._sink = os.pipe()
        self._limits = compile_limits(limits).model_copy(update={"cpu_s": _LIFE_S, "wall_s": _LIFE_S})
        self._thread = threading.Thread(target=self._serve, args=(sandbox,), name="compile-server", daemon=True)
        self._thread.start()

    def _serve(self, sandbox: Sandbox) -> None:
        try:
            with ledger.during("compilers", waited_for=False):
                self.outcome = self._run(sandbox)
        except Exception as error:
            self.outcome = SandboxResult(error=f"no process: {error}")
        finally:
            with self._lock:
                self._ended = True
            os.close(self._source)
            self._answers.put(None)

    def _run(self, sandbox: Sandbox) -> SandboxResult:
        return sandbox.run(
            Invocation(
                self.compiler.arguments,
                limits=self._limits,
                read_only=self.compiler.read_only,
                environment=self.compiler.environment,
                address_space_limit=False,
                stdin=self._source,
                output_handler=self,
            )
        )

    def compile(self, program: CompileJob) -> ServerAnswer | None:
        """Compile one program; None where the server has ended without an answer."""
        text = program.request.source.encode("utf-8", "surrogatepass")
        identity = secrets.token_hex(8)
        with self._lock:
            self._awaited = identity
            self._since = time.monotonic()
            self._wall_s = program.request.limits.compile_wall_s
        self.programs += 1
        request = memoryview(f"{identity} {program.option} {len(text)}\n".encode() + text)
        # It may end, or be ended by its supervisor, while it reads.
        with self._writing, contextlib.suppress(OSError):
            while request and self.is_usable:
                request = request[os.write(self._sink, request) :]
        answer = self._answers.get()
        if answer is not None:
            self.memory_mb = answer.memory_mb or self.memory_mb
        return answer

    @property
    def is_usable(self) -> bool:
        """Return whether the server can be used."""
        with self._lock:
            return not self._ended and self._closed_at is None

    @property
    def must_be_replaced(self) -> bool:
        """Return whether the server has compiled its maximum number of programs."""
        return self.programs >= PROGRAMS_PER_SERVER or self.memory_mb > self.compiler.max_memory_mb

    def close(self) -> None:
        """End the server by closing its input."""
        with self._lock:
            if self._closed_at is not None:
                return
            self._closed_at = time.monotonic()
        with self._writing:
            os.close(self._sink)

    @property
    def has_ended(self) -> bool:
        """Return whether the server's thread has ended."""
        return not self._thread.is_alive()

    def join(self, timeout_s: float | None = None) -> None:
        """Wait until the server has ended, at most ``timeout_s``."""
        if self._thread is not threading.current_thread():
            self._thread.join(timeout_s)

    # --- on the supervising thread ----------------------------------------------------------------------------

    def receive_output(self, data: bytes) -> KillReason | None:
        """Process the server's output: only the awaited answer is accepted."""
        if self._unsound:
            return "output"
        self._received += data
        *lines, rest = self._received.split(b"\n") if b"\n" in data else [self._received]
        self._received = rest
        self._unsound = len(rest) > _ANSWER_BYTES or not all(map(self._understand, lines))
        return "output" if self._unsound else None

    def _understand(self, line: bytes | bytearray) -> bool:
        if not self.ready:
            with self._lock:
                self.ready = _is_ready_line(line)
                self._since = time.monotonic()
            return self.ready
        try:
            answer = ServerAnswer.model_validate_json(bytes(line))
        except ValidationError:
            return False
        with self._lock:
            if self._awaited is None or answer.id != self._awaited:
                return False
            self._awaited = None
            self._since = time.monotonic()
        self._answers.put(answer)
        return True

    def kill_reason(self) -> KillReason | None:
        """Return a reason to end the server: it takes too long, or is idle or closed; None if there is none."""
        with self._lock:
            now = time.monotonic()
            if self._closed_at is not None:
                return "wall" if now - self._closed_at > _ENDS_S else None
            patience_s = START_S + self._wall_s
            if self.ready:
                patience_s = self._wall_s if self._awaited is not None else _IDLE_S
            return "wall" if now - self._since > patience_s else None

    def is_busy(self) -> bool:
        """Return whether a program is being compiled."""
        with self._lock:
            return self._awaited is not None or not self.ready


def _is_ready_line(line: bytes | bytearray) -> bool:
    try:
        return bool(json.loads(line) == {"ready": True})
    except ValueError:
        return False


class CompileServerPool:
    """Servers of one sandbox. Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[CompileServer] = []  # the one that was used last comes last
        self._working: list[CompileServer] = []
        self._retired: list[CompileServer] = []

    def compile(self, sandbox: Sandbox, compiler: CompilerSettings, program: CompileJob) -> CompileResult:
        """Return the result of one program."""
        server = self._lease(sandbox, compiler, program.request.limits)
        answer = server.compile(program)
        if answer is None:
            self._retire(server)
            # A fresh server would be ended at once, and the program blamed for it.
            if sandbox.interrupted:
                return _failure(SandboxResult(error="interrupted"), ours=True)
            server = self._fresh(sandbox, compiler, program.request.limits)
            answer = server.compile(program)
        if answer is None:
            self._retire(server)
            server.join()
            outcome = server.outcome
            # By a foreign signal, or by the kernel for lack of memory: not by the program.
            from_outside = outcome.error is not None or outcome.killed_from_outside
            return _failure(outcome, ours=not server.ready or from_outside)
        # After a timeout the compiler is still at work on the program.
        if answer.kind == "timeout" or server.must_be_replaced:
            self._retire(server)
        else:
            self._release(server)
        return _result(answer, program, compiler)

    def close(self) -> None:
        """End all servers, and wait until they are gone."""
        with self._lock:
            servers = [*self._idle, *self._working]
            self._idle.clear()
            leaving = [*self._retired, *servers]
        for server in servers:
            server.close()
        for server in leaving:
            server.join(2 * _ENDS_S)

    def _lease(self, sandbox: Sandbox, compiler: CompilerSettings, limits: Limits) -> CompileServer:
        key = compiler.key
        with self._lock:
            ended = [server for server in self._idle if not server.is_usable]
            self._idle = [server for server in self._idle if server.is_usable]
            idle = next((server for server in reversed(self._idle) if server.compiler.key == key), None)
            if idle is not None:
                self._idle.remove(idle)
                self._working.append(idle)
        for server in ended:
            server.close()  # its end of the pipe is still open
        return idle or self._fresh(sandbox, compiler, limits)

    def _fresh(self, sandbox: Sandbox, compiler: CompilerSettings, limits: Limits) -> CompileServer:
        self._make_room(_UNKNOWN_MB)
        server = CompileServer(sandbox, compiler, limits)
        with self._lock:
            self._working.append(server)
        return server

    def _release(self, server: CompileServer) -> None:
        with self._lock:
            self._working.remove(server)
            self._idle.append(server)
        self._make_room(0.0)

    def _retire(self, server: CompileServer) -> None:
        server.close()
        with self._lock:
            self._working.remove(server)
            self._retired = [retired for retired in (*self._retired, server) if not retired.has_ended]

    def _make_room(self, required_mb: float) -> None:
        closed = []
        with self._lock:
            used = required_mb + sum(server.memory_mb for server in (*self._idle, *self._working))
            while self._idle and used > servers_mb():
                closed.append(self._idle.pop(0))
                used -= closed[-1].memory_mb
            self._retired += closed
        for server in closed:
            server.close()


_pools: weakref.WeakKeyDictionary[Sandbox, CompileServerPool] = weakref.WeakKeyDictionary()
_pools_lock = threading.Lock()


def _servers_of(sandbox: Sandbox) -> CompileServerPool:
    with _pools_lock:
        servers = _pools.get(sandbox)
        if servers is None:
            servers = _pools[sandbox] = CompileServerPool()
            # By whichever comes first: a sandbox may be closed and used again, or be forgotten.
            sandbox.add_close_callback(servers.close)
            weakref.finalize(sandbox, servers.close)
    return servers


def _result(answer: ServerAnswer, program: CompileJob, compiler: CompilerSettings) -> CompileResult:
    status = compiler.classify_answer(answer, program.request)
    diagnostics = answer.diagnostics
    if status is None and not _placed(answer.files, program.folder, compiler.file_mode):
        status, diagnostics = Status.COMPILE_ERROR, "the compiler's files have names that no file can have"
    return CompileResult(
        artefact=program.folder if status is None else None,
        status=status,
        diagnostics=shorten_diagnostics(diagnostics),
        missing_module=answer.missing,
        compile_s=answer.seconds,
    )


def _placed(files: Mapping[str, bytes], folder: Path, mode: int) -> bool:
    """Write the artefact below its empty folder; False where a name is no plain name of a file below it."""
    if len(files) > _FILES:
        return False
    for name, content in files.items():
        path = PurePosixPath(name)
        if len(name.encode("utf-8", "surrogatepass")) > _PATH_BYTES:
            return False
        if path.is_absolute() or "\0" in name or not path.parts or ".." in path.parts:
            return False
        if any(len(part.encode("utf-8", "surrogatepass")) > _NAME_BYTES for part in path.parts):
            return False
        try:
            _write(folder, path, content, mode)
        except (NotADirectoryError, IsADirectoryError):  # a file's name goes on below another file
            return False
    return True


def _write(folder: Path, path: PurePosixPath, content: bytes, mode: int) -> None:
    parent = folder
    for part in path.parts[:-1]:
        parent = parent / part
        if not parent.exists():
            parent.mkdir()
            parent.chmod(0o755)
    target = folder / path
    target.write_bytes(content)
    target.chmod(mode)


def _failure(outcome: SandboxResult, *, ours: bool) -> CompileResult:
    """Return the result of a compiler that died of one program, or (``ours``) never compiled anything."""
    stderr = outcome.stderr.text
    if ours:
        status, message = Status.SANDBOX_ERROR, outcome.error or f"the compiler does not start: {stderr}"
    elif outcome.killed == "memory" or any(sign in stderr for sign in _OUT_OF_MEMORY):
        status, message = Status.OUT_OF_MEMORY, "the compiler ran out of memory"
    elif outcome.killed in ("wall", "cpu"):
        status, message = Status.TIMEOUT, "the compiler took too long"
    else:
        status, message = Status.COMPILE_ERROR, f"the compiler crashed: {stderr}"
    return CompileResult(
        artefact=None,
        status=status,
        diagnostics=shorten_diagnostics(message),
        compile_s=outcome.cpu_s,
        wall_timeout=not ours and outcome.killed == "wall",
    )
