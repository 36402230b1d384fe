"""Unpacking of archives of unknown origin, within limits: ``.tar`` (also ``.gz``, ``.bz2``, ``.xz``) and ``.zip``."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import re
import stat
import tarfile
import time
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

from caretbench.errors import DataError
from caretbench.file_locks import temporary_folder
from caretbench.problem import Row

_RATIO_FROM_BYTES: Final = 16 << 20
"""Smaller contents may have any ratio: a short text of spaces is no attack."""


class SourceLimits(Row):
    """Maximum sizes of one source, and the seconds that fetching it may take."""

    # Against archives that fill the disk of the cache.
    download_bytes: int = 256 << 20
    """Size of an archive, and of the objects that git fetches."""
    unpacked_bytes: int = 512 << 20
    files: int = 50_000
    """Number of files, folders and links."""
    # Source code packs to about a fifth; deflate's bombs reach a thousand.
    ratio: int = 200
    """Unpacked size ÷ size of the archive, beyond 16 MiB of content."""
    wall_s: float = 300.0


@dataclass
class SourceUsage:
    """Consumption of one source, held against its limits.

    Args:
        limits: The limits.
        packed_bytes: Size of the archive; None if the content is not compressed.
    """

    limits: SourceLimits
    packed_bytes: int | None = None
    now: Callable[[], float] = time.monotonic
    files: int = 0
    unpacked_bytes: int = 0
    _deadline: float = field(init=False)

    def __post_init__(self) -> None:
        self._deadline = self.now() + self.limits.wall_s

    def check_time(self) -> None:
        """Raise DataError if the time is over."""
        if self.now() > self._deadline:
            raise DataError(f"takes longer than {self.limits.wall_s:g} s")

    def check_download(self, size: int) -> None:
        """Raise DataError if the download exceeds the size or time limit."""
        if size > self.limits.download_bytes:
            raise DataError(f"larger than {_megabytes(self.limits.download_bytes)}")
        self.check_time()

    def add_file(self, folders: int = 0) -> None:
        """Count a file, a folder or a link, and new folders above it; raise DataError if there are too many."""
        self.files += 1 + folders
        if self.files > self.limits.files:
            raise DataError(f"contains more than {self.limits.files:,} files and folders")
        self.check_time()

    def add_bytes(self, size: int) -> None:
        """Count unpacked bytes; raise DataError if there are too many."""
        self.check_size(self.unpacked_bytes + size)
        self.unpacked_bytes += size
        self.check_time()

    def check_size(self, unpacked: int) -> None:
        """Raise DataError if the unpacked size exceeds its limit, or its ratio to the archive's size."""
        if unpacked > self.limits.unpacked_bytes:
            raise DataError(f"unpacks to more than {_megabytes(self.limits.unpacked_bytes)}")
        packed = self.packed_bytes
        # git's packs are compressed too, but they are bounded by the size of the download alone.
        if packed is not None and unpacked > max(_RATIO_FROM_BYTES, packed * self.limits.ratio):
            raise DataError(f"unpacks to more than {self.limits.ratio} times its own size")


def _megabytes(size: int) -> str:
    return f"{size >> 20:,} MiB" if size >> 20 else f"{size:,} bytes"


_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_DRIVE: Final = re.compile(r"[A-Za-z]:")
# NAME_MAX of Linux's and macOS's file systems.
_MAX_PART_BYTES: Final = 255
# Half of PATH_MAX: the folder of the cache comes before it.
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
    # `C:name` is relative to a drive on Windows, and leaves the folder there.
    if name.startswith("/") or _DRIVE.match(name):
        raise DataError(f"{_shown(name)}: an absolute path")
    # A backslash separates folders on Windows: `..\name` would lead outside there. Control characters change terminals.
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
    # By words only: the links themselves are followed once all members are written (`check_links`).
    depth = path.count("/")
    for part in target.split("/"):
        depth += {"": 0, ".": 0, "..": -1}.get(part, 1)
        if depth < 0:
            raise DataError(f"{shown}, outside the folder")


class MemberTree:
    """The members so far, by names that ignore case and form, so that clashes are found on every file system."""

    def __init__(self) -> None:
        self._members: dict[str, tuple[str, bool]] = {}

    def add(self, path: str, *, is_folder: bool) -> int:
        """Add a member and the folders above it; return the number of these that are new.

        Raises:
            DataError: another spelling of the name is there, a file where a folder is needed, or the file itself.
        """
        parts, before = path.split("/"), len(self._members)
        for end in range(1, len(parts)):
            self._add(parts[:end], is_folder=True)
        added = len(self._members) - before
        self._add(parts, is_folder=is_folder)
        return added

    def _add(self, parts: Sequence[str], *, is_folder: bool) -> None:
        path = "/".join(parts)
        # macOS and Windows ignore case, and macOS the form of accents: two members would write one file.
        key = unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())
        before = self._members.get(key)
        if before is None:
            self._members[key] = (path, is_folder)
        elif before[0] != path:
            raise DataError(f"{_shown(path)}: the name differs from {_shown(before[0])} only by case or form")
        elif not (before[1] and is_folder):
            raise DataError(f"{_shown(path)}: contained twice")


