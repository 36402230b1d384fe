"""Rules for the names of an archive's members: inside the folder, UTF-8, one spelling, one kind."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

from caretbench.errors import DataError

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_DRIVE: Final = re.compile(r"[A-Za-z]:")
_MAX_PART_BYTES: Final = 255
_MAX_PATH_BYTES: Final = 2048


def member_path(name: str) -> str:
    """Return the relative path of a member, without ``.`` and empty parts; empty for the folder itself.

    Bytes that are not UTF-8 are surrogates in ``name``, as :mod:`tarfile` reads them.

    Raises:
        DataError: the name leads outside, is not UTF-8, or cannot be a file's on every system.
    """
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        raise DataError(f"{_shown(name)}: the name is not UTF-8") from None
    if name.startswith("/") or _DRIVE.match(name):
        raise DataError(f"{_shown(name)}: an absolute path")
    if "\\" in name or _CONTROL.search(name):
        raise DataError(f"{_shown(name)}: a backslash or a control character in the name")
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise DataError(f"{_shown(name)}: leads outside the folder")
    if size > _MAX_PATH_BYTES or any(len(part.encode()) > _MAX_PART_BYTES for part in parts):
        raise DataError(f"{_shown(name)}: the name is too long")
    return "/".join(parts)


def check_link_target(path: str, target: str) -> None:
    """Raise DataError if the target of the link at ``path`` is empty, absolute, or outside by its words."""
    shown = f"{_shown(path)}: a link to {_shown(target)}"
    if not target or _CONTROL.search(target):
        raise DataError(f"{shown}, which no file can have as its name")
    if target.startswith("/") or _DRIVE.match(target) or "\\" in target:
        raise DataError(f"{shown}, outside the folder")
    depth = path.count("/")
    for part in target.split("/"):
        depth += {"": 0, ".": 0, "..": -1}.get(part, 1)
        if depth < 0:
            raise DataError(f"{shown}, outside the folder")


class MemberTree:
    """The members so far, by names that ignore case and form, so that clashes are found on every file system."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, bool]] = {}

    def add(self, path: str, *, is_folder: bool) -> None:
        """Add a member and the folders above it.

        Raises:
            DataError: another spelling of the name is there, a file where a folder is needed, or the file itself.
        """
        parts = path.split("/")
        for end in range(1, len(parts)):
            self._add(parts[:end], is_folder=True)
        self._add(parts, is_folder=is_folder)

    def _add(self, parts: Sequence[str], *, is_folder: bool) -> None:
        path = "/".join(parts)
        key = unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())
        before = self._known.get(key)
        if before is None:
            self._known[key] = (path, is_folder)
        elif before[0] != path:
            raise DataError(f"{_shown(path)}: the name differs from {_shown(before[0])} only by case or form")
        elif not (before[1] and is_folder):
            raise DataError(f"{_shown(path)}: contained twice")


def _shown(name: str) -> str:
    text = name.encode("utf-8", "backslashreplace").decode()
    return repr(text if len(text) <= 120 else f"{text[:117]}…")
