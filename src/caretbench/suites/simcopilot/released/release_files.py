"""Files of the release, pinned by commit and hash, and the test settings of its programs (``programs.toml``)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Final, NamedTuple

from pydantic import Field

from caretbench.download import PinnedFile, copy_file, download_file, is_complete
from caretbench.files import DataError, cache_folder, read_packaged_toml
from caretbench.problem import Provenance, Row

RELEASE_REVISION: Final = "096d1c42c90419ce2ade414a6ebf11b5a67a0664"
"""Commit of the repository with the programs; the labels are in an older one."""
HOST: Final = "https://raw.githubusercontent.com"


class RepositoryFile(NamedTuple):
    """A pinned file and its repository, as ``OWNER/NAME`` and commit."""

    file: PinnedFile
    repository: str
    commit: str

    @property
    def is_optional(self) -> bool:
        """True for the two large inputs, which some copies of the repositories lack; their programs are excluded."""
        return bool(self.file.git_blob)

    @property
    def clone_name(self) -> str:
        """Name of the folder of a clone of the repository."""
        return self.repository.rpartition("/")[2]


@cache
def pinned_files() -> tuple[RepositoryFile, ...]:
    """Return the pinned files of both repositories; their paths do not collide."""
    text = resources.files("caretbench.suites.simcopilot.released").joinpath("released_files.json").read_text("utf-8")
    return tuple(sorted(_files(json.loads(text)), key=lambda entry: entry.is_optional))


def _files(table: dict[str, dict[str, dict[str, object]]]) -> Iterator[RepositoryFile]:
    for name, files in table.items():
        repository, _, commit = name.partition("@")
        for path, pin in files.items():
            yield RepositoryFile(PinnedFile(path, **pin), repository, commit)  # type: ignore[arg-type]


def released_path() -> Path:
    """Return the path of the release in the cache; its files may be missing."""
    return cache_folder() / "data" / f"simcopilot-{RELEASE_REVISION}"


def released_folder() -> Path:
    """Return the folder of the release in the cache.

    Raises:
        DataError: files are missing.
    """
    folder = released_path()
    needed = (entry.file.path for entry in pinned_files() if not entry.is_optional)
    missing = sum(not (folder / path).is_file() for path in needed)
    if missing:
        raise DataError(f"{missing} files of the release are missing; run: caretbench pull simcopilot")
    return folder


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


class Release(Row):
    """Origin of the release; ``tab_size`` is the number of blanks that replace a tab."""

    source: str
    licence: str
    date: str
    tab_size: int

    def provenance(self) -> Provenance:
        """Return the provenance of all released problems."""
        return Provenance(source=self.source, revision=RELEASE_REVISION, licence=self.licence, date=self.date)


class LanguageTests(Row):
    """Settings of all programs of a language: a runner of ours, JUnit's jar, a bundle, environment variables."""

    test_runner: str = ""
    junit: str = ""
    bundle: str | None = None
    environment: Mapping[str, str] = Field(default_factory=dict)


class ProgramTests(Row):
    """Settings of one program: its folder, and the requirements, number and CPU seconds of its tests."""

    folder: str
    tests: int
    cpu_s: float
    inputs: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    stdlib_only: bool = False


class ReleasedTests(Row):
    """Test settings of the release."""

    release: Release
    languages: Mapping[str, LanguageTests]
    programs: Mapping[str, ProgramTests]


@cache
def released_tests() -> ReleasedTests:
    """Return the test settings of all released programs."""
    return ReleasedTests.model_validate(read_packaged_toml("caretbench.suites.simcopilot.released", "programs.toml"))
