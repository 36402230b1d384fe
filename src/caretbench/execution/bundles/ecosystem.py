"""Package managers that bundles are built with: their base class, Maven, npm, and Debian's packages.

``pip`` has a module of its own, since projects ask it for the interpreter of the sandbox.
Installed Debian and Ubuntu packages are asked for here, and the command line that installs missing ones.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import tempfile
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from caretbench.execution.bundles.bundle_model import BundleError, BundleSpec
from caretbench.execution.bundles.bundle_store import JARS, absent_packages, system_packages
from caretbench.files import sha256_file


class Ecosystem(ABC):
    """One package manager."""

    content_kind = "package"
    """Kind of the entries of ``spec.verify``, for messages."""
    optional_system_packages = False
    """True if a bundle without some of the system packages is still useful."""

    @abstractmethod
    def missing(self, spec: BundleSpec) -> tuple[str, ...]:
        """Return Debian packages that are needed to build the bundle and are not installed."""

    def missing_optional(self, spec: BundleSpec) -> tuple[str, ...]:
        """Return the optional Debian packages that are not installed."""
        return absent_packages(spec.optional)

    @abstractmethod
    def install(self, spec: BundleSpec, folder: Path, progress: ProgressCallback) -> Mapping[str, str]:
        """Install the packages into an empty folder and return their versions by name, or raise BundleError."""

    @abstractmethod
    def missing_contents(self, spec: BundleSpec, root: Path) -> Sequence[str]:
        """Return the entries of ``spec.verify`` that a bundle lacks, without running a package's code."""

    def verify(self, spec: BundleSpec, root: Path) -> None:
        """Raise BundleError where a bundle lacks something that ``spec.verify`` names."""
        absent = self.missing_contents(spec, root)
        if absent:
            raise BundleError(f"{spec.name}: built, but holds no {self.content_kind} {', '.join(absent)}")

    @abstractmethod
    def resolve_lock(self, spec: BundleSpec) -> str:
        """Return the text of a new lock file, with the newest versions that ``spec.packages`` allow.

        Raises:
            BundleError: the ecosystem has none, or it cannot be made.
        """


_PROJECT = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>bundle</groupId><artifactId>bundle</artifactId><version>1</version>
  <dependencies>
{dependencies}
  </dependencies>
</project>
"""


def maven_project_file(spec: BundleSpec) -> str:
    """Return a POM with a bundle's coordinates, or raise BundleError if one does not have three parts."""
    rows = []
    for package in spec.packages:
        parts = package.split(":")
        if len(parts) != 3:
            raise BundleError(f"{spec.name}: {package!r} is not group:artefact:version")
        tags = zip(("groupId", "artifactId", "version"), parts, strict=True)
        rows.append("".join(f"<{tag}>{escape(word)}</{tag}>" for tag, word in tags))
    return _PROJECT.format(dependencies="\n".join(f"    <dependency>{row}</dependency>" for row in rows))


def absent_classes(spec: BundleSpec, root: Path) -> list[str]:
    """Return the classes that ``spec.verify`` names and no jar of a bundle holds."""
    entries: set[str] = set()
    for jar in (root / JARS).glob("*.jar"):
        with zipfile.ZipFile(jar) as archive:
            entries.update(archive.namelist())
    return [name for name in spec.verify if f"{name.replace('.', '/')}.class" not in entries]


