"""Verdicts and compiled programs, kept by what decides them, so that a program runs once on this machine.

A key is the hash of the program's text and of all that its verdict depends on. Only verdicts that would come out the
same again are kept: never a timeout, out of memory, a missing module, a sandbox's fault or a skipped program. The
verdicts stand in one SQLite file that several processes write at a time; compiled programs in folders that appear
whole by a rename.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import sqlite3
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from pydantic import ValidationError

from caretbench.errors import MachineError
from caretbench.execution.classification import CRITERION_VERSION
from caretbench.execution.types import ExecutionRequest, ExecutionResult, Frozen, Status
from caretbench.files import cache_folder, sha256_json

DETERMINISTIC = frozenset(
    {
        Status.PASSED, Status.FAILED, Status.COMPILE_ERROR, Status.TYPE_ERROR, Status.RUNTIME_ERROR,
        Status.INCOMPLETE, Status.OUTPUT_LIMIT,
    }
)  # fmt: skip
"""What is kept; everything else depends on the machine's load, on us, or on packages that may be installed later."""

_FROM_OUTSIDE = ((None, None), (None, signal.SIGKILL))
_ABANDONED_S = 3600.0
_BUSY_S = 60.0
_TABLE = """
CREATE TABLE IF NOT EXISTS verdicts (
    key TEXT PRIMARY KEY, language TEXT NOT NULL, profile TEXT NOT NULL, status TEXT NOT NULL,
    made REAL NOT NULL, used REAL NOT NULL, bytes INTEGER NOT NULL, result TEXT NOT NULL
) WITHOUT ROWID
"""


def program_key(request: ExecutionRequest, *, toolchain: str, bundle: str) -> str:
    """The hash of what decides a compiled program: text, flags, tools and packages."""
    return sha256_json(
        [
            request.source,
            request.language,
            request.profile,
            request.variant,
            bundle,
            toolchain,
            CRITERION_VERSION,
        ]
    )


def verdict_key(request: ExecutionRequest, *, toolchain: str, bundle: str) -> str:
    """The hash of what decides a verdict: the program, its needs, its bounds, and which repeat it is.

    Args:
        request: The request; its ``id`` decides nothing.
        toolchain: The toolchain's fingerprint.
        bundle: The lock hash of the bundle, empty without one.
    """
    program = program_key(request, toolchain=toolchain, bundle=bundle)
    return sha256_json([program, sorted(request.needs), request.limits.model_dump(), request.repeat])


def _ended_from_outside(result: ExecutionResult) -> bool:
    """Whether the machine may have ended the program, as a kernel does that is short of memory."""
    by_whom = (result.exit_code, result.signal)
    ran = result.stage == "run" or result.run_status is not None
    return result.ended is Status.RUNTIME_ERROR and ran and by_whom in _FROM_OUTSIDE


class CacheStatistics(Frozen):
    """What a cache holds; sizes in bytes."""

    folder: str
    verdicts: int = 0
    verdict_bytes: int = 0
    by_language: Mapping[str, int] = {}
    by_status: Mapping[str, int] = {}
    artefacts: int = 0
    artefact_bytes: int = 0


class Pruned(Frozen):
    """What was taken out of a cache; sizes in bytes."""

    verdicts: int = 0
    artefacts: int = 0
    freed_bytes: int = 0


