"""Cache of verdicts and compiled programs by the hash of their inputs, so that a program runs once on a machine.

Keys are made in ``cache_keys``. Verdicts are in one SQLite file that several processes write at a time; compiled
programs in folders that appear whole by a rename. Only results that do not depend on the machine's load are kept: never
out of memory, a missing module, a sandbox's fault and a skipped program; a timeout only where load had no part in it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import signal
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from caretbench.execution.cache.cache_folders import ARTEFACTS, UseLock, unusable_cache
from caretbench.execution.cache.staging_folders import folder_digest, remove_abandoned, staging_folder
from caretbench.execution.cache.verdict_database import VerdictDatabase
from caretbench.execution.classification import timed_out_by_itself
from caretbench.execution.execution_types import REFERENCE_CPU, ExecutionRequest, ExecutionResult, FrozenModel, Status
from caretbench.execution.workspaces.workspace_request import WorkspaceRequest, WorkspaceResult
from caretbench.file_locks import temporary_folder
from caretbench.files import cache_folder

MAX_RESULT_CHARACTERS = 2 << 20
"""Maximum number of characters of a project's result. A larger one runs again: a cache is no store of files."""
_BY_REFERENCE = REFERENCE_CPU.partition("@")[0]
# The status by which a shell reports a killed child.
_KILLED = 128 + signal.SIGKILL


def is_cacheable(request: ExecutionRequest | WorkspaceRequest, result: ExecutionResult | WorkspaceResult) -> bool:
    """Return whether a repeated run would give the same result, so that it may be cached."""
    if isinstance(result, ExecutionResult):
        was_run, wall_s, outside = result.was_run, result.run_s, _program_ended_from_outside(result)
    else:
        if isinstance(request, WorkspaceRequest) and request.network == "index":
            # What it found in an index today is no one's verdict.
            return False
        was_run, wall_s, outside = True, result.wall_s, _command_ended_from_outside(result)
        if sum(len(file.data) for file in result.files) > MAX_RESULT_CHARACTERS:
            return False
    # Without these timeouts six programs that wait for ever made 9,000 cached samples take 78 s instead of 19.
    alone = was_run and timed_out_by_itself(result.run_outcome, result.reason, result.signal, result.cpu_s, wall_s)
    outcomes = (result.status, result.run_outcome)
    return not outside and all(outcome.is_repeatable or (alone and outcome is Status.TIMEOUT) for outcome in outcomes)


def is_usable(request: ExecutionRequest | WorkspaceRequest, known: ExecutionResult | WorkspaceResult) -> bool:
    """Return whether a known result of the same program is that of a request with its own bound of CPU time.

    The bound depends on measured times, so it is no part of the key. A run that a bound ended says nothing about a
    larger one, nor one that took longer than the bound allows.
    """
    bound = request.run_limits.cpu_s
    if known.limit.startswith(_BY_REFERENCE):
        return known.limit == REFERENCE_CPU and known.limit_cpu_s >= bound
    return known.status is Status.TIMEOUT or bound == request.limits.cpu_s or known.cpu_s <= bound


def needs_confirmation(request: ExecutionRequest | WorkspaceRequest, result: ExecutionResult | WorkspaceResult) -> bool:
    """Return whether a reference failed in a way that other programs or a race may have caused, and must run again."""
    if not request.is_reference or result.runs_alone or not result.status.may_be_unlucky:
        return False
    return result.status is not Status.TIMEOUT or not is_cacheable(request, result)


def _program_ended_from_outside(result: ExecutionResult) -> bool:
    """Return whether the machine may have ended the program, as a kernel does that is short of memory."""
    killed = result.exit_code is None and result.signal in (None, signal.SIGKILL)
    return result.run_outcome is Status.RUNTIME_ERROR and result.was_run and killed


def _command_ended_from_outside(result: WorkspaceResult) -> bool:
    """Return whether the machine may have ended a process of the command."""
    return result.status.is_own_failure and (result.signal == signal.SIGKILL or result.exit_code in (None, _KILLED))


_Result = TypeVar("_Result", ExecutionResult, WorkspaceResult)
# The last use is written at most once an hour: otherwise every hit would be a transaction.
_NOTED_S = 3600.0
# With less a compiler may fail to write what it makes, and blame the program.
_MIN_FREE_BYTES = 4 << 20
_MARK = 32
_OLDEST = (
    "key IN (SELECT key FROM (SELECT key, SUM(bytes) OVER (ORDER BY used, key) - bytes AS before FROM verdicts) "
    "WHERE before < ?)"
)
_TABLES = (
    """
CREATE TABLE IF NOT EXISTS verdicts (
    key TEXT PRIMARY KEY, language TEXT NOT NULL, profile TEXT NOT NULL, status TEXT NOT NULL,
    made REAL NOT NULL, used REAL NOT NULL, bytes INTEGER NOT NULL, result TEXT NOT NULL
) WITHOUT ROWID
""",
    "CREATE TABLE IF NOT EXISTS built (key TEXT, digest TEXT, PRIMARY KEY (key, digest)) WITHOUT ROWID",
)


