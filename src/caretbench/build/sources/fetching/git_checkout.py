"""Files of one commit of a remote git repository.

git fetches the commit without its history into a bare repository; its files are then read as those of an archive, and
written by the same rules. So no hook, filter, attribute or submodule of the repository has an effect, and git asks for
no password.
"""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from caretbench.build.sources.fetching.member_writer import MemberWriter, check_links
from caretbench.build.sources.fetching.source_limits import SourceUsage
from caretbench.build.sources.git.git_repository import GitError, GitRepository, git_program, open_repository
from caretbench.errors import DataError
from caretbench.redaction import redact

_SETTINGS: Final = (
    "-c", f"core.hooksPath={os.devnull}", "-c", "core.fsmonitor=false", "-c", "gc.auto=0",
    "-c", "maintenance.auto=false", "-c", "fetch.recurseSubmodules=false",
    "-c", "protocol.ext.allow=never", "-c", "credential.interactive=false",
)  # fmt: skip
_NO_QUESTIONS: Final = {
    "LC_ALL": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "true",
    "SSH_ASKPASS": "true",
    "GIT_SSH_COMMAND": "ssh -oBatchMode=yes",
    "GIT_LFS_SKIP_SMUDGE": "1",
}
_LOCAL_VARIABLES: Final = (
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_TEMPLATE_DIR",
)  # fmt: skip
_CHECK_S: Final = 0.2
_ENTRY: Final = re.compile(rb"(\d{6}) (\w+) ([0-9a-f]+) +(\d+|-)\t([^\0]+)\0")
_SUBMODULE: Final = "160000"
_MAX_TARGET_BYTES: Final = 4096


def fetch_commit(address: str, revision: str, folder: Path, usage: SourceUsage) -> str:
    """Fetch a commit without its history into the new bare repository ``folder``, and return the commit's hash.

    Args:
        address: The address of the repository.
        revision: A whole hash, a branch or a tag; empty: the default branch.
        folder: The folder of the new repository.
        usage: Bounds of size and time.

    Raises:
        DataError: git cannot fetch it, or not within its bounds.
    """
    folder.mkdir(parents=True)
    _run_git(folder, usage, "init", "-q", "--bare", "--template=", ".")
    _run_git(folder, usage, "fetch", "-q", "--depth", "1", "--no-tags", "--", address, revision or "HEAD")
    with open_repository(folder, "FETCH_HEAD") as repository:
        return repository.head


def write_commit(folder: Path, place: Path, usage: SourceUsage, inside: str = "") -> Path:
    """Write the files of the fetched commit as the new folder ``place``; submodules are empty folders.

    Return the project: ``place``, or its folder ``inside``.

    Raises:
        DataError: a name or a link is refused, there is too much, or there is no such folder.
    """
    with open_repository(folder, "FETCH_HEAD") as repository:
        listing = repository.run("ls-tree", "-r", "-z", "--long", repository.head)
        writer = MemberWriter(place, usage)
        files: list[tuple[str, int, str]] = []
        entries = [_parse_entry(entry) for entry in _ENTRY.finditer(listing)]
        usage.check_size(sum(size for _, _, size, _ in entries))
        for mode, name, size, path in entries:
            if mode == _SUBMODULE:
                writer.add_folder(path)
            elif stat.S_ISLNK(int(mode, 8)):
                if size > _MAX_TARGET_BYTES:
                    raise DataError(f"{path!r}: a link to a name that is too long")
                writer.add_link(path, repository.run("cat-file", "blob", name).decode("utf-8", "surrogateescape"))
            else:
                files.append((name, size, path))
        modes = {path: int(mode, 8) for mode, _, _, path in entries}
        blobs = _Blobs(repository, [name for name, _, _ in files])
        for _, size, path in files:
            writer.add_file(path, size, modes[path], blobs.next(size))
        writer.finish()
    project = place / inside
    if not project.is_dir() or project.is_symlink():
        raise DataError(f"no folder {inside} in the repository")
    check_links(project)
    return project


def _parse_entry(entry: re.Match[bytes]) -> tuple[str, str, int, str]:
    mode, _, name, size, path = entry.groups()
    return mode.decode(), name.decode(), int(size) if size != b"-" else 0, path.decode("utf-8", "surrogateescape")


class _Blobs:
    """Contents of blobs in their order, from one ``git cat-file --batch``."""

    def __init__(self, repository: GitRepository, names: list[str]) -> None:
        self._stream = repository.stream("cat-file", "--batch", stdin="".join(f"{name}\n" for name in names).encode())
        self._rest = b""

    def next(self, size: int) -> Iterator[bytes]:
        """Yield the content of the next blob, which has ``size`` bytes."""
        while b"\n" not in self._rest:
            self._rest += self._read()
        self._rest = self._rest.partition(b"\n")[2]
        while size:
            self._rest = self._rest or self._read()
            piece, self._rest = self._rest[:size], self._rest[size:]
            size -= len(piece)
            yield piece
        while not self._rest:
            self._rest = self._read()
        self._rest = self._rest[1:]

    def _read(self) -> bytes:
        block = next(self._stream, b"")
        if not block:
            raise GitError("a file of the commit is missing")
        return block


def _run_git(folder: Path, usage: SourceUsage, *arguments: str) -> None:
    """Run git in a folder, and end it with its children where it fetches too much or takes too long."""
    environment = {name: value for name, value in os.environ.items() if name not in _LOCAL_VARIABLES} | _NO_QUESTIONS
    with (
        tempfile.TemporaryFile() as complaints,
        subprocess.Popen(
            [git_program(), *_SETTINGS, *arguments],
            cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=complaints,
            start_new_session=True,
        ) as process,
    ):  # fmt: skip
        try:
            while True:
                try:
                    process.wait(_CHECK_S)
                    break
                except subprocess.TimeoutExpired:
                    usage.check_download(_size(folder))
        finally:
            if process.poll() is None:
                if sys.platform == "win32":
                    process.kill()
                else:
                    os.killpg(process.pid, signal.SIGKILL)
        if process.returncode:
            complaints.seek(0)
            said = complaints.read(1 << 16).decode("utf-8", "replace").strip().split("\n")
            raise GitError(f"git {arguments[0]}: {redact(said[-1])[:300] or f'status {process.returncode}'}")
    usage.check_download(_size(folder))


def _size(folder: Path) -> int:
    """Return the bytes of the files below a folder, of which some may vanish meanwhile."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += Path(place, name).lstat().st_size
            except OSError:
                continue
    return total
