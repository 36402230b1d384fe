"""Read-only access to a git clone that ignores its settings, hooks, filters and attributes.

git runs in an empty git directory of its own with the clone's object database. So programs that a clone's
configuration names are not started (signature programs, external diffs, file monitors, lazy fetches over a network),
a clone of another user can be opened, and a bare clone gives the same patches as one with a work tree.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from caretbench.errors import DataError
from caretbench.file_locks import temporary_folder
from caretbench.redaction import redact

# `rev-parse --path-format=absolute` exists since 2.31.
OLDEST_GIT = (2, 31)
_READ_BYTES = 1 << 18
# For glibc: keeps freed memory for the next file, which saves an eighth of the CPU time. Others ignore these.
_MALLOC_SETTINGS = {
    "MALLOC_TRIM_THRESHOLD_": "268435456",
    "MALLOC_MMAP_THRESHOLD_": "33554432",
    "MALLOC_TOP_PAD_": "4194304",
}
# git writes 4 KiB at a time: waking up for each costs a fifth of all CPU time.
_SMALL_READ_BYTES = 1 << 15
_PAUSE_S = 0.002


class GitError(DataError):
    """git failed; the message is the last line of its standard error."""


@dataclass(frozen=True, slots=True)
class GitRepository:
    """An opened clone: the commit whose history is read, boundary commits of a shallow clone, the remote's URL."""

    path: Path
    head: str
    shallow_commits: frozenset[str]
    remote_url: str | None
    _folder: Path
    _objects: Path

    def run(self, *arguments: str, stdin: bytes = b"") -> bytes:
        """Return the standard output of a git command.

        Raises:
            GitError: git failed.
        """
        return b"".join(self.stream(*arguments, stdin=stdin))

    def entries(self, *arguments: str, most: int) -> Iterator[bytes]:
        """Yield the parts of a command's standard output, each of which ends with a NUL.

        Raises:
            DataError: there are more than ``most``, or more than 1 KiB for each of so many.
            GitError: git failed.
        """
        rest, count, size = b"", 0, 0
        with contextlib.closing(self.stream(*arguments)) as stream:
            for chunk in stream:
                *parts, rest = (rest + chunk).split(b"\0")
                count += len(parts)
                size += len(chunk)
                if count > most or size > most << 10:
                    raise DataError(f"contains more than {most:,} files and folders, or too long names")
                yield from parts

    def stream(self, *arguments: str, stdin: bytes = b"") -> Generator[bytes]:
        """Yield the standard output of a git command in pieces; closing the generator stops git.

        Raises:
            GitError: git failed; all its output was yielded before.
        """
        paths = {"GIT_DIR": str(self._folder), "GIT_OBJECT_DIRECTORY": str(self._objects)}
        # Files, not pipes: git would block on a full pipe of either while only its output is read.
        with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as complaints:
            source.write(stdin)
            source.seek(0)
            with subprocess.Popen(
                [git_program(), *arguments],
                stdin=source,
                stdout=subprocess.PIPE,
                stderr=complaints,
                env=_environment(self._folder) | paths,
                cwd=self._folder,
            ) as process:
                assert process.stdout is not None  # noqa: S101 - for the type: it is a pipe
                try:
                    while chunk := os.read(process.stdout.fileno(), _READ_BYTES):
                        yield chunk
                        if len(chunk) < _SMALL_READ_BYTES:
                            time.sleep(_PAUSE_S)
                    process.wait()
                finally:
                    # Also when the reader closes the generator early, as each limit on the history does.
                    if process.poll() is None:
                        process.kill()
            if process.returncode:
                raise GitError(git_complaint(complaints) or f"git ended with status {process.returncode}")


@contextlib.contextmanager
def open_repository(path: Path, revision: str = "HEAD") -> Iterator[GitRepository]:
    """Open a clone (with files, bare, a linked work tree) to read the history of ``revision``.

    Raises:
        DataError: git is missing or too old; the path is no clone, or an empty one; the revision does not exist.
    """
    _check_version()
    if not path.is_dir():
        raise DataError(f"{path}: {'a file, not a folder' if path.exists() else 'no such folder'}")
    with temporary_folder("git") as folder:
        ask = _CloneQueries(path.resolve(), folder)
        try:
            # One by one: a path may contain a newline.
            objects, shallow = (
                ask("rev-parse", "--path-format=absolute", "--git-path", name) for name in ("objects", "shallow")
            )
            # A clone with SHA-256 names needs a git directory of the same format.
            form = ask("rev-parse", "--show-object-format")
        except GitError as error:
            why = "" if "not a git repository" in str(error) else f" that can be read ({error})"
            raise DataError(f"{path}: not a git repository{why}") from None
        head = _resolve_commit(ask, path, revision)
        remote = _find_remote_url(ask)
        _initialize_git_directory(folder, Path(shallow), form)
        ends = Path(shallow).read_text("ascii").split() if Path(shallow).is_file() else []
        yield GitRepository(path, head, frozenset(ends), remote, folder, Path(objects))


