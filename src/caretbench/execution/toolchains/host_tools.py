"""Host-side helpers of the toolchains: our own compiled tools and files that compilers leave."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from caretbench.execution.cache.cache_folders import TOOLS
from caretbench.file_locks import lock_file
from caretbench.files import cache_folder

_PROGRAM_BYTES = 16 << 20


def read_artefact(path: Path) -> str:
    """Return the text of a sandboxed compiler's file: links are not followed, its length is bounded."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as stream:
        return stream.read(_PROGRAM_BYTES).decode("utf-8", "replace")


def binds_outside_usr(*folders: Path) -> dict[str, str]:
    """Return read-only binds for tool folders outside ``/usr``, which the sandbox lacks."""
    return {str(folder): str(folder) for folder in folders if not folder.is_relative_to("/usr")}


@contextmanager
def cached_tool_folder(name: str) -> Iterator[tuple[Path, bool]]:
    """Yield a cache folder for compiled helper tools, and whether it must still be filled.

    One process fills it at a time; it counts as filled once the block has ended without an exception.
    """
    folder = cache_folder() / TOOLS / name
    folder.mkdir(parents=True, exist_ok=True)
    filled = folder / ".filled"
    with (folder / ".lock").open("w") as lock:
        lock_file(lock)
        yield folder, not filled.exists()
        filled.touch()
