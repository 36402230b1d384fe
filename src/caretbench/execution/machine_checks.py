"""Checks of this machine, each with a command that fixes the problem: the output of ``caretbench doctor``."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator

from caretbench.errors import MachineError
from caretbench.execution.bundles import bundle_building, bundle_store
from caretbench.execution.bundles.ecosystem import apt_line
from caretbench.execution.bundles.pip import find_pip, find_uv
from caretbench.execution.execution_types import FrozenModel, Isolation
from caretbench.execution.sandbox.host.failure_reasons import overlay_failure
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
    absent = "absent; it builds Python bundles, as pip does"
    yield _check("uv", uv is not None, uv or absent, apt_line(["python3-pip"]))
    npm = shutil.which("npm")
    absent = "absent; it builds JavaScript and TypeScript bundles"
    yield _check("npm", npm is not None, npm or absent, apt_line(["npm"]))
    server = display_server()
    absent = "no Xvfb: programs that open a window are left out"
    yield _check("display", server is not None, server or absent, apt_line(["xvfb"]))
    yield _disk()


def _disk() -> MachineCheck:
    folder = bundle_store.bundles_folder()
    # The cache may not exist yet: the nearest folder above tells of its disk.
    place = next(path for path in (folder, *folder.parents) if os.path.exists(path))  # noqa: PTH110 - if need be False
    fix = "export CARETBENCH_CACHE=/a/folder/with/more/room"
    if not place.is_dir():
        return _check("free disk", False, f"{place} is a file, no folder for the cache", fix)
    if not os.access(place, os.W_OK | os.X_OK):
        return _check("free disk", False, f"{place} cannot be written to", fix)
    free = shutil.disk_usage(place).free / 1e9
    return _check("free disk", free >= FREE_DISK_GB, f"{free:.0f} GB at {place}", fix)


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
