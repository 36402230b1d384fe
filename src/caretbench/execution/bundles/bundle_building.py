"""Building of bundles, each in a temporary folder that is renamed, so that it is complete or absent; their status."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from caretbench.execution.bundles.bundle_model import (
    Bundle,
    BundleError,
    BundleManifest,
    BundleSpec,
    EcosystemName,
    SystemPackages,
    bundle_specs,
)
from caretbench.execution.bundles.bundle_store import (
    MANIFEST,
    as_bundle,
    built_manifest,
    bundle_key,
    bundles_folder,
    debian_versions,
    platform_of,
)
from caretbench.execution.bundles.ecosystem import (
    DebianEcosystem,
    Ecosystem,
    MavenEcosystem,
    NpmEcosystem,
    ProgressCallback,
    apt_line,
    run_tool,
)
from caretbench.execution.bundles.pip import PipEcosystem
from caretbench.execution.execution_types import FrozenModel
from caretbench.file_locks import lock_file
from caretbench.files import write_atomically
from caretbench.text_tables import counted

_UNFINISHED = ".unfinished-"

ECOSYSTEMS: Mapping[EcosystemName, Ecosystem] = {
    "pip": PipEcosystem(),
    "npm": NpmEcosystem(),
    "maven": MavenEcosystem(),
    "debian": DebianEcosystem(),
}


class BundleStatus(FrozenModel):
    """Status of one bundle, a line of ``caretbench deps``."""

    name: str
    language: str
    state: Literal["present", "partly", "absent"]
    packages: int = 0
    size_bytes: int = 0
    detail: str = ""
    fix: str = ""
    """Command that completes the bundle; empty if nothing is missing."""


def build_bundle(
    spec: BundleSpec, *, system_packages: SystemPackages = "ask", progress: ProgressCallback = lambda _line: None
) -> Bundle:
    """Build a bundle unless it is already built; a build that was killed starts again.

    What was downloaded before stays in the package managers' caches. A bundle that lacks system packages, optional
    ones too, is built again when they have come.

    Args:
        spec: Specification to build.
        system_packages: Action for missing Debian packages; ``ask`` stops with the line to run.
        progress: Called with lines that describe the progress.

    Raises:
        BundleError: a tool, a package or the network is missing; the message says what to do.
    """
    ecosystem = ECOSYSTEMS[spec.ecosystem]
    missing = ecosystem.missing(spec)
    if system_packages == "install" and (missing or ecosystem.missing_optional(spec)):
        apt_install(missing, ecosystem.missing_optional(spec), progress)
        missing = ecosystem.missing(spec)
    # A bundle of nothing would hide that its packages are missing.
    none_there = len(missing) == len(spec.packages)
    if missing and (system_packages != "never" or not ecosystem.optional_system_packages or none_there):
        raise BundleError(
            f"{spec.name} needs {len(missing)} system packages; install them and run again:\n"
            f"  {apt_line(missing)}\nor let it be done: caretbench deps build {spec.name} --install-system"
        )
    if missing:
        progress(f"{spec.name}: goes without {len(missing)} system packages; to complete it: {apt_line(missing)}")
    with _building(spec) as folder:
        built = built_manifest(spec)
        there = set(spec.optional) - set(ecosystem.missing_optional(spec)) if spec.ecosystem == "debian" else set()
        if built is not None and set(built[1].missing) <= set(missing) and there <= set(built[1].packages):
            progress(f"{spec.name}: already built")
            return as_bundle(spec, *built)
        return _build(spec, ecosystem, missing, folder, progress)


def _build(
    spec: BundleSpec, ecosystem: Ecosystem, missing: tuple[str, ...], folder: Path, progress: ProgressCallback
) -> Bundle:
    progress(f"{spec.name}: building")
    versions = ecosystem.install(spec, folder, progress)
    ecosystem.verify(spec, folder)
    manifest = BundleManifest(
        name=spec.name,
        key=bundle_key(spec),
        platform=platform_of(spec),
        packages=dict(sorted(versions.items())),
        missing=missing,
        size_bytes=_make_readable(folder),
    )
    write_atomically(folder / MANIFEST, manifest.model_dump_json(indent=2))
    root = bundles_folder() / spec.name / manifest.key
    if root.exists():
        # an incomplete predecessor: aside first, since a folder cannot be renamed over one that is not empty
        root.rename(Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=root.parent)) / "old")
    folder.rename(root)
    progress(f"{spec.name}: {counted(len(versions), 'package')}, {manifest.size_bytes / 1e6:.0f} MB")
    return as_bundle(spec, root, manifest)


def write_lock_file(spec: BundleSpec) -> Path:
    """Resolve the packages again and replace the lock file next to the specification; needs network access.

    Raises:
        BundleError: the ecosystem has no locks, or they cannot be resolved.
    """
    text = ECOSYSTEMS[spec.ecosystem].resolve_lock(spec)
    if spec.lock_path is None:
        raise BundleError(f"{spec.name}: the specification names no lock file")
    write_atomically(spec.lock_path, text)
    return spec.lock_path


@contextmanager
def _building(spec: BundleSpec) -> Iterator[Path]:
    """Yield an empty folder to build in. One process builds a bundle at a time; leftovers are removed."""
    home = bundles_folder() / spec.name
    home.mkdir(parents=True, exist_ok=True)
    with (home / ".lock").open("w") as stream:
        lock_file(stream)
        for left in home.glob(f"{_UNFINISHED}*"):
            shutil.rmtree(left, ignore_errors=True)
        folder = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=home))
        try:
            yield folder
        finally:
            for left in home.glob(f"{_UNFINISHED}*"):
                shutil.rmtree(left, ignore_errors=True)


def _make_readable(folder: Path) -> int:
    """Make files readable by all users and read-only; return their total size in bytes."""
    size = 0
    folder.chmod(0o755)
    for path in folder.rglob("*"):
        if path.is_symlink():
            continue
        mode = path.stat().st_mode
        if path.is_dir():
            path.chmod(0o755)
        else:
            # Programs run as users who own nothing, and none may change what the others import.
            path.chmod(0o555 if mode & 0o100 else 0o444)
            size += path.stat().st_size
    return size


def bundle_status() -> list[BundleStatus]:
    """Return all bundles, with their state and the command that builds the missing ones."""
    return [_status(spec) for spec in bundle_specs().values()]


def _status(spec: BundleSpec) -> BundleStatus:
    line = f"caretbench deps build {spec.name}"
    missing = ECOSYSTEMS[spec.ecosystem].missing(spec) if spec.ecosystem == "debian" else ()
    if missing:
        line = f"{apt_line(missing)} && {line}"
    built = built_manifest(spec)
    if built is None:
        return BundleStatus(name=spec.name, language=spec.language, state="absent", detail="not built", fix=line)
    manifest = built[1]
    lacking = missing or manifest.missing
    return BundleStatus(
        name=spec.name,
        language=spec.language,
        state="partly" if lacking else "present",
        packages=len(manifest.packages),
        size_bytes=manifest.size_bytes,
        detail=f"without {', '.join(lacking)}" if lacking else "",
        fix=line if lacking else "",
    )


def apt_install(packages: Sequence[str], optional: Sequence[str], progress: ProgressCallback) -> None:
    """Install packages as root or through sudo, and the optional ones that the release has and that can be installed.

    Raises:
        BundleError: apt-get is not there, or cannot install one of ``packages``.
    """
    if shutil.which("apt-get") is None:
        if packages:
            raise BundleError("this machine has no apt-get; install by its own means: " + " ".join(packages))
        return
    candidates = _apt_candidates((*packages, *optional))
    # A new machine has no package lists yet.
    if not candidates >= {*packages, *optional}:
        with contextlib.suppress(BundleError):
            _apt_get("update", "-qq")
        candidates = _apt_candidates((*packages, *optional))
    for name in optional:
        if name not in candidates:
            progress(f"{name}: optional, and not in this release")
    available = [name for name in optional if name in candidates]
    if packages or available:
        progress(f"installing {len(packages) + len(available)} system packages with apt-get")
        _install(packages, available, progress)
        debian_versions.cache_clear()


def _install(packages: Sequence[str], optional: Sequence[str], progress: ProgressCallback) -> None:
    """Install packages together; where that fails, the optional ones one by one, and those that fail are named."""
    try:
        _apt_install(*packages, *optional)
    except BundleError:
        with contextlib.suppress(BundleError):  # old lists name files that the mirror no longer has
            _apt_get("update", "-qq")
        if packages:
            _apt_install(*packages)
        for name in optional:
            try:
                _apt_install(name)
            except BundleError as error:
                progress(f"{name}: optional, and cannot be installed: {str(error).splitlines()[-1].strip()}")


def _apt_install(*names: str) -> None:
    _apt_get("install", "--yes", "--no-install-recommends", "-qq", *names)


def _apt_get(*arguments: str) -> None:
    prefix = [] if os.geteuid() == 0 else ["sudo"]
    run_tool(
        [*prefix, "apt-get", *arguments], environment={"DEBIAN_FRONTEND": "noninteractive"}, label="system packages"
    )


def _apt_candidates(names: Sequence[str]) -> set[str]:
    """Return those of these packages that the configured repositories have, by the package lists here."""
    shown = run_tool(["apt-cache", "policy", *names], environment={"LC_ALL": "C"}, label="system packages")
    return set(re.findall(r"^(\S+):\n  Installed: .*\n  Candidate: (?!\(none\))", shown, re.MULTILINE))
