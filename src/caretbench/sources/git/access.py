"""A clone opened for reading, and for nothing else: its settings, hooks, filters and attributes have no say.

git runs in an empty git directory of its own that borrows the clone's objects. So nothing that a clone's configuration
could start is started (signature programs, external diffs, file monitors, lazy fetches over a network), a clone that
belongs to somebody else opens too, and a bare clone gives the same patches as one with files.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from caretbench.errors import DataError
from caretbench.temporary import temporary_folder

OLDEST_GIT = (2, 31)
_CHUNK = 1 << 18
# To glibc: memory that git frees is kept for the next file instead of being given back and asked for again. It saves an
# eighth of the processor time; other C libraries do not read these.
_KEPT_MEMORY = {
    "MALLOC_TRIM_THRESHOLD_": "268435456",
    "MALLOC_MMAP_THRESHOLD_": "33554432",
    "MALLOC_TOP_PAD_": "4194304",
}
# git writes 4 KiB at a time. Whoever takes each of them up at once wakes for every one: a fifth of all processor time.
_FEW = 1 << 15
_PAUSE = 0.002


class GitError(DataError):
    """git ended with an error; the message is the last line of what it said."""


@dataclass(frozen=True, slots=True)
class GitRepository:
    """An opened clone: the commit whose history is read, where a shallow clone ends, and where it came from."""

    path: Path
    head: str
    shallow: frozenset[str]
    remote: str | None
    _folder: Path
    _objects: Path

    def run(self, *arguments: str, stdin: bytes = b"") -> bytes:
        """What git writes.

        Raises:
            GitError: it ended with an error.
        """
        return b"".join(self.stream(*arguments, stdin=stdin))

    def stream(self, *arguments: str, stdin: bytes = b"") -> Iterator[bytes]:
        """What git writes, in pieces, while it writes; a generator that is closed ends git.

        Raises:
            GitError: it ended with an error; all that it wrote was given before.
        """
        environment = _environment(self._folder) | {
            "GIT_DIR": str(self._folder),
            "GIT_OBJECT_DIRECTORY": str(self._objects),
        }
        with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as complaints:
            source.write(stdin)
            source.seek(0)
            with subprocess.Popen(
                [_git(), *arguments],
                stdin=source,
                stdout=subprocess.PIPE,
                stderr=complaints,
                env=environment,
                cwd=self._folder,
            ) as process:
                assert process.stdout is not None  # noqa: S101 - for the type: it is a pipe
                try:
                    while chunk := os.read(process.stdout.fileno(), _CHUNK):
                        yield chunk
                        if len(chunk) < _FEW:
                            time.sleep(_PAUSE)
                    process.wait()
                finally:
                    if process.poll() is None:
                        process.kill()
            if process.returncode:
                raise GitError(_last_line(complaints) or f"git ended with status {process.returncode}")


@contextlib.contextmanager
def opened(path: Path, revision: str = "HEAD") -> Iterator[GitRepository]:
    """Open a clone (with files, bare, a linked work tree) for reading; the history of ``revision`` is read.

    Raises:
        DataError: no git or one that is too old; no clone; an empty one; no such revision.
    """
    _check_version()
    if not path.is_dir():
        raise DataError(f"{path}: {'a file, not a folder' if path.exists() else 'no such folder'}")
    with temporary_folder("git") as folder:
        ask = _Asking(path.resolve(), folder)
        try:
            # One by one: a path may hold a newline.
            objects, shallow = (
                ask("rev-parse", "--path-format=absolute", "--git-path", part)
                for part in ("objects", "shallow")
            )
            form = ask("rev-parse", "--show-object-format")
        except GitError as error:
            why = "" if "not a git repository" in str(error) else f" that can be read ({error})"
            raise DataError(f"{path}: not a git repository{why}") from None
        head = _commit(ask, path, revision)
        remote = _remote(ask)
        _borrow(folder, Path(shallow), form)
        ends = Path(shallow).read_text("ascii").split() if Path(shallow).is_file() else []
        yield GitRepository(path, head, frozenset(ends), remote, folder, Path(objects))


def _remote(ask: _Asking) -> str | None:
    """Return the address of ``origin``; without one that of ``upstream``, or of the clone's only remote."""
    try:
        lines = ask("config", "--no-includes", "--get-regexp", r"^remote\..*\.url$").split("\n")
    except GitError:
        return None
    found: dict[str, str] = {}
    for line in lines:
        key, _, address = line.partition(" ")
        found.setdefault(key.removeprefix("remote.").removesuffix(".url"), address)
    known = next((found[name] for name in ("origin", "upstream") if name in found), None)
    return known or (next(iter(found.values())) if len(found) == 1 else None)


