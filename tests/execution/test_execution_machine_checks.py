"""The doctor's facts: every fault has its line, and nothing is claimed that was not tried."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from caretbench.execution import machine_checks
from caretbench.execution.bundles.bundle_building import BundleStatus
from caretbench.execution.execution_types import Isolation, Toolchain
from caretbench.execution.sandbox.program_sandbox import Sandbox, SandboxUnavailable
from caretbench.execution.workspaces.workspace_runner import WorkspaceRunner
from caretbench.languages import languages

WALLS = Isolation(
    backend="bubblewrap", level="namespaces", memory="watchdog", network="none", seccomp=True, user="unprivileged"
)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """A machine that has everything."""
    monkeypatch.setenv("CARETBENCH_CACHE", str(tmp_path))
    monkeypatch.setattr(Sandbox, "probe", lambda _self: WALLS)
    monkeypatch.setattr(WorkspaceRunner, "probe", lambda _self: "overlay")
    monkeypatch.setattr(shutil, "which", lambda name, **_: f"/usr/bin/{name}")
    monkeypatch.setattr(shutil, "disk_usage", lambda _place: SimpleNamespace(free=50e9))
    monkeypatch.setattr(
        machine_checks,
        "load_runtime",
        lambda name, *_: SimpleNamespace(toolchain=lambda: Toolchain(language=name, available=True, version="1.0")),
    )
    ready = [BundleStatus(name="devbench/python", language="python", state="present", packages=2)]
    monkeypatch.setattr(machine_checks.bundle_building, "bundle_status", lambda: ready)
    return monkeypatch


def row(name: str) -> machine_checks.MachineCheck:
    return next(check for check in machine_checks.machine_checks() if check.name == name)


def test_nothing_is_to_be_done_on_a_machine_that_has_everything(machine: pytest.MonkeyPatch) -> None:
    rows = machine_checks.machine_checks()
    assert all(check.ok for check in rows)
    assert not any(check.fix for check in rows)
    assert rows[0].name == "sandbox"
    assert "network none" in rows[0].detail
    assert {language.title for language in languages().values()} <= {check.name for check in rows}


def test_without_a_sandbox_the_first_fact_says_so_and_how_to_get_it(machine: pytest.MonkeyPatch) -> None:
    def unavailable(_self: Sandbox) -> Isolation:
        raise SandboxUnavailable("bubblewrap is not here")

    machine.setattr(Sandbox, "probe", unavailable)
    machine.setattr(shutil, "which", lambda _name, **_: None)
    first = machine_checks.machine_checks()[0]
    assert not first.ok
    assert "bubblewrap" in first.detail
    install = "apt-get install --yes --no-install-recommends bubblewrap"
    # A container's root has no sudo, and needs none.
    for user, fix in ((0, install), (1000, f"su -c '{install}'")):
        machine.setattr(os, "geteuid", lambda user=user: user)
        assert machine_checks.machine_checks()[0].fix == fix
    machine.setattr(shutil, "which", lambda name, **_: "/usr/bin/sudo" if name == "sudo" else None)
    assert machine_checks.machine_checks()[0].fix == f"sudo {install}"


def test_projects_that_are_copied_are_no_fault_and_those_that_do_not_run_are(machine: pytest.MonkeyPatch) -> None:
    def unavailable(_self: WorkspaceRunner) -> str:
        raise SandboxUnavailable("the disk is full")

    def copying(self: WorkspaceRunner) -> str:
        self.overlay_failure = "no overlay: layers: [Errno 19] mount /tmp/work: No such device"
        return "copy"

    machine.setattr(WorkspaceRunner, "probe", copying)
    assert row("workspaces").ok
    assert "copied" in row("workspaces").detail
    assert row("workspaces").detail.endswith("modprobe overlay")
    machine.setattr(WorkspaceRunner, "probe", unavailable)
    assert not row("workspaces").ok
    assert row("workspaces").detail.endswith("the disk is full")


def test_memory_limit_that_is_not_in_force_is_a_fault(machine: pytest.MonkeyPatch) -> None:
    machine.setattr(Sandbox, "probe", lambda _self: WALLS.model_copy(update={"memory": "none"}))
    assert not row("memory limit").ok


@pytest.mark.parametrize(("name", "package"), [("npm", "npm"), ("display", "xvfb"), ("uv", "python3-pip")])
def test_tool_that_is_missing_has_its_line(machine: pytest.MonkeyPatch, name: str, package: str) -> None:
    machine.setattr(shutil, "which", lambda _name, **_: None)
    machine.setattr(machine_checks, "find_uv", lambda: None)
    machine.setattr(machine_checks, "find_pip", lambda: None)
    check = row(name)
    assert not check.ok
    assert check.fix.endswith(f" {package}")


def test_uv_is_not_missing_where_pip_builds_the_bundles(machine: pytest.MonkeyPatch) -> None:
    machine.setattr(machine_checks, "find_uv", lambda: None)
    machine.setattr(machine_checks, "find_pip", lambda: "pip of /usr/bin/python3")
    check = row("uv")
    assert (check.ok, check.fix) == (True, "")
    assert check.detail == "absent and not needed: pip of /usr/bin/python3 builds Python bundles"


def test_toolchain_that_is_missing_brings_its_remedy(machine: pytest.MonkeyPatch) -> None:
    remedy = "sudo apt-get install default-jdk-headless"
    missing = Toolchain(language="java", available=False, remedy=remedy)
    machine.setattr(machine_checks, "load_runtime", lambda *_: SimpleNamespace(toolchain=lambda: missing))
    check = row("Java")
    assert (check.ok, check.fix) == (False, remedy)


def test_full_disk_is_a_fault(machine: pytest.MonkeyPatch) -> None:
    machine.setattr(shutil, "disk_usage", lambda _place: SimpleNamespace(free=1e9))
    check = row("free disk")
    assert not check.ok
    assert "CARETBENCH_CACHE" in check.fix


def test_cache_that_is_a_file_or_cannot_be_made_is_a_fault_with_its_remedy(
    machine: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    for cache in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/absent")):
        machine.setenv("CARETBENCH_CACHE", str(cache))
        check = row("workspaces")
        assert not check.ok
        assert str(cache) in check.detail
        assert "cache (CARETBENCH_CACHE" in check.detail
        assert "[Errno" not in check.detail
        if cache.is_relative_to(tmp_path):
            disk = row("free disk")
            assert (disk.ok, disk.detail) == (False, f"{tmp_path / 'file'} is a file, no folder for the cache")
            assert "CARETBENCH_CACHE" in disk.fix


def test_cache_that_this_user_may_not_enter_is_a_fault(tmp_path: Path) -> None:
    setpriv = shutil.which("setpriv")
    if os.geteuid() != 0 or setpriv is None:
        pytest.skip("needs root, to become somebody else")
    command = [setpriv, "--reuid", "12345", "--regid", "12345", "--clear-groups", sys.executable, "-c"]
    if subprocess.run([*command, "import caretbench.execution.machine_checks"], capture_output=True).returncode:
        pytest.skip("this interpreter cannot be reached by others")
    (tmp_path / "closed").mkdir(mode=0o700)
    environment = {**os.environ, "CARETBENCH_CACHE": str(tmp_path / "closed" / "cache")}
    program = (
        "from caretbench.execution import machine_checks\n"
        "print({check.name: check.ok for check in [*machine_checks._machine(), *machine_checks._toolchains(), "
        "*machine_checks._bundles()]})"
    )
    ran = subprocess.run([*command, program], env=environment, capture_output=True, text=True, check=False)
    assert "'free disk': False" in ran.stdout, ran.stderr


def test_bundle_that_is_absent_or_partial_has_its_line(machine: pytest.MonkeyPatch) -> None:
    absent = BundleStatus(name="a/java", language="java", state="absent", fix="caretbench deps build a/java")
    partly = BundleStatus(
        name="b/cpp", language="cpp", state="partly", packages=9, detail="without libssl-dev", fix="sudo apt-get …"
    )
    machine.setattr(machine_checks.bundle_building, "bundle_status", lambda: [absent, partly])
    assert (row("bundle a/java").ok, row("bundle a/java").fix) == (False, absent.fix)
    assert row("bundle b/cpp").detail == "partly, 9 packages, 0 MB, without libssl-dev"


def test_weaker_walls_are_a_fault_with_its_reason_and_chosen_ones_are_not(machine: pytest.MonkeyPatch) -> None:
    assert row("isolation level").ok
    weaker = WALLS.model_copy(
        update={"backend": "landlock", "level": "landlock", "network": "none, no loopback", "user": "caller"}
    )
    machine.setattr(Sandbox, "probe", lambda _self: weaker)
    chosen = row("isolation level")
    assert chosen.ok
    assert "CARETBENCH_SANDBOX" in chosen.detail

    def fall_back(self: Sandbox) -> Isolation:
        self.fallback_reason = "user namespaces are forbidden: sysctl"
        return weaker

    machine.setattr(Sandbox, "probe", fall_back)
    check = row("isolation level")
    assert not check.ok
    assert check.detail.startswith("landlock: the weaker")
    assert check.detail.endswith("user namespaces are forbidden: sysctl")
    assert "no loopback" in row("sandbox").detail