def _shown(name: str) -> str:
    text = name.encode("utf-8", "backslashreplace").decode()
    return repr(text if len(text) <= 120 else f"{text[:117]}…")


# Set-user-id bits and permissions of others never leave the archive.
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
            self._usage.add_file(self._tree.add(path, is_folder=True))
            (self._root / path).mkdir(parents=True, exist_ok=True)

    def add_file(self, name: str, size: int, mode: int, content: Iterable[bytes]) -> None:
        """Write a file; ``size`` is the size that the archive states, which may be wrong."""
        path = self._add(name)
        self._usage.check_size(self._usage.unpacked_bytes + size)
        file = self._root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        # `x`: a member never writes over an earlier one, nor through a link.
        with file.open("xb") as stream:
            for block in content:
                self._usage.add_bytes(len(block))
                stream.write(block)
            written = stream.tell()
        # A wrong size means a damaged archive, or one that two readers unpack differently.
        if written != size:
            raise DataError(f"{path!r}: {written:,} bytes, but the archive states {size:,}")
        file.chmod(0o755 if mode & _EXECUTABLE else 0o644)

    def add_link(self, name: str, target: str) -> None:
        """Remember a symbolic link, which :meth:`finish` creates."""
        path = self._add(name)
        check_link_target(path, target)
        self._links[path] = target

    def finish(self) -> None:
        """Create the links, and raise DataError if one of them leads outside."""
        # Links come last: a member below a link would be written to the link's target.
        for path, target in self._links.items():
            link = self._root / path
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(target)
        check_links(self._root)

    def _add(self, name: str) -> str:
        path = member_path(name)
        if not path:
            raise DataError(f"{name!r}: a file without a name")
        self._usage.add_file(self._tree.add(path, is_folder=False))
        return path


def check_links(folder: Path) -> None:
    """Raise DataError if a link below a folder leads to a place outside of it."""
    # Links to links can lead outside though each target looks harmless by its words.
    root = Path(os.path.realpath(folder))
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(parent, name)
            if path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(root):
                shown = path.relative_to(folder).as_posix()
                raise DataError(f"{shown!r}: a link to {str(path.readlink())!r}, outside the folder")


_BLOCK: Final = 1 << 16
_MAX_HEADER_BYTES: Final = 1 << 20
"""A name or a header of an archive that is longer is refused before it is read."""
# PATH_MAX of Linux: no link can lead to a longer name.
MAX_TARGET_BYTES: Final = 4096

_Opened = IO[bytes] | gzip.GzipFile | bz2.BZ2File | lzma.LZMAFile
# Opened here, not by `tarfile`'s own modes: only so are decompressed bytes counted while they come.
_OPENERS: Final[Mapping[str, Callable[[Path], _Opened]]] = {
    ".tar.gz": gzip.GzipFile,
    ".tgz": gzip.GzipFile,
    ".tar.bz2": bz2.BZ2File,
    ".tar.xz": lzma.LZMAFile,
    ".tar": lambda path: path.open("rb"),
}
_ZIP: Final = ".zip"
ARCHIVE_SUFFIXES: Final = (*_OPENERS, _ZIP)
"""Ends of the names of archives."""
_DAMAGE: Final = (
    tarfile.TarError, zipfile.BadZipFile, EOFError, OSError, zlib.error, lzma.LZMAError, ValueError, RuntimeError,
    OverflowError, IndexError,
)  # fmt: skip
"""Errors of the readers of archives on damaged and strange ones; an unknown method and an encrypted member too."""


def archive_suffix(name: str) -> str:
    """Return the end of an archive's name; empty if the name is not that of an archive."""
    return next((suffix for suffix in ARCHIVE_SUFFIXES if name.lower().endswith(suffix)), "")


def unpack_archive(archive: Path, project: Path, limits: SourceLimits | None = None) -> None:
    """Unpack an archive as the new folder ``project``; the only folder at the top of the archive becomes it.

    Raises:
        DataError: the archive is refused or damaged; the message has its name, the member and the cause.
    """
    suffix = archive_suffix(archive.name)
    if not suffix:
        raise DataError(f"{archive.name}: expected a name that ends with {', '.join(ARCHIVE_SUFFIXES)}")
    project.parent.mkdir(parents=True, exist_ok=True)
    with temporary_folder("unpacking", project.parent) as folder:
        try:
            usage = SourceUsage(limits or SourceLimits(), archive.stat().st_size)
            # In a temporary folder first: a refused archive leaves no half project behind.
            writer = MemberWriter(folder / "all", usage)
            if suffix == _ZIP:
                _unpack_zip(archive, writer, usage)
            else:
                _unpack_tar(_OPENERS[suffix](archive), writer, usage)
            writer.finish()
            _project_folder(folder / "all").rename(project)
        except DataError as error:
            raise DataError(f"{archive.name}: refused: {error}") from None
        except _DAMAGE as error:
            raise DataError(f"{archive.name}: cannot be unpacked ({type(error).__name__}: {error})") from None


