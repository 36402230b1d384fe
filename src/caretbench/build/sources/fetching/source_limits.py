"""Bounds of one source: bytes, files, ratio of compression, time."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from caretbench.errors import DataError
from caretbench.problem import Row

_RATIO_FROM_BYTES: Final = 16 << 20
"""Smaller contents may have any ratio: a short text of spaces is no attack."""


class SourceLimits(Row):
    """Maximum sizes of one source, and the seconds that fetching it may take."""

    download_bytes: int = 256 << 20
    """Size of an archive, and of the objects that git fetches."""
    unpacked_bytes: int = 512 << 20
    files: int = 50_000
    """Number of files, folders and links."""
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
        """Raise DataError if so many bytes are too many to fetch, or the time is over."""
        if size > self.limits.download_bytes:
            raise DataError(f"larger than {_megabytes(self.limits.download_bytes)}")
        self.check_time()

    def add_file(self) -> None:
        """Count a file, a folder or a link; raise DataError if there are too many."""
        self.files += 1
        if self.files > self.limits.files:
            raise DataError(f"contains more than {self.limits.files:,} files and folders")
        self.check_time()

    def add_bytes(self, size: int) -> None:
        """Count unpacked bytes; raise DataError if there are too many."""
        self.check_size(self.unpacked_bytes + size)
        self.unpacked_bytes += size
        self.check_time()

    def check_size(self, unpacked: int) -> None:
        """Raise DataError if so many bytes are too many, or too many for the size of the archive."""
        if unpacked > self.limits.unpacked_bytes:
            raise DataError(f"unpacks to more than {_megabytes(self.limits.unpacked_bytes)}")
        packed = self.packed_bytes
        if packed is not None and unpacked > max(_RATIO_FROM_BYTES, packed * self.limits.ratio):
            raise DataError(f"unpacks to more than {self.limits.ratio} times its own size")


def _megabytes(size: int) -> str:
    return f"{size >> 20:,} MiB" if size >> 20 else f"{size:,} bytes"