class MavenEcosystem(Ecosystem):
    """Packages of a Maven repository."""

    content_kind = "class"

    def missing(self, spec: BundleSpec) -> tuple[str, ...]:
        """Return Maven if it is missing, and Debian's packages for an offline repository."""
        wanted = [] if shutil.which("mvn") else ["maven"]
        if spec.offline_repository and not Path(spec.offline_repository).is_dir():
            wanted.append("maven-repo-helper")
        return tuple(wanted)

    def install(self, spec: BundleSpec, folder: Path, progress: ProgressCallback) -> Mapping[str, str]:
        """Copy the artefacts and their run-time dependencies."""
        text = maven_project_file(spec)
        offline = ["-o", f"-Dmaven.repo.local={spec.offline_repository}"] if spec.offline_repository else []
        progress(f"{spec.name}: resolving {len(spec.packages)} artefacts with Maven")
        with tempfile.TemporaryDirectory() as name:
            (Path(name) / "pom.xml").write_text(text)
            # What a library needs for its own tests is no part of what programs run with.
            copy = ["dependency:copy-dependencies", f"-DoutputDirectory={folder / JARS}", "-DincludeScope=runtime"]
            run_tool(["mvn", "-q", "-B", *offline, *copy], folder=Path(name), label=spec.name)
        return {jar.name: sha256_file(jar) for jar in sorted((folder / JARS).glob("*.jar"))}

    def missing_contents(self, spec: BundleSpec, root: Path) -> list[str]:
        """Return the classes that are in none of the jars."""
        return absent_classes(spec, root)

    def resolve_lock(self, spec: BundleSpec) -> str:
        """Raise BundleError: coordinates are pinned in the specification."""
        raise BundleError(f"{spec.name}: Maven coordinates are pinned in the specification itself")


class DebianEcosystem(Ecosystem):
    """Packages of the distribution."""

    content_kind = "class"
    optional_system_packages = True

    def missing(self, spec: BundleSpec) -> tuple[str, ...]:
        """Return the packages that are not installed."""
        return absent_packages(spec.packages)

    def install(self, spec: BundleSpec, folder: Path, progress: ProgressCallback) -> Mapping[str, str]:
        """Copy the jars of a Java bundle; for other languages return the installed versions only."""
        versions = system_packages(spec)
        if spec.language == "java":
            progress(f"{spec.name}: collecting the jars of {len(versions)} Debian packages")
            jars = {jar for package in versions for jar in _jars(package)}
            # Two jars with the same class would decide by their order which one a program gets.
            jars = {jar for jar in jars if not any(map(jar.match, spec.exclude_jars))}
            (folder / JARS).mkdir()
            for jar in sorted(jars):
                shutil.copyfile(jar, folder / JARS / jar.name)
        return versions

    def missing_contents(self, spec: BundleSpec, root: Path) -> list[str]:
        """Return the classes of ``verify`` that no jar of a Java bundle contains, if its packages are installed."""
        return absent_classes(spec, root) if spec.language == "java" and not self.missing(spec) else []

    def resolve_lock(self, spec: BundleSpec) -> str:
        """Raise BundleError: the distribution's release decides versions."""
        raise BundleError(f"{spec.name}: Debian packages have no lock; the release decides their versions")


def _jars(package: str) -> set[Path]:
    """Return the jars of a package, links followed, so that each is taken once."""
    paths = map(Path, run_tool(["dpkg", "-L", package], label=package).splitlines())
    jars = (path for path in paths if path.is_relative_to("/usr/share/java") and path.suffix == ".jar")
    return {path.resolve() for path in jars if zipfile.is_zipfile(path)}


# Install scripts are foreign code, which would run on the host.
_FLAGS = ("--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")


def split_package_version(package: str) -> tuple[str, str]:
    """Split ``@types/node@20`` into name and version range; the range is ``*`` without a version."""
    at = package.rfind("@")
    return (package, "*") if at <= 0 else (package[:at], package[at + 1 :])


def package_json(spec: BundleSpec) -> dict[str, Any]:
    """Return the project file of a bundle. It has no ``type``: programs choose their module system themselves."""
    return {"name": "bundle", "private": True, "dependencies": dict(sorted(map(split_package_version, spec.packages)))}


