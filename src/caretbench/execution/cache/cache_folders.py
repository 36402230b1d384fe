"""Names of the cache's subfolders that are bound into sandboxes, and the error for an unusable cache."""

from __future__ import annotations

import errno
import tempfile
from pathlib import Path

from caretbench.errors import MachineError
from caretbench.files import cache_folder

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


def unusable_cache(place: Path, error: OSError) -> MachineError:
    """Return the error for a cache folder that cannot be written."""
    space = "free space, or " if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
    return MachineError(
        f"{place}: the cache cannot be written ({error.strerror}); {space}choose another cache "
        "(CARETBENCH_CACHE=/another/folder)"
    )


def check_cache_is_writable() -> None:
    """Raise MachineError if nothing can be written into the cache: a run must not find that after it has paid."""
    place = cache_folder()
    try:
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as error:
        raise unusable_cache(place, error) from error
