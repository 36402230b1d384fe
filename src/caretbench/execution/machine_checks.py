"""Checks of this machine, each with a command that fixes the problem: the output of ``caretbench doctor``."""

from __future__ import annotations

import errno
import gzip
import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from caretbench.errors import MachineError
from caretbench.execution.bundles import bundle_building, bundle_store
from caretbench.execution.bundles.ecosystem import apt_line, as_root
from caretbench.execution.bundles.pip import find_pip, find_uv
from caretbench.execution.execution_types import FrozenModel, Isolation
from caretbench.execution.sandbox.invocation import NO_OVERLAY
from caretbench.execution.sandbox.isolation_levels import SETTING
from caretbench.execution.sandbox.program_sandbox import Sandbox, SandboxUnavailable, display_server
from caretbench.execution.toolchain_tables import toolchain_tables
from caretbench.execution.toolchains import load_runtime
from caretbench.execution.workspaces.workspace_runner import WorkspaceRunner
from caretbench.languages import get_language

FREE_DISK_GB = 5.0
"""Free space below which building all bundles may fail (they take 1.5 GB, their downloads as much)."""
MIN_PYTHON = (3, 11)


class MachineCheck(FrozenModel):
    """One check. ``fix`` is a command line (Debian and Ubuntu), empty if nothing is to be done."""

    name: str
    ok: bool
    detail: str
    fix: str = ""


def machine_checks() -> list[MachineCheck]:
    """Return all checks, the most important first. Starts a few programs; changes nothing."""
    return [*_sandbox(), *_machine(), *_toolchains(), *_bundles()]


def _check(name: str, ok: bool, detail: str, fix: str = "") -> MachineCheck:
    """Return a check, with its remedy if it fails."""
    return MachineCheck(name=name, ok=ok, detail=detail, fix="" if ok else fix)


def _sandbox() -> Iterator[MachineCheck]:
    # Where bubblewrap is installed and fails, its error names the remedy: installing it would not help.
    without = "" if shutil.which("bwrap") else apt_line(["bubblewrap"])
    try:
        sandbox = Sandbox()
        isolation = sandbox.probe()
    except SandboxUnavailable as error:
        yield _check("sandbox", False, str(error), without)
        return
    yield _check("sandbox", True, _isolation_text(isolation))
    yield _level(isolation, sandbox.fallback_reason, without)
    yield _workspaces()
    kept = {
        "cgroup-v2": "kept by the kernel, by control group",
        "cgroup-v1": "kept by the kernel, by control group of the first version",
        "watchdog": "kept by a watchdog that reads the process tree's use, and by rlimits behind it",
        "rlimit": "kept per process only, by rlimits",
    }
    yield _check("memory limit", isolation.memory != "none", kept.get(isolation.memory, "none is in force"))


def _level(isolation: Isolation, fallback: str, without: str) -> MachineCheck:
    """Return the check of the isolation level; ``without``: the remedy if there is no bubblewrap."""
    if isolation.level == "namespaces":
        return _check("isolation level", True, "namespaces: the stronger of the two levels")
    why = fallback or f"{SETTING} asks for it; the other one was not tried"
    detail = f"{isolation.level}: the weaker of the two levels, no loopback and no display; {why}"
    return _check("isolation level", not fallback, detail, without)


def _workspaces() -> MachineCheck:
    sandbox = Sandbox()
    try:
        workspace_runner = WorkspaceRunner(sandbox)
        placed = workspace_runner.probe()
    except (MachineError, OSError) as error:
        return _check("workspaces", False, f"no command runs in a project: {error}")
    finally:
        sandbox.close()
    detail = "projects are laid under an overlay in memory"
    if placed == "copy":
        why = overlay_failure(workspace_runner.overlay_failure, workspace_runner.store.folder)
        detail = f"projects are copied into memory for every command, which is slower: {why}"
    return _check("workspaces", True, detail)


