"""Kinds of files in the cache: place, number, size and last use of each, their removal, and the limit of their size.

Removal spares what is in use: locked snapshots, and while a build or a run uses the cache also compiled programs and
snapshots of the last hour, and all bundles and tools. The limit is kept automatically, the longest unused entries
first. It bounds verdicts, compiled programs and snapshots together; all else is only removed on request.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from caretbench.errors import UsageError
from caretbench.execution.cache.cache_folders import BUNDLES, DOTNET, SNAPSHOTS, TOOLS
from caretbench.execution.cache.result_cache import ResultCache
from caretbench.execution.execution_types import FrozenModel
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.files import cache_folder

VERDICTS: Final = "verdicts"
PROGRAMS: Final = "programs"
RECENT_S: Final = 3600.0
"""Seconds after its last use during which another process may still use an entry."""
LIMITED: Final = (VERDICTS, PROGRAMS, SNAPSHOTS)
"""Kinds that every run adds to and that can be made again: the limit of the cache is theirs."""


class _FolderKind(NamedTuple):
    about: str
    patterns: tuple[str, ...]
    """Patterns of the entries, below the cache."""
    used_by_programs: bool = False


_FOLDERS: Final[Mapping[str, _FolderKind]] = {
    BUNDLES: _FolderKind("packages that programs may import", (f"{BUNDLES}/*/*/*",), used_by_programs=True),
    TOOLS: _FolderKind("compiled tools, headers, SDKs", (f"{TOOLS}/*", DOTNET), used_by_programs=True),
    "data": _FolderKind("downloaded and generated data", ("data/*",)),
    "models": _FolderKind("weights of local models", ("models/*",)),
    "validity": _FolderKind("verdicts of the gate", ("validity/*.jsonl",)),
}
KINDS: Final = (*LIMITED, *_FOLDERS)
"""Names of all kinds."""


class StoredKind(FrozenModel):
    """One kind of files: ``entries`` of ``size_bytes``; ``last_used`` in seconds since 1970, None if there are none."""

    kind: str
    about: str
    place: str
    entries: int = 0
    size_bytes: int = 0
    last_used: float | None = None
    limited: bool = False
    """True if the limit of the cache is kept for it automatically."""


class Freed(FrozenModel):
    """Removed entries by kind, freed bytes, and the number of entries that were kept because they are in use."""

    removed: Mapping[str, int] = {}
    freed_bytes: int = 0
    in_use: int = 0


class _Entry(NamedTuple):
    used: float
    kind: str
    name: str
    size: int
    path: Path


class StoredFiles:
    """All kinds of files below one cache.

    Args:
        cache: Verdicts and compiled programs; its folder is that of all kinds.
    """

    def __init__(self, cache: ResultCache) -> None:
        self._cache = cache
        self._folder = cache.folder

    def kinds(self) -> list[StoredKind]:
        """Return the state of every kind."""
        statistics = self._cache.statistics()
        store = SnapshotStore(self._folder / SNAPSHOTS)
        snapshots, programs = store.list(), list(self._cache.programs())
        kinds = [
            self._kind(
                VERDICTS, "outcomes of programs", "verdicts*.sqlite",
                statistics.verdicts, statistics.verdict_bytes, self._cache.last_verdict(),
            ),
            self._kind(
                PROGRAMS, "compiled programs", self._cache.artefacts.name,
                len(programs), statistics.artefact_bytes, max((used for used, _, _ in programs), default=None),
            ),
            self._kind(
                SNAPSHOTS, "projects, with the environments of their tests", SNAPSHOTS,
                len(snapshots), store.disk_bytes(), max((use.used for use in snapshots), default=None),
            ),
        ]  # fmt: skip
        for kind, about in _FOLDERS.items():
            entries = list(self._folder_entries(kind))
            last = max((entry.used for entry in entries), default=None)
            place = ", ".join(dict.fromkeys(pattern.partition("/")[0] for pattern in about.patterns))
            kinds.append(self._kind(kind, about.about, place, len(entries), sum(e.size for e in entries), last))
        return kinds

    def _kind(
        self, kind: str, about: str, place: str, entries: int, size_bytes: int, last_used: float | None
    ) -> StoredKind:
        return StoredKind(
            kind=kind, about=about, place=str(self._folder / place), entries=entries, size_bytes=size_bytes,
            last_used=last_used, limited=kind in LIMITED,
        )  # fmt: skip

    def free(
        self,
        kinds: Collection[str] = LIMITED,
        *,
        unused_days: float | None = None,
        keep_bytes: int | None = None,
        spare_s: float = 0.0,
    ) -> Freed:
        """Remove entries of some kinds that are unused for ``unused_days``, then the longest unused ones.

        Without ``unused_days`` and ``keep_bytes``, all entries. The longest unused are removed until ``keep_bytes`` of
        these kinds remain; verdicts, which are small, go last. What was used in the last ``spare_s`` seconds is kept.
        """
        now = time.time()
        everything = unused_days is None and keep_bytes is None
        waiting = sorted(entry for entry in self._entries(kinds) if entry.used <= now - spare_s)
        removed: Counter[str] = Counter()
        freed = in_use = 0
        total = sum(kind.size_bytes for kind in self.kinds() if kind.kind in kinds) if keep_bytes is not None else 0
        # Others wait until the removal ends: what they look up is there, or gone.
        with self._cache.use.alone() as alone:
            for entry in waiting:
                old = unused_days is not None and entry.used < now - unused_days * 86_400
                if not (everything or old or (keep_bytes is not None and total - freed > keep_bytes)):
                    continue
                size = self._remove(entry, alone=alone)
                if size is None:
                    in_use += 1
                else:
                    removed[entry.kind] += 1
                    freed += size
        if VERDICTS in kinds:
            rest = None if keep_bytes is None else max(0, keep_bytes - (total - freed - self._verdict_bytes()))
            gone, size = self._cache.prune_verdicts(unused_days=0.0 if everything else unused_days, keep_bytes=rest)
            removed[VERDICTS] += gone
            freed += size
        return Freed(removed=dict(+removed), freed_bytes=freed, in_use=in_use)

    def _verdict_bytes(self) -> int:
        return self._cache.statistics().verdict_bytes

    def _entries(self, kinds: Collection[str]) -> Iterator[_Entry]:
        if PROGRAMS in kinds:
            for used, size, path in self._cache.programs():
                yield _Entry(used, PROGRAMS, path.name, size, path)
        if SNAPSHOTS in kinds:
            for use in SnapshotStore(self._folder / SNAPSHOTS).list():
                yield _Entry(use.used, SNAPSHOTS, use.id, use.size, self._folder / SNAPSHOTS)
        for kind in _FOLDERS:
            if kind in kinds:
                yield from self._folder_entries(kind)

    def _folder_entries(self, kind: str) -> Iterator[_Entry]:
        for pattern in _FOLDERS[kind].patterns:
            for path in sorted(self._folder.glob(pattern)):
                with contextlib.suppress(OSError):
                    # Locks and unfinished folders belong to a build that runs now.
                    if not path.name.startswith("."):
                        size = sum(file.lstat().st_size for file in (path, *path.rglob("*")) if file.is_file())
                        yield _Entry(path.stat().st_mtime, kind, path.name, size, path)

    def _remove(self, entry: _Entry, *, alone: bool) -> int | None:
        """Remove an entry and return the freed bytes; None if it is in use."""
        if not alone and entry.kind in LIMITED and time.time() - entry.used < RECENT_S:
            return None
        if entry.kind == SNAPSHOTS:
            return SnapshotStore(entry.path).remove(entry.name)
        if entry.kind == PROGRAMS:
            self._cache.remove_program(entry.path)
            return entry.size
        if _FOLDERS[entry.kind].used_by_programs and not alone:
            return None
        if entry.path.is_dir():
            shutil.rmtree(entry.path, ignore_errors=True)
        else:
            entry.path.unlink(missing_ok=True)
        return entry.size


def chosen_kinds(names: Sequence[str] | None) -> tuple[str, ...]:
    """Return kinds by name; those of the cache's limit by default.

    Raises:
        UsageError: a name is unknown.
    """
    wrong = next((name for name in names or () if name not in KINDS), None)
    if wrong is not None:
        raise UsageError(f"--kind {wrong!r}: expected {', '.join(KINDS)}")
    return tuple(names) if names else LIMITED


LIMIT_VARIABLE: Final = "CARETBENCH_CACHE_GB"
"""Environment variable with the limit in gigabytes; 0: no limit."""
DEFAULT_LIMIT_GB: Final = 20.0
_CHECKED: Final = ".limit-checked"
# Finding the size of the cache reads the status of every file in it.
_INTERVAL_S: Final = 3600.0


def cache_limit_bytes() -> int | None:
    """Return the limit in bytes; None if there is none.

    Raises:
        UsageError: the environment variable is no number.
    """
    text = os.environ.get(LIMIT_VARIABLE, "").strip()
    try:
        value = float(text) if text else DEFAULT_LIMIT_GB
        if not 0 <= value < float("inf"):
            raise ValueError  # noqa: TRY301  one message for both
    except ValueError:
        raise UsageError(f"{LIMIT_VARIABLE}={text!r}: expected a number of gigabytes, or 0 for no limit") from None
    return int(value * 1e9) if value else None


def keep_cache_limit(folder: Path | None = None) -> Freed | None:
    """Remove the longest unused entries beyond the limit; at most once an hour, else return None.

    Errors of the file system are ignored: the next call tries again.
    """
    limit = cache_limit_bytes()
    root = folder or cache_folder()
    mark = root / _CHECKED
    with contextlib.suppress(OSError):
        # A mark from the future, of a clock that was set back since, must not stop the check for years.
        if limit is None or not root.is_dir() or abs(time.time() - mark.stat().st_mtime) < _INTERVAL_S:
            return None
    with contextlib.suppress(OSError):
        mark.touch()
        cache = ResultCache(root)
        try:
            return StoredFiles(cache).free(keep_bytes=limit, spare_s=RECENT_S)
        finally:
            cache.close()
    return None
