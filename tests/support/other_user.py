"""A folder from which an ordinary user runs the attacks: the package, what it imports, a cache of its own."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import caretbench
from caretbench.execution.sandbox import bubblewrap as walls
from caretbench.files import cache_folder
from tests.support.attack_table import FOLDER

USER = 64_123
PYTHON = "/usr/bin/python3"
PACKAGES = (
    "pydantic", "pydantic_core", "annotated_types", "typing_extensions", "typing_inspection",
    "tree_sitter", "tree_sitter_c_sharp",
)  # fmt: skip
"""Modules that the executor imports, the last two for C# programs that do not compile."""


@contextmanager
def attack_home() -> Iterator[Path]:
    """A folder for everybody to read: the interpreter's own packages may lie in a closed home."""
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    asked = "import sys; print('%d.%d' % sys.version_info[:2])"
    done = subprocess.run([PYTHON, "-c", asked], capture_output=True, text=True, check=False)
    if done.stdout.strip() != here:
        pytest.skip(f"{PYTHON} is not Python {here}: compiled packages do not fit")
    with tempfile.TemporaryDirectory(prefix="attacks-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        shutil.copytree(Path(caretbench.__file__).parent, folder / "caretbench")
        shutil.copytree(FOLDER, folder / "attacks")
        shutil.copy(FOLDER.with_name("attack_table.py"), folder)
        for package in PACKAGES:
            found = importlib.util.find_spec(package)
            assert found is not None
            assert found.origin is not None
            place = Path(found.origin)
            if place.name == "__init__.py":
                shutil.copytree(place.parent, folder / package)
            else:
                shutil.copy(place, folder)
        cache = folder / "cache"
        (cache / "tools").mkdir(parents=True)  # nothing was built yet on a new machine
        for tools in ("dotnet", "bundles"):
            if walls.reachable_by_others(cache_folder()) and (cache_folder() / tools).is_dir():
                (cache / tools).symlink_to(cache_folder() / tools)
        # Go's library and Java's archive of classes take long to make; what others need is made by this user.
        for tools in ("go-*", "java-[0-9a-f]*"):
            filled = (cache_folder() / "tools").glob(f"{tools}/.filled")
            for last in sorted(filled, key=lambda path: path.stat().st_mtime)[-1:]:
                shutil.copytree(last.parent, cache / "tools" / last.parent.name)
        for path in folder.rglob("*"):
            if not path.is_symlink():
                path.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)
        for path in (cache, *(cache / "tools").rglob("*"), cache / "tools"):
            os.chown(path, USER, USER)
        yield folder