def _isolation_text(isolation: Isolation) -> str:
    seccomp = "system call filter" if isolation.seccomp else "no system call filter"
    user = {
        "unprivileged": "an unprivileged user for each program",
        "unprivileged-reader": "unprivileged user who may read what is bound whatever its mode",
        "caller": "the user who starts CaretBench",
    }[isolation.user]
    return f"{isolation.backend}: {isolation.level}, network {isolation.network}, {seccomp}, {user}"


def _machine() -> Iterator[MachineCheck]:
    major, minor, micro, *_ = sys.version_info
    python = sys.version_info >= MIN_PYTHON
    yield _check("CaretBench's Python", python, f"{major}.{minor}.{micro}", apt_line(["python3"]))
    uv = find_uv()
    # Either of both builds Python bundles.
    if uv is None and (pip := find_pip()):
        uv = f"absent and not needed: {pip} builds Python bundles"
    yield _program("uv", uv, "absent; it builds Python bundles, as pip does", "python3-pip")
    yield _program("npm", shutil.which("npm"), "absent; it builds JavaScript and TypeScript bundles", "npm")
    yield _program("display", display_server(), "no Xvfb: programs that open a window are left out", "xvfb")
    yield _disk()


def _program(name: str, path: str | None, absent: str, package: str) -> MachineCheck:
    return _check(name, path is not None, path or absent, apt_line([package]))


def _disk() -> MachineCheck:
    folder = bundle_store.bundles_folder()
    # The cache may not exist yet: the nearest folder above tells of its disk.
    nearest = next(path for path in (folder, *folder.parents) if os.path.exists(path))  # noqa: PTH110  a Path may raise
    fix = "export CARETBENCH_CACHE=/a/folder/with/more/room"
    if not nearest.is_dir():
        return _check("free disk", False, f"{nearest} is a file, no folder for the cache", fix)
    if not os.access(nearest, os.W_OK | os.X_OK):
        return _check("free disk", False, f"{nearest} cannot be written to", fix)
    free = shutil.disk_usage(nearest).free / 1e9
    return _check("free disk", free >= FREE_DISK_GB, f"{free:.0f} GB at {nearest}", fix)


def _toolchains() -> Iterator[MachineCheck]:
    sandbox = Sandbox()
    for name in toolchain_tables():
        toolchain = load_runtime(name, sandbox, bundle_store.installed_bundle).toolchain()
        detail = toolchain.version if toolchain.available else "no toolchain: its problems are left out"
        yield _check(get_language(name).title, toolchain.available, detail, toolchain.remedy)


def _bundles() -> Iterator[MachineCheck]:
    for row in bundle_building.bundle_status():
        size = f"{row.packages} packages, {row.size_bytes / 1e6:.0f} MB"
        parts = (row.state, size if row.state != "absent" else "", row.detail if row.state == "partly" else "")
        yield _check(f"bundle {row.name}", row.state == "present", ", ".join(filter(None, parts)), row.fix)


# --- overlays ---------------------------------------------------------------------------------------------------
# The attempt reports the failed step and the kernel's error, which the kernel's release, configuration and file systems
# and the modes of the folders explain.

ATTRIBUTES_SINCE = (6, 6)
"""First Linux version whose memory file system supports user attributes."""
OVERLAY_SINCE = (5, 11)
"""First Linux version that mounts overlays in user namespaces."""
_ATTRIBUTES = "CONFIG_TMPFS_XATTR"
_ATTEMPT = re.compile(r"(?P<step>memory|attributes|layers): (?:\[Errno (?P<number>\d+)\] )?(?P<said>.*)", re.DOTALL)


class KernelFacts(NamedTuple):
    """Facts of a kernel; ``config_options`` are the options it was built with, None if they cannot be read."""

    release: str
    filesystems: frozenset[str]
    config_options: frozenset[str] | None

    @property
    def version(self) -> tuple[int, int]:
        """First two numbers of the release."""
        numbers = re.match(r"(\d+)\.(\d+)", self.release)
        return (int(numbers[1]), int(numbers[2])) if numbers else (0, 0)


