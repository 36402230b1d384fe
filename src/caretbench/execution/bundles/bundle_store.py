"""Store of built bundles: their keys, and their views for runtimes by package manager."""

from __future__ import annotations

import platform as machine
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from caretbench.execution.bundles.bundle_model import (
    INSIDE,
    Bundle,
    BundleManifest,
    BundleSpec,
    EcosystemName,
    LinkRule,
    bundle_spec,
)
from caretbench.execution.cache.cache_folders import BUNDLES
from caretbench.execution.sandbox.bubblewrap import launcher_interpreter
from caretbench.files import cache_folder, sha256_json

MANIFEST = "bundle.json"

JARS: Final = "jars"
"""Folder of a bundle that holds its jars."""
WHEELS: Final = "site-packages"
"""Folder of a bundle that holds its unpacked wheels."""


def bundles_folder() -> Path:
    """Return the cache folder that contains the bundles."""
    return cache_folder() / BUNDLES


def bundle_key(spec: BundleSpec) -> str:
    """Return 16 hexadecimal digits of a hash over a bundle's packages, lock and platform."""
    lock = spec.lock_path.read_text("utf-8") if spec.lock_path else ""
    decides = spec.model_dump(include={"name", "ecosystem", "packages", "optional", "offline_repository"})
    # Where packages stay in the system, an optional one changes no file of the bundle.
    if spec.ecosystem != "debian":
        decides["optional"] = ()
    # Only where it is set, so that the other bundles keep their keys.
    if spec.exclude_jars:
        decides["exclude_jars"] = spec.exclude_jars
    return sha256_json([decides, lock, platform_of(spec)])[:16]


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
    return as_bundle(spec, *built) if built is not None else None


def platform_of(spec: BundleSpec) -> str:
    """Return interpreter version and processor, as far as a bundle's content depends on them. Called often."""
    return _PLATFORMS[spec.ecosystem]()


def _pip_platform() -> str:
    version = ".".join(map(str, python_version(sandbox_python())))
    return f"python{version}-{sys.platform}-{machine.machine()}"


# A binary wheel fits one interpreter and one processor, and some npm packages have binaries for each system; jars are
# the same everywhere. Versions of Debian packages are in the manifest, or read from the system.
_PLATFORMS: Final[Mapping[EcosystemName, Callable[[], str]]] = {
    "pip": _pip_platform,
    "npm": lambda: f"{sys.platform}-{machine.machine()}",
    "maven": lambda: "jvm",
    "debian": lambda: f"debian-{machine.machine()}",
}


def as_bundle(spec: BundleSpec, root: Path, manifest: BundleManifest) -> Bundle:
    """Return the built bundle with its binds and paths inside the sandbox, at ``/bundle``.

    Modules of npm are also at ``/node_modules``, where ES modules are looked up. Debian packages are a class path of
    jars, or flags for the system's headers and libraries.
    """
    bundle = Bundle(
        name=spec.name,
        language=spec.language,
        lock_hash=sha256_json([manifest.key, dict(manifest.packages)]),
        root=root,
        read_only={INSIDE: str(root)},
    )
    if spec.ecosystem == "debian" and spec.language != "java":
        return _system_bundle(spec, manifest, bundle)
    if spec.ecosystem == "pip":
        return bundle.model_copy(update={"environment": {"PYTHONPATH": f"{INSIDE}/{WHEELS}"}})
    if spec.ecosystem == "npm":
        binds = {INSIDE: str(root), "/node_modules": str(root / "node_modules")}
        return bundle.model_copy(update={"read_only": binds, "environment": {"NODE_PATH": f"{INSIDE}/node_modules"}})
    jars = tuple(f"{INSIDE}/{JARS}/{jar.name}" for jar in sorted((root / JARS).glob("*.jar")))
    return bundle.model_copy(update={"class_path": jars, "missing": manifest.missing})


def _system_bundle(spec: BundleSpec, manifest: BundleManifest, bundle: Bundle) -> Bundle:
    """Return the view of packages that stay in the system."""
    folders = (folder for pattern in spec.include_folders for folder in sorted(Path("/").glob(pattern.lstrip("/"))))
    update = {
        "lock_hash": sha256_json([manifest.key, system_packages(spec)]),
        "read_only": {},
        "compile_flags": tuple(f"-I{folder}" for folder in folders),
        "link_rules": tuple(rule for rule in map(_found_libraries, spec.link_rules) if rule.libraries),
        "missing": absent_packages(spec.packages),
    }
    return bundle.model_copy(update=update)


def _found_libraries(rule: LinkRule) -> LinkRule:
    """Return the rule with those of its libraries that are installed, patterns resolved."""
    folders = [*sorted(Path("/usr/lib").glob(f"{machine.machine()}-*")), Path("/usr/lib")]
    installed = (
        path.name.removeprefix("lib").removesuffix(".so")
        for library in rule.libraries
        for folder in folders
        for path in sorted(folder.glob(f"lib{library}.so"))
    )
    return rule.model_copy(update={"libraries": tuple(dict.fromkeys(installed))})


def system_packages(spec: BundleSpec) -> dict[str, str]:
    """Return the versions of the installed Debian packages of a bundle, by name."""
    return dict(debian_versions((*spec.packages, *spec.optional)))


@cache
def debian_versions(names: tuple[str, ...]) -> Mapping[str, str]:
    """Return the versions of the installed ones of these Debian packages, by name; cached per process."""
    if shutil.which("dpkg-query") is None:
        return {}
    done = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Package}\t${Version}\t${db:Status-Status}\n", *names],  # noqa: S607
        capture_output=True,
        text=True,
        check=False,
    )
    rows = (line.split("\t") for line in done.stdout.splitlines())
    # A removed package whose configuration files are kept has a version, too.
    return {row[0]: row[1] for row in rows if len(row) == 3 and row[2] == "installed"}


def absent_packages(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return those of these Debian packages that are not installed."""
    present = debian_versions(names) if names else {}
    return tuple(name for name in names if name not in present)


def sandbox_python() -> Path:
    """Return the Python that programs run with inside the sandbox; binary wheels must fit it."""
    return Path(launcher_interpreter()[0])


@cache
def python_version(python: Path, parts: int = 2) -> tuple[int, ...]:
    """Return the first numbers of an interpreter's version; empty if it does not start."""
    try:
        done = subprocess.run(
            [python, "-I", "-c", f"import sys; print(*sys.version_info[:{parts}])"],
            capture_output=True, text=True, timeout=30, check=False,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return ()
    return tuple(map(int, done.stdout.split()))
