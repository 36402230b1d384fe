"""What the package needs: systems without the POSIX modules of the standard library, and distributions."""

from __future__ import annotations

import ast
import contextlib
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

_ROOT = Path(__file__).parents[1]
_IMPORTS = """
import asyncio, importlib, pkgutil, shutil, sys, tempfile, types
import pydantic

POSIX = ("fcntl", "resource", "pwd", "grp", "termios")

class NoPosix:
    def find_spec(self, name, path=None, target=None):
        if name in POSIX:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

for name in POSIX:
    sys.modules.pop(name, None)
sys.meta_path.insert(0, NoPosix())
# This module chooses by the name of the system, which libraries must not see changed.
sys.modules["msvcrt"] = types.ModuleType("msvcrt")
here, sys.platform = sys.platform, "win32"
import caretbench.file_locks
sys.platform = here

import caretbench
NOT_OURS = (".samples", ".starter", ".harness", ".inside", "__main__")
count = 0
for module in pkgutil.walk_packages(caretbench.__path__, "caretbench."):
    name = module.name
    if name.startswith(("caretbench.execution.", "caretbench.inspect.")) or any(part in name for part in NOT_OURS):
        continue
    importlib.import_module(name)
    count += 1
assert not set(POSIX) & set(sys.modules), sys.modules.keys() & POSIX
print(count)
"""
"""Inspect AI decides by the name of the system whether it imports such a module, so that its room is not tried."""


def test_every_room_but_execution_is_imported_without_posix_modules() -> None:
    done = subprocess.run([sys.executable, "-c", _IMPORTS], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 350


# What runs programs, and what runs inside the sandbox or hands sockets to it.
_FOR_LINUX = (
    "src/caretbench/execution/", "src/caretbench/projects/inside/", "src/caretbench/build/package_index/", "tests/",
)  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("platform", ["win32", "darwin"])
def test_names_exist_on_other_systems(platform: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mypy", "--platform", platform, "--cache-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if ": error:" in line]
    assert done.returncode in (0, 1), done.stderr
    assert any(line.startswith("src/caretbench/execution/") for line in lines)  # execution is for Linux: all was read
    assert [line for line in lines if not line.startswith(_FOR_LINUX)] == []


_EXTRAS_OF_ROOMS = {
    "inspect": ("models", "local"), "local": ("local",), "execution/cluster": ("ray",), "people/review": ("review",),
    "training/tuning": ("train",),
}  # fmt: skip


def _with_what_they_need(requirements: Iterable[str]) -> set[str]:
    """Return the names of distributions, with those that they need without an extra."""
    found: set[str] = set()
    waiting = [Requirement(text) for text in requirements]
    while waiting:
        one = waiting.pop()
        name = canonicalize_name(one.name)
        if name in found or (one.marker is not None and not one.marker.evaluate({"extra": ""})):
            continue
        found.add(name)
        with contextlib.suppress(metadata.PackageNotFoundError):
            waiting += map(Requirement, metadata.requires(one.name) or ())
    return found


def test_what_the_package_imports_is_installed_with_it() -> None:
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    base = _with_what_they_need(project["dependencies"])
    extras = project["optional-dependencies"]
    further = {
        room: _with_what_they_need(text for name in names for text in extras[name])
        for room, names in _EXTRAS_OF_ROOMS.items()
    }
    distributions = metadata.packages_distributions()
    source = _ROOT / "src" / "caretbench"
    for path in source.rglob("*.py"):
        place = path.relative_to(source).as_posix()
        if {"samples", "starter", "starter_set", "harness", "inside"} & set(place.split("/")):
            continue
        tree = ast.parse(path.read_text("utf-8"))
        names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        known = base.union(*(needed for room, needed in further.items() if place.startswith(f"{room}/")))
        for top in {name.partition(".")[0] for name in names} - {"caretbench"} - sys.stdlib_module_names:
            # The packages of the extra `train` are not installed where this runs.
            assert known & set(map(canonicalize_name, distributions.get(top, (top,)))), f"{place} imports {top}"