class NpmEcosystem(Ecosystem):
    """Packages of the npm registry."""

    def missing(self, spec: BundleSpec) -> tuple[str, ...]:  # noqa: ARG002 - the same for every bundle
        """Return Node and npm if they are missing."""
        return tuple(package for tool, package in (("node", "nodejs"), ("npm", "npm")) if shutil.which(tool) is None)

    def install(self, spec: BundleSpec, folder: Path, progress: ProgressCallback) -> Mapping[str, str]:
        """Install the locked versions."""
        if spec.lock_path is None:
            raise BundleError(f"{spec.name}: needs a lock file")
        lock = spec.lock_path.read_text("utf-8")
        wanted = package_json(spec)
        if json.loads(lock)["packages"][""].get("dependencies") != wanted["dependencies"]:
            raise BundleError(f"{spec.lock_path}: was made for other packages; run: caretbench deps lock {spec.name}")
        (folder / "package.json").write_text(json.dumps(wanted, indent=2))
        (folder / "package-lock.json").write_text(lock)
        progress(f"{spec.name}: npm ci")
        run_tool(["npm", "ci", *_FLAGS, "--prefer-offline"], folder=folder, label=spec.name)
        return {name: _version(folder, name) for name in wanted["dependencies"]} | _locked(lock, folder)

    def missing_contents(self, spec: BundleSpec, root: Path) -> list[str]:
        """Return the packages of a bundle that have no folder in ``node_modules``."""
        return [name for name in spec.verify if not (root / "node_modules" / name / "package.json").exists()]

    def resolve_lock(self, spec: BundleSpec) -> str:
        """Return a new lock file by npm, with hashes and without registry addresses."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "package.json").write_text(json.dumps(package_json(spec)))
            only_lock = ("--package-lock-only", "--omit-lockfile-registry-resolved=true")
            run_tool(["npm", "install", *only_lock, *_FLAGS], folder=folder, label=spec.name)
            return (folder / "package-lock.json").read_text("utf-8")


def _version(folder: Path, package: str) -> str:
    text = (folder / "node_modules" / package / "package.json").read_text("utf-8")
    return str(json.loads(text)["version"])


def _locked(lock: str, folder: Path) -> dict[str, str]:
    """Return versions of the packages of the lock that were installed (some are for other platforms), by place."""
    packages: dict[str, dict[str, Any]] = json.loads(lock)["packages"]
    return {
        path.removeprefix("node_modules/"): str(entry["version"])
        for path, entry in packages.items()
        if path and "version" in entry and (folder / path).exists()
    }


ProgressCallback = Callable[[str], None]
"""Function that receives one progress line."""


def run_tool(
    argv: Sequence[str], *, folder: Path | None = None, environment: Mapping[str, str] | None = None, label: str
) -> str:
    """Run a tool and return its standard output.

    Raises:
        BundleError: the tool is not installed or fails; the message ends with its last lines of output.
    """
    try:
        done = subprocess.run(
            argv, cwd=folder, env={**os.environ, **(environment or {})}, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, errors="replace", check=False,
        )  # fmt: skip
    except OSError as error:
        raise BundleError(f"{label}: {argv[0]} does not start ({error.strerror})") from None
    if done.returncode:
        output = (done.stderr.strip() or done.stdout.strip()).splitlines()
        tail = "\n".join(f"  {line}" for line in output[-12:])
        hint = _network_hint(done.stderr + done.stdout)
        raise BundleError(f"{label}: {argv[0]} failed with exit status {done.returncode}{hint}\n{tail}")
    return done.stdout


def _network_hint(output: str) -> str:
    signs = (
        "EAI_AGAIN", "ENOTFOUND", "ECONNREFUSED", "ETIMEDOUT", "ENETUNREACH", "dns error",
        "client error (Connect)",
        "Name or service not known", "Temporary failure in name resolution", "NewConnectionError",
    )  # fmt: skip
    if any(sign in output for sign in signs):
        return " (no network? what was downloaded is kept: run the same command again)"
    return ""


def apt_line(packages: Iterable[str]) -> str:
    """Return the line a person runs to install packages (Debian and Ubuntu)."""
    return as_root(f"apt-get install --yes --no-install-recommends {' '.join(packages)}")


def as_root(command: str) -> str:
    """Return a command as this user types it: as it is for root, a container's for example, else by sudo or su."""
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        return command
    return f"sudo {command}" if shutil.which("sudo") else f"su -c {shlex.quote(command)}"
