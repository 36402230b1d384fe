"""Writer of an archive's members into a new folder.

Links are created after all files, so nothing is written through one; then each must lead to a place in the folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from caretbench.build.sources.fetching.member_names import MemberTree, check_link_target, member_path
from caretbench.build.sources.fetching.source_limits import SourceUsage
from caretbench.errors import DataError

_EXECUTABLE: Final = 0o100


class MemberWriter:
    """Writer into ``root``, a new folder. A member that is refused raises DataError with its name and the cause.

    Only the permission to execute is kept of a file's mode.
    """

    def __init__(self, root: Path, usage: SourceUsage) -> None:
        self._root = root
        self._usage = usage
        self._tree = MemberTree()
        self._links: dict[str, str] = {}
        root.mkdir(parents=True)

    def add_folder(self, name: str) -> None:
        """Create a folder."""
        path = member_path(name)
        if path:
            self._usage.add_file()
            self._tree.add(path, is_folder=True)
            (self._root / path).mkdir(parents=True, exist_ok=True)

    def add_file(self, name: str, size: int, mode: int, content: Iterable[bytes]) -> None:
        """Write a file; ``size`` is the size that the archive states, which may be wrong."""
        path = self._add(name)
        self._usage.check_size(self._usage.unpacked_bytes + size)
        place = self._root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("xb") as stream:
            for block in content:
                self._usage.add_bytes(len(block))
                stream.write(block)
            written = stream.tell()
        if written != size:
            raise DataError(f"{path!r}: {written:,} bytes, but the archive states {size:,}")
        place.chmod(0o755 if mode & _EXECUTABLE else 0o644)

    def add_link(self, name: str, target: str) -> None:
        """Remember a symbolic link, which :meth:`finish` creates."""
        path = self._add(name)
        check_link_target(path, target)
        self._links[path] = target

    def finish(self) -> None:
        """Create the links, and raise DataError if one of them leads outside."""
        for path, target in self._links.items():
            place = self._root / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(target)
        check_links(self._root)

    def _add(self, name: str) -> str:
        path = member_path(name)
        if not path:
            raise DataError(f"{name!r}: a file without a name")
        self._usage.add_file()
        self._tree.add(path, is_folder=False)
        return path


def check_links(folder: Path) -> None:
    """Raise DataError if a link below a folder leads to a place outside of it."""
    root = Path(os.path.realpath(folder))
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(place, name)
            if path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(root):
                shown = path.relative_to(folder).as_posix()
                raise DataError(f"{shown!r}: a link to {str(path.readlink())!r}, outside the folder")
