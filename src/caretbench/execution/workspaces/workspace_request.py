"""Request to run a command in a project, its patch, and its result."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from typing import Literal

from pydantic import Field

from caretbench.errors import DataError
from caretbench.execution.execution_types import FrozenModel, Limits, ResultFile, RunOutcome, bounded_by_reference
from caretbench.execution.workspaces.runner_reports import TestCounts, TestOutcome
from caretbench.execution.workspaces.snapshot_store import Snapshot
from caretbench.problem import ExpectedOutput

_BLOCK = 4096  # of memory: what a small file takes

Patch = Mapping[str, str | bytes | None]
"""Path in the project -> new content, or None to delete it (a folder with all that it holds)."""


def checked_path(path: str) -> str:
    """Return the normalised form of a relative path, or raise DataError if it is not relative."""
    if not path or "\0" in path or path.startswith("/") or posixpath.normpath(path) != path:
        raise DataError(f"{path!r} is not a plain path relative to the project")
    if path.split("/")[0] in ("..", "."):
        raise DataError(f"{path!r} leads out of the project")
    return path


class PatchChanges:
    """Files that a patch writes and deletes in its snapshot, checked."""

    def __init__(self, snapshot: Snapshot, patch: Patch) -> None:
        """Check a patch; raise DataError if a path leads out of the project or conflicts with an entry."""
        self._snapshot = snapshot
        entries = snapshot.entries
        gone: set[str] = set()
        self.written: dict[str, bytes] = {}
        for path, content in patch.items():
            checked_path(path)
            _check_above(path, snapshot, patch)
            entry = entries.get(path)
            if content is None:
                if entry is None:
                    raise DataError(f"patch deletes {path!r}, which is not there")
                gone.add(path)
                # The overlay removes one entry at a time, so all that a folder holds is named.
                if entry.kind == "folder":
                    gone |= {inner for inner in entries if inner.startswith(path + "/")}
                continue
            if entry is not None and entry.kind != "file":
                raise DataError(f"patch of {path!r}: it is a {entry.kind}")
            # An answer may hold half of a surrogate pair, which is no reason to lose its verdict.
            text = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
            self.written[path] = text
        for path in patch:
            gone |= _byte_code(path, entries)
        folders = {path for path in gone if entries[path].kind == "folder"}
        # Files first, then the deepest folders: only an empty one can be removed.
        self.deleted = (*sorted(gone - folders), *sorted(folders, reverse=True))
        self._gone = gone

    def _kept(self, kind: str) -> Iterator[str]:
        for path, entry in self._snapshot.entries.items():
            if entry.kind == kind and path not in self._gone:
                yield path

    def copy_bytes(self) -> int:
        """Return the memory of a copy of the patched project in bytes, in whole blocks."""
        entries = self._snapshot.entries
        sizes = [entries[path].size for path in self._kept("file")] + [len(data) for data in self.written.values()]
        return sum(-(-size // _BLOCK) * _BLOCK for size in sizes) + _BLOCK * len(entries)

    def files(self) -> dict[str, bytes]:
        """Return all files of the patched project."""
        kept = {
            path: (self._snapshot.tree / path).read_bytes() for path in self._kept("file") if path not in self.written
        }
        return kept | self.written

    def folders(self) -> tuple[str, ...]:
        """Return all folders of the patched project."""
        return tuple(self._kept("folder"))

    def links(self) -> tuple[tuple[str, str], ...]:
        """Return all links of the patched project, as pairs of path and target."""
        return tuple((path, self._snapshot.entries[path].content) for path in self._kept("link"))

    def executable(self) -> tuple[str, ...]:
        """Return the paths of all executable files of the patched project."""
        return tuple(path for path in self._kept("file") if self._snapshot.entries[path].executable)


def _check_above(path: str, snapshot: Snapshot, patch: Patch) -> None:
    """Raise where something above a path is no folder once the patch is there."""
    for folder in (path[:end] for end, letter in enumerate(path) if letter == "/"):
        entry = snapshot.entries.get(folder)
        if entry is not None and entry.kind != "folder" and patch.get(folder, "") is not None:
            raise DataError(f"patch of {path!r}: {folder!r} is no folder")
        if patch.get(folder) is not None:
            raise DataError(f"patch of {path!r}: {folder!r} is a file of the same patch")


def _byte_code(path: str, entries: Mapping[str, object]) -> set[str]:
    """Return the compiled forms of a Python file in its snapshot: an unchecked one would win over the text."""
    if not path.endswith(".py"):
        return set()
    folder, name = posixpath.split(path)
    stem = name[: -len(".py")]
    cache = posixpath.join(folder, "__pycache__", stem + ".")
    cached = {entry for entry in entries if entry.startswith(cache) and entry.endswith((".pyc", ".pyo"))}
    return cached | {entry for entry in (path + "c", path + "o") if entry in entries}


WORKSPACE_LIMITS = Limits(
    wall_s=300, cpu_s=120, memory_mb=2048, pids=256, tmp_mb=256, fsize_mb=128, nofile=1024, output_kb=256
)
"""Limits of a whole test command. ``tmp_mb`` bounds what it writes into the project, and again into ``/tmp``."""

PlacementMode = Literal["", "overlay", "copy"]


class WorkspaceRequest(FrozenModel):
    """Request to run a command in a project."""

    id: str
    snapshot: str  # the project's name in the store
    command: tuple[str, ...] = Field(min_length=1)
    """The program, searched in the environment's ``PATH``, and its arguments."""
    prepare: tuple[str, ...] = ()
    """Warm-up command (optional), such as a full build: it runs once in the unpatched project, and ``command`` starts
    from its files. They are older than the patched files."""
    patch: Patch = Field(default_factory=dict)
    environment: Mapping[str, str] = Field(default_factory=dict)
    """Environment variables added to a small default; none of the host's are passed."""
    directory: str = "."  # where the command starts, relative to the project
    stdin: bytes | None = None  # None: ``/dev/null``
    python_path: tuple[str, ...] = ()
    """Folders of the project that Python looks in first, before those of the environment and the bundle."""
    read_only: Mapping[str, str] = Field(default_factory=dict)
    """Path inside -> path on the host: interpreters, for example. A path below ``/tmp/work`` is in the project."""
    bundle: str | None = None
    """Name of a bundle of packages, which is bound with its environment (``PYTHONPATH``, ``NODE_PATH``,
    ``CLASSPATH``); the request's own environment takes precedence."""
    tools: str = ""  # free text for further inputs: a part of the cache's key
    repeat: int = 0  # the same command with another number really runs again
    is_reference: bool = False  # as in a program's request
    results: tuple[str, ...] = ()
    """Files to return, by path or pattern (``*``, ``?``, ``**`` for any number of folders)."""
    junit: tuple[str, ...] = ()
    """Test reports in JUnit XML or of ``go test -json``, by path or pattern: they are parsed, and count."""
    minimum_tests: int = 0
    """Minimum number of tests that must run for a pass: counted in the reports, else in the runner's summary line."""
    expected: ExpectedOutput | None = None  # what the command must print
    needs: tuple[str, ...] = ()
    """Needs that a machine may lack: ``display``, ``network``; an unmet one is a reason to skip."""
    network: Literal["none", "loopback", "index"] = "loopback"
    """``loopback``: an interface of its own that leads nowhere else; ``none``: not even that; ``index``: package
    indexes too, to set an environment up. Nothing is judged by such a command: it has no reports."""
    limits: Limits = WORKSPACE_LIMITS
    reference_cpu_s: float | None = None  # as in a program's request
    address_space_limit: bool = False
    """Limit the address space instead of data memory, for programs that reserve little of it."""
    watched: bool = False  # as in a program's request
    result_bytes: int = Field(default=4 << 20, gt=0, le=16 << 20)
    """Maximum bytes of one result file."""
    total_result_bytes: int = Field(default=0, ge=0, le=1 << 30)
    """Maximum bytes of all result files; 0: four times those of one."""

    @property
    def run_limits(self) -> Limits:
        """Limits of the run, bounded by the reference."""
        return bounded_by_reference(self.limits, self.reference_cpu_s)


class WorkspaceResult(RunOutcome):
    """Result of the command. ``files`` contains the requested files; ``tests`` those of its reports."""

    files: tuple[ResultFile, ...] = ()
    tests: tuple[TestOutcome, ...] = ()
    wall_s: float = 0.0
    placed: PlacementMode = ""
    """Placement of the project in the sandbox: overlay or copy."""
    refusals: tuple[str, ...] = ()
    """Refused network accesses of a command that may reach package indexes."""

    @property
    def test_counts(self) -> TestCounts:
        """Counts of the tests in all reports, and their outcomes by name."""
        return TestCounts.from_outcomes(self.tests)

    @property
    def has_no_tests(self) -> bool:
        """Return whether no report contains a test that ran."""
        return not any(test.outcome in ("passed", "failed", "error") for test in self.tests)

    def file(self, path: str) -> bytes | None:
        """Return the content of a result file, or None if none could be read."""
        return next((file.data for file in self.files if file.path == path and not file.problem), None)
