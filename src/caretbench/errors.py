"""Errors that a user can fix, and checks that find unwritable paths before work is lost."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Final

_CAUSES: Final[Mapping[int, str]] = {
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.EROFS: "the file system is read-only",
    errno.ENOSPC: "no space left",
    errno.EDQUOT: "the disk quota is used up",
    errno.EISDIR: "a folder, not a file",
    errno.ENOTDIR: "a file, not a folder",
    # `mkdir` says so where a file has the name of the folder that should be made.
    errno.EEXIST: "a file, not a folder",
}
_BLOCK: Final = bytes(4096)
"""Content that a full disk does not take; an empty file needs no space."""


class CaretBenchError(Exception):
    """Base class of the errors that a user can fix. Any other exception is a fault of CaretBench."""


class UsageError(CaretBenchError, ValueError):
    """Error in an option, a configuration or a call; the message names the value, the cause and the remedy."""


class DataError(CaretBenchError, ValueError):
    """Error in the content of a file; the message names file and line, and the remedy."""


class AnotherBuildError(DataError):
    """Error: a folder contains a build of other sources or with other options."""


class MachineError(CaretBenchError, RuntimeError):
    """Error: this machine lacks something; the message names what to install or to set."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `` (did you mean NAME?)`` for the known name that is nearest to a misspelled one; empty if none is."""
    near = get_close_matches(name.lower(), known, n=1, cutoff=0.7)
    return f" (did you mean {near[0]}?)" if near else ""


def describe_os_error(error: OSError, remedy: str = "choose another path", path: Path | None = None) -> str:
    """Return path, cause and remedy of an error of the system in one line.

    ``path`` is what should be written; None: the path that the error names.
    """
    refused = Path(os.fsdecode(error.filename)) if error.filename else path
    path = path or refused
    text = error.strerror or str(error)
    if cause := _CAUSES.get(error.errno or 0):
        if refused and error.errno in (errno.ENOTDIR, errno.EEXIST):
            refused = _nearest(refused)
        where = f" ({refused})" if refused != path else ""
        space = "free space, or " if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
        text = f"{cause}{where}; {space}{remedy}"
    return f"{path}: {text}" if path else text


def check_folder_is_writable(folder: Path, remedy: str = "choose another folder with -o") -> None:
    """Raise if no file can be written into a folder, which need not exist; nothing is created.

    Raises:
        DataError: with path, cause and remedy.
    """
    try:
        write_trial_file(folder)
    except OSError as error:
        raise DataError(describe_os_error(error, remedy, folder)) from error


def write_trial_file(folder: Path) -> None:
    """Write a file without a name into a folder, or into the nearest one above it that exists.

    Raises:
        OSError: it cannot be written; the error names the folder.
    """
    existing = _nearest(folder)
    try:
        if not existing.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        with tempfile.TemporaryFile(dir=existing) as file:
            file.write(_BLOCK)
    except OSError as error:
        # The file systems of the kernel (/proc, /sys) say that there is no such file, although the folder is there.
        number = errno.EROFS if error.errno == errno.ENOENT else error.errno
        raise OSError(number, error.strerror, str(existing)) from error


def _nearest(path: Path) -> Path:
    """Return the path itself, or the nearest one above it that exists."""
    return next(above for above in (path, *path.absolute().parents) if os.path.lexists(above))
