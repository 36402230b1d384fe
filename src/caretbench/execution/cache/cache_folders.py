"""Folders of the cache that are bound into sandboxes, the lock on their use, and the error for an unusable cache."""

from __future__ import annotations

import contextlib
import os
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from caretbench.errors import MachineError, describe_os_error, write_trial_file
from caretbench.file_locks import lock_file
from caretbench.files import ANOTHER_CACHE, cache_folder

BUNDLES = "bundles"
"""Libraries that suites need."""
TOOLS = "tools"
"""Our own compiled tools, and headers."""
DOTNET = "dotnet"
"""A .NET SDK that the machine does not have otherwise."""
ARTEFACTS = "artefacts"
"""Compiled programs."""
SNAPSHOTS = "snapshots"
"""Projects."""
BOUND = (BUNDLES, TOOLS, DOTNET, ARTEFACTS, SNAPSHOTS)
"""All of them: the probe runs with them, as programs do."""


def unusable_cache(path: Path, error: OSError) -> MachineError:
    """Return the error for a cache folder that cannot be written."""
    text = describe_os_error(error, ANOTHER_CACHE, path)
    # Nothing can be made in /proc, for example, which is no cause that has a remedy elsewhere.
    return MachineError(text if ANOTHER_CACHE in text else f"{text}; {ANOTHER_CACHE}")


def check_cache_is_writable() -> None:
    """Raise MachineError if nothing can be written into the cache: a run must not find that after it has paid."""
    try:
        write_trial_file(cache_folder())
    except OSError as error:
        raise unusable_cache(cache_folder(), error) from error


_FILE: Final = ".in-use"


class UseLock:
    """Shared lock on the use of a cache below ``folder``, until it is closed or its process ends.

    Removal tells from it whether a build or a run may need what it would remove.
    """

    def __init__(self, folder: Path) -> None:
        self._descriptor = os.open(folder / _FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        # A cache that nobody closes must not hold its lock for the life of the process.
        self._close = weakref.finalize(self, os.close, self._descriptor)
        lock_file(self._descriptor, shared=True)

    @contextlib.contextmanager
    def alone(self) -> Iterator[bool]:
        """Yield whether nobody else uses the cache; if so, others wait until the block ends."""
        try:
            # One descriptor's lock is changed, not added to: it fails while another process holds its own.
            lock_file(self._descriptor, wait=False)
            is_alone = True
        except OSError:
            is_alone = False
        try:
            yield is_alone
        finally:
            lock_file(self._descriptor, shared=True)

    def close(self) -> None:
        """Release the lock."""
        self._close()
