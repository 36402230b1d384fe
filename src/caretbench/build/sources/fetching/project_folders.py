"""Project folders of sources: fetched and unpacked once into the cache, and found there by their content.

A source ends as a :class:`ProjectFolder`, or as a :class:`RefusedSource` with the reason; the others go on.
"""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Final
from urllib.parse import unquote, urlsplit

from packaging.utils import canonicalize_name
from packaging.version import Version

from caretbench.build.sources.fetching.source_spec import SourceKind, SourceSpec
from caretbench.build.sources.fetching.unpacking import (
    MAX_TARGET_BYTES,
    MemberWriter,
    SourceLimits,
    SourceUsage,
    archive_suffix,
    check_links,
    member_path,
    unpack_archive,
)
from caretbench.build.sources.git.git_repository import (
    GitError,
    GitRepository,
    git_complaint,
    git_program,
    open_repository,
)
from caretbench.build.sources.licences import folder_licence
from caretbench.download import PinnedFile, download_file, without_password
from caretbench.errors import DataError
from caretbench.file_locks import temporary_folder
from caretbench.files import cache_folder, sha256_file, sha256_text, write_atomically
from caretbench.local.package_index import IndexFile, index_url, package_files
from caretbench.problem import Row

_SETTINGS: Final = (
    # A fetch runs hooks, a file monitor and maintenance where settings ask for it; `ext::` addresses are shell
    # commands.
    "-c", f"core.hooksPath={os.devnull}", "-c", "core.fsmonitor=false", "-c", "gc.auto=0",
    "-c", "maintenance.auto=false", "-c", "fetch.recurseSubmodules=false",
    "-c", "protocol.ext.allow=never", "-c", "credential.interactive=false",
)  # fmt: skip
_NO_QUESTIONS: Final = {
    "LC_ALL": "C",
    # A question for a password would wait for ever: nobody reads the terminal of a build over many sources.
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "true",
    "SSH_ASKPASS": "true",
    "GIT_SSH_COMMAND": "ssh -oBatchMode=yes",
    # Large files of LFS would be fetched by a filter of their own, past the bounds of size.
    "GIT_LFS_SKIP_SMUDGE": "1",
}
# git sets these for its hooks: a build started from a hook would fetch into the caller's repository.
_LOCAL_VARIABLES: Final = (
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_TEMPLATE_DIR",
)  # fmt: skip
# git has no option for a maximum size, so the folder is measured while it fetches.
_CHECK_S: Final = 0.2
_ENTRY: Final = re.compile(rb"(\d{6}) (\w+) ([0-9a-f]+) +(\d+|-)\t([^\0]+)")
_SUBMODULE: Final = "160000"


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


def write_commit(folder: Path, root: Path, usage: SourceUsage, inside: str = "") -> Path:
    """Write the files of the fetched commit as the new folder ``root``; submodules are empty folders.

    Return the project: ``root``, or its folder ``inside``.

    Raises:
        DataError: a name or a link is refused, there is too much, or there is no such folder.
    """
    # Objects, not a checkout: that would run filters of the user's settings over foreign files.
    with open_repository(folder, "FETCH_HEAD") as repository:
        writer = MemberWriter(root, usage)
        files: list[tuple[str, int, str]] = []
        # Trees that name one tree many times list 10^7 paths in 188 KB: the listing ends at the limit.
        listing = repository.entries("ls-tree", "-r", "-z", "--long", repository.head, most=usage.limits.files)
        entries = [_parse_entry(entry) for line in listing if (entry := _ENTRY.fullmatch(line))]
        # The trees state all sizes, so too large a commit is refused before its first file is written.
        usage.check_size(sum(size for _, _, size, _ in entries))
        for mode, name, size, path in entries:
            # A submodule is another repository with a licence and a size of its own; it is not fetched.
            if mode == _SUBMODULE:
                writer.add_folder(path)
            elif stat.S_ISLNK(int(mode, 8)):
                if size > MAX_TARGET_BYTES:
                    raise DataError(f"{path!r}: a link to a name that is too long")
                writer.add_link(path, repository.run("cat-file", "blob", name).decode("utf-8", "surrogateescape"))
            else:
                files.append((name, size, path))
        # One `cat-file` for all files: a process for each would cost a start of git per file.
        modes = {path: int(mode, 8) for mode, _, _, path in entries}
        blobs = _Blobs(repository, [name for name, _, _ in files])
        for _, size, path in files:
            writer.add_file(path, size, modes[path], blobs.next(size))
        writer.finish()
    project = root / inside
    # A link as the project's folder could lead outside of what was checked.
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
        # Each blob ends with a newline that is not counted in its size.
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
            # git leaves the transfer to children (`git-remote-https`); they are one group, so that all end with it.
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
                # Windows has no process groups to kill.
                if sys.platform == "win32":
                    process.kill()
                else:
                    os.killpg(process.pid, signal.SIGKILL)
        if process.returncode:
            raise GitError(f"git {arguments[0]}: {git_complaint(complaints) or f'status {process.returncode}'}")
    usage.check_download(_size(folder))


