"""Application of a patch to a snapshot: files written, files deleted, and the content of a copy."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping

from caretbench.errors import DataError
from caretbench.execution.workspaces.snapshot_store import Snapshot

_BLOCK = 4096  # of memory: what a small file takes

Patch = Mapping[str, str | bytes | None]
"""Path in the project -> new content, or None to delete it (a folder with all that it holds)."""


def checked_path(path: str) -> str:
    """Return the normalised form of a relative path, or raise DataError if it is not relative."""
    if not path or "\0" in path or path.startswith("/") or posixpath.normpath(path) != path:
        raise DataError(f"{path!r} is not a plain path relative to the project")
    if path.split("/")[0] in ("..", "."):
        raise DataError(f"{path!r} leads out of the project")
    return path


class PatchChanges:
    """Files that a patch writes and deletes in its snapshot, checked."""

    def __init__(self, snapshot: Snapshot, patch: Patch) -> None:
        """Check a patch; raise DataError if a path leads out of the project or conflicts with an entry."""
        self._snapshot = snapshot
        entries = snapshot.entries
        gone: set[str] = set()
        self.written: dict[str, bytes] = {}
        for path, content in patch.items():
            checked_path(path)
            _check_above(path, snapshot, patch)
            known = entries.get(path)
            if content is None:
                if known is None:
                    raise DataError(f"patch deletes {path!r}, which is not there")
                gone.add(path)
                if known.kind == "folder":
                    gone |= {inner for inner in entries if inner.startswith(path + "/")}
                continue
            if known is not None and known.kind != "file":
                raise DataError(f"patch of {path!r}: it is a {known.kind}")
            text = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
            self.written[path] = text
        for path in patch:
            gone |= _byte_code(path, entries)
        folders = {path for path in gone if entries[path].kind == "folder"}
        self.deleted = (*sorted(gone - folders), *sorted(folders, reverse=True))
        self._gone = gone

    def _kept(self, kind: str) -> Iterator[str]:
        for path, entry in self._snapshot.entries.items():
            if entry.kind == kind and path not in self._gone:
                yield path

    def copy_bytes(self) -> int:
        """Return the memory of a copy of the patched project in bytes, in whole blocks."""
        entries = self._snapshot.entries
        sizes = [entries[path].size for path in self._kept("file")] + [len(data) for data in self.written.values()]
        return sum(-(-size // _BLOCK) * _BLOCK for size in sizes) + _BLOCK * len(entries)

    def files(self) -> dict[str, bytes]:
        """Return all files of the patched project."""
        kept = {
            path: (self._snapshot.tree / path).read_bytes() for path in self._kept("file") if path not in self.written
        }
        return kept | self.written

    def folders(self) -> tuple[str, ...]:
        """Return all folders of the patched project."""
        return tuple(self._kept("folder"))

    def links(self) -> tuple[tuple[str, str], ...]:
        """Return all links of the patched project, as pairs of path and target."""
        return tuple((path, self._snapshot.entries[path].content) for path in self._kept("link"))

    def executable(self) -> tuple[str, ...]:
        """Return the paths of all executable files of the patched project."""
        return tuple(path for path in self._kept("file") if self._snapshot.entries[path].executable)


def _check_above(path: str, snapshot: Snapshot, patch: Patch) -> None:
    """Raise where something above a path is no folder once the patch is there."""
    for folder in (path[:end] for end, letter in enumerate(path) if letter == "/"):
        known = snapshot.entries.get(folder)
        if known is not None and known.kind != "folder" and patch.get(folder, "") is not None:
            raise DataError(f"patch of {path!r}: {folder!r} is no folder")
        if patch.get(folder) is not None:
            raise DataError(f"patch of {path!r}: {folder!r} is a file of the same patch")


def _byte_code(path: str, entries: Mapping[str, object]) -> set[str]:
    """Yield compiled forms of a Python file in its snapshot: an unchecked one would win over the text."""
    if not path.endswith(".py"):
        return set()
    folder, name = posixpath.split(path)
    stem = name[: -len(".py")]
    cache = posixpath.join(folder, "__pycache__", stem + ".")
    found = {place for place in entries if place.startswith(cache) and place.endswith((".pyc", ".pyo"))}
    return found | {place for place in (path + "c", path + "o") if place in entries}
