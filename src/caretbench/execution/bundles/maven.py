"""Maven bundles: jars of pinned coordinates and their dependencies, from a repository, offline or not."""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from xml.sax.saxutils import escape

from caretbench.execution.bundles.bundle_model import INSIDE, Bundle, BundleError, BundleManifest, BundleSpec
from caretbench.execution.bundles.ecosystem import Ecosystem
from caretbench.execution.bundles.system_packages import ProgressCallback, run_tool
from caretbench.files import sha256_file

JARS = "jars"
"""Folder of a bundle that holds its jars."""
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
        rows.append("".join(f"<{tag}>{escape(part)}</{tag}>" for tag, part in tags))
    return _PROJECT.format(dependencies="\n".join(f"    <dependency>{row}</dependency>" for row in rows))


def bundle_class_path(root: Path) -> tuple[str, ...]:
    """Return the paths of a bundle's jars inside the sandbox, sorted by name."""
    return tuple(f"{INSIDE}/{JARS}/{jar.name}" for jar in sorted((root / JARS).glob("*.jar")))


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

    def platform(self) -> str:
        """Return a constant: jars are the same everywhere."""
        return "jvm"

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
            copy = ["dependency:copy-dependencies", f"-DoutputDirectory={folder / JARS}", "-DincludeScope=runtime"]
            run_tool(["mvn", "-q", "-B", *offline, *copy], folder=Path(name), label=spec.name)
        return {jar.name: sha256_file(jar) for jar in sorted((folder / JARS).glob("*.jar"))}

    def missing_contents(self, spec: BundleSpec, root: Path) -> list[str]:
        """Return the classes that are in none of the jars."""
        return absent_classes(spec, root)

    def as_bundle(self, spec: BundleSpec, manifest: BundleManifest, root: Path) -> Bundle:
        """Return the bundle with the class path of its jars."""
        return super().as_bundle(spec, manifest, root).model_copy(update={"class_path": bundle_class_path(root)})

    def resolve_lock(self, spec: BundleSpec) -> str:
        """Raise BundleError: coordinates are pinned in the specification."""
        raise BundleError(f"{spec.name}: Maven coordinates are pinned in the specification itself")