class ResultCache:
    """Verdicts in SQLite and artefacts in folders below one folder; threads and processes may share it.

    Args:
        folder: Where; :func:`caretbench.files.cache_folder` by default. Made readable for others, because an
            unprivileged user runs what lies below it; it holds programs and verdicts, no secrets.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or cache_folder()
        self._artefacts = self.folder / "artefacts"
        self._artefacts.mkdir(parents=True, exist_ok=True, mode=0o755)
        self._lock = threading.Lock()
        self._file = self.folder / "verdicts.sqlite"
        with self._using(), self._opening():
            self._connection = sqlite3.connect(
                self._file, timeout=_BUSY_S, check_same_thread=False, isolation_level=None
            )
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute("PRAGMA synchronous=NORMAL")
            self._connection.execute(_TABLE)
        self._sweep()

    @contextlib.contextmanager
    def _opening(self) -> Iterator[None]:
        """One process at a time: SQLite gives up at once, whatever the timeout, where two switch a new file to WAL."""
        with (self.folder / ".opening").open("ab") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)
            yield

    @contextlib.contextmanager
    def _using(self) -> Iterator[None]:
        """One thread at a time; a full disk or a damaged file is said in one line."""
        with self._lock:
            try:
                yield
            except sqlite3.Error as error:
                raise MachineError(
                    f"{self._file}: {error}; free space, or remove the file (it holds nothing that cannot be computed "
                    "again), or go without it: --no-cache"
                ) from error

    # --- verdicts ---------------------------------------------------------------------------------------------

    def get(self, key: str) -> ExecutionResult | None:
        """The stored verdict, marked ``cached``, or None. A row that is not understood counts as absent."""
        with self._using():
            row = self._connection.execute(
                "SELECT result, used FROM verdicts WHERE key = ?", (key,)
            ).fetchone()
            if row is not None and time.time() - row[1] > _ABANDONED_S:
                self._connection.execute("UPDATE verdicts SET used = ? WHERE key = ?", (time.time(), key))
        if row is None:
            return None
        try:
            return ExecutionResult.model_validate_json(row[0]).model_copy(update={"cached": True})
        except ValidationError:
            return None

    def put(self, key: str, request: ExecutionRequest, result: ExecutionResult) -> bool:
        """Store a verdict if it would come out the same again; gives whether it did."""
        if not {result.status, result.ended} <= DETERMINISTIC or _ended_from_outside(result):
            return False
        text = result.model_dump_json(exclude_defaults=True)
        now = time.time()
        row = (key, request.language, request.profile, result.status.value, now, now, len(text), text)
        with self._using():
            self._connection.execute("INSERT OR REPLACE INTO verdicts VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
        return True

    # --- artefacts --------------------------------------------------------------------------------------------

    @property
    def artefacts_root(self) -> Path:
        """The folder that holds all compiled programs."""
        return self._artefacts

    def artefact(self, key: str) -> Path | None:
        """The compiled program's folder, or None where it is not there."""
        place = self._place(key)
        try:
            os.utime(place)
        except OSError:
            return None
        return place

    @contextlib.contextmanager
    def building(self) -> Iterator[Path]:
        """An empty folder to build in; what is left of it afterwards is removed."""
        folder = Path(tempfile.mkdtemp(prefix=".building-", dir=self._artefacts))
        folder.chmod(0o755)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def keep(self, key: str, folder: Path) -> Path:
        """Move a built folder to its place at once; where another was faster, theirs stays."""
        place = self._place(key)
        place.parent.mkdir(exist_ok=True, mode=0o755)
        try:
            folder.rename(place)
        except OSError:
            if not place.is_dir():
                raise
        return place

    def _place(self, key: str) -> Path:
        return self._artefacts / key[:2] / key

    def _sweep(self) -> None:
        """Remove what a killed process was building."""
        for folder in self._artefacts.glob(".building-*"):
            with contextlib.suppress(OSError):
                if time.time() - folder.stat().st_mtime > _ABANDONED_S:
                    shutil.rmtree(folder, ignore_errors=True)

    # --- housekeeping -----------------------------------------------------------------------------------------

    def statistics(self) -> CacheStatistics:
        """What is here."""
        with self._using():
            count, size = self._connection.execute("SELECT COUNT(*), SUM(bytes) FROM verdicts").fetchone()
            languages = self._connection.execute(
                "SELECT language, COUNT(*) FROM verdicts GROUP BY 1"
            ).fetchall()
            statuses = self._connection.execute("SELECT status, COUNT(*) FROM verdicts GROUP BY 1").fetchall()
        artefacts = list(self._kept())
        return CacheStatistics(
            folder=str(self.folder),
            verdicts=count,
            verdict_bytes=size or 0,
            by_language=dict(languages),
            by_status=dict(statuses),
            artefacts=len(artefacts),
            artefact_bytes=sum(size for _, size, _ in artefacts),
        )

    def prune(
        self, *, unused_days: float | None = None, keep_bytes: int | None = None, language: str | None = None
    ) -> Pruned:
        """Take out what was not used for ``unused_days``, all of ``language``, and the oldest beyond ``keep_bytes``.

        A compiled program does not say its language: with ``language`` alone, artefacts stay. ``keep_bytes`` bounds
        verdicts and artefacts together; artefacts, which can be made again, go first.
        """
        verdicts = freed = artefacts = 0
        bounds: list[tuple[str, float | str]] = []
        if unused_days is not None:
            bounds.append(("used < ?", time.time() - unused_days * 86_400))
        if language is not None:
            bounds.append(("language = ?", language))
        if bounds:
            condition = " AND ".join(text for text, _ in bounds)
            gone, size = self._delete(condition, tuple(value for _, value in bounds))
            verdicts, freed = verdicts + gone, freed + size
        kept = sorted(self._kept())
        if unused_days is not None and language is None:
            old = [entry for entry in kept if entry[0] < time.time() - unused_days * 86_400]
            kept = kept[len(old) :]
            artefacts, freed = artefacts + len(old), freed + self._remove(old)
        if keep_bytes is not None:
            excess = self.statistics().verdict_bytes + sum(size for _, size, _ in kept) - keep_bytes
            while kept and excess > 0:
                oldest = kept.pop(0)
                size = self._remove([oldest])
                artefacts, freed, excess = artefacts + 1, freed + size, excess - oldest[1]
            if excess > 0:
                gone, size = self._delete(
                    "key IN (SELECT key FROM (SELECT key, SUM(bytes) OVER (ORDER BY used, key) - bytes AS before "
                    "FROM verdicts) WHERE before < ?)",
                    (excess,),
                )
                verdicts, freed = verdicts + gone, freed + size
        return Pruned(verdicts=verdicts, artefacts=artefacts, freed_bytes=freed)

    def clear(self) -> Pruned:
        """Take everything out."""
        gone, size = self._delete("1", ())
        kept = list(self._kept())
        return Pruned(verdicts=gone, artefacts=len(kept), freed_bytes=size + self._remove(kept))

    def _delete(self, condition: str, values: tuple[float | str, ...]) -> tuple[int, int]:
        # The condition is one of the texts above; what varies is bound.
        with self._using():
            rows = self._connection.execute(
                f"DELETE FROM verdicts WHERE {condition} RETURNING bytes",  # noqa: S608
                values,
            ).fetchall()
        return len(rows), sum(row[0] for row in rows)

    def _kept(self) -> Iterator[tuple[float, int, Path]]:
        """Time of last use, size and folder of every artefact."""
        for folder in self._artefacts.glob("[0-9a-f][0-9a-f]/*"):
            with contextlib.suppress(OSError):
                size = sum(file.lstat().st_size for file in folder.rglob("*"))
                yield folder.stat().st_mtime, size, folder

    def _remove(self, entries: list[tuple[float, int, Path]]) -> int:
        for _, _, folder in entries:
            shutil.rmtree(folder, ignore_errors=True)
        return sum(size for _, size, _ in entries)

    def close(self) -> None:
        """Close the file."""
        with self._using():
            self._connection.close()


@contextlib.contextmanager
def opened(cache: ResultCache | None, *, use_cache: bool) -> Iterator[ResultCache]:
    """The given cache; without one the user's, or one that is forgotten at the end."""
    if cache is not None:
        yield cache
        return
    with contextlib.ExitStack() as stack:
        folder = None
        if not use_cache:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="caretbench-")))
            folder.chmod(0o755)
        mine = ResultCache(folder)
        stack.callback(mine.close)
        yield mine
