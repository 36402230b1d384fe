"""Tests of the user next to a project that has few: a copy of the project with both."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

from caretbench.build.projects.setup.python_packages import is_importable
from caretbench.errors import DataError
from caretbench.execution.workspaces.snapshot_store import Snapshot
from caretbench.temporary import temporary_folder


def added_command(snapshot: Snapshot, folder: str) -> str:
    """Return the command that runs only the tests of a folder, for a project without tests of its own."""
    runs_pytest = is_importable(snapshot, "pytest")
    return f"python3 -m pytest -q {folder}" if runs_pytest else f"python3 -m unittest discover -f -s {folder}"


def added_tests_fault(folder: str, command: Sequence[str], has_package: bool, tests: Collection[str]) -> str:
    """Return the reason why a command does not run the tests of a folder in the project's root; empty if it may.

    Args:
        folder: The folder.
        command: The test command.
        has_package: The folder has a file ``__init__.py``.
        tests: Tests that the command runs, by pytest's ids; empty if they are not known.
    """
    words = " ".join(command).split()
    if tests:
        runs = any(name.startswith(f"{folder}/") for name in tests)
    elif "discover" in words:
        start = next((after for before, after in pairwise(words) if before in ("-s", "--start-directory")), ".")
        runs = start.rstrip("/") == folder or (start == "." and has_package)
    else:
        runs = True
    if runs:
        return ""
    return (
        f"--tests: `{' '.join(words)}` runs no test of {folder}/, which is in the root of the copied project: name a "
        "command that runs them and the project's own with --test-command"
    )


@contextmanager
def project_with_tests(root: Path, tests: Path | None) -> Iterator[Path]:
    """Yield the project's folder, or for ``tests`` a copy of it with that folder in it, which is removed at the end.

    The project itself is not changed.

    Raises:
        DataError: ``tests`` is no folder, or the project has a file or folder of its name.
    """
    if tests is None:
        yield root
        return
    name = tests.resolve().name
    if not tests.is_dir():
        raise DataError(f"--tests {tests}: no such folder")
    if (root / name).exists():
        raise DataError(f"--tests {tests}: the project has {name}/ already; give the folder another name")
    with temporary_folder("tests") as place:
        copy = place / root.resolve().name
        shutil.copytree(root, copy, symlinks=True)
        shutil.copytree(tests, copy / name, symlinks=True)
        yield copy