def _size(folder: Path) -> int:
    """Return the bytes of the files below a folder, of which some may vanish meanwhile."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += Path(parent, name).lstat().st_size
            # Git renames its temporary packs while the folder is measured.
            except OSError:
                continue
    return total


# Some packages have hundreds of releases; the message names the newest.
_NAMED: Final = 5


def find_source_distribution(name: str, version: str, *, index: str | None = None) -> IndexFile:
    """Return the source distribution of a release.

    Raises:
        DataError: the index cannot be reached, or has no source distribution of the release with a SHA-256.
    """
    remedy = "without a network give the archive's path"
    files = package_files(canonicalize_name(name), index=index, remedy=remedy)
    releases = {file_version: file for file in files if (file_version := _version_of(name, file.name))}
    wanted = comparable_version(version)
    fitting = (file for file_version, file in releases.items() if comparable_version(file_version) == wanted)
    file = next(fitting, None)
    if file is not None and file.sha256:
        return file
    release = f"{name}=={version}"
    if file is not None:
        raise DataError(f"{release}: the package index states no SHA-256 of {file.name}; give the archive's path")
    # A wheel is what users install; tests lie only in the source distribution.
    wheels = (wheel.name for wheel in files if wheel.name.endswith(".whl"))
    if any(comparable_version(wheel.split("-")[1]) == wanted for wheel in wheels):
        raise DataError(f"{release}: only wheels, which have no tests; give its git address, or another version")
    newest = ", ".join(list(releases)[-_NAMED:]) or "none"
    raise DataError(f"{release}: no source distribution; the last versions that have one: {newest}")


def comparable_version(version: str) -> Version | str:
    """Return a version so that different spellings of the same release are equal (``1.0-RC1``, ``1.0rc1``)."""
    try:
        return Version(version)
    except ValueError:  # of a release before PEP 440, or with a number of over 4,300 digits
        return re.sub(r"[-_]", ".", version.strip().lower())


def _version_of(name: str, file: str) -> str:
    """Return the version in the name of a source distribution; empty for another file."""
    suffix = archive_suffix(file)
    stem = file[: -len(suffix)] if suffix else ""
    # Names contain hyphens, too (`backports-tarfile-1.0`), so the name is compared at each of them.
    for position, letter in enumerate(stem):
        if letter == "-" and canonicalize_name(stem[:position]) == canonicalize_name(name):
            return stem[position + 1 :]
    return ""


GITHUB: Final = "https://github.com"
# A shorter revision may be a branch, which moves: only a whole hash is found in the cache without asking.
_COMMIT_CHARACTERS: Final = 40
_RULES: Final = "source 1"
"""Version of the rules of unpacking; part of the name of a folder."""


class ProjectFolder(Row):
    """A source as a folder. ``sha256`` is that of its archive; ``revision`` its version or commit."""

    source: str
    kind: SourceKind
    name: str
    path: str
    origin: str
    """Address or place, without user and password; empty for a folder that was given."""
    revision: str | None = None
    sha256: str | None = None
    licence: str | None = None
    """Licence of a fetched project, by the words of its file."""


class ProjectFolders:
    """Project folders below one folder of the cache.

    Args:
        folder: The folder; None: in the cache.
        limits: Bounds of each source.
        index: The simple package index; None: the one that pip or uv uses here.
        github: The address below which OWNER/NAME is a repository; None: that of GITHUB_SERVER_URL, else GitHub's.
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        limits: SourceLimits | None = None,
        index: str | None = None,
        github: str | None = None,
    ) -> None:
        self._folder = folder or cache_folder() / "data" / "sources"
        self._limits = limits or SourceLimits()
        self._index = index
        self._github = (github or os.environ.get("GITHUB_SERVER_URL") or GITHUB).rstrip("/")
        self._open: dict[SourceKind, Callable[[SourceSpec], ProjectFolder]] = {
            "folder": self._local, "archive": self._archive, "archive_address": self._address,
            "distribution": self._distribution, "git": lambda spec: self._repository(spec, spec.location),
            "github": lambda spec: self._repository(spec, f"{self._github}/{spec.location}.git"),
        }  # fmt: skip

    def open(self, spec: SourceSpec) -> ProjectFolder:
        """Return the folder of a source; it is fetched and unpacked if it is not in the cache.

        Raises:
            DataError: it cannot be fetched, or is refused; the message has the source and the cause.
        """
        try:
            if spec.kind != "folder":
                self._folder.mkdir(parents=True, exist_ok=True)
            return self._open[spec.kind](spec)
        except (DataError, OSError) as error:
            shown = spec.shown
            raise DataError(f"{shown}: {str(error).removeprefix(f'{shown}: ')}") from None

    def _local(self, spec: SourceSpec) -> ProjectFolder:
        name = Path(spec.location).resolve().name
        return ProjectFolder(source=spec.text, kind=spec.kind, name=name, path=spec.location, origin="")

    def _archive(self, spec: SourceSpec) -> ProjectFolder:
        archive = Path(spec.location)
        digest = sha256_file(archive)
        if spec.sha256 not in (None, digest):
            raise DataError(f"its SHA-256 is {digest}, not the pinned one")
        project = self._unpacked(digest, archive.name, lambda: archive)
        return self._project(spec, project, project.name, origin=archive.name, sha256=digest)

    def _address(self, spec: SourceSpec) -> ProjectFolder:
        name = unquote(PurePosixPath(urlsplit(spec.location).path).name)
        project = self._downloaded(PinnedFile(name, 0, spec.sha256 or ""), spec.location)
        return self._project(spec, project, project.name, origin=without_password(spec.location), sha256=spec.sha256)

    def _distribution(self, spec: SourceSpec) -> ProjectFolder:
        index = self._index or index_url()
        pin = self._folder / f"{sha256_text(_RULES, index, spec.location, spec.revision)[:32]}.pin"
        # The hash that the index stated once is kept: a release whose file is replaced later is refused, not silently
        # changed.
        digest = spec.sha256 or (pin.read_text("ascii") if pin.is_file() else "")
        project = next(self._target("", "archive", digest).glob("*"), None) if digest else None
        if project is None:
            file = find_source_distribution(spec.location, spec.revision, index=index)
            if digest not in ("", file.sha256):
                raise DataError(f"the index has {file.name} with the SHA-256 {file.sha256}, not {digest}")
            digest = file.sha256
            project = self._downloaded(PinnedFile(file.name, file.size, digest), file.url)
            write_atomically(pin, digest)
        origin = f"pypi:{spec.location}"
        return self._project(spec, project, spec.location, origin=origin, revision=spec.revision, sha256=digest)

    def _downloaded(self, pinned: PinnedFile, url: str) -> Path:
        """Return the project of an archive with a known hash; the archive is removed when it is unpacked."""
        usage = SourceUsage(self._limits)
        usage.check_download(pinned.size)
        # Below the same folder, so that the rename at the end stays within one file system.
        with temporary_folder("download", self._folder) as folder:

            def fetch() -> Path:
                progress = usage.check_download
                download_file(pinned, "", folder, url=url, progress=progress, remedy="or give the archive's path")
                return folder / pinned.path

            return self._unpacked(pinned.sha256, pinned.path, fetch)

    def _unpacked(self, digest: str, file: str, fetch: Callable[[], Path]) -> Path:
        name = member_path(file[: -len(archive_suffix(file))]) or "archive"
        target = self._target(name, "archive", digest)
        if not target.is_dir():
            archive = fetch()
            with temporary_folder("source", self._folder) as folder:
                unpack_archive(archive, folder / name, self._limits)
                _move(folder / name, target)
        return target

    def _repository(self, spec: SourceSpec, address: str) -> ProjectFolder:
        inside = member_path(spec.folder)
        name = PurePosixPath(inside or address.rpartition(":")[2]).name.removesuffix(".git") or "project"
        origin, usage = without_password(address), SourceUsage(self._limits)
        commit = spec.revision
        project = self._target(name, "git", commit, inside)
        if len(commit) < _COMMIT_CHARACTERS or not project.is_dir():
            with temporary_folder("source", self._folder) as folder:
                commit = fetch_commit(address, spec.revision, folder / "git", usage)
                project = self._target(name, "git", commit, inside)
                if not project.is_dir():
                    _move(write_commit(folder / "git", folder / "files", usage, inside), project)
        return self._project(spec, project, name, origin=origin, revision=commit)

    def _project(self, spec: SourceSpec, project: Path, name: str, **fields: str | None) -> ProjectFolder:
        values = {"name": name, "path": str(project), "licence": folder_licence(project), **fields}
        return ProjectFolder.model_validate({"source": spec.shown, "kind": spec.kind, **values})

    def _target(self, name: str, *content: str) -> Path:
        return self._folder / sha256_text(_RULES, *content)[:32] / name


def _move(folder: Path, target: Path) -> None:
    """Move a complete folder to its target, where another process may have been faster."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        folder.rename(target)
    # Two builds may fetch the same source at once; a rename onto a filled folder fails.
    except OSError:
        if not target.is_dir():
            raise
