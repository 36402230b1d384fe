"""Requests, results and costs of execution, and the protocols of engines and language runtimes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from caretbench.problem import Profile, ProgramCase
from caretbench.profiles import ProfileRules, rules_of


class FrozenModel(BaseModel):
    """Base class of immutable values of execution."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Status(StrEnum):
    """Outcome of one program."""

    PASSED = "passed"
    FAILED = "failed"  # an assertion does not hold
    COMPILE_ERROR = "compile_error"
    TYPE_ERROR = "type_error"  # the type checker objects; the program may still run
    RUNTIME_ERROR = "runtime_error"
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "oom"
    OUTPUT_LIMIT = "output_limit"
    INCOMPLETE = "incomplete"  # exit status 0, but the end of the program was not reached
    UNRESOLVED_IMPORT = "unresolved_import"  # a module that is not there
    MISSING_DEPENDENCY = "missing_dependency"  # the same, if the reference needs it too: a machine fault
    SANDBOX_ERROR = "sandbox_error"  # ours: tried again, never counted
    SKIPPED = "skipped"  # no toolchain, or a declared need that this machine does not meet

    @property
    def is_machine_fault(self) -> bool:
        """Return whether the machine, not the program, is the cause: such an outcome is no verdict on an answer."""
        return self in _MACHINE_FAULTS

    @property
    def is_verdict(self) -> bool:
        """Return whether the outcome is a verdict on the answer."""
        return self not in _MACHINE_FAULTS

    @property
    def is_own_failure(self) -> bool:
        """Return whether the program failed in its run without being ended by a limit."""
        return self in _OWN_FAILURES

    @property
    def hits_limit(self) -> bool:
        """Return whether a limit of time, memory or output ended the program."""
        return self in _LIMITS_HIT

    @property
    def kills_mutant(self) -> bool:
        """Return whether the outcome shows that the checks reach a mutant: it compiled, ran, and did not pass."""
        return self in _OWN_FAILURES or self in _LIMITS_HIT

    @property
    def may_be_unlucky(self) -> bool:
        """Return whether another run may end otherwise: the program ran and did not pass, and may race or be late."""
        return self.kills_mutant

    @property
    def is_repeatable(self) -> bool:
        """Return whether the outcome is repeatable, so that it may be cached.

        Of the others, the machine's load decides, or packages that may be installed later.
        """
        return self in _REPEATABLE

    def for_reference(self, missing_module: str | None) -> Status:
        """Return the outcome of a reference: a missing module, or a too old compiler, is then the machine's fault."""
        too_old = self is Status.COMPILE_ERROR and missing_module is not None
        return Status.MISSING_DEPENDENCY if self is Status.UNRESOLVED_IMPORT or too_old else self


_MACHINE_FAULTS = frozenset({Status.SKIPPED, Status.SANDBOX_ERROR, Status.MISSING_DEPENDENCY})
_OWN_FAILURES = frozenset({Status.FAILED, Status.RUNTIME_ERROR, Status.INCOMPLETE})
_LIMITS_HIT = frozenset({Status.TIMEOUT, Status.OUT_OF_MEMORY, Status.OUTPUT_LIMIT})
_REPEATABLE = _OWN_FAILURES | {Status.PASSED, Status.COMPILE_ERROR, Status.TYPE_ERROR, Status.OUTPUT_LIMIT}


# A reference that fails takes its problem out of the count, so a race has to lose four times in a row.
LONE_RUNS = 3
"""Number of runs alone after which the failure of a reference counts."""


class Limits(FrozenModel):
    """Resource limits of one program. CPU time decides; the wall time limit is a second safeguard."""

    # Four times the CPU time: a busy machine stretches wall time, and must not decide.
    wall_s: float = 60.0
    compile_wall_s: float = 120.0
    cpu_s: float = 15.0
    memory_mb: int = 1024
    pids: int = 128
    fsize_mb: int = 32
    tmp_mb: int = 64
    nofile: int = 256
    output_kb: int = 64
    output_kill_mb: int = 4


REFERENCE_CPU = "reference_cpu@1"
"""Name and version of the rule that bounds the CPU time of an answer by that of its reference."""
CPU_FACTOR = 10.0


