"""Fetch the real projects of ``projects.toml``, unpack them, and say how they are mined.

Archives are taken from package registries over https and must have the pinned SHA-256; of git repositories the pinned
commit is fetched, whose hash git checks. What is there already is not fetched again. Nothing of a project is run here:
it is set up and tested by ``caretbench build``, behind walls.
Usage: python benchmarks/fetch_projects.py DEST [NAME …]
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from caretbench.build.projects.toml_files import settings_toml
from caretbench.build.sources.fetching.project_folders import fetch_commit, write_commit
from caretbench.build.sources.fetching.unpacking import SourceLimits, SourceUsage, unpack_archive
from caretbench.download import PinnedFile, download_file, is_complete
from caretbench.errors import DataError
from caretbench.file_locks import temporary_folder
from caretbench.projects.settings import SETTINGS_FILE, CheckSettings, ProjectSettings

TABLE = Path(__file__).with_name("projects.toml")
ARCHIVES = ".archives"


class Project(BaseModel):
    """One row of ``projects.toml``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")
    language: str
    licence: str
    source: str
    revision: str
    url: str = Field(pattern=r"^https://")
    """Address of an archive, or of a git repository (``….git``), with ``#FOLDER`` for a folder of it."""
    size: int | None = Field(default=None, gt=0)
    sha256: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$")
    exclude: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    setup: str | None = None
    checks: tuple[CheckSettings, ...] = ()
    files: dict[str, str] = {}

    @model_validator(mode="after")
    def _is_pinned(self) -> Self:
        """Refuse what is not pinned: an archive by its hash, a repository by a commit."""
        if self.is_repository and not re.fullmatch("[0-9a-f]{40}", self.revision):
            raise ValueError("the revision of a git repository is a whole commit hash")
        if not self.is_repository and (self.size is None or self.sha256 is None):
            raise ValueError("an archive has size and sha256")
        return self

    @property
    def is_repository(self) -> bool:
        """True if ``url`` is a git repository. The commit's hash is the hash of all its files."""
        return self.url.partition("#")[0].endswith(".git")

    @property
    def pinned(self) -> PinnedFile:
        """Its archive, below the folder of archives."""
        return PinnedFile(PurePosixPath(self.url).name, self.size or 0, self.sha256 or "")

    @property
    def settings(self) -> ProjectSettings:
        """What its ``caretbench.toml`` says."""
        shared = ("name", "licence", "source", "revision", "exclude", "ignore", "setup", "checks")
        return ProjectSettings(**{name: getattr(self, name) for name in shared})

    def command(self, place: Path) -> str:
        """The line that mines it."""
        setup = "" if self.checks or self.setup else " --setup auto"
        return f"caretbench build simcopilot {place} --language {self.language}{setup} -o {place}-tasks"


def projects(table: Path = TABLE) -> tuple[Project, ...]:
    """The projects, in the order of the table."""
    return tuple(Project.model_validate(row) for row in tomllib.loads(table.read_text("utf-8"))["projects"])


def check_out(project: Project, place: Path) -> None:
    """Fetch one commit of a git repository, without its history, as ``place``.

    Raises:
        DataError: git cannot fetch it, or the folder is not in it.
    """
    address, _, inside = project.url.partition("#")
    usage = SourceUsage(SourceLimits())
    place.parent.mkdir(parents=True, exist_ok=True)
    with temporary_folder("source", place.parent) as folder:
        fetch_commit(address, project.revision, folder / "git", usage)
        write_commit(folder / "git", folder / "files", usage, inside).rename(place)


def prepare(project: Project, folder: Path) -> Path:
    """The project, fetched, unpacked and with its settings; what is there already stays.

    Raises:
        DataError: it cannot be fetched or unpacked.
    """
    place = folder / project.name
    if project.is_repository and not place.is_dir():
        check_out(project, place)
    elif not place.is_dir():
        archives = folder / ARCHIVES
        if not is_complete(project.pinned, archives):
            download_file(project.pinned, "", archives, url=project.url)
        unpack_archive(archives / project.pinned.path, place)
    for path, text in project.files.items():
        (place / path).write_text(text.lstrip("\n"))
    if project.checks or project.setup:
        (place / SETTINGS_FILE).write_text(settings_toml(project.settings))
    return place


def main(folder: Path, names: Sequence[str]) -> None:
    """Prepare the named projects, or all, and print how each is mined."""
    known = {project.name: project for project in projects()}
    unknown = sorted(set(names) - set(known))
    if unknown:
        raise DataError(f"no project is named {', '.join(unknown)}; known: {', '.join(known)}")
    for bundle in sorted({b for name in names or known for c in known[name].checks if (b := c.bundle)}):
        sys.stdout.write(f"caretbench deps build {bundle}\n")
    for name in names or known:
        sys.stdout.write(f"{known[name].command(prepare(known[name], folder))}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    try:
        main(Path(sys.argv[1]), sys.argv[2:])
    except DataError as error:
        sys.exit(f"{error}")
