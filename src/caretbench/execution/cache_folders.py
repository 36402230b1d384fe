"""Names of the folders below the cache that are bound into sandboxes; whoever fills one takes its name from here."""

from __future__ import annotations

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
