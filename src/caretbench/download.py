"""Downloads of files with known hashes. Broken ones are resumed; only verified files get their final name."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from caretbench.files import DataError, sha256_file

_TRIES = 4
_TIMEOUT_S = 30.0


class PinnedFile(NamedTuple):
    """Pinned file: path below the root, size in bytes (0: unknown), SHA-256; or its name as a blob of git."""

    path: str
    size: int = 0
    sha256: str = ""
    git_blob: str = ""

    def is_at(self, path: Path) -> bool:
        """Return whether the content of the file at ``path`` is the pinned one."""
        # A tree of git names files by the hash of a blob, SHA-1 over a header and the content; it has no other hash.
        if self.git_blob:
            data = path.read_bytes()
            return hashlib.sha1(b"blob %d\0%b" % (len(data), data), usedforsecurity=False).hexdigest() == self.git_blob
        return (not self.size or path.stat().st_size == self.size) and sha256_file(path) == self.sha256


def is_complete(pinned: PinnedFile, folder: Path) -> bool:
    """Return whether ``folder`` contains the file with its pinned content."""
    path = folder / pinned.path
    return path.is_file() and pinned.is_at(path)


def copy_file(pinned: PinnedFile, source: Path, folder: Path) -> None:
    """Copy the file from a local folder.

    Raises:
        DataError: it is not there, or is another file.
    """
    origin = source / pinned.path
    if not origin.is_file():
        raise DataError(f"{origin}: not there; expected the released layout in {source}")
    if not is_complete(pinned, source):
        raise DataError(f"{origin}: its SHA-256 is not that of the pinned revision; get that revision")
    part = folder / f"{pinned.path}.part"
    part.parent.mkdir(parents=True, exist_ok=True)
    # Copied under another name first: a kill in between leaves no half file under the final one.
    part.write_bytes(origin.read_bytes())
    part.replace(folder / pinned.path)


def without_password(url: str) -> str:
    """Return a URL for messages: without user name, password and query."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


def download_file(
    pinned: PinnedFile,
    base_url: str,
    folder: Path,
    *,
    url: str | None = None,
    progress: Callable[[int], None] = lambda _size: None,
    pause: Callable[[float], None] = time.sleep,
    remedy: str = "or give a local copy with --from DIR",
) -> None:
    """Download ``base_url/path``; a broken download is resumed, a wrong file is deleted.

    Args:
        pinned: The file as it must be.
        base_url: The address below which it lies under its own path.
        folder: Target folder; the file keeps its own path below it.
        url: Its address, where that is not ``base_url/path``.
        progress: Called with the size in bytes of what is there, again and again.
        pause: Waits between tries.
        remedy: End of the message of a failure.

    Raises:
        DataError: after four tries, with the last reason and what to do.
    """
    import httpx

    address = url or f"{base_url}/{pinned.path}"

    part = folder / f"{pinned.path}.part"
    part.parent.mkdir(parents=True, exist_ok=True)
    reason = ""
    with httpx.Client(timeout=_TIMEOUT_S, follow_redirects=True) as client:
        for attempt in range(_TRIES):
            if attempt:
                # 2, 4 and 8 s: servers that refuse for their load mostly answer after some seconds.
                pause(2.0**attempt)
            try:
                _download(client, address, part, pinned.size, progress)
            except httpx.HTTPError as error:
                # The message goes to the terminal and to logs: an address may hold the password of a private index.
                # Its first line: the second is a link to a page about the status.
                said = str(error).partition("\n")[0]
                reason = f"{type(error).__name__}: {said}".replace(address, without_password(address))
                continue
            if pinned.is_at(part):
                part.replace(folder / pinned.path)
                return
            # A wrong file is not resumed: the range of the next try would only be appended to it.
            part.unlink()
            reason = "its SHA-256 is not that of the pinned revision"
    raise DataError(f"{without_password(address)}: not downloaded ({reason}); run the same command again, {remedy}")


def _download(client: object, url: str, part: Path, size: int, progress: Callable[[int], None]) -> None:
    import httpx

    assert isinstance(client, httpx.Client)  # noqa: S101 - httpx is imported only where it is needed
    there = part.stat().st_size if part.exists() else 0
    # Already as long as the file should be, and yet not verified: wrong from the beginning.
    if there >= size:
        part.unlink(missing_ok=True)
        there = 0
    with client.stream("GET", url, headers={"Range": f"bytes={there}-"} if there else {}) as response:
        response.raise_for_status()
        # A server that ignores the range sends the whole file: begin anew.
        with part.open("ab" if there and response.status_code == httpx.codes.PARTIAL_CONTENT else "wb") as stream:
            for block in response.iter_bytes():
                stream.write(block)
                # What is longer than the pinned file is wrong, however long the server goes on.
                if size and stream.tell() > size:
                    break
                progress(stream.tell())
