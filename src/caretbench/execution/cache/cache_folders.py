"""Names of the cache's subfolders that are bound into sandboxes, and the error for an unusable cache."""

from __future__ import annotations

from pathlib import Path

from caretbench.errors import MachineError

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
    return MachineError(
        f"{place}: {error.strerror}; free space, or choose another cache (CARETBENCH_CACHE=/another/folder)"
    )