def _mark(key: str, data: bytes) -> bytes:
    """Return a checksum of a row and its key."""
    return hashlib.sha256(key.encode() + b"\0" + data).digest()


class CacheStatistics(FrozenModel):
    """Statistics of a cache; sizes in bytes."""

    folder: str
    verdicts: int = 0
    verdict_bytes: int = 0
    by_language: Mapping[str, int] = {}
    by_status: Mapping[str, int] = {}
    artefacts: int = 0
    artefact_bytes: int = 0


# 69.95 % of DevBench's recorded samples repeat another one of the same model and problem.
class ResultCache:
    """Verdicts in SQLite and artefacts in folders below one folder; threads and processes may share it.

    Args:
        folder: Folder of the cache; :func:`caretbench.files.cache_folder` by default. Readable for others, because an
            unprivileged user runs what lies below it; it holds programs and verdicts, no secrets.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or cache_folder()
        self.artefacts = self.folder / ARTEFACTS
        """Folder of all compiled programs."""
        try:
            self.artefacts.mkdir(parents=True, exist_ok=True, mode=0o755)
            self.use = UseLock(self.folder)
            """Lock on the use of the cache."""
            self._file = VerdictDatabase(self.folder, _TABLES)
            self._checked = False
            remove_abandoned(self.artefacts)
        except OSError as error:
            raise unusable_cache(self.folder, error) from error

    # --- verdicts ---------------------------------------------------------------------------------------------

    def get(self, key: str, result_type: type[_Result]) -> _Result | None:
        """Return a stored result with ``cached`` set; None if there is none or its row is damaged."""
        text = self.stored_text(key)
        try:
            result = result_type.model_validate_json(text) if text is not None else None
        except ValidationError:
            return None
        return result.model_copy(update={"cached": True}) if result is not None else None

    def store(
        self, key: str, request: ExecutionRequest | WorkspaceRequest, result: ExecutionResult | WorkspaceResult
    ) -> bool:
        """Store a result if it is repeatable and not too large; return whether it was stored."""
        if not is_cacheable(request, result):
            return False
        text = result.model_dump_json(exclude_defaults=True)
        if isinstance(request, ExecutionRequest):
            self.store_text(key, text, language=request.language, profile=request.profile, status=result.status)
        elif len(text) <= MAX_RESULT_CHARACTERS:
            language = Path(request.command[0]).name
            self.store_text(key, text, language=language, profile="workspace", status=result.status)
        else:
            return False
        return True

    def stored_text(self, key: str) -> str | None:
        """Return the stored text of a verdict; None if there is none or it is damaged."""
        rows = self._file.execute("SELECT CAST(result AS BLOB), used FROM verdicts WHERE key = ?", (key,))
        if not rows:
            return None
        stored, used = rows[0]
        mark, data = bytes(stored or b"")[:_MARK], bytes(stored or b"")[_MARK:]
        # SQLite gives back a row's damaged content without an error: only the checksum shows it.
        if mark != _mark(key, data):
            if not self._checked:
                # A check reads the whole file: one for each object is enough.
                self._checked = True
                self._file.check()
            return None
        if not isinstance(used, float) or abs(time.time() - used) > _NOTED_S:
            self._file.execute("UPDATE verdicts SET used = ? WHERE key = ?", (time.time(), key))
        return data.decode("utf-8", "surrogatepass")

    def store_text(self, key: str, text: str, *, language: str, profile: str, status: Status) -> None:
        """Store a verdict's text with its hash; a caller that cannot read it later computes it again."""
        data = text.encode("utf-8", "surrogatepass")
        now = time.time()
        row = (key, language, profile, status.value, now, now, len(data), _mark(key, data) + data)
        self._file.execute("INSERT OR REPLACE INTO verdicts VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)

    # --- artefacts --------------------------------------------------------------------------------------------

    def artefact(self, key: str) -> Path | None:
        """Return the compiled program's folder, or None if there is none; a damaged one is removed."""
        folder = self._program_folder(key)
        try:
            os.utime(folder)
            digest = folder_digest(folder)
        except OSError:
            digest = ""
        if digest and self._file.execute("SELECT 1 FROM built WHERE key = ? AND digest = ?", (key, digest)):
            return folder
        if os.path.lexists(folder):
            self._discard(folder)
        return None

    @contextlib.contextmanager
    def artefact_staging_folder(self) -> Iterator[Path]:
        """Yield an empty folder to build in; it is removed afterwards.

        Raises:
            MachineError: the disk is full.
        """
        with contextlib.ExitStack() as stack:
            try:
                folder = stack.enter_context(staging_folder(self.artefacts))
            except OSError as error:
                raise unusable_cache(self.artefacts, error) from error
            yield folder

    def store_artefact(self, key: str, folder: Path) -> Path:
        """Move a built folder into the cache by one rename; if another process was faster, its folder is kept.

        Raises:
            MachineError: the disk is full.
        """
        target = self._program_folder(key)
        # Known before it appears: a folder that nobody built is damaged. Two may build what differs by its dates.
        self._file.execute("INSERT OR IGNORE INTO built VALUES (?, ?)", (key, folder_digest(folder)))
        try:
            target.parent.mkdir(exist_ok=True, mode=0o755)
            folder.rename(target)
        except OSError as error:
            if not target.is_dir():
                raise unusable_cache(self.artefacts, error) from error
        return target

    def is_disk_full(self) -> bool:
        """Return whether the disk is so full that a compiler's error may be due to it."""
        disk = os.statvfs(self.artefacts)
        # Some file systems (btrfs) count no files: both numbers are zero there.
        return disk.f_bavail * disk.f_frsize < _MIN_FREE_BYTES or 0 == disk.f_favail < disk.f_files

    def _discard(self, folder: Path) -> None:
        """Remove a folder atomically, by a rename."""
        with contextlib.suppress(OSError), staging_folder(self.artefacts) as aside:
            folder.rename(aside / "damaged")
            return
        if folder.is_dir():
            shutil.rmtree(folder, ignore_errors=True)  # on a full disk there is no other way
        else:
            folder.unlink(missing_ok=True)

    def _program_folder(self, key: str) -> Path:
        return self.artefacts / key[:2] / key

    # --- housekeeping -----------------------------------------------------------------------------------------

    def last_verdict(self) -> float | None:
        """Return the time of the last use of a verdict; None without verdicts."""
        [(used,)] = self._file.execute("SELECT MAX(used) FROM verdicts")
        return used if isinstance(used, float) else None

    def prune_verdicts(
        self, *, unused_days: float | None = None, keep_bytes: int | None = None, language: str | None = None
    ) -> tuple[int, int]:
        """Remove verdicts unused for ``unused_days`` of a ``language``, and the oldest beyond ``keep_bytes``.

        Return their number and size in bytes.
        """
        gone = size = 0
        bounds: list[tuple[str, float | str]] = []
        if unused_days is not None:
            bounds.append(("used <= ?", time.time() - unused_days * 86_400))
        if language is not None:
            bounds.append(("language = ?", language))
        if bounds:
            condition = " AND ".join(text for text, _ in bounds)
            gone, size = self._delete(condition, tuple(value for _, value in bounds))
        if keep_bytes is not None and (excess := self.statistics().verdict_bytes - keep_bytes) > 0:
            oldest, oldest_size = self._delete(_OLDEST, (excess,))
            gone, size = gone + oldest, size + oldest_size
        return gone, size

    def statistics(self) -> CacheStatistics:
        """Return the statistics of the cache."""
        [(count, size)] = self._file.execute("SELECT COUNT(*), SUM(bytes) FROM verdicts")
        languages = self._file.execute("SELECT CAST(language AS TEXT), COUNT(*) FROM verdicts GROUP BY 1")
        statuses = self._file.execute("SELECT CAST(status AS TEXT), COUNT(*) FROM verdicts GROUP BY 1")
        artefacts = list(self.programs())
        return CacheStatistics(
            folder=str(self.folder),
            verdicts=count,
            verdict_bytes=int(size or 0),
            by_language=dict(languages),
            by_status=dict(statuses),
            artefacts=len(artefacts),
            artefact_bytes=sum(size for _, size, _ in artefacts),
        )

    def _delete(self, condition: str, values: tuple[float | str, ...]) -> tuple[int, int]:
        # The condition is one of the texts above; what varies is bound.
        rows = self._file.execute(f"DELETE FROM verdicts WHERE {condition} RETURNING bytes", values)  # noqa: S608
        return len(rows), sum(row[0] for row in rows)

    def programs(self) -> Iterator[tuple[float, int, Path]]:
        """Yield the time of last use, size and folder of every compiled program."""
        for folder in self.artefacts.glob("[0-9a-f][0-9a-f]/*"):
            with contextlib.suppress(OSError):
                size = sum(file.lstat().st_size for file in folder.rglob("*"))
                yield folder.stat().st_mtime, size, folder

    def remove_program(self, folder: Path) -> None:
        """Remove a compiled program."""
        self._discard(folder)
        self._file.execute("DELETE FROM built WHERE key = ?", (folder.name,))

    def clear(self) -> None:
        """Remove everything."""
        self.prune_verdicts(unused_days=0)
        for _, _, folder in list(self.programs()):
            self.remove_program(folder)

    def close(self) -> None:
        """Close the files."""
        self._file.close()
        self.use.close()


@contextlib.contextmanager
def open_cache(cache: ResultCache | None, *, use_cache: bool) -> Iterator[ResultCache]:
    """Yield ``cache``; if it is None, the user's cache, or a temporary one without ``use_cache``."""
    if cache is not None:
        yield cache
        return
    with contextlib.ExitStack() as stack:
        folder = None
        if not use_cache:
            folder = stack.enter_context(temporary_folder("cache"))
            folder.chmod(0o755)
        mine = ResultCache(folder)
        stack.callback(mine.close)
        yield mine