def bounded_by_reference(limits: Limits, reference_cpu_s: float | None) -> Limits:
    """Return limits with ten times the reference's CPU time, at least 1 s and at most what the limits allow.

    An endless loop next to a reference of 0.02 s used 10 s: 180 of the 200 CPU seconds of SimCopilot's starter set. The
    bound is rounded up to 1, 2, 4 s and so on, so that two measurements of a reference rarely give different bounds.
    """
    if reference_cpu_s is None:
        return limits
    bound = 2.0 ** max(0, math.ceil(math.log2(max(CPU_FACTOR * reference_cpu_s, 1.0))))
    return limits if bound >= limits.cpu_s else limits.model_copy(update={"cpu_s": bound})


CONTEST = "contest"
"""The variant of programs that read standard input, built as judges of contests do: C++ with -O2, two headers and a
large stack, C# as a release, and ``ONLINE_JUDGE`` defined in C++ and C#, a property in Java (113 programs of SAFIM ask
for it)."""


class ExecutionRequest(FrozenModel):
    """One program to run.

    ``bundle`` names the dependency bundle (``devbench/python``, say) that is bound read-only; ``needs`` what
    else it wants from the machine (``display``). ``profile`` chooses flags and criterion: under ``paper``
    exit status 0 is a pass, under ``default`` the completion sentinel must have arrived too. ``variant``
    selects a named variation of a language's build (C++: ``common_headers``).
    """

    id: str
    language: str
    source: str
    profile: Profile = "default"
    variant: str | None = None
    bundle: str | None = None
    needs: tuple[str, ...] = ()
    answer_lines: tuple[int, int] | None = None
    """The first and last line of the answer in the program: an explicit exit behind it is the program's own end."""
    repeat: int = 0
    """Number of the repetition, a part of the cache key: with another number the program runs again."""
    is_reference: bool = False
    """A failure counts only after :data:`LONE_RUNS` more runs alone; no part of the cache key."""
    limits: Limits = Field(default_factory=Limits)
    reference_cpu_s: float | None = None
    """CPU seconds of the problem's reference on this machine, which bound those of an answer; None: ``limits`` alone
    do. No part of the cache key: a cached result is used if it would be the same under the bound."""

    confirms_cpu_limit: bool = True
    """True if a run that the bound of the reference's CPU time ended is repeated alone; no part of the cache key."""
    cases: tuple[ProgramCase, ...] = ()
    """Inputs with their accepted outputs: the program runs once for each, up to the first that fails."""
    comparison: Literal["exact", "whitespace", "contest"] = "contest"
    """Comparison of a case's output."""
    watched: bool = False
    """Note the opened files and the connections in the result."""

    @property
    def run_limits(self) -> Limits:
        """Limits of the run, bounded by the reference."""
        return bounded_by_reference(self.limits, self.reference_cpu_s)

    @property
    def sentinel(self) -> bool:
        """Return whether the program must reach its end, by the profile.

        Where each case has an output, that is asked for instead: 4 of 800 right Java programs of SAFIM leave early.
        """
        silent = any(not output.strip() for case in self.cases for output in case.outputs)
        return self.rules.sentinel and (not self.cases or silent)

    @property
    def rules(self) -> ProfileRules:
        """Rules of the profile."""
        return rules_of(self.profile)


class CapturedOutput(FrozenModel):
    """Captured output stream: its head and tail, and the total number of bytes."""

    text: str = ""
    bytes_total: int = 0
    truncated: bool = False


class Isolation(FrozenModel):
    """Isolation that a program ran in."""

    backend: str
    level: str  # "namespaces", "landlock"
    memory: str  # "cgroup-v2", "cgroup-v1", "watchdog"
    network: str  # "none" (an own namespace with loopback), "index" (and a proxy to package indexes), "host"
    seccomp: bool
    user: str  # "unprivileged", "unprivileged-reader", "caller"


class TestTally(FrozenModel):
    """Counts of a project's tests by outcome, and the names of the first ``failing`` tests (with errors)."""

    __test__ = False  # not a test itself

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    failing: tuple[str, ...] = ()


