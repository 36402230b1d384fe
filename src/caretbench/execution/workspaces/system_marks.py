"""What of this machine decides verdicts, as hashes: its packages, and folders that are bound."""

from __future__ import annotations

import hashlib
import os
import platform
from functools import cache
from pathlib import Path

from caretbench.files import sha256_json

_PACKAGES = (
    "/var/lib/dpkg/status", "/var/lib/rpm/rpmdb.sqlite", "/var/lib/rpm/Packages", "/usr/lib/sysimage/rpm/rpmdb.sqlite",
    "/var/lib/pacman/local", "/lib/apk/db/installed", "/usr/local/bin", "/usr/local/lib",
)  # fmt: skip


def folder_mark(path: Path) -> str:
    """A hash over names, sizes and dates of all below a folder, or of one file: other content has another one.

    Raises:
        OSError: it is not there.
    """
    digest = hashlib.sha256(_seen(path).encode())
    for folder, folders, files in os.walk(path):
        folders.sort()
        for name in sorted([*folders, *files]):
            place = Path(folder) / name
            digest.update(os.fsencode(place.relative_to(path)) + b"\0" + _seen(place).encode())
    return digest.hexdigest()


def _seen(place: Path) -> str:
    known = place.lstat()
    return f"{known.st_mode:o} {known.st_size} {known.st_mtime_ns}\0"


@cache
def system_mark() -> str:
    """A hash that changes when packages of this system do; asked once per process."""
    there = [(path, _seen(Path(path))) for path in _PACKAGES if Path(path).exists()]
    return sha256_json([platform.machine(), there])
