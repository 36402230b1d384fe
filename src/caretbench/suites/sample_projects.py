"""Sample projects of the package, of which starter sets are made."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from pathlib import Path


def sample_projects() -> Mapping[str, Path]:
    """Return the sample projects, by name."""
    root = Path(str(resources.files("caretbench"))) / "samples"
    return {path.name: path for path in sorted(root.iterdir()) if path.is_dir()}