def _commit(ask: _Asking, path: Path, revision: str) -> str:
    try:
        return ask("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    except GitError as error:
        if revision != "HEAD":
            raise DataError(f"{path}: no revision {revision!r}") from None
        try:
            branch = ask("symbolic-ref", "--quiet", "HEAD")
            ask("rev-parse", "--verify", "--quiet", branch)
        except GitError:
            raise DataError(
                f"{path}: an empty repository, or HEAD leads nowhere: no commit to read"
            ) from None
        raise DataError(f"{path}: HEAD cannot be read ({error})") from None


class _Asking:
    """Questions to the clone itself: where its parts are. None of them runs what its settings name."""

    def __init__(self, path: Path, folder: Path) -> None:
        self._path = path
        settings = folder / "settings"
        settings.write_text("[safe]\n\tdirectory = *\n", "utf-8")
        # The clone must be where it is said to be, not in some folder above.
        self._environment = _environment(folder) | {
            "GIT_CONFIG_GLOBAL": str(settings),
            "GIT_CEILING_DIRECTORIES": str(path.parent),
        }

    def __call__(self, *arguments: str) -> str:
        with tempfile.TemporaryFile() as complaints:
            done = subprocess.run(
                [_git(), "-C", str(self._path), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=complaints,
                env=self._environment,
                check=False,
            )
            if done.returncode:
                raise GitError(_last_line(complaints) or "nothing there")
        return done.stdout.decode("utf-8", "replace").rstrip("\n")


def _borrow(folder: Path, shallow: Path, form: str) -> None:
    """Make the folder a bare git directory without anything of its own."""
    (folder / "refs").mkdir()
    (folder / "objects").mkdir()
    (folder / "HEAD").write_text("ref: refs/heads/none\n", "utf-8")
    version = "1\n[extensions]\n\tobjectformat = sha256" if form == "sha256" else "0"
    (folder / "config").write_text(f"[core]\n\tbare = true\n\trepositoryformatversion = {version}\n", "utf-8")
    if shallow.is_file():
        shutil.copyfile(shallow, folder / "shallow")


def _environment(home: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "TMPDIR", "TEMP") if name in os.environ}
    return (
        kept
        | {
            "HOME": str(home),
            "LC_ALL": "C",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_SYSTEM": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_ALLOW_PROTOCOL": "none",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_PAGER": "cat",
        }
        | _KEPT_MEMORY
    )


def _git() -> str:
    found = shutil.which("git")
    if found is None:
        raise DataError("git is not installed; mining a history needs it")
    return found


def _check_version() -> None:
    said = subprocess.run([_git(), "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"(\d+)\.(\d+)", said)
    if found is None or (int(found[1]), int(found[2])) < OLDEST_GIT:
        raise DataError(
            f"git {'.'.join(map(str, OLDEST_GIT))} or newer is needed, found {said.strip() or 'none'}"
        )


def _last_line(complaints: IO[bytes]) -> str:
    complaints.seek(0)
    lines = complaints.read(1 << 16).decode("utf-8", "replace").strip().split("\n")
    return lines[-1][:300]
