"""npm bundles: ``npm ci`` from a lock; install scripts do not run."""

from __future__ import annotations

import json
import platform as machine
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from caretbench.execution.bundles.bundle_model import INSIDE, Bundle, BundleError, BundleManifest, BundleSpec
from caretbench.execution.bundles.ecosystem import Ecosystem
from caretbench.execution.bundles.system_packages import ProgressCallback, run_tool

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

    def platform(self) -> str:
        """Return operating system and processor: some packages have binaries for each."""
        return f"{sys.platform}-{machine.machine()}"

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

    def as_bundle(self, spec: BundleSpec, manifest: BundleManifest, root: Path) -> Bundle:
        """Return the bundle bound at ``/bundle`` (NODE_PATH) and, for ES modules, at ``/node_modules``."""
        binds = {INSIDE: str(root), "/node_modules": str(root / "node_modules")}
        paths = {"NODE_PATH": f"{INSIDE}/node_modules"}
        bundle = super().as_bundle(spec, manifest, root)
        return bundle.model_copy(update={"read_only": binds, "environment": paths})

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
        place.removeprefix("node_modules/"): str(entry["version"])
        for place, entry in packages.items()
        if place and "version" in entry and (folder / place).exists()
    }
