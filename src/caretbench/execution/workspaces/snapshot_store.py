"""Snapshots: folders stored by content, bound read-only into many sandboxes.

A snapshot's name is the hash of its paths, executable bits, link targets and contents. Equal files of all snapshots
are one file on the disk. A tree appears whole, by a rename; several processes may add to one store.
"""

from __future__ import annotations

import contextlib
import errno
import fnmatch
import hashlib
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from caretbench.errors import DataError
from caretbench.execution.cache.cache_folders import SNAPSHOTS, unusable_cache
from caretbench.execution.cache.staging_folders import remove_abandoned, staging_folder
from caretbench.execution.execution_types import FrozenModel
from caretbench.execution.sandbox.bubblewrap import reachable_by_others
from caretbench.execution.sandbox.host.program_users import program_users, unprivileged_user
from caretbench.file_locks import lock_file
from caretbench.files import cache_folder, sha256_json

IGNORED = (
    ".git", ".hg", ".svn", "__pycache__", "*.pyc", "*.pyo", ".venv", "venv", ".tox", ".nox", ".mypy_cache",
    ".pytest_cache", ".ruff_cache", ".hypothesis", ".DS_Store",
)  # fmt: skip
"""Names that are no part of a project: histories, environments, and files that tools leave behind."""

MAX_ENTRIES = 200_000
MAX_BYTES = 2 << 30
# 1980-01-01, the oldest date that archives can hold: a patched file is newer than all others, so that builds see the
# change.
_TIME = 315_532_800


class SnapshotEntry(FrozenModel):
    """One file, link or folder of a snapshot. ``content`` is a file's hash or a link's target."""

    kind: Literal["file", "link", "folder"]
    content: str = ""
    executable: bool = False
    size: int = 0


class Snapshot(FrozenModel):
    """Stored project: ``entries`` by relative path, and ``tree``, the folder that holds them."""

    id: str
    tree: Path
    entries: Mapping[str, SnapshotEntry]

    @property
    def size(self) -> int:
        """Total size of all files in bytes."""
        return sum(entry.size for entry in self.entries.values())

    def read(self, path: str) -> bytes:
        """Return the content of one of its files, or raise DataError where it has no such file."""
        entry = self.entries.get(path)
        if entry is None or entry.kind != "file":
            raise DataError(f"the snapshot has no file {path!r}")
        return (self.tree / path).read_bytes()


class SnapshotUse(FrozenModel):
    """Entry of a list of snapshots; ``used`` in seconds since 1970."""

    id: str
    files: int
    size: int
    used: float


class _Manifest(FrozenModel):
    id: str
    entries: dict[str, SnapshotEntry]


