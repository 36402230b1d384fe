"""Base class of the package managers that bundles are built with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path

from caretbench.execution.bundles.bundle_model import INSIDE, Bundle, BundleError, BundleManifest, BundleSpec
from caretbench.execution.bundles.system_packages import ProgressCallback, absent_packages
from caretbench.files import sha256_json


class Ecosystem(ABC):
    """One package manager."""

    content_kind = "package"
    """Kind of the entries of ``spec.verify``, for messages."""
    optional_system_packages = False
    """True if a bundle without some of the system packages is still useful."""
    holds_system_packages = False
    """True if what system packages contain becomes a part of the bundle."""

    @abstractmethod
    def platform(self) -> str:
        """Return interpreter version and processor, as far as a bundle's content depends on them. Called often."""

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

    def as_bundle(self, spec: BundleSpec, manifest: BundleManifest, root: Path) -> Bundle:
        """Return the built bundle with its binds and paths inside the sandbox, at ``/bundle``."""
        return Bundle(
            name=spec.name,
            language=spec.language,
            lock_hash=sha256_json([manifest.key, dict(manifest.packages)]),
            root=root,
            read_only={INSIDE: str(root)},
        )

    @abstractmethod
    def resolve_lock(self, spec: BundleSpec) -> str:
        """Return the text of a new lock file, with the newest versions that ``spec.packages`` allow.

        Raises:
            BundleError: the ecosystem has none, or it cannot be made.
        """