def read_kernel_facts() -> KernelFacts:
    """Return the facts of this machine's kernel."""
    release = os.uname().release
    filesystems = Path("/proc/filesystems").read_text().split()
    configured = None
    # A kernel shows its options in one of these places, in a container often in none.
    for path in (Path("/proc/config.gz"), Path(f"/boot/config-{release}")):
        try:
            data = path.read_bytes()
        except OSError:
            continue
        text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
        configured = frozenset(re.findall(r"^(CONFIG_\w+)=[ym]$", text, re.MULTILINE))
        break
    return KernelFacts(release, frozenset(filesystems), configured)


def overlay_failure(error: str, folder: Path, kernel: KernelFacts | None = None) -> str:
    """Return the reason why no overlay was mounted over ``folder``, from the error, with a remedy if there is one."""
    message = error.rpartition(f"{NO_OVERLAY}: ")[2].strip() or "no reason was given"
    if "another user" in message:
        return _of_owner(folder)
    if "it needs namespaces" in message:
        return "the isolation level in force has no mounts; an overlay needs the level `namespaces`"
    attempt = _ATTEMPT.match(message)
    if attempt is None:
        return message
    number, said = int(attempt["number"] or 0), attempt["said"].strip()
    if attempt["step"] == "memory":
        return f"no memory file system can be mounted in the sandbox ({_name(number, said)})"
    of_step = _of_attributes if attempt["step"] == "attributes" else _of_layers
    return of_step(number, said, kernel or read_kernel_facts())


def _of_owner(folder: Path) -> str:
    here = folder.resolve()
    paths = (path for path in (*reversed(here.parents), here) if path.exists())
    closed = next((path for path in paths if not path.stat().st_mode & 0o001), None)
    owner = "an overlay can only change what belongs to the sandbox's user, and snapshots belong to "
    if closed is None:
        uid = folder.stat().st_uid if folder.exists() else os.geteuid()
        return f"{owner}user {uid}; remove {folder}: projects are set up again then"
    return (
        f"{owner}user {os.geteuid()}, since others may not enter {closed}; "
        f"chmod o+x {closed}, or choose another folder with CARETBENCH_CACHE"
    )


def _of_attributes(number: int, message: str, kernel: KernelFacts) -> str:
    if number == errno.EOPNOTSUPP:
        lacking = "its memory file system keeps no user attributes"
        if kernel.version < ATTRIBUTES_SINCE:
            return f"Linux {kernel.release} is too old: {lacking}; it needs Linux {_since(ATTRIBUTES_SINCE)} or later"
        if kernel.config_options is not None and _ATTRIBUTES not in kernel.config_options:
            return f"Linux {kernel.release} was built without {_ATTRIBUTES}: {lacking}"
        return f"Linux {kernel.release}: {lacking}; {_ATTRIBUTES} gives it them"
    return f"an attribute that overlays need was refused ({_name(number, message)})"


def _of_layers(number: int, message: str, kernel: KernelFacts) -> str:
    # A module is loaded at its first use by root, which never comes inside a user namespace.
    if number == errno.ENODEV or "overlay" not in kernel.filesystems:
        return f"Linux {kernel.release} has no overlay file system loaded; {as_root('modprobe overlay')}"
    if number == errno.EPERM and kernel.version < OVERLAY_SINCE:
        return (
            f"Linux {kernel.release} is too old: it mounts no overlay in user namespaces; "
            f"it needs Linux {_since(OVERLAY_SINCE)} or later"
        )
    if number in (errno.EPERM, errno.EACCES):
        return f"the machine's security rules refuse an overlay in a user namespace ({_name(number, message)})"
    return f"the kernel lays no overlay over the cache's file system ({_name(number, message)})"


def _since(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"


def _name(number: int, message: str) -> str:
    return f"{errno.errorcode[number]}: {message}" if number in errno.errorcode else message
