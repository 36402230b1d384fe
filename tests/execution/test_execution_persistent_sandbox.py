"""A sandbox whose files last: what one command leaves for the next, and what it does not."""

from __future__ import annotations

import errno
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from caretbench.execution.execution_types import Limits, ProjectTree, WarmSettings
from caretbench.execution.sandbox import persistent_sandbox, warm_sandbox
from caretbench.execution.sandbox.bubblewrap import launcher_interpreter
from caretbench.execution.sandbox.persistent_sandbox import PersistentSandbox
from caretbench.execution.sandbox.program_sandbox import NO_OVERLAY, Invocation, Sandbox, SandboxUnavailable
from tests.support.sandbox_boxes import command_lines

PYTHON = launcher_interpreter()[0]
LIMITS = Limits(wall_s=60, cpu_s=10, memory_mb=300, pids=32, tmp_mb=8, fsize_mb=8)


@pytest.fixture(scope="module")
def box() -> Iterator[PersistentSandbox]:
    try:
        Sandbox().probe()
        made = PersistentSandbox(LIMITS)
        made.run(["/bin/true"])
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    with made:
        yield made


def shell(box: PersistentSandbox, text: str) -> str:
    ran = box.run(["/bin/sh", "-c", text])
    assert ran.error is None, ran
    return ran.stdout.text + ran.stderr.text


def test_files_last_and_everything_else_is_new(box: PersistentSandbox) -> None:
    shell(box, "echo 1 > a; echo 2 > /tmp/b; echo 3 > ~/c; echo 4 > /dev/shm/d; sleep 1000 & exit 0")
    assert shell(box, "cat a /tmp/b ~/c; ls /dev/shm; ls -d /proc/[0-9]* | wc -l").split()[:3] == ["1", "2", "3"]
    assert "4" not in shell(box, "ls /dev/shm")
    assert "sleep" not in shell(box, "ps -eo args")


def test_walls_stand_around_every_command(box: PersistentSandbox) -> None:
    said = shell(
        box,
        "mount -t tmpfs none /mnt; umount /tmp; unshare -U true; touch /usr/x; cat /proc/1/environ; "
        "kill -9 1; grep -h Cap /proc/self/status; echo still here",
    )
    assert "still here" in said
    assert said.count("0000000000000000") == 5
    assert "Read-only file system" in said
    assert box.isolation.user == "unprivileged"
    assert box.isolation.network == "none"


def test_files_are_read_and_written_whole(box: PersistentSandbox) -> None:
    data = bytes(range(256)) * 4096  # more than a block
    box.write("deep/er/file", data)
    assert box.read("/tmp/work/deep/er/file", len(data)) == data
    box.write("deep/er/file", b"short")
    assert box.read("deep/er/file", 5) == b"short"
    with pytest.raises(OSError, match="File too large") as caught:
        box.read("deep/er/file", 4)
    assert caught.value.errno == errno.EFBIG


def test_all_files_together_are_bounded(box: PersistentSandbox) -> None:
    said = shell(box, "for n in 1 2 3; do head -c 5000000 /dev/zero > fill$n || echo full; done; rm fill*")
    assert "full" in said
    said = shell(box, "i=0; while [ $i -lt 70000 ]; do : > n$i || break; i=$((i+1)); done 2>&1 | tail -1; rm -rf n*")
    assert "No space" in said or "cannot create" in said
    with pytest.raises(OSError, match="No space left"):
        box.write("large", b"x" * (6 << 20))


def test_a_file_that_changes_while_it_is_read_stays_bounded(box: PersistentSandbox) -> None:
    stop = threading.Event()
    grow = "while :; do head -c 3000000 /dev/zero > moving; : > moving; done"
    thread = threading.Thread(target=lambda: box.run(["/bin/sh", "-c", grow], stop=stop))
    thread.start()
    try:
        for _ in range(10):
            try:
                assert len(box.read("moving", 1_000_000)) <= 1_000_000
            except OSError as error:
                assert error.errno in (errno.EFBIG, errno.ENOENT)  # noqa: PT017  either is right
    finally:
        stop.set()
        thread.join()


def test_one_that_has_ended_says_so() -> None:
    box = PersistentSandbox(LIMITS)
    caught: list[BaseException] = []

    def work() -> None:
        try:
            box.run(["sleep", "50.125"])
        except SandboxUnavailable as error:
            caught.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    deadline = time.monotonic() + 60
    while "sleep 50.125" not in command_lines() and time.monotonic() < deadline:
        time.sleep(0.05)
    os.kill(box._worker._process.pid, signal.SIGKILL)
    box._worker._process.wait()
    with pytest.raises(SandboxUnavailable, match="has ended"):
        box.run(["/bin/true"])
    thread.join(30)
    assert [str(error) for error in caught] == ["the sandbox has ended"]
    box.close()


def test_where_none_can_be_built_it_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(persistent_sandbox, "find_bubblewrap", lambda: None)
    with pytest.raises(SandboxUnavailable, match="apt-get install bubblewrap"):
        PersistentSandbox(LIMITS)
    monkeypatch.undo()
    monkeypatch.setattr(warm_sandbox.WarmWorker, "start", lambda *_: None)
    with PersistentSandbox(LIMITS) as box, pytest.raises(SandboxUnavailable, match="no namespaces can be made inside"):
        box.run(["/bin/true"])


def test_where_a_command_gets_no_namespaces_it_says_what_the_kernel_said(monkeypatch: pytest.MonkeyPatch) -> None:
    original = warm_sandbox.sandbox_files

    def unknown_namespaces(*names: str) -> dict[str, bytes]:
        files = original(*names)
        path = "/run/caretbench/fork_server.py"
        assert files[path].count(b"NEW_IPC | NEW_NETWORK\n") == 1
        return {**files, path: files[path].replace(b"NEW_IPC | NEW_NETWORK\n", b"0x1\n")}

    monkeypatch.setattr(warm_sandbox, "sandbox_files", unknown_namespaces)
    with PersistentSandbox(LIMITS) as box, pytest.raises(SandboxUnavailable) as refusal:
        box.run(["/bin/true"])
    assert "unshare: Invalid argument" in str(refusal.value)
    assert "sysctl -w user.max_user_namespaces" in str(refusal.value)
    tree = ProjectTree(snapshot=Path("/usr/share"))
    result = Sandbox(level="namespaces").run(Invocation(["/bin/true"], limits=LIMITS, warm=WarmSettings(), tree=tree))
    assert result.error is not None
    assert result.error.startswith(f"{NO_OVERLAY}: no namespaces")
    assert "unshare: Invalid argument" in result.error
