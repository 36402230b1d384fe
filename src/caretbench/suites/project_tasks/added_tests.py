"""Tests of the user next to a project that has few: a copy of the project with both."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from caretbench.errors import DataError
from caretbench.temporary import temporary_folder


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