class RunOutcome(FrozenModel):
    """Outcome of a run, of a program or of a command in a project."""

    id: str
    status: Status
    exit_code: int | None = None
    signal: int | None = None
    stdout: CapturedOutput = Field(default_factory=CapturedOutput)
    stderr: CapturedOutput = Field(default_factory=CapturedOutput)
    missing_module: str | None = None
    """Module, package or version of a compiler that the program needs and this machine lacks, as far as it is known."""
    cpu_s: float = 0.0
    memory_mb: float = 0.0
    isolation: Isolation | None = None
    attempt: int = 1
    runs_alone: int = 0
    """Number of further runs alone in which a reference failed too."""
    cached: bool = False
    reason: str = ""
    """Reason and remedy, for ``skipped`` and ``sandbox_error``."""
    limit: str = ""
    """Limit that ended the run: ``cpu``, ``wall``, ``memory`` …, or :data:`REFERENCE_CPU`; empty if none did."""
    limit_cpu_s: float = 0.0
    """CPU seconds after which :data:`REFERENCE_CPU` ended it."""
    accesses: tuple[str, ...] | None = None
    """Accesses of a watched program beyond its own files and the language's (``access_watch.py``); None if unseen."""

    @property
    def run_outcome(self) -> Status:
        """Outcome of the run itself, whatever a type checker reported."""
        return self.status


class ExecutionResult(RunOutcome):
    """Outcome of one request, with all that is needed to explain it."""

    stage: Literal["none", "compile", "run"] = "none"
    sentinel: bool = False
    diagnostics: str = ""
    """Output of the compiler, the type checker or a project's tests, shortened."""
    type_check: Literal["passed", "failed"] | None = None
    """Type checker's verdict on a program that runs in spite of type errors; None without a check."""
    run_status: Status | None = None
    """Outcome of the run itself, if ``status`` is the type checker's."""
    compile_s: float = 0.0
    run_s: float = 0.0
    toolchain: str = ""
    waits: bool = False
    """The run is ``incomplete`` because a check waits for a promise that never settled."""
    tests: TestTally | None = None
    """Counts of a project's tests, from its reports; None without reports."""

    @property
    def was_run(self) -> bool:
        """Return whether the program was run, whatever the type checker reported."""
        return self.stage == "run" or self.run_status is not None

    @property
    def run_outcome(self) -> Status:
        """Outcome of the run, whatever the type checker reported."""
        return self.run_status or self.status


def run_fields(result: FrozenModel) -> dict[str, Any]:
    """Return the fields that all results of runs share, as arguments for another result."""
    names = ("exit_code", "signal", "stdout", "stderr", "cpu_s", "memory_mb", "isolation", "limit", "limit_cpu_s",
             "accesses")  # fmt: skip
    return {name: getattr(result, name) for name in names if hasattr(result, name)}


class CompileResult(FrozenModel):
    """One compiled program: ``artefact`` is a folder of files to mount, or None where compiling failed."""

    artefact: Path | None
    status: Status | None = None
    diagnostics: str = ""
    missing_module: str | None = None
    compile_s: float = 0.0
    wall_timeout: bool = False
    """True if the wall time limit ended the compiler: the machine's load may have delayed it."""


class WarmSettings(NamedTuple):
    """Settings of a program's run in a warm sandbox."""

    harness_code: str = ""  # Python text that runs in the forked interpreter; empty: the program is executed
    preloaded_modules: tuple[str, ...] = ()  # what the interpreter imports beforehand
    package_source: Literal["system", "bundled", "project"] = "system"
    """``bundled``: the bundle alone provides packages; ``project``: a snapshot may, at its usual place."""
    preload_environment: tuple[tuple[str, str], ...] = ()
    """Environment variables of the interpreter while it imports modules. They are part of a worker's key, so nothing of
    a single program belongs here: an answer's line numbers once gave each program a worker of its own."""
    module_folder: str = ""
    """Folder for the preloaded modules that are not in the standard library; no other module is imported from it."""


class ProjectTree(NamedTuple):
    """Project in the work folder of a program, and the files to read afterwards. Paths are relative to it."""

    snapshot: Path | None = None
    """Folder below an overlay at the work folder; changes are kept in memory. None: the work folder has files only."""
    # Files and then folders of the snapshot that are not to be seen: a folder must be empty before it is removed.
    deleted: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()  # to make
    links: tuple[tuple[str, str], ...] = ()  # symbolic links to make: (path, target)
    executable: tuple[str, ...] = ()  # files that get the executable bit
    results: tuple[str, ...] = ()
    """Files to read out, by path or pattern (``*``, ``?``, and ``**`` for any number of folders)."""
    max_file_bytes: int = 4 << 20  # bound of one such file
    max_total_bytes: int = 16 << 20  # bound of all such files
    loopback: bool = True  # the loopback interface is up


