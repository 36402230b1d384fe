"""Causes why a project is copied: the real ones, from what failed and what the kernel says about itself."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from caretbench.execution.machine_checks import ATTRIBUTES_SINCE, KernelFacts, overlay_failure, read_kernel_facts
from caretbench.execution.sandbox.program_sandbox import NO_OVERLAY, Sandbox, SandboxUnavailable
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.execution.workspaces.workspace_runner import WorkspaceRunner

NEW = KernelFacts("6.18.4", frozenset({"overlay", "tmpfs"}), frozenset({"CONFIG_TMPFS_XATTR"}))
UNSUPPORTED = "attributes: [Errno 95] Operation not supported: b'/tmp/work/work'"


@pytest.mark.parametrize(
    ("said", "kernel", "expected"),
    [
        (UNSUPPORTED, NEW._replace(release="6.1.0-28-amd64"), "Linux 6.1.0-28-amd64 is too old"),
        (UNSUPPORTED, NEW._replace(config_options=frozenset()), "Linux 6.18.4 was built without CONFIG_TMPFS_XATTR"),
        (UNSUPPORTED, NEW._replace(config_options=None), "Linux 6.18.4: its memory file system keeps no"),
        ("layers: [Errno 19] mount /tmp/work: No such device", NEW, "modprobe overlay"),
        ("layers: [Errno 1] mount: refused", NEW._replace(release="5.4.0"), "Linux 5.4.0 is too old"),
        ("layers: [Errno 1] mount: refused", NEW, "security rules refuse an overlay in a user namespace (EPERM"),
        ("layers: [Errno 22] mount: Invalid argument", NEW, "over the cache's file system (EINVAL"),
        ("memory: [Errno 12] mount: no", NEW, "no memory file system can be mounted in the sandbox (ENOMEM"),
        ("it needs namespaces", NEW, "needs the level `namespaces`"),
        ("no namespaces can be made inside a sandbox", NEW, "no namespaces can be made inside a sandbox"),
    ],
)
def test_the_cause_is_that_of_the_step_that_failed(
    said: str, kernel: KernelFacts, expected: str, tmp_path: Path
) -> None:
    found = overlay_failure(f"the program was not started: {NO_OVERLAY}: {said}", tmp_path, kernel)
    assert expected in found
    assert "6.6" not in found or kernel.version < (6, 6)


def test_a_closed_folder_is_named(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    (closed / "snapshots").mkdir(parents=True)
    tmp_path.chmod(0o755)
    closed.chmod(0o700)
    said = overlay_failure(f"{NO_OVERLAY}: the snapshot belongs to another user", closed / "snapshots", NEW)
    assert "not enter" in said
    assert "chmod o+x" in said


def test_this_kernel_says_what_it_is() -> None:
    kernel = read_kernel_facts()
    assert kernel.release == os.uname().release
    assert kernel.version > (4, 0)
    assert "tmpfs" in kernel.filesystems


def test_the_cause_comes_from_really_placing_a_project(tmp_path: Path) -> None:
    """As root, an overlay is laid over a closed cache too: its mount belongs to the program's user."""
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    spaces = WorkspaceRunner(Sandbox(), SnapshotStore(closed / "snapshots"))
    try:
        placed = spaces.probe()
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    finally:
        spaces.sandbox.close()
    kernel = read_kernel_facts()
    if os.geteuid() == 0 and kernel.version >= ATTRIBUTES_SINCE and "overlay" in kernel.filesystems:
        assert placed == "overlay"
    assert (placed == "overlay") == (spaces.overlay_failure == "")


def test_without_namespaces_a_project_is_copied_and_the_level_is_the_cause(tmp_path: Path) -> None:
    spaces = WorkspaceRunner(Sandbox(level="landlock"), SnapshotStore(tmp_path / "snapshots"))
    try:
        placed = spaces.probe()
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    finally:
        spaces.sandbox.close()
    assert placed == "copy"
    assert NO_OVERLAY in spaces.overlay_failure
    assert "the level `namespaces`" in overlay_failure(spaces.overlay_failure, spaces.store.folder)
