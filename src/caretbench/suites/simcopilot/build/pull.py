"""Download of the released files of both repositories, at pinned revisions, into the cache."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from caretbench.download import PinnedFile, copy_file, download_file, is_complete
from caretbench.errors import DataError
from caretbench.suites.simcopilot.released.spans import released_files, released_path

HOST: Final = "https://raw.githubusercontent.com"


class RepositoryFile(NamedTuple):
    """A pinned file and its repository, as ``OWNER/NAME`` and commit."""

    file: PinnedFile
    repository: str
    commit: str

    @property
    def is_optional(self) -> bool:
        """True for the two large inputs, which some copies of the repositories lack."""
        return bool(self.file.git_blob)

    @property
    def clone_name(self) -> str:
        """Name of the folder of a clone of the repository."""
        return self.repository.rpartition("/")[2]


@cache
def pinned_files() -> tuple[RepositoryFile, ...]:
    """Return the pinned files of both repositories; their paths do not collide."""
    files = (
        RepositoryFile(PinnedFile(path, **pin), *name.split("@"))
        for name, pins in released_files().items()
        for path, pin in pins.items()
    )
    return tuple(sorted(files, key=lambda entry: entry.is_optional))


def pull(
    *, source: Path | None = None, host: str = HOST, progress: Callable[[int, int], None] = lambda _added, _total: None
) -> Path:
    """Fetch the release into the cache and return its folder; files that are there are not fetched again.

    The files come from ``source``, a clone of the repository or a folder with clones of both, or from the network.
    ``progress`` is called with the number of files that are there now and the total; optional files may be missing.

    Raises:
        DataError: a file cannot be fetched, or differs from its pinned hash.
    """
    if source is not None and not source.is_dir():
        raise DataError(f"{source}: no such folder; --from names a folder with clones of the repositories")
    folder = released_path()
    files = pinned_files()
    progress(0, len(files))
    for entry in files:
        if not is_complete(entry.file, folder):
            if source is not None:
                _copy(entry, source, folder)
            else:
                _download(entry, host, folder)
        progress(int((folder / entry.file.path).is_file()), len(files))
    return folder


def _copy(entry: RepositoryFile, source: Path, folder: Path) -> None:
    clone = source / entry.clone_name
    origin = clone if clone.is_dir() else source
    if entry.is_optional and not (origin / entry.file.path).is_file():
        return
    if not (origin / entry.file.path).is_file():
        clones = ", ".join(sorted({f"{one.clone_name} (commit {one.commit[:8]})" for one in pinned_files()}))
        raise DataError(
            f"{origin / entry.file.path}: not there. The release lies in two repositories: name a folder that contains "
            f"clones of both, {clones}. One clone alone can be read with --data instead of being pulled."
        )
    copy_file(entry.file, origin, folder)


def _download(entry: RepositoryFile, host: str, folder: Path) -> None:
    try:
        download_file(entry.file, f"{host}/{entry.repository}/{entry.commit}", folder)
    except DataError as error:
        if entry.is_optional:
            return
        raise DataError(
            f"{error}. Where GitHub is out of reach, bring clones of https://github.com/mj33rice/Sim-CoPilot and "
            "https://github.com/mj33rice/SimCoPilot in one folder, and name it with --from"
        ) from None