class SnapshotStore:
    """Store of snapshots below one folder.

    Args:
        folder: Store folder; default: ``snapshots`` in :func:`caretbench.files.cache_folder`. If root keeps it in a
            place that others can reach, its files belong to the unprivileged user that programs run as: an overlay
            can only change what belongs to somebody inside.

    Raises:
        MachineError: the folder cannot be made or written to.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or cache_folder() / SNAPSHOTS
        try:
            for path in (self.folder, self.folder / "objects", self.folder / "trees"):
                path.mkdir(parents=True, exist_ok=True, mode=0o755)
        except OSError as error:
            raise unusable_cache(self.folder, error) from error
        give = program_users() is not None and reachable_by_others(self.folder)
        self._owner = unprivileged_user() if give else None

    # --- taking -----------------------------------------------------------------------------------------------

    def add(self, source: Path, *, ignore: Sequence[str] = IGNORED) -> Snapshot:
        """Add a folder; the same content has the same snapshot.

        Args:
            source: The folder; it is only read.
            ignore: Patterns (``*``, ``?``, ``[...]``) of names, or of whole paths where a pattern has a slash.

        Raises:
            DataError: it is no folder, too large, holds what is neither file, link nor folder, or a link that leads
                outside.
        """
        if not source.is_dir():
            raise DataError(f"{source}: not a folder")
        with self._locked(shared=True):
            remove_abandoned(self.folder / "trees")
            entries = dict(sorted(self._take(source, ignore)))
            identity = _identity(entries)
            if self._manifest(identity).exists() and self._damaged(identity):
                with staging_folder(self.folder / "trees") as aside:
                    self._manifest(identity).parent.rename(aside / "damaged")
            if not self._manifest(identity).exists():
                self._build(identity, entries)
        return self.get(identity)

    def get(self, identity: str) -> Snapshot:
        """Return a snapshot, or raise DataError where it is not here, or its list of files is damaged."""
        manifest = self._manifest(identity)
        try:
            os.utime(manifest)
            stored = _Manifest.model_validate_json(manifest.read_bytes())
        except OSError:
            raise DataError(f"no snapshot {identity} in {self.folder}") from None
        except ValidationError:
            raise DataError(f"{manifest}: damaged; remove the snapshot and take it again") from None
        return Snapshot(id=identity, tree=manifest.parent / "tree", entries=stored.entries)

    def _take(self, source: Path, ignore: Sequence[str]) -> Iterator[tuple[str, SnapshotEntry]]:
        root = os.path.realpath(source)
        count = size = 0
        for folder, folders, files, descriptor in os.fwalk(root, follow_symlinks=False, onerror=_fail):
            above = Path(folder).relative_to(root).as_posix()
            prefix = "" if above == "." else f"{above}/"
            names = [name for name in (*folders, *files) if not matches_pattern(prefix + name, name, ignore)]
            folders[:] = [name for name in folders if name in names]
            for name in names:
                path = prefix + name
                mode = os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_mode
                if stat.S_ISDIR(mode):
                    entry = SnapshotEntry(kind="folder")
                elif stat.S_ISLNK(mode):
                    target = os.readlink(name, dir_fd=descriptor)
                    _inside(Path(folder) / name, target, root)
                    entry = SnapshotEntry(kind="link", content=target)
                elif stat.S_ISREG(mode):
                    entry = self._object(name, descriptor, bool(mode & stat.S_IXUSR))
                else:
                    raise DataError(f"{Path(folder) / name}: neither file, link nor folder; ignore or remove it")
                count, size = count + 1, size + entry.size
                if count > MAX_ENTRIES or size > MAX_BYTES:
                    raise DataError(
                        f"{source}: more than {MAX_ENTRIES} entries or {MAX_BYTES >> 30} GB; ignore a part of it"
                    )
                try:
                    path.encode()
                except UnicodeEncodeError:
                    raise DataError(f"{path!r}: a file name that is not UTF-8; ignore or rename it") from None
                yield path, entry

    def _object(self, name: str, folder: int, executable: bool) -> SnapshotEntry:
        """Store one file's content, hashed while it is copied, so that the stored bytes are those hashed."""
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
        with os.fdopen(descriptor, "rb") as stream:
            if os.fstat(descriptor).st_size > MAX_BYTES:
                raise DataError(f"{name}: larger than {MAX_BYTES >> 30} GB; ignore it")
            data = stream.read()
        entry = _file_entry(data, executable)
        stored = self._place(entry)
        with contextlib.suppress(OSError):
            # Compared byte by byte: a damaged object would come back in every snapshot that has it.
            if stored.stat().st_size == entry.size and stored.read_bytes() == data:
                return entry
        self._write(stored, data, executable)
        return entry

    def _place(self, entry: SnapshotEntry) -> Path:
        name = entry.content + ("-x" if entry.executable else "")
        return self.folder / "objects" / entry.content[:2] / name

    def _write(self, file: Path, data: bytes, executable: bool) -> None:
        file.parent.mkdir(exist_ok=True, mode=0o755)
        descriptor, building = tempfile.mkstemp(prefix=".building-", dir=file.parent)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            os.fchmod(descriptor, 0o755 if executable else 0o644)
            if self._owner is not None:
                os.fchown(descriptor, self._owner, self._owner)
        os.utime(building, (_TIME, _TIME))
        Path(building).replace(file)

    def _build(self, identity: str, entries: Mapping[str, SnapshotEntry]) -> None:
        with staging_folder(self.folder / "trees") as folder:
            whole = folder / "whole"
            whole.mkdir()
            whole.chmod(0o755)
            tree = whole / "tree"
            self._folder(tree)
            for path, entry in entries.items():  # sorted: a folder comes before what it holds
                copy = tree / path
                if entry.kind == "folder":
                    self._folder(copy)
                elif entry.kind == "link":
                    copy.symlink_to(entry.content)
                    if self._owner is not None:
                        os.lchown(copy, self._owner, self._owner)
                else:
                    self._link(entry, copy)
            manifest = _Manifest(id=identity, entries=dict(entries))
            (whole / "manifest.json").write_text(manifest.model_dump_json(exclude_defaults=True), "utf-8")
            target = self._manifest(identity).parent
            target.parent.mkdir(exist_ok=True, mode=0o755)
            try:
                whole.rename(target)
            except OSError:
                # Another process was faster with the same content.
                if not (target / "manifest.json").exists():
                    raise

    def _folder(self, folder: Path) -> None:
        folder.mkdir()
        folder.chmod(0o755)
        if self._owner is not None:
            os.chown(folder, self._owner, self._owner)

    def _link(self, entry: SnapshotEntry, link: Path) -> None:
        kept = self._place(entry)
        try:
            link.hardlink_to(kept)
        except OSError as error:
            if error.errno != errno.EMLINK:  # a file system bounds the names of a file; empty files are many
                raise
            self._write(link, kept.read_bytes(), entry.executable)

    # --- keeping ----------------------------------------------------------------------------------------------

    def verify(self, identity: str) -> list[str]:
        """Compare a snapshot's files with its list of entries, byte by byte; return one line per difference."""
        snapshot = self.get(identity)
        on_disk = dict(_read_entries(snapshot.tree))
        wrong = [f"{path}: missing" for path in snapshot.entries.keys() - on_disk.keys()]
        wrong += [f"{path}: not in the snapshot" for path in on_disk.keys() - snapshot.entries.keys()]
        both = snapshot.entries.keys() & on_disk.keys()
        wrong += [f"{path}: differs" for path in both if snapshot.entries[path] != on_disk[path]]
        if _identity(snapshot.entries) != identity:
            wrong.append("the list of files does not fit the snapshot's name")
        return sorted(wrong)

    def _damaged(self, identity: str) -> bool:
        try:
            return bool(self.verify(identity))
        except DataError:
            return True

    @contextlib.contextmanager
    def lock_snapshot(self, identity: str) -> Iterator[None]:
        """Lock a snapshot against pruning, or raise DataError if there is no such snapshot."""
        try:
            stream = self._manifest(identity).open("rb")
        except OSError:
            raise DataError(f"no snapshot {identity} in {self.folder}") from None
        with stream:
            lock_file(stream, shared=True)
            yield

    def list(self) -> list[SnapshotUse]:
        """Return all snapshots, the longest unused first."""
        uses = []
        for manifest in (self.folder / "trees").glob("[0-9a-f][0-9a-f]/*/manifest.json"):
            with contextlib.suppress(OSError, ValidationError):
                entries = _Manifest.model_validate_json(manifest.read_bytes()).entries.values()
                uses.append(
                    SnapshotUse(
                        id=manifest.parent.name,
                        files=sum(entry.kind == "file" for entry in entries),
                        size=sum(entry.size for entry in entries),
                        used=manifest.stat().st_mtime,
                    )
                )
        return sorted(uses, key=lambda use: use.used)

    def disk_bytes(self) -> int:
        """Return the bytes of all contents; shared contents count once."""
        return sum(file.stat().st_size for file in (self.folder / "objects").glob("*/*"))

    def remove(self, identity: str) -> int | None:
        """Remove a snapshot and the contents that no other one has; return the freed bytes, None if it is locked."""
        manifest = self._manifest(identity)
        with self._locked():
            files = set()
            with contextlib.suppress(OSError, ValidationError):
                entries = _Manifest.model_validate_json(manifest.read_bytes()).entries.values()
                files = {self._place(entry) for entry in entries if entry.kind == "file"}
            if not self._remove(manifest):
                return None
            return sum(map(_remove_unreferenced, files))

    def _remove(self, manifest: Path) -> bool:
        """Remove the tree of a snapshot; return whether it is gone."""
        with contextlib.suppress(OSError), manifest.open("rb") as stream:
            lock_file(stream, wait=False)
            shutil.rmtree(manifest.parent, ignore_errors=True)
        return not manifest.exists()

    def _manifest(self, identity: str) -> Path:
        if len(identity) != 64 or not set(identity) <= set("0123456789abcdef"):
            raise DataError(f"{identity!r} is not the name of a snapshot")
        return self.folder / "trees" / identity[:2] / identity / "manifest.json"

    @contextlib.contextmanager
    def _locked(self, *, shared: bool = False) -> Iterator[None]:
        """Lock the store: several processes may add at a time, none while snapshots are removed."""
        with (self.folder / ".lock").open("ab") as stream:
            lock_file(stream, shared=shared)
            yield


