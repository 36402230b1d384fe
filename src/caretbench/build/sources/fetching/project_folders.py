"""Project folders of sources: fetched and unpacked once into the cache, and found there by their content.

A source ends as a :class:`ProjectFolder`, or as a :class:`RefusedSource` with the reason; the others go on.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Final
from urllib.parse import unquote, urlsplit

from caretbench.build.sources.fetching.git_checkout import fetch_commit, write_commit
from caretbench.build.sources.fetching.member_names import member_path
from caretbench.build.sources.fetching.package_release import find_source_distribution
from caretbench.build.sources.fetching.source_limits import SourceLimits, SourceUsage
from caretbench.build.sources.fetching.source_spec import SourceKind, SourceSpec
from caretbench.build.sources.fetching.unpacking import archive_suffix, unpack_archive
from caretbench.build.sources.licences import is_licence_file, repository_licence
from caretbench.download import PinnedFile, download_file, without_password
from caretbench.errors import DataError
from caretbench.files import cache_folder, sha256_file, sha256_text, write_atomically
from caretbench.local.package_index import index_url
from caretbench.problem import Row
from caretbench.temporary import temporary_folder

GITHUB: Final = "https://github.com"
_COMMIT_CHARACTERS: Final = 40
_LICENCE_BYTES: Final = 1 << 18
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


class RefusedSource(Row):
    """A source without a folder, and the reason."""

    source: str
    reason: str


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
            "distribution": self._distribution, "git": self._git, "github": self._hosted,
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

    def open_each(self, specs: Iterable[SourceSpec]) -> Iterator[ProjectFolder | RefusedSource]:
        """Yield the folder of each source, or the reason why there is none."""
        for spec in specs:
            try:
                yield self.open(spec)
            except DataError as error:
                shown = spec.shown
                yield RefusedSource(source=shown, reason=str(error).removeprefix(f"{shown}: "))

    def _local(self, spec: SourceSpec) -> ProjectFolder:
        name = Path(spec.location).resolve().name
        return ProjectFolder(source=spec.text, kind=spec.kind, name=name, path=spec.location, origin="")

    def _archive(self, spec: SourceSpec) -> ProjectFolder:
        archive = Path(spec.location)
        digest = sha256_file(archive)
        if spec.sha256 not in (None, digest):
            raise DataError(f"its SHA-256 is {digest}, not the pinned one")
        place = self._unpacked(digest, archive.name, lambda: archive)
        return self._project(spec, place, place.name, origin=archive.name, sha256=digest)

    def _address(self, spec: SourceSpec) -> ProjectFolder:
        name = unquote(PurePosixPath(urlsplit(spec.location).path).name)
        place = self._downloaded(PinnedFile(name, 0, spec.sha256 or ""), spec.location)
        return self._project(spec, place, place.name, origin=without_password(spec.location), sha256=spec.sha256)

    def _distribution(self, spec: SourceSpec) -> ProjectFolder:
        index = self._index or index_url()
        pin = self._folder / f"{sha256_text(_RULES, index, spec.location, spec.revision)[:32]}.pin"
        digest = spec.sha256 or (pin.read_text("ascii") if pin.is_file() else "")
        place = next(self._place("", "archive", digest).glob("*"), None) if digest else None
        if place is None:
            file = find_source_distribution(spec.location, spec.revision, index=index)
            if digest not in ("", file.sha256):
                raise DataError(f"the index has {file.name} with the SHA-256 {file.sha256}, not {digest}")
            digest = file.sha256
            place = self._downloaded(PinnedFile(file.name, file.size, digest), file.url)
            write_atomically(pin, digest)
        origin = f"pypi:{spec.location}"
        return self._project(spec, place, spec.location, origin=origin, revision=spec.revision, sha256=digest)

    def _git(self, spec: SourceSpec) -> ProjectFolder:
        return self._repository(spec, spec.location)

    def _hosted(self, spec: SourceSpec) -> ProjectFolder:
        return self._repository(spec, f"{self._github}/{spec.location}.git")

    def _downloaded(self, pinned: PinnedFile, url: str) -> Path:
        """Return the project of an archive with a known hash; the archive is removed when it is unpacked."""
        usage = SourceUsage(self._limits)
        usage.check_download(pinned.size)
        with temporary_folder("download", self._folder) as folder:

            def fetch() -> Path:
                progress = usage.check_download
                download_file(pinned, "", folder, url=url, progress=progress, remedy="or give the archive's path")
                return folder / pinned.path

            return self._unpacked(pinned.sha256, pinned.path, fetch)

    def _unpacked(self, digest: str, file: str, fetch: Callable[[], Path]) -> Path:
        name = member_path(file[: -len(archive_suffix(file))]) or "archive"
        place = self._place(name, "archive", digest)
        if not place.is_dir():
            archive = fetch()
            with temporary_folder("source", self._folder) as folder:
                unpack_archive(archive, folder / name, self._limits)
                _move(folder / name, place)
        return place

    def _repository(self, spec: SourceSpec, address: str) -> ProjectFolder:
        inside = member_path(spec.folder)
        name = PurePosixPath(inside or address.rpartition(":")[2]).name.removesuffix(".git") or "project"
        origin, usage = without_password(address), SourceUsage(self._limits)
        commit = spec.revision
        place = self._place(name, "git", commit, inside)
        if len(commit) < _COMMIT_CHARACTERS or not place.is_dir():
            with temporary_folder("source", self._folder) as folder:
                commit = fetch_commit(address, spec.revision, folder / "git", usage)
                place = self._place(name, "git", commit, inside)
                if not place.is_dir():
                    _move(write_commit(folder / "git", folder / "files", usage, inside), place)
        return self._project(spec, place, name, origin=origin, revision=commit)

    def _project(self, spec: SourceSpec, place: Path, name: str, **fields: str | None) -> ProjectFolder:
        texts = {path.name: path for path in place.iterdir() if is_licence_file(path.name) and path.is_file()}
        licence = repository_licence(
            {name: path.read_bytes()[:_LICENCE_BYTES].decode("utf-8", "replace") for name, path in texts.items()}
        )
        values = {"name": name, "path": str(place), "licence": licence, **fields}
        return ProjectFolder.model_validate({"source": spec.shown, "kind": spec.kind, **values})

    def _place(self, name: str, *content: str) -> Path:
        return self._folder / sha256_text(_RULES, *content)[:32] / name


def _move(folder: Path, place: Path) -> None:
    """Move a complete folder to its place, where another process may have been faster."""
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        folder.rename(place)
    except OSError:
        if not place.is_dir():
            raise
