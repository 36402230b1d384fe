"""SQLite file that several processes write at a time; a damaged one is replaced, since its content can be recomputed.

A damaged file is replaced by an empty one. It is never renamed or filled again: processes that still have it open
would remove the new file's log by its name. So files are numbered, and the highest number counts.
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from caretbench.errors import MachineError
from caretbench.file_locks import lock_file

# SQLite lets one process write at a time, and on a busy machine each may take long.
_BUSY_S = 60.0
_LOOKED_THROUGH_BYTES = 16 << 20
"""Maximum size of a file that is checked when it is opened; a larger one is checked when a row is damaged."""
_FILE = re.compile(r"verdicts(?:-(\d+))?\.sqlite")
_FAULTS = (sqlite3.Error, UnicodeDecodeError)  # messages quote a damaged file's words
_LOST = frozenset(
    {
        sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_MISMATCH,
        sqlite3.SQLITE_SCHEMA, sqlite3.SQLITE_IOERR_SHORT_READ,
    }
)  # fmt: skip
# A damaged schema has the code of a plain error: only these words tell it from a mistake in a statement.
_LOST_WORDS = ("no such table", "no such column", "has no column", "malformed", "values for")


class VerdictDatabase:
    """Tables in a numbered file below ``folder``. Threads and processes may share it.

    ``tables`` are statements that make the tables where they are not there.

    Raises:
        MachineError: the disk is full, or the folder cannot be written.
    """

    def __init__(self, folder: Path, tables: Sequence[str]) -> None:
        self._folder = folder
        self._tables = tables
        self._lock = threading.Lock()
        with self._lock, self._as_machine_error(), self._opening():
            self._open()

    def execute(self, statement: str, values: Sequence[float | str | bytes] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a statement; a damaged file is replaced by an empty one, and the statement runs again.

        Raises:
            MachineError: the disk is full, or the file cannot be used.
        """
        with self._lock, self._as_machine_error():
            try:
                return self._connection.execute(statement, values).fetchall()
            except _FAULTS as error:
                if not _is_damaged(error):
                    raise
                self._replace()
                return self._connection.execute(statement, values).fetchall()

    def check(self) -> None:
        """Replace the file if it is damaged: keys out of order hide rows, which no other error shows."""
        with self._lock, self._as_machine_error():
            if not self._is_intact():
                self._replace()

    def _is_intact(self) -> bool:
        try:
            return bool(self._connection.execute("PRAGMA quick_check(1)").fetchone() == ("ok",))
        except _FAULTS as error:
            if not _is_damaged(error):
                raise
            return False

    def close(self) -> None:
        """Close the file."""
        with self._lock, self._as_machine_error():
            self._connection.close()

    def _number(self) -> int:
        """Return the number of the file that counts; the first has none in its name."""
        matches = (_FILE.fullmatch(file.name) for file in self._folder.glob("verdicts*.sqlite"))
        return max((int(match[1] or 0) for match in matches if match), default=0)

    def _place(self, number: int) -> Path:
        return self._folder / (f"verdicts-{number}.sqlite" if number else "verdicts.sqlite")

    def _open(self) -> None:
        self._opened = self._number()
        self._file = self._place(self._opened)
        small = self._file.exists() and self._file.stat().st_size <= _LOOKED_THROUGH_BYTES
        try:
            self._connect()
            sound = not small or self._is_intact()
        except _FAULTS as error:
            if not _is_damaged(error):
                raise
            sound = False
        if not sound:
            with contextlib.suppress(*_FAULTS):
                self._connection.close()
            self._next()
            self._connect()

    def _connect(self) -> None:
        self._connection = sqlite3.connect(self._file, timeout=_BUSY_S, check_same_thread=False, isolation_level=None)
        # Damaged text must not raise: each row's content is compared with its checksum.
        self._connection.text_factory = lambda text: text.decode("utf-8", "replace")
        # Others read while one writes.
        self._connection.execute("PRAGMA journal_mode=WAL")
        # If the machine crashes, the last verdicts may be lost, and are computed again; the file stays whole.
        self._connection.execute("PRAGMA synchronous=NORMAL")
        for table in self._tables:
            self._connection.execute(table)

    def _replace(self) -> None:
        with contextlib.suppress(*_FAULTS):
            self._connection.close()
        with self._opening():
            if self._number() > self._opened:  # another process was faster
                self._open()
            else:
                self._next()
                self._connect()

    def _next(self) -> None:
        """Replace a damaged file by an empty one."""
        damaged = self._file
        self._opened += 1
        self._file = self._place(self._opened)
        # There before the damaged one goes: a process that looks now finds the higher number.
        self._file.touch()
        for ending in ("", "-wal", "-shm"):
            damaged.with_name(damaged.name + ending).unlink(missing_ok=True)

    @contextlib.contextmanager
    def _opening(self) -> Iterator[None]:
        """Allow one process at a time: SQLite fails at once, whatever the timeout, if two switch a new file to WAL."""
        with (self._folder / ".opening").open("ab") as stream:
            lock_file(stream)
            yield

    @contextlib.contextmanager
    def _as_machine_error(self) -> Iterator[None]:
        """Turn errors of a full disk or an unusable file into one line."""
        try:
            yield
        except (*_FAULTS, OSError) as error:
            raise MachineError(
                f"{getattr(self, '_file', self._folder)}: {error}; free space, or remove the file (it holds nothing "
                "that cannot be computed again), or go without it: --no-cache"
            ) from error


def _is_damaged(error: Exception) -> bool:
    """Return whether the file is damaged; otherwise the disk may be full, or the file locked."""
    if isinstance(error, UnicodeDecodeError):
        return True
    code = getattr(error, "sqlite_errorcode", 0)
    return bool({code, code & 0xFF} & _LOST) or any(word in str(error) for word in _LOST_WORDS)