class ResultFile(FrozenModel):
    """File that a program wrote: its content, or the reason why it was not read.

    ``path`` is relative to the work folder, ``pattern`` what it was found by. In JSON, ``data`` is in base64.
    """

    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")

    path: str
    pattern: str
    data: bytes = b""
    problem: str = ""


class RunPlan(FrozenModel):
    """Plan of a program's run inside the sandbox: command, environment, binds and files."""

    argv: tuple[str, ...]
    bounded_argv: tuple[str, ...] = ()
    """Command of a second run after the first ran out of memory, with memory options that slow programs down."""
    environment: Mapping[str, str] = Field(default_factory=dict)
    read_only: Mapping[str, str] = Field(default_factory=dict)  # path inside -> path on the host
    files: Mapping[str, str] = Field(default_factory=dict)  # name in the work folder -> text
    warm: WarmSettings = WarmSettings()
    answer_lines: tuple[int, int] | None = None
    """First and last line of the answer in the executed program, for a harness that judges exits by line."""
    address_space_limit: bool = True  # RLIMIT_AS; runtimes that reserve address space get RLIMIT_DATA instead
    stack_mb: int | None = None  # None: the machine's, usually 8


class Toolchain(FrozenModel):
    """Tools of a language on this machine, or how to get them."""

    language: str
    available: bool
    version: str = ""
    fingerprint: str = ""  # versions, flags and harness: a part of the cache key
    remedy: str = ""  # one line that tells how to get it


_Request = TypeVar("_Request", contravariant=True)
_Result = TypeVar("_Result", covariant=True)


class Engine(Protocol[_Request, _Result]):
    """Engine that runs requests, in any order; every request has exactly one result."""

    def submit(self, requests: Iterable[_Request]) -> Iterator[_Result]:
        """Yield results as they complete; identical requests run once."""

    def isolation(self) -> Isolation:
        """Return the isolation in force, determined by running a program."""


Executor = Engine[ExecutionRequest, ExecutionResult]
"""Runs programs."""


class RunCosts(FrozenModel):
    """Costs of a run, in seconds and numbers; those of a resumed run are the sum of its parts."""

    programs_cpu_s: float = 0.0
    compilers_cpu_s: float = 0.0
    sandboxes_cpu_s: float = 0.0
    own_cpu_s: float = 0.0
    wall_s: float = 0.0
    programs: int = 0
    """Number of sandboxed programs and compilers that were started."""
    sandboxes: int = 0
    """Number of sandboxes that were started for one program."""
    workers: int = 0
    """Number of warm sandboxes that were started."""
    reused: int = 0
    """Number of programs that ran in a warm sandbox that was there already."""
    idle_s: dict[str, float] = Field(default_factory=dict)
    """Seconds in which nothing used a processor, by what was waited for."""

    def __add__(self, other: Self) -> RunCosts:
        """Return the sum."""
        numbers = {name: getattr(self, name) + getattr(other, name) for name in _NUMBERS}
        idle = {name: self.idle_s.get(name, 0.0) + other.idle_s.get(name, 0.0) for name in self.idle_s | other.idle_s}
        return RunCosts(**numbers, idle_s=idle)

    def since(self, earlier: Self) -> RunCosts:
        """Return the difference to an earlier state."""
        # Waiting is counted by the meter, not by the ledger: there is no earlier state of it.
        return RunCosts(**{name: getattr(self, name) - getattr(earlier, name) for name in _NUMBERS})

    def sentence(self) -> str:
        """Return all figures in one sentence."""
        idle = f"{sum(self.idle_s.values()):.0f} of {self.wall_s:.0f} s"
        waited = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in sorted(self.idle_s.items()))
        return (
            f"CPU: programs {self.programs_cpu_s:.1f} s, compilers {self.compilers_cpu_s:.1f} s, sandboxes "
            f"{self.sandboxes_cpu_s:.1f} s ({self.workers} workers and {self.sandboxes} others started, {self.reused} "
            f"of {self.programs} programs reused a worker), this process {self.own_cpu_s:.1f} s; nothing used a "
            f"processor in {idle}{f', waiting for: {waited}' if waited else ''}."
        )


_NUMBERS = tuple(name for name in RunCosts.model_fields if name != "idle_s")
