"""Projects laid out in the cache: the source of the recipe, its further files, and the packages of the lock."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from caretbench.build.projects.project_storage import store_project
from caretbench.build.projects.toml_files import settings_toml
from caretbench.build.sources.fetching.project_folders import ProjectFolders
from caretbench.build.sources.fetching.source_spec import parse_source
from caretbench.build.sources.fetching.unpacking import unpack_archive
from caretbench.errors import DataError
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.file_locks import temporary_folder
from caretbench.projects.project import StoredProject
from caretbench.projects.settings import SETTINGS_FILE, read_settings
from caretbench.suites.record.build.recipe import (
    LockedPackage,
    PinnedSource,
    RecipeProject,
    archive_of,
    fetch,
    lay_packages,
)
from caretbench.suites.record.build.renaming import RenamedFile, renamed_files
from caretbench.suites.record.edition import EditionProject, laid_out_folder


def lay_project(entry: RecipeProject, packages: Sequence[LockedPackage], mirror: str | None) -> Path:
    """Return the folder of a project in the cache; it is laid out if it is not there. Nothing of it runs.

    Raises:
        DataError: an archive or a commit is not to be had, or is refused; the message begins with the project.
    """
    target = laid_out_folder(entry.layout(tuple(packages)), entry.name)
    if target.is_dir():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with temporary_folder("layout", target.parent) as folder:
            root = folder / entry.name
            _lay_source(entry, root, mirror)
            for path, text in entry.files.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text.lstrip("\n"))
            lay_packages(packages, root, mirror)
            (root / SETTINGS_FILE).write_text(settings_toml(entry.settings))
            root.rename(target)
    except DataError as error:
        raise DataError(f"{entry.name}: {error}") from None
    # Another process may have laid out the same project at the same time.
    except OSError:
        if not target.is_dir():
            raise
    return target


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
    target = laid_out_folder(entry.previous.model_dump_json(), entry.name)
    if not target.is_dir():
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            with temporary_folder("layout", target.parent) as folder:
                _lay_source(entry.previous, folder / entry.name, mirror)
                (folder / entry.name).rename(target)
        except DataError as error:
            raise DataError(f"{entry.name}, the release before: {error}") from None
    return target


def laid_out_project(root: Path) -> StoredProject:
    """Return a laid out project in the store."""
    return store_project(root, SnapshotStore(), read_settings(root).ignore)


def lay_renamed(entry: RecipeProject, layout: str, root: Path, files: Mapping[str, RenamedFile]) -> str:
    """Lay a project with changed files out in the cache, and return the identity of all its files."""
    with temporary_folder("renamed", root.parent) as folder:
        copy = folder / entry.name
        shutil.copytree(root, copy, symlinks=True)
        for path, file in files.items():
            (copy / path).write_bytes(file.data)
        identity = laid_out_project(copy).snapshot.id
        target = laid_out_folder(layout, entry.name, identity)
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.is_dir():
            copy.rename(target)
    return identity


def place_project(
    project: EditionProject,
    entry: RecipeProject,
    packages: Sequence[LockedPackage],
    renamed: Collection[str],
    mirror: str | None,
) -> None:
    """Lay a project of an edition out in the cache, and a copy with changed names in its files ``renamed``.

    Raises:
        DataError: it is not to be had, or is another than the edition's.
    """
    if entry.layout(tuple(packages)) != project.layout:
        raise DataError(f"{entry.name}: its recipe or lock was changed after the edition was built")
    root = lay_project(entry, packages, mirror)
    if not project.renamed or laid_out_folder(project.layout, entry.name, project.renamed).is_dir():
        return
    identity = lay_renamed(entry, project.layout, root, renamed_files(laid_out_project(root), entry.language, renamed))
    if identity != project.renamed:
        raise DataError(
            f"{entry.name}: its files with changed names are {identity[:12]} here, not {project.renamed[:12]}: another "
            "version of caretbench made the edition"
        )