def _find_remote_url(query: _CloneQueries) -> str | None:
    """Return the URL of ``origin``, else of ``upstream``, else of the clone's only remote."""
    try:
        lines = query("config", "--no-includes", "--get-regexp", r"^remote\..*\.url$").split("\n")
    except GitError:
        return None
    addresses: dict[str, str] = {}
    for line in lines:
        key, _, address = line.partition(" ")
        addresses.setdefault(key.removeprefix("remote.").removesuffix(".url"), address)
    preferred = next((addresses[name] for name in ("origin", "upstream") if name in addresses), None)
    return preferred or (next(iter(addresses.values())) if len(addresses) == 1 else None)


def _resolve_commit(query: _CloneQueries, path: Path, revision: str) -> str:
    try:
        return query("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    except GitError as error:
        if revision != "HEAD":
            raise DataError(f"{path}: no revision {revision!r}") from None
        try:
            branch = query("symbolic-ref", "--quiet", "HEAD")
            query("rev-parse", "--verify", "--quiet", branch)
        except GitError:
            raise DataError(f"{path}: an empty repository, or HEAD leads nowhere: no commit to read") from None
        raise DataError(f"{path}: HEAD cannot be read ({error})") from None


class _CloneQueries:
    """git queries in the clone itself, for the paths of its parts; they start no programs from its settings."""

    def __init__(self, path: Path, folder: Path) -> None:
        self._path = path
        settings = folder / "settings"
        # A clone of another user is refused otherwise ("dubious ownership"); what makes that unsafe is switched off
        # here.
        settings.write_text("[safe]\n\tdirectory = *\n", "utf-8")
        # The clone must be at this path, not in a parent folder.
        self._environment = _environment(folder) | {
            "GIT_CONFIG_GLOBAL": str(settings),
            "GIT_CEILING_DIRECTORIES": str(path.parent),
        }

    def __call__(self, *arguments: str) -> str:
        with tempfile.TemporaryFile() as complaints:
            done = subprocess.run(
                [git_program(), "-C", str(self._path), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=complaints,
                env=self._environment,
                check=False,
            )
            if done.returncode:
                raise GitError(git_complaint(complaints) or "nothing there")
        return done.stdout.decode("utf-8", "replace").rstrip("\n")


def _initialize_git_directory(folder: Path, shallow: Path, form: str) -> None:
    """Make the folder an empty bare git directory."""
    (folder / "refs").mkdir()
    (folder / "objects").mkdir()
    # The clone's objects are read through a directory of our own: its settings, hooks, filters and attributes do not
    # apply.
    (folder / "HEAD").write_text("ref: refs/heads/none\n", "utf-8")
    version = "1\n[extensions]\n\tobjectformat = sha256" if form == "sha256" else "0"
    (folder / "config").write_text(f"[core]\n\tbare = true\n\trepositoryformatversion = {version}\n", "utf-8")
    if shallow.is_file():
        shutil.copyfile(shallow, folder / "shallow")


def _environment(home: Path) -> dict[str, str]:
    # Nothing else of the environment: GIT_ variables and HOME would bring the user's settings back.
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "TMPDIR", "TEMP") if name in os.environ}
    return {
        **kept,
        "HOME": str(home),
        "LC_ALL": "C",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ATTR_NOSYSTEM": "1",
        # Replacements would show other commits than the hashes name.
        "GIT_NO_REPLACE_OBJECTS": "1",
        # A partial clone would fetch each missing blob over the network; such commits are reported as skipped.
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_PAGER": "cat",
        **_MALLOC_SETTINGS,
    }


def git_program() -> str:
    """Return the path of git; DataError if it is not installed."""
    path = shutil.which("git")
    if path is None:
        raise DataError("git is not installed, and reading repositories needs it; install git")
    return path


def _check_version() -> None:
    said = subprocess.run([git_program(), "--version"], capture_output=True, text=True, check=False).stdout
    version = re.search(r"(\d+)\.(\d+)", said)
    if version is None or (int(version[1]), int(version[2])) < OLDEST_GIT:
        raise DataError(f"git {'.'.join(map(str, OLDEST_GIT))} or newer is needed, found {said.strip() or 'none'}")


def git_complaint(stderr: IO[bytes]) -> str:
    """Return what git complains of, in one line of 500 characters at most; "" if it said nothing.

    Its first ``fatal:`` line names the cause, and a command that it advises the remedy: its last line is often the end
    of general advice ("and the repository exists." of a repository that belongs to another user).
    """
    stderr.seek(0)
    lines = stderr.read(1 << 16).decode("utf-8", "replace").strip().split("\n")
    cause = next((line for line in lines if line.startswith("fatal:")), lines[-1])
    advice = [line.strip() for line in lines if line.startswith("\tgit ")]
    # Addresses with a password are repeated in git's messages.
    return redact("; ".join([cause, *advice[:1]]))[:500]
