"""Queries of installed Debian and Ubuntu packages, and the command line that installs missing ones."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

from caretbench.execution.bundles.bundle_model import BundleError

ProgressCallback = Callable[[str], None]
"""Function that receives one progress line."""


def run_tool(
    argv: Sequence[str], *, folder: Path | None = None, environment: Mapping[str, str] | None = None, label: str
) -> str:
    """Run a tool and return its standard output.

    Raises:
        BundleError: the tool is not installed or fails; the message ends with its last lines of output.
    """
    try:
        done = subprocess.run(
            argv, cwd=folder, env={**os.environ, **(environment or {})}, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, errors="replace", check=False,
        )  # fmt: skip
    except OSError as error:
        raise BundleError(f"{label}: {argv[0]} does not start ({error.strerror})") from None
    if done.returncode:
        output = (done.stderr.strip() or done.stdout.strip()).splitlines()
        tail = "\n".join(f"  {line}" for line in output[-12:])
        hint = _network_hint(done.stderr + done.stdout)
        raise BundleError(f"{label}: {argv[0]} failed with exit status {done.returncode}{hint}\n{tail}")
    return done.stdout


def _network_hint(output: str) -> str:
    signs = (
        "EAI_AGAIN", "ENOTFOUND", "ECONNREFUSED", "ETIMEDOUT", "ENETUNREACH", "dns error",
        "client error (Connect)",
        "Name or service not known", "Temporary failure in name resolution", "NewConnectionError",
    )  # fmt: skip
    if any(sign in output for sign in signs):
        return " (no network? what was downloaded is kept: run the same command again)"
    return ""


@cache
def debian_versions(names: tuple[str, ...]) -> Mapping[str, str]:
    """Return the versions of the installed ones of these Debian packages, by name; cached per process."""
    if shutil.which("dpkg-query") is None:
        return {}
    done = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Package}\t${Version}\t${db:Status-Status}\n", *names],  # noqa: S607
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    rows = (line.split("\t") for line in done.stdout.splitlines())
    # A removed package whose configuration files are kept has a version, too.
    return {row[0]: row[1] for row in rows if len(row) == 3 and row[2] == "installed"}


def absent_packages(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return those of these Debian packages that are not installed."""
    present = debian_versions(names) if names else {}
    return tuple(name for name in names if name not in present)


def debian_files(name: str) -> list[Path]:
    """Return the paths a Debian package put on this machine."""
    return [Path(line) for line in run_tool(["dpkg", "-L", name], label=name).splitlines()]


def apt_line(packages: Iterable[str]) -> str:
    """Return the line a person runs to install packages (Debian and Ubuntu)."""
    return f"sudo apt-get install --yes --no-install-recommends {' '.join(packages)}"


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
