"""Projects laid out in the cache: the source of the recipe, its further files, and the packages of the lock."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from caretbench.build.sources.fetching.project_folders import ProjectFolders
from caretbench.build.sources.fetching.source_spec import parse_source
from caretbench.build.sources.fetching.unpacking import unpack_archive
from caretbench.errors import DataError
from caretbench.projects.settings import SETTINGS_FILE, settings_toml
from caretbench.suites.record.build.packages import LockedPackage, archive_of, fetch, lay_packages
from caretbench.suites.record.build.recipe import PinnedSource, RecipeProject
from caretbench.suites.record.edition import laid_out_folder
from caretbench.temporary import temporary_folder


def lay_project(entry: RecipeProject, packages: Sequence[LockedPackage], mirror: str | None) -> Path:
    """Return the folder of a project in the cache; it is laid out if it is not there. Nothing of it runs.

    Raises:
        DataError: an archive or a commit is not to be had, or is refused; the message begins with the project.
    """
    place = laid_out_folder(entry.layout(tuple(packages)), entry.name)
    if place.is_dir():
        return place
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        with temporary_folder("layout", place.parent) as folder:
            root = folder / entry.name
            _lay_source(entry, root, mirror)
            for path, text in entry.files.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text.lstrip("\n"))
            lay_packages(packages, root, mirror)
            (root / SETTINGS_FILE).write_text(settings_toml(entry.settings))
            root.rename(place)
    except DataError as error:
        raise DataError(f"{entry.name}: {error}") from None
    # Another process may have laid out the same project at the same time.
    except OSError:
        if not place.is_dir():
            raise
    return place


def _lay_source(pinned: PinnedSource, root: Path, mirror: str | None) -> None:
    if not pinned.is_repository:
        archive = fetch(archive_of(pinned.source, pinned.sha256 or ""), mirror)
        unpack_archive(archive, root)
        return
    address, _, commit = pinned.source.removeprefix("git+").rpartition("@")
    bare = Path(mirror or "", address.rstrip("/").rpartition("/")[2].removesuffix(".git") + ".git")
    if mirror is not None and bare.is_dir():
        address = bare.resolve().as_uri()
    try:
        folder = ProjectFolders().open(parse_source(f"git+{address}@{commit}")).path
    except DataError as error:
        raise DataError(f"{error}; --mirror names a folder with the bare repository {bare.name}") from None
    shutil.copytree(folder, root, symlinks=True)


def lay_previous(entry: RecipeProject, mirror: str | None) -> Path | None:
    """Return the folder in the cache of the release before; None if the recipe names none.

    Raises:
        DataError: it is not to be had.
    """
    if entry.previous is None:
        return None
    place = laid_out_folder(entry.previous.model_dump_json(), entry.name)
    if not place.is_dir():
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            with temporary_folder("layout", place.parent) as folder:
                _lay_source(entry.previous, folder / entry.name, mirror)
                (folder / entry.name).rename(place)
        except DataError as error:
            raise DataError(f"{entry.name}, the release before: {error}") from None
    return place
