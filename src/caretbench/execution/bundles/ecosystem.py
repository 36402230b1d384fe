"""What a package manager has to answer so that bundles can be made with it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from caretbench.execution.bundles.model import Bundle, BundleManifest, Spec
from caretbench.execution.bundles.system import Say


class Ecosystem(Protocol):
    """One package manager."""

    optional_system_packages: bool
    """Whether a bundle without some of the system packages is still of use."""

    def platform(self) -> str:
        """What a bundle's content depends on beside its lock: interpreter, processor. Ask; quick."""

    def missing(self, spec: Spec) -> tuple[str, ...]:
        """Debian packages that are needed to build the bundle and are not installed."""

    def fill(self, spec: Spec, folder: Path, say: Say) -> Mapping[str, str]:
        """Put the packages into an empty folder; gives versions by name.

        Raises:
            BundleError: it cannot be done.
        """

    def verify(self, spec: Spec, root: Path) -> None:
        """Check that what ``spec.verify`` names can be found without running a package's code.

        Raises:
            BundleError: something is not there.
        """

    def view(self, spec: Spec, manifest: BundleManifest, root: Path) -> Bundle:
        """The bundle as a runtime sees it."""

    def lock(self, spec: Spec) -> str:
        """The text of a new lock file, with the newest versions that ``spec.packages`` allow.

        Raises:
            BundleError: the ecosystem has none, or it cannot be made.
        """
