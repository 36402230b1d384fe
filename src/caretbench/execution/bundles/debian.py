"""Debian packages: jars are collected into the bundle; headers and libraries stay where Debian puts them."""

from __future__ import annotations

import platform as machine
import shutil
import zipfile
from collections.abc import Mapping
from pathlib import Path

from caretbench.execution.bundles.bundle_model import INSIDE, Bundle, BundleError, BundleManifest, BundleSpec, LinkRule
from caretbench.execution.bundles.ecosystem import Ecosystem
from caretbench.execution.bundles.maven import JARS, absent_classes, bundle_class_path
from caretbench.execution.bundles.system_packages import (
    ProgressCallback,
    absent_packages,
    debian_files,
    debian_versions,
)
from caretbench.files import sha256_json


class DebianEcosystem(Ecosystem):
    """Packages of the distribution."""

    content_kind = "class"
    optional_system_packages = True
    holds_system_packages = True

    def platform(self) -> str:
        """Return the processor. Package versions are in the manifest, or read from the system."""
        return f"debian-{machine.machine()}"

    def missing(self, spec: BundleSpec) -> tuple[str, ...]:
        """Return the packages that are not installed."""
        return absent_packages(spec.packages)

    def install(self, spec: BundleSpec, folder: Path, progress: ProgressCallback) -> Mapping[str, str]:
        """Copy the jars of a Java bundle; for other languages return the installed versions only."""
        versions = _versions(spec)
        if spec.language == "java":
            progress(f"{spec.name}: collecting the jars of {len(versions)} Debian packages")
            jars = {jar for package in versions for jar in _jars(package)}
            jars = {jar for jar in jars if not any(map(jar.match, spec.exclude_jars))}
            (folder / JARS).mkdir()
            for jar in sorted(jars):
                shutil.copyfile(jar, folder / JARS / jar.name)
        return versions

    def missing_contents(self, spec: BundleSpec, root: Path) -> list[str]:
        """Return the classes of ``verify`` that no jar of a Java bundle contains, if its packages are installed."""
        return absent_classes(spec, root) if spec.language == "java" and not self.missing(spec) else []

    def as_bundle(self, spec: BundleSpec, manifest: BundleManifest, root: Path) -> Bundle:
        """Return the bundle with the class path of its jars, or with flags for the system's headers and libraries."""
        java = spec.language == "java"
        return Bundle(
            name=spec.name,
            language=spec.language,
            lock_hash=sha256_json([manifest.key, dict(manifest.packages if java else _versions(spec))]),
            root=root,
            read_only={INSIDE: str(root)} if java else {},
            class_path=bundle_class_path(root) if java else (),
            compile_flags=tuple(f"-I{folder}" for folder in _matching("/", spec.include_folders)),
            link_rules=tuple(rule for rule in map(_found_libraries, spec.link_rules) if rule.libraries),
            missing=manifest.missing if java else self.missing(spec),
        )

    def resolve_lock(self, spec: BundleSpec) -> str:
        """Raise BundleError: the distribution's release decides versions."""
        raise BundleError(f"{spec.name}: Debian packages have no lock; the release decides their versions")


def _versions(spec: BundleSpec) -> dict[str, str]:
    return dict(debian_versions((*spec.packages, *spec.optional)))


def _jars(package: str) -> set[Path]:
    """Return the jars of a package, links followed, so that each is taken once."""
    paths = (path for path in debian_files(package) if path.is_relative_to("/usr/share/java"))
    return {path.resolve() for path in paths if path.suffix == ".jar" and zipfile.is_zipfile(path)}


def _matching(folder: str, patterns: tuple[str, ...]) -> list[Path]:
    return [path for pattern in patterns for path in sorted(Path(folder).glob(pattern.lstrip("/")))]


def _found_libraries(rule: LinkRule) -> LinkRule:
    """Return the rule with those of its libraries that are installed, patterns resolved."""
    folders = [*sorted(Path("/usr/lib").glob(f"{machine.machine()}-*")), Path("/usr/lib")]
    found = (
        path.name.removeprefix("lib").removesuffix(".so")
        for library in rule.libraries
        for folder in folders
        for path in sorted(folder.glob(f"lib{library}.so"))
    )
    return rule.model_copy(update={"libraries": tuple(dict.fromkeys(found))})
