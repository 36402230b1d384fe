"""Fetch the real projects of ``projects.toml``, unpack them, and say how they are mined.

Archives are taken from package registries over https and must have the pinned SHA-256; what is there already is not
fetched again. Nothing of a project is run here: it is set up and tested by ``caretbench build``, behind walls.
Usage: python benchmarks/fetch_projects.py DEST [NAME …]
"""

from __future__ import annotations

import shutil
import sys
import tarfile
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath

from pydantic import BaseModel, ConfigDict, Field

from caretbench.download import PinnedFile, download_file, is_complete
from caretbench.errors import DataError
from caretbench.projects.setup.settings import SETTINGS_FILE, CheckSettings, ProjectSettings

TABLE = Path(__file__).with_name("projects.toml")
ARCHIVES = ".archives"
MOST_BYTES = 200 << 20
"""An archive that unpacks to more is refused."""


class Project(BaseModel):
    """One row of ``projects.toml``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")
    language: str
    licence: str
    source: str
    revision: str
    url: str = Field(pattern=r"^https://")
    size: int = Field(gt=0)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    exclude: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    setup: str | None = None
    checks: tuple[CheckSettings, ...] = Field(min_length=1)
    files: dict[str, str] = {}

    @property
    def pinned(self) -> PinnedFile:
        """Its archive, below the folder of archives."""
        return PinnedFile(PurePosixPath(self.url).name, self.size, self.sha256)

    @property
    def settings(self) -> ProjectSettings:
        """What its ``caretbench.toml`` says."""
        shared = ("name", "licence", "source", "revision", "exclude", "ignore", "setup", "checks")
        return ProjectSettings(**{name: getattr(self, name) for name in shared})

    def command(self, place: Path) -> str:
        """The line that mines it."""
        return f"caretbench build simcopilot {place} --language {self.language} -o {place}-tasks"


def projects(table: Path = TABLE) -> tuple[Project, ...]:
    """The projects, in the order of the table."""
    return tuple(Project.model_validate(row) for row in tomllib.loads(table.read_text("utf-8"))["projects"])


def toml(settings: ProjectSettings) -> str:
    """Settings as TOML; what has its default is left out."""
    values = settings.model_dump(mode="json", exclude_defaults=True)
    checks = values.pop("checks", [])
    blocks = ["\n".join(_lines(values)), *("[[checks]]\n" + "\n".join(_lines(check)) for check in checks)]
    return "\n\n".join(blocks) + "\n"


def _lines(values: dict[str, object]) -> Iterable[str]:
    return (f"{name} = {_value(value)}" for name, value in values.items())


def _value(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_value(name)} = {_value(each)}" for name, each in value.items()) + " }"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
        return f'"{escaped}"'
    return str(value).lower()


def unpack(archive: Path, place: Path) -> None:
    """The one folder of an archive as ``place``; links that lead outside and special files are refused.

    Raises:
        DataError: it holds several folders, too much, or what is refused.
    """
    aside = place.with_name(f".{place.name}.unpacking")
    shutil.rmtree(aside, ignore_errors=True)
    try:
        with tarfile.open(archive) as packed:
            total = 0
            for member in packed:
                total += member.size
                if total > MOST_BYTES:
                    raise DataError(f"{archive.name}: unpacks to more than {MOST_BYTES >> 20} MB")
                packed.extract(member, aside, filter="data")
        folders = sorted(aside.iterdir())
        if len(folders) != 1 or not folders[0].is_dir():
            raise DataError(f"{archive.name}: {len(folders)} entries at the top; one folder is expected")
        folders[0].rename(place)
    except tarfile.TarError as error:
        raise DataError(f"{archive.name}: cannot be unpacked ({error})") from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def prepare(project: Project, folder: Path) -> Path:
    """The project, fetched, unpacked and with its settings; what is there already stays.

    Raises:
        DataError: it cannot be fetched or unpacked.
    """
    place = folder / project.name
    if not place.is_dir():
        archives = folder / ARCHIVES
        if not is_complete(project.pinned, archives):
            download_file(project.pinned, "", archives, url=project.url)
        unpack(archives / project.pinned.path, place)
    for path, text in project.files.items():
        (place / path).write_text(text.lstrip("\n"))
    (place / SETTINGS_FILE).write_text(toml(project.settings))
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
