"""Lock on the use of a cache: removal tells from it whether a build or a run may need what it would remove."""

from __future__ import annotations

import contextlib
import os
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from caretbench.file_locks import lock_file

_FILE: Final = ".in-use"


class UseLock:
    """Shared lock on the use of a cache below ``folder``, until it is closed or its process ends."""

    def __init__(self, folder: Path) -> None:
        self._descriptor = os.open(folder / _FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        self._close = weakref.finalize(self, os.close, self._descriptor)
        lock_file(self._descriptor, shared=True)

    @contextlib.contextmanager
    def alone(self) -> Iterator[bool]:
        """Yield whether nobody else uses the cache; if so, others wait until the block ends."""
        try:
            lock_file(self._descriptor, wait=False)
            found = True
        except OSError:
            found = False
        try:
            yield found
        finally:
            lock_file(self._descriptor, shared=True)

    def close(self) -> None:
        """Release the lock."""
        self._close()
