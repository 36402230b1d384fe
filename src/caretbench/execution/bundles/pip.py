"""Python bundles: wheels from a lock with hashes, unpacked; no package's code runs on the host."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from caretbench.execution.bundles.bundle_model import BundleError, BundleSpec
from caretbench.execution.bundles.bundle_store import WHEELS, python_version, sandbox_python
from caretbench.execution.bundles.ecosystem import Ecosystem, ProgressCallback, run_tool

_MIN_PYTHON = (3, 11)
_PINNED = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==(\S+)", re.MULTILINE)


def locked_packages(lock: str) -> dict[str, set[str]]:
    """Return versions by normalised name in a pip lock; a universal lock may hold several per name."""
    versions: dict[str, set[str]] = {}
    for name, version in _PINNED.findall(lock):
        versions.setdefault(normalised_name(name), set()).add(version)
    return versions


def normalised_name(requirement: str) -> str:
    """Return a requirement's name as package indexes compare it, without extras and versions."""
    name = re.split(r"[\[<>=!~; ]", requirement.strip(), maxsplit=1)[0]
    return re.sub(r"[-_.]+", "-", name).lower()


def sandbox_version() -> tuple[int, ...]:
    """Return major and minor version of the Python that programs run with; empty if it does not start."""
    return python_version(sandbox_python())


@cache
def sandbox_release() -> tuple[int, ...]:
    """Return major, minor and micro version of the Python that programs run with; empty if it does not start."""
    return python_version(sandbox_python(), 3)


def find_uv() -> str | None:
    """Return the ``uv`` on the path, else the one installed next to this interpreter, else None."""
    neighbour = Path(sys.executable).with_name("uv")
    return shutil.which("uv") or (str(neighbour) if neighbour.exists() else None)


def find_pip() -> str | None:
    """Return the pip to use without uv: this interpreter's, else the one of the sandbox's Python."""
    if importlib.util.find_spec("pip"):
        return f"pip of {sys.executable}"
    python = sandbox_python()
    return f"pip of {python}" if python_version(python) and _has_pip(python) else None


def _has_pip(python: Path) -> bool:
    return subprocess.run([python, "-m", "pip", "--version"], capture_output=True, check=False).returncode == 0


class PipEcosystem(Ecosystem):
    """Packages of the Python Package Index."""

    content_kind = "module"

    def missing(self, spec: BundleSpec) -> tuple[str, ...]:  # noqa: ARG002 - the same for every bundle
        """Return Debian packages for a missing interpreter, or for pip if there is neither uv nor pip."""
        python = sandbox_python()
        if not python_version(python):
            return ("python3", "python3-pip")
        return () if find_uv() or find_pip() else ("python3-pip",)

    def install(self, spec: BundleSpec, folder: Path, progress: ProgressCallback) -> Mapping[str, str]:
        """Unpack the locked wheels; hashes are required, source distributions refused since they run code."""
        python, lock = sandbox_python(), spec.lock_path
        if lock is None:
            raise BundleError(f"{spec.name}: needs a lock file")
        if python_version(python) < _MIN_PYTHON:
            raise BundleError(
                f"{spec.name}: its packages need Python 3.11 or later, and programs run with {python}, which is older"
            )
        _check_lock(spec, lock)
        progress(f"{spec.name}: downloading and unpacking wheels for {python}")
        common = ["--target", str(folder / WHEELS), "--require-hashes", "--no-deps", "--only-binary=:all:"]
        run_tool([*self._installer(python), *common, "-r", str(lock)], label=spec.name)
        # Its scripts name an interpreter of this machine, and no program starts them.
        shutil.rmtree(folder / WHEELS / "bin", ignore_errors=True)
        # a read-only folder takes no byte code later, and compiling at every import would cost seconds; failures are
        # ignored, since some packages ship templates that are no Python
        compile_all = [str(python), "-m", "compileall", "-q", "-j", "2", str(folder / WHEELS)]
        subprocess.run(compile_all, capture_output=True, check=False)
        return _unpacked(folder / WHEELS)

    def _installer(self, python: Path) -> list[str]:
        uv = find_uv()
        if uv:
            return [uv, "pip", "install", "--quiet", "--link-mode", "copy", "--python", str(python)]
        if importlib.util.find_spec("pip"):
            version = ".".join(map(str, python_version(python)))
            return [sys.executable, "-m", "pip", "install", "--quiet", "--python-version", version]
        return [str(python), "-m", "pip", "install", "--quiet"]

    def missing_contents(self, spec: BundleSpec, root: Path) -> list[str]:
        """Return the modules of ``verify`` that have no file in the bundle."""
        return [name for name in spec.verify if not _module_file(root / WHEELS, name)]

    def resolve_lock(self, spec: BundleSpec) -> str:
        """Resolve with uv, for every platform and Python from 3.11 on."""
        with tempfile.TemporaryDirectory() as name:
            wanted = Path(name, "requirements.in")
            wanted.write_text("".join(f"{package}\n" for package in spec.packages))
            argv = [find_uv() or "uv", "pip", "compile", "--quiet", "--universal", "--python-version", "3.11"]
            argv += ["--generate-hashes", "--no-header", "--no-annotate", str(wanted)]
            return run_tool(argv, label=spec.name)


def _check_lock(spec: BundleSpec, lock: Path) -> None:
    locked = locked_packages(lock.read_text("utf-8"))
    absent = [package for package in spec.packages if normalised_name(package) not in locked]
    if absent:
        raise BundleError(f"{lock}: does not lock {', '.join(absent)}; run: caretbench deps lock {spec.name}")


def _module_file(folder: Path, module: str) -> bool:
    path = folder.joinpath(*module.split("."))
    return path.is_dir() or path.with_suffix(".py").exists() or any(path.parent.glob(f"{path.name}.*.so"))


def _unpacked(folder: Path) -> dict[str, str]:
    versions: dict[str, str] = {}
    for info in folder.glob("*.dist-info"):
        name, _, version = info.name.removesuffix(".dist-info").rpartition("-")
        versions[normalised_name(name)] = version
    return versions
