"""Store of bundles: the package managers, keys, and what is built."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from caretbench.execution.bundles.bundle_model import Bundle, BundleManifest, BundleSpec, EcosystemName, bundle_spec
from caretbench.execution.bundles.ecosystem import DebianEcosystem, Ecosystem, MavenEcosystem, NpmEcosystem
from caretbench.execution.bundles.pip import PipEcosystem
from caretbench.execution.cache.cache_folders import BUNDLES
from caretbench.files import cache_folder, sha256_json

MANIFEST = "bundle.json"

ECOSYSTEMS: Mapping[EcosystemName, Ecosystem] = {
    "pip": PipEcosystem(),
    "npm": NpmEcosystem(),
    "maven": MavenEcosystem(),
    "debian": DebianEcosystem(),
}


def bundles_folder() -> Path:
    """Return the cache folder that contains the bundles."""
    return cache_folder() / BUNDLES


def bundle_key(spec: BundleSpec) -> str:
    """Return 16 hexadecimal digits of a hash over a bundle's packages, lock and platform."""
    lock = spec.lock_path.read_text("utf-8") if spec.lock_path else ""
    decides = spec.model_dump(include={"name", "ecosystem", "packages", "optional", "offline_repository"})
    # Where packages stay in the system, an optional one changes no file of the bundle.
    if not ECOSYSTEMS[spec.ecosystem].holds_system_packages:
        decides["optional"] = ()
    # Only where it is set, so that the other bundles keep their keys.
    if spec.exclude_jars:
        decides["exclude_jars"] = spec.exclude_jars
    return sha256_json([decides, lock, ECOSYSTEMS[spec.ecosystem].platform()])[:16]


def built_manifest(spec: BundleSpec) -> tuple[Path, BundleManifest] | None:
    """Return folder and manifest of a bundle, or None where it is not built."""
    root = bundles_folder() / spec.name / bundle_key(spec)
    try:
        return root, BundleManifest.model_validate_json((root / MANIFEST).read_text("utf-8"))
    except (OSError, ValidationError):
        return None


def installed_bundle(name: str) -> Bundle | None:
    """Return the built bundle with this name, or None where it is not built for this specification and platform.

    Raises:
        BundleError: no specification has this name.
    """
    spec = bundle_spec(name)
    built = built_manifest(spec)
    if built is None:
        return None
    root, manifest = built
    return ECOSYSTEMS[spec.ecosystem].as_bundle(spec, manifest, root)
