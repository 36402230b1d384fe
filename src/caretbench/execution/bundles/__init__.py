"""Dependency bundles: content-addressed, read-only folders of packages, built beforehand, not while testing.

Specifications are data (``*.toml`` with a lock file next to it). ``build`` makes a bundle, ``installed`` finds
one, ``status`` says which are there and how to get the others.
"""

from caretbench.execution.bundles.bundle_model import (
    INSIDE,
    Bundle,
    BundleError,
    BundleManifest,
    BundleSpec,
    LinkRule,
    bundle_spec,
    bundle_specs,
)
from caretbench.execution.bundles.bundle_store import (
    BundleStatus,
    build_bundle,
    bundle_status,
    bundles_folder,
    installed_bundle,
    write_lock_file,
)

__all__ = [
    "INSIDE",
    "Bundle",
    "BundleError",
    "BundleManifest",
    "BundleSpec",
    "BundleStatus",
    "LinkRule",
    "build_bundle",
    "bundle_spec",
    "bundle_specs",
    "bundle_status",
    "bundles_folder",
    "installed_bundle",
    "write_lock_file",
]
