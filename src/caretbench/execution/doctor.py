"""Facts about this machine, each with the line that mends it: what ``caretbench doctor`` prints."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator

from caretbench.errors import MachineError
from caretbench.execution import bundles
from caretbench.execution.bundles.pip import find_pip, find_uv
from caretbench.execution.bundles.system import apt_line
from caretbench.execution.language_tables import toolchain_tables
from caretbench.execution.sandbox.host.overlay_causes import cause
from caretbench.execution.sandbox.levels import SETTING
from caretbench.execution.sandbox.program import Sandbox, SandboxUnavailable, display_server
from caretbench.execution.toolchains import load_runtime
from caretbench.execution.types import Frozen, Isolation
from caretbench.execution.workspaces.workspace import Workspaces
from caretbench.languages import language

FREE_DISK_GB = 5.0
"""Free space below which building all bundles may fail (they take 1.5 GB, their downloads as much)."""
OLDEST_PYTHON = (3, 11)


class Check(Frozen):
    """One fact. ``fix`` is a line to run (Debian and Ubuntu), empty where nothing is to be done."""

    name: str
    ok: bool
    detail: str
    fix: str = ""


def checks() -> list[Check]:
    """All facts, the weightiest first. Starts a few programs; changes nothing."""
    return [*_sandbox(), *_machine(), *_toolchains(), *_bundles()]


def _sandbox() -> Iterator[Check]:
    try:
        sandbox = Sandbox()
        isolation = sandbox.probe()
    except SandboxUnavailable as error:
        fix = "" if shutil.which("bwrap") else apt_line(["bubblewrap"])
        yield Check(name="sandbox", ok=False, detail=str(error), fix=fix)
        return
    yield Check(name="sandbox", ok=True, detail=_walls(isolation))
    yield _level(isolation, sandbox.fallback)
    yield _workspaces()
    yield Check(
        name="memory limit",
        ok=isolation.memory != "none",
        detail={
            "cgroup-v2": "kept by the kernel, by control group",
            "cgroup-v1": "kept by the kernel, by control group of the first version",
            "watchdog": "kept by a watchdog that reads the process tree's use, and by rlimits behind it",
            "rlimit": "kept per process only, by rlimits",
        }.get(isolation.memory, "none is in force"),
    )


def _level(isolation: Isolation, fallback: str) -> Check:
    """Whether the better walls stand, and why not."""
    if isolation.level == "namespaces":
        return Check(name="isolation level", ok=True, detail="namespaces: the stronger of the two levels")
    chosen = f"{SETTING} asks for it; the other one was not tried"
    detail = (
        f"{isolation.level}: the weaker of the two levels, no loopback and no display; {fallback or chosen}"
    )
    absent = apt_line(["bubblewrap"]) if fallback and not shutil.which("bwrap") else ""
    return Check(name="isolation level", ok=not fallback, detail=detail, fix=absent)


def _workspaces() -> Check:
    sandbox = Sandbox()
    try:
        spaces = Workspaces(sandbox)
        placed = spaces.probe()
    except (MachineError, OSError) as error:
        return Check(name="workspaces", ok=False, detail=f"no command runs in a project: {error}")
    finally:
        sandbox.close()
    detail = "projects are laid under an overlay in memory"
    if placed == "copy":
        why = cause(spaces.no_overlay, spaces.store.folder)
        detail = f"projects are copied into memory for every command, which is slower: {why}"
    return Check(name="workspaces", ok=True, detail=detail)


def _walls(isolation: Isolation) -> str:
    seccomp = "system call filter" if isolation.seccomp else "no system call filter"
    user = {
        "unprivileged": "an unprivileged user for each program",
        "unprivileged-reader": "unprivileged user who may read what is bound whatever its mode",
        "caller": "the user who starts CaretBench",
    }[isolation.user]
    return f"{isolation.backend}: {isolation.level}, network {isolation.network}, {seccomp}, {user}"


def _machine() -> Iterator[Check]:
    version = sys.version_info
    yield Check(
        name="CaretBench's Python",
        ok=version >= OLDEST_PYTHON,
        detail=f"{version.major}.{version.minor}.{version.micro}",
        fix="" if version >= OLDEST_PYTHON else apt_line(["python3"]),
    )
    yield _tool("uv", find_uv() or _pip(), "builds Python bundles, as pip does", apt_line(["python3-pip"]))
    yield _tool("npm", shutil.which("npm"), "builds JavaScript and TypeScript bundles", apt_line(["npm"]))
    yield Check(
        name="display",
        ok=display_server() is not None,
        detail=display_server() or "no Xvfb: programs that open a window are left out",
        fix="" if display_server() else apt_line(["xvfb"]),
    )
    yield _disk()


def _tool(name: str, found: str | None, purpose: str, fix: str) -> Check:
    return Check(
        name=name, ok=found is not None, detail=found or f"absent; it {purpose}", fix="" if found else fix
    )


def _pip() -> str | None:
    """Return the note for uv when pip is available, or None."""
    pip = find_pip()
    return f"absent and not needed: {pip} builds Python bundles" if pip else None


def _disk() -> Check:
    folder = bundles.bundles_folder()
    place = next(path for path in (folder, *folder.parents) if os.path.exists(path))  # noqa: PTH110 - if need be False
    fix = "export CARETBENCH_CACHE=/a/folder/with/more/room"
    if not place.is_dir():
        return Check(
            name="free disk", ok=False, detail=f"{place} is a file, no folder for the cache", fix=fix
        )
    if not os.access(place, os.W_OK | os.X_OK):
        return Check(name="free disk", ok=False, detail=f"{place} cannot be written to", fix=fix)
    free = shutil.disk_usage(place).free / 1e9
    ok = free >= FREE_DISK_GB
    return Check(name="free disk", ok=ok, detail=f"{free:.0f} GB at {place}", fix="" if ok else fix)


def _toolchains() -> Iterator[Check]:
    sandbox = Sandbox()
    for name in toolchain_tables():
        toolchain = load_runtime(name, sandbox, bundles.installed).toolchain()
        yield Check(
            name=language(name).title,
            ok=toolchain.available,
            detail=toolchain.version if toolchain.available else "no toolchain: its problems are left out",
            fix="" if toolchain.available else toolchain.remedy,
        )


def _bundles() -> Iterator[Check]:
    for row in bundles.status():
        size = f"{row.packages} packages, {row.size_bytes / 1e6:.0f} MB"
        parts = [
            row.state,
            size if row.state != "absent" else "",
            row.detail if row.state == "partly" else "",
        ]
        yield Check(
            name=f"bundle {row.name}",
            ok=row.state == "present",
            detail=", ".join(part for part in parts if part),
            fix=row.fix,
        )
