"""Maven artefacts: jars of pinned coordinates and of what they need, from a repository, offline or not."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from xml.sax.saxutils import escape

from caretbench.execution.bundles.jars import JARS, class_path, verify_classes
from caretbench.execution.bundles.model import INSIDE, Bundle, BundleError, BundleManifest, Spec
from caretbench.execution.bundles.system import Say, run
from caretbench.files import sha256_file, sha256_json

_PROJECT = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>bundle</groupId><artifactId>bundle</artifactId><version>1</version>
  <dependencies>
{dependencies}
  </dependencies>
</project>
"""


def project(spec: Spec) -> str:
    """The project file with the bundle's coordinates (``group:artefact:version``).

    Raises:
        BundleError: a coordinate has not three parts.
    """
    rows = []
    for package in spec.packages:
        parts = package.split(":")
        if len(parts) != 3:
            raise BundleError(f"{spec.name}: {package!r} is not group:artefact:version")
        tags = zip(("groupId", "artifactId", "version"), parts, strict=True)
        rows.append("".join(f"<{tag}>{escape(part)}</{tag}>" for tag, part in tags))
    return _PROJECT.format(dependencies="\n".join(f"    <dependency>{row}</dependency>" for row in rows))


class Maven:
    """Packages of a Maven repository."""

    optional_system_packages = False

    def platform(self) -> str:
        """Jars are the same everywhere."""
        return "jvm"

    def missing(self, spec: Spec) -> tuple[str, ...]:
        """Maven, where it is not there; an offline repository of Debian's."""
        wanted = [] if shutil.which("mvn") else ["maven"]
        if spec.offline_repository and not Path(spec.offline_repository).is_dir():
            wanted.append("maven-repo-helper")
        return tuple(wanted)

    def fill(self, spec: Spec, folder: Path, say: Say) -> Mapping[str, str]:
        """Copy the artefacts and what they need at run time."""
        text = project(spec)
        offline = ["-o", f"-Dmaven.repo.local={spec.offline_repository}"] if spec.offline_repository else []
        say(f"{spec.name}: resolving {len(spec.packages)} artefacts with Maven")
        with tempfile.TemporaryDirectory() as name:
            (Path(name) / "pom.xml").write_text(text)
            copy = [
                "dependency:copy-dependencies",
                f"-DoutputDirectory={folder / JARS}",
                "-DincludeScope=runtime",
            ]
            run(["mvn", "-q", "-B", *offline, *copy], folder=Path(name), what=spec.name)
        return {jar.name: sha256_file(jar) for jar in sorted((folder / JARS).glob("*.jar"))}

    def verify(self, spec: Spec, root: Path) -> None:
        """Every class is in one of the jars."""
        verify_classes(spec, root)

    def view(self, spec: Spec, manifest: BundleManifest, root: Path) -> Bundle:
        """A class path."""
        return Bundle(
            name=spec.name,
            language=spec.language,
            lock_hash=sha256_json([manifest.key, dict(manifest.packages)]),
            root=root,
            read_only={INSIDE: str(root)},
            class_path=class_path(root),
        )

    def lock(self, spec: Spec) -> str:
        """Coordinates are pinned in the specification."""
        raise BundleError(f"{spec.name}: Maven coordinates are pinned in the specification itself")
