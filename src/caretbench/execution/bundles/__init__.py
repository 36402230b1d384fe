"""Dependency bundles: content-addressed, read-only folders of packages, built beforehand, not while testing.

Specifications are data (``*.toml`` with a lock file next to it). ``build`` makes a bundle, ``installed`` finds
one, ``status`` says which are there and how to get the others.
"""

from caretbench.execution.bundles.bundle_model import (
    INSIDE,
    Bundle,
    BundleError,
    BundleManifest,
    LinkRule,
    Spec,
    bundle_spec,
    bundle_specs,
)
from caretbench.execution.bundles.bundle_store import (
    BundleStatus,
    build,
    bundles_folder,
    installed,
    status,
    write_lock,
)

__all__ = [
    "INSIDE", "Bundle", "BundleError", "BundleManifest", "BundleStatus", "LinkRule", "Spec", "build", "bundle_spec",
    "bundle_specs", "bundles_folder", "installed", "status", "write_lock",
]  # fmt: skip
