"""pytest for projects in a sandbox, whose interpreter has none."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path


def copy_pytest(folder: Path) -> None:
    """Copy pytest, and what it imports, into a new folder for ``PYTHONPATH``."""
    folder.mkdir()
    for name in ("pytest", "_pytest", "pluggy", "iniconfig", "packaging", "py", "pygments"):
        found = importlib.util.find_spec(name)
        if found is None or found.origin is None:
            continue
        origin = Path(found.origin)
        if origin.name == "__init__.py":
            shutil.copytree(origin.parent, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
        else:
            shutil.copy(origin, folder / origin.name)
