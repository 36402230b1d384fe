"""Names of the cache's subfolders that are bound into sandboxes, and the error for an unusable cache."""

from __future__ import annotations

from pathlib import Path

from caretbench.errors import MachineError, describe_os_error, write_trial_file
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


def unusable_cache(place: Path, error: OSError) -> MachineError:
    """Return the error for a cache folder that cannot be written."""
    text = describe_os_error(error, ANOTHER_CACHE, place)
    # Nothing can be made in /proc, for example, which is no cause that has a remedy elsewhere.
    return MachineError(text if ANOTHER_CACHE in text else f"{text}; {ANOTHER_CACHE}")


def check_cache_is_writable() -> None:
    """Raise MachineError if nothing can be written into the cache: a run must not find that after it has paid."""
    try:
        write_trial_file(cache_folder())
    except OSError as error:
        raise unusable_cache(cache_folder(), error) from error