def _project_folder(unpacked: Path) -> Path:
    """Return the only folder in ``unpacked``, or ``unpacked`` if there is more.

    Raises:
        DataError: it contains nothing, or a link of the only folder leads out of it.
    """
    entries = list(unpacked.iterdir())
    if not entries:
        raise DataError("contains no files")
    if len(entries) > 1 or not entries[0].is_dir() or entries[0].is_symlink():
        return unpacked
    # Once more with the new root: `../name` was inside the archive, but leads out of its only folder.
    check_links(entries[0])
    return entries[0]


class _BoundedStream:
    """Decompressed bytes of a tar file, which end with DataError beyond the limits."""

    def __init__(self, stream: _Opened, usage: SourceUsage) -> None:
        self._stream = stream
        self._usage = usage

    def read(self, size: int) -> bytes:
        # `tarfile` reads a long name or header into memory at once; its stated size may be gigabytes.
        if size > _MAX_HEADER_BYTES:
            raise DataError(f"a header of {size:,} bytes")
        self._usage.check_time()
        data = self._stream.read(size)
        # Skipped members are decompressed, too, so the stream counts, not only what is written.
        self._usage.check_size(self._stream.tell())
        return data

    def seek(self, position: int) -> int:
        while (rest := position - self._stream.tell()) > 0:
            if not self.read(min(rest, _BLOCK)):
                break
        if rest < 0:  # it would decompress everything before it again
            raise DataError("a sparse file whose parts are not in their order")
        return self._stream.tell()

    def tell(self) -> int:
        return self._stream.tell()


def _unpack_tar(stream: _Opened, writer: MemberWriter, usage: SourceUsage) -> None:
    bounded = _BoundedStream(stream, usage)
    # Member by member: the filter of `tarfile` itself lets names clash that differ by case, and has no bound on
    # sizes.
    with stream, tarfile.open(fileobj=bounded, mode="r:", encoding="utf-8") as packed:  # type: ignore[call-overload]
        for member in packed:
            if member.isdir():
                writer.add_folder(member.name)
            elif member.issym():
                writer.add_link(member.name, member.linkname)
            # A hard link shares a file: writing one of its names changes the other. Source distributions have none.
            elif member.islnk():
                raise DataError(f"{member.name!r}: a hard link")
            elif member.isreg():
                content = packed.extractfile(member)
                writer.add_file(member.name, member.size, member.mode, _blocks(content) if content else ())
            else:
                raise DataError(f"{member.name!r}: neither a file, a folder nor a link")


class _ZipStream(io.BufferedReader):
    """A zip file whose directory is refused before it is read, which zipfile does at once, if it is too large."""

    def __init__(self, archive: Path, max_files: int) -> None:
        super().__init__(io.FileIO(archive))
        # An entry has 46 bytes and a name; each takes half a kilobyte of memory.
        self._max_bytes = max(_MAX_HEADER_BYTES, max_files << 8)
        self._max_files = max_files

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > self._max_bytes:
            raise DataError(f"contains more than {self._max_files:,} files and folders, or too long names")
        return super().read(size)


def _unpack_zip(archive: Path, writer: MemberWriter, usage: SourceUsage) -> None:
    with _ZipStream(archive, usage.limits.files) as stream, zipfile.ZipFile(stream) as packed:
        members = packed.infolist()
        # The directory at a zip's end states all sizes, so a bomb is refused unread; `add_bytes` catches one that lies.
        usage.check_size(sum(member.file_size for member in members))
        for member in members:
            name = _zip_name(member)
            mode = member.external_attr >> 16
            # zipfile would ask for a password with a RuntimeError only while reading.
            if member.flag_bits & 1:
                raise DataError(f"{name!r}: encrypted")
            if member.is_dir():
                writer.add_folder(name)
            elif stat.S_ISLNK(mode):
                with packed.open(member) as content:
                    target = content.read(MAX_TARGET_BYTES).decode("utf-8", "surrogateescape")
                writer.add_link(name, target)
            # Zips made on Windows have no file type in their mode.
            elif stat.S_IFMT(mode) in (0, stat.S_IFREG):
                with packed.open(member) as content:
                    writer.add_file(name, member.file_size, mode, _blocks(content))
            else:
                raise DataError(f"{name!r}: neither a file, a folder nor a link")


def _zip_name(member: zipfile.ZipInfo) -> str:
    """Return the name of a member, with surrogates for bytes that are not UTF-8, whatever its flag says."""
    name = member.orig_filename
    if member.flag_bits & 0x800:
        return name
    # zipfile decodes names without the UTF-8 flag as code page 437; most tools write UTF-8 without the flag.
    return name.encode("cp437", "surrogateescape").decode("utf-8", "surrogateescape")


def _blocks(stream: IO[bytes]) -> Iterator[bytes]:
    while block := stream.read(_BLOCK):
        yield block