def _remove_unreferenced(file: Path) -> int:
    """Remove a content that no snapshot has, and return the freed bytes."""
    with contextlib.suppress(OSError):
        status = file.stat()
        if status.st_nlink == 1:
            file.unlink()
            return status.st_size
    return 0


def _identity(entries: Mapping[str, SnapshotEntry]) -> str:
    rows: Iterable[tuple[str, SnapshotEntry]] = sorted(entries.items())
    return sha256_json(["snapshot 1", [[path, entry.kind, entry.executable, entry.content] for path, entry in rows]])


def matches_pattern(path: str, name: str, patterns: Iterable[str]) -> bool:
    """Return whether a pattern matches a path, or its last part if the pattern has no slash."""
    return any(fnmatch.fnmatchcase(path if "/" in pattern else name, pattern.strip("/")) for pattern in patterns)


def _inside(link: Path, target: str, root: str) -> None:
    """Return whether a link stays inside, followed as the kernel does: ``folder-link/..`` may lead outside."""
    destination = os.path.realpath(link)
    # An absolute target leads to the host's file while the snapshot is taken, and to the sandbox's afterwards.
    if target.startswith("/") or (destination != root and not destination.startswith(root + "/")):
        raise DataError(f"{link}: a link that leads outside the project ({json.dumps(target)}); ignore or remove it")


def _fail(error: OSError) -> None:
    raise error


def _read_entries(tree: Path) -> Iterator[tuple[str, SnapshotEntry]]:
    for folder, folders, files in os.walk(tree):
        for name in (*folders, *files):
            full = Path(folder) / name
            path = full.relative_to(tree).as_posix()
            if full.is_symlink():
                yield path, SnapshotEntry(kind="link", content=os.readlink(full))  # noqa: PTH115  pathlib drops "./"
            elif full.is_dir():
                yield path, SnapshotEntry(kind="folder")
            else:
                yield path, _file_entry(full.read_bytes(), bool(full.stat().st_mode & stat.S_IXUSR))


def _file_entry(data: bytes, executable: bool) -> SnapshotEntry:
    content = hashlib.sha256(data).hexdigest()
    return SnapshotEntry(kind="file", content=content, executable=executable, size=len(data))
