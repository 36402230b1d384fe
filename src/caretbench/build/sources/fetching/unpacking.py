"""Unpacking of archives (``.tar.gz``, ``.tar.bz2``, ``.tar.xz``, ``.tar``, ``.zip``) of unknown origin.

Refused, with the member and the cause: names and links that lead outside, hard links, devices, encrypted members, names
that clash by case or are not UTF-8, and content beyond the limits. Nothing remains of a refused archive.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Final

from caretbench.build.sources.fetching.member_writer import MemberWriter, check_links
from caretbench.build.sources.fetching.source_limits import SourceLimits, SourceUsage
from caretbench.errors import DataError
from caretbench.temporary import temporary_folder

_BLOCK: Final = 1 << 16
_MAX_HEADER_BYTES: Final = 1 << 20
"""A name or a header of an archive that is longer is refused before it is read."""
_MAX_TARGET_BYTES: Final = 4096

_Opened = IO[bytes] | gzip.GzipFile | bz2.BZ2File | lzma.LZMAFile
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


def unpack_archive(archive: Path, place: Path, limits: SourceLimits | None = None) -> None:
    """Unpack an archive as the new folder ``place``; the only folder at the top of the archive becomes it.

    Raises:
        DataError: the archive is refused or damaged; the message has its name, the member and the cause.
    """
    suffix = archive_suffix(archive.name)
    if not suffix:
        raise DataError(f"{archive.name}: expected a name that ends with {', '.join(ARCHIVE_SUFFIXES)}")
    place.parent.mkdir(parents=True, exist_ok=True)
    with temporary_folder("unpacking", place.parent) as folder:
        try:
            usage = SourceUsage(limits or SourceLimits(), archive.stat().st_size)
            writer = MemberWriter(folder / "all", usage)
            if suffix == _ZIP:
                _unpack_zip(archive, writer, usage)
            else:
                _unpack_tar(_OPENERS[suffix](archive), writer, usage)
            writer.finish()
            _project_folder(folder / "all").rename(place)
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
    check_links(entries[0])
    return entries[0]


class _BoundedStream:
    """Decompressed bytes of a tar file, which end with DataError beyond the limits."""

    def __init__(self, stream: _Opened, usage: SourceUsage) -> None:
        self._stream = stream
        self._usage = usage

    def read(self, size: int) -> bytes:
        if size > _MAX_HEADER_BYTES:
            raise DataError(f"a header of {size:,} bytes")
        self._usage.check_time()
        data = self._stream.read(size)
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
    with stream, tarfile.open(fileobj=bounded, mode="r:", encoding="utf-8") as packed:  # type: ignore[call-overload]
        for member in packed:
            if member.isdir():
                writer.add_folder(member.name)
            elif member.issym():
                writer.add_link(member.name, member.linkname)
            elif member.islnk():
                raise DataError(f"{member.name!r}: a hard link")
            elif member.isreg():
                content = packed.extractfile(member)
                writer.add_file(member.name, member.size, member.mode, _blocks(content) if content else ())
            else:
                raise DataError(f"{member.name!r}: neither a file, a folder nor a link")


def _unpack_zip(archive: Path, writer: MemberWriter, usage: SourceUsage) -> None:
    with zipfile.ZipFile(archive) as packed:
        members = packed.infolist()
        usage.check_size(sum(member.file_size for member in members))
        for member in members:
            name = _zip_name(member)
            mode = member.external_attr >> 16
            if member.flag_bits & 1:
                raise DataError(f"{name!r}: encrypted")
            if member.is_dir():
                writer.add_folder(name)
            elif stat.S_ISLNK(mode):
                with packed.open(member) as content:
                    target = content.read(_MAX_TARGET_BYTES).decode("utf-8", "surrogateescape")
                writer.add_link(name, target)
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
    return name.encode("cp437", "surrogateescape").decode("utf-8", "surrogateescape")


def _blocks(stream: IO[bytes]) -> Iterator[bytes]:
    while block := stream.read(_BLOCK):
        yield block
