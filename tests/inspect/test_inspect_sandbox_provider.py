"""The sandbox `caretbench` in Inspect: its own checks of what a provider owes, hostile commands, and an evaluation."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from inspect_ai import Task
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import includes
from inspect_ai.solver import Generate, Solver, TaskState, generate, solver, use_tools
from inspect_ai.tool import bash
from inspect_ai.util import OutputLimitExceededError, SandboxUnavailableError, SandboxUserUnsupportedError, sandbox
from inspect_ai.util._sandbox import self_check
from inspect_ai.util._sandbox.limits import override_max_exec_output_size
from inspect_ai.util._sandbox.registry import registry_find_sandboxenv

from caretbench.errors import DataError
from caretbench.execution.sandbox.bubblewrap import launcher_interpreter
from caretbench.execution.sandbox.persistent_sandbox import PersistentSandbox
from caretbench.execution.sandbox.program_sandbox import Sandbox, SandboxUnavailable
from caretbench.inspect import registry  # noqa: F401  registers the provider
from caretbench.inspect.tasks.sandbox_provider import CaretbenchSandbox, SandboxSettings, sandbox_settings
from tests.support.inspect_runs import run

PYTHON = launcher_interpreter()[0]
SMALL = SandboxSettings(memory_mb=300, pids=32, tmp_mb=32, fsize_mb=16, cpu_s=20)

UNMET = {"test_exec_as_user": "the sandbox has one user, and no root to make another"}
"""Checks of Inspect's that cannot pass, and why."""
SLOW = {"test_exec_timeout_kills_process", "test_exec_timeout_kills_child_processes"}


@pytest.fixture(scope="module", autouse=True)
def _machine() -> None:
    try:
        Sandbox().probe()
    except SandboxUnavailable as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def shared() -> Iterator[CaretbenchSandbox]:
    with PersistentSandbox(SandboxSettings().limits()) as box:
        yield CaretbenchSandbox(box)


def in_sandbox(work: Callable[[CaretbenchSandbox], Any], settings: SandboxSettings = SMALL) -> Any:
    """What ``work`` gives in the sandbox of a sample, which ends with it."""

    async def live() -> Any:
        await CaretbenchSandbox.task_init("task", settings)
        environments = await CaretbenchSandbox.sample_init("task", settings, {})
        try:
            return await work(environments["default"].as_type(CaretbenchSandbox))
        finally:
            await CaretbenchSandbox.sample_cleanup("task", settings, environments, False)
            await CaretbenchSandbox.task_cleanup("task", settings, True)

    return anyio.run(live)


CHECKS = [
    pytest.param(
        name,
        marks=[
            *([pytest.mark.long] if name in SLOW else []),
            *([pytest.mark.xfail(reason=UNMET[name], strict=True)] if name in UNMET else []),
        ],
    )
    for name in self_check.__all__
]


@pytest.mark.parametrize("name", CHECKS)
def test_what_inspect_checks_of_a_provider(name: str, shared: CaretbenchSandbox) -> None:
    anyio.run(getattr(self_check, name), shared)


def test_inspect_finds_it_by_its_name() -> None:
    assert registry_find_sandboxenv("caretbench") is CaretbenchSandbox
    assert CaretbenchSandbox.config_files() == ["caretbench-sandbox.toml"]


def test_files_last_and_processes_do_not() -> None:
    async def work(box: CaretbenchSandbox) -> None:
        await box.exec(["sh", "-c", "echo kept > file; mkdir /tmp/more; (setsid sleep 1000 &) ; sleep 1000 &"])
        assert await box.read_file("file") == "kept\n"
        assert (await box.exec(["ls", "-d", "/tmp/more"])).success
        listed = (await box.exec(["ps", "-eo", "args"])).stdout
        assert "sleep" not in listed
        script = "import socket; print(socket.create_server(('127.0.0.1', 0)).getsockname()[0])"
        assert (await box.exec([PYTHON, "-c", script])).stdout == "127.0.0.1\n"

    in_sandbox(work)


def test_samples_see_nothing_of_each_other() -> None:
    async def work(box: CaretbenchSandbox) -> None:
        others = await CaretbenchSandbox.sample_init("task", SMALL, {})
        try:
            await box.write_file("/tmp/mine", "secret")
            with pytest.raises(FileNotFoundError):
                await others["default"].read_file("/tmp/mine")
        finally:
            await CaretbenchSandbox.sample_cleanup("task", SMALL, others, True)
        with pytest.raises(SandboxUnavailableError, match="has ended"):
            await others["default"].exec(["true"])

    in_sandbox(work)


def test_nothing_of_the_host_is_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-host")
    secret = tmp_path / "secret"
    secret.write_text("of the host")
    script = f"""
import os, socket
print(sorted(os.environ))
for path in ({str(secret)!r}, "/etc/shadow", "/root", {str(Path(__file__).resolve())!r}, "/var/log"):
    try: os.stat(path); os.listdir(path) if os.path.isdir(path) else open(path).read(); print("there", path)
    except OSError as error: pass
for address in (("1.1.1.1", 53), ("169.254.169.254", 80)):
    try: socket.create_connection(address, timeout=3); print("reached", address)
    except OSError: pass
print("key" if "sk-of" in open("/proc/self/environ").read() else "none")
"""

    async def work(box: CaretbenchSandbox) -> None:
        ran = await box.exec([PYTHON, "-c", script], env={"OWN": "1"})
        names, last = ran.stdout.splitlines()
        assert "OPENAI_API_KEY" not in names
        assert "'OWN'" in names
        assert last == "none"

    in_sandbox(work)


def test_links_lead_nowhere_but_inside(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("of the host")

    async def work(box: CaretbenchSandbox) -> None:
        await box.exec(["ln", "-s", str(tmp_path / "secret"), "link"])
        await box.exec(["ln", "-s", "/etc/passwd", "users"])
        await box.exec(["ln", "-s", str(tmp_path), "folder"])
        await box.exec(["mkfifo", "pipe"])
        with pytest.raises(FileNotFoundError):
            await box.read_file("link")
        assert await box.read_file("users") == "runner:x:1000:1000:runner:/tmp/home:/bin/sh\n"
        with pytest.raises(OSError, match="folder/written"):
            await box.write_file("folder/written", "x")
        for special in ("pipe", "/dev/zero"):
            with pytest.raises(OSError, match="Invalid argument"):
                await box.read_file(special)
        with pytest.raises(OSError, match="pipe"):
            await box.write_file("pipe", "x")
        with pytest.raises(OSError, match="Invalid argument"):
            await box.read_file("a\0b")

    in_sandbox(work)
    assert [place.name for place in tmp_path.iterdir()] == ["secret"]


def test_bounds_are_kept_and_said() -> None:
    async def work(box: CaretbenchSandbox) -> None:
        eater = await box.exec([PYTHON, "-c", "import time; a = bytearray(400 << 20); time.sleep(60)"], timeout=60)
        assert eater.returncode in (1, 137)  # refused by a resource limit, or killed
        assert not (await box.exec(["sh", "-c", "head -c 60000000 /dev/zero > big"])).success
        with pytest.raises(OSError, match="No space left"):
            await box.write_file("large", b"x" * (40 << 20))
        assert (await box.exec(["rm", "-f", "big"])).success
        with override_max_exec_output_size(1000):
            with pytest.raises(OutputLimitExceededError, match="1000 bytes"):
                await box.exec(["sh", "-c", "head -c 1001 /dev/zero"])
            assert len((await box.exec(["sh", "-c", "head -c 1000 /dev/zero"])).stdout) == 1000
            with pytest.raises(OutputLimitExceededError):
                await box.exec(["yes"], timeout=30)
        await box.write_file("bytes", b"\xc3\x28")
        with pytest.raises(UnicodeDecodeError):
            await box.read_file("bytes")

    in_sandbox(work)


def test_a_processor_hog_is_killed_by_its_bound() -> None:
    async def work(box: CaretbenchSandbox) -> None:
        ran = await box.exec(["sh", "-c", "while :; do :; done"], timeout=60)
        assert ran.returncode in (137, 152)

    in_sandbox(work, SMALL.model_copy(update={"cpu_s": 1}))


def test_what_cannot_be_done_is_said() -> None:
    async def work(box: CaretbenchSandbox) -> None:
        for user in ("root", "0", "nobody"):
            with pytest.raises(SandboxUserUnsupportedError, match="only user, runner"):
                await box.exec(["true"], user=user)
        assert (await box.exec(["whoami"], user="runner")).stdout == "runner\n"
        gone = await box.exec(["no-such-program"])
        assert (gone.success, gone.returncode) == (False, 127)
        assert "cannot start no-such-program: No such file" in gone.stderr
        lost = await box.exec(["true"], cwd="nowhere")
        assert "cannot enter /tmp/work/nowhere" in lost.stderr
        begin = time.monotonic()
        with pytest.raises(TimeoutError):  # and it is not tried again
            await box.exec(["sh", "-c", "echo x >> tries; sleep 60"], timeout=1)
        assert time.monotonic() - begin < 50
        assert await box.read_file("tries") == "x\n"

    in_sandbox(work)


def test_a_cancelled_command_ends() -> None:
    async def work(box: CaretbenchSandbox) -> None:
        with anyio.move_on_after(1):
            await box.exec(["sh", "-c", "while :; do date +%s%N > beat; sleep 0.05; done"])
        for _ in range(100):
            before = await box.read_file("beat")
            await anyio.sleep(0.5)
            if await box.read_file("beat") == before:
                return
        pytest.fail("it still runs")

    in_sandbox(work)


def test_commands_run_at_a_time() -> None:
    async def work(box: CaretbenchSandbox) -> None:
        async with anyio.create_task_group() as group:
            for number in range(6):
                group.start_soon(box.exec, ["sh", "-c", f"sleep 0.2; echo {number} > out{number}"])
        assert (await box.exec(["sh", "-c", "cat out*"])).stdout == "0\n1\n2\n3\n4\n5\n"

    in_sandbox(work)


@pytest.fixture
def data() -> Iterator[Path]:
    """A folder that everybody can read."""
    with tempfile.TemporaryDirectory(prefix="caretbench-test-", dir="/var/tmp") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def test_settings_come_from_a_file(tmp_path: Path, data: Path) -> None:
    place = tmp_path / "caretbench-sandbox.toml"
    (data / "numbers").write_text("1 2 3")
    place.write_text(f'memory_mb = 100\nenvironment = {{A = "b"}}\n[read_only]\n"/data" = "{data}"\n')
    settings = sandbox_settings(str(place))
    assert settings.limits().memory_mb == 100
    assert CaretbenchSandbox.config_deserialize(settings.model_dump()) == settings

    async def work(box: CaretbenchSandbox) -> None:
        ran = await box.exec(["sh", "-c", "echo $A; cat /data/numbers; touch /data/more"])
        assert ran.stdout == "b\n1 2 3"
        assert "Read-only" in ran.stderr

    in_sandbox(work, settings)
    for text in ("memory = 1", "memory_mb = 'much'", "= nonsense"):
        place.write_text(text)
        with pytest.raises(DataError, match=r"caretbench-sandbox\.toml"):
            sandbox_settings(str(place))
    with pytest.raises(DataError, match="not here"):
        in_sandbox(work, SandboxSettings(read_only={"/data": str(tmp_path / "gone")}))
    data.chmod(0o700)  # what is named here is for the program, and stays closed to everybody else
    in_sandbox(work, settings)
    assert data.stat().st_mode & 0o777 == 0o700


def test_nothing_remains() -> None:
    async def work(box: CaretbenchSandbox) -> int:
        await box.exec(["sh", "-c", "sleep 1000 & echo"])
        return box._sandbox._worker._process.pid

    pid = in_sandbox(work)
    assert not Path(f"/proc/{pid}").exists()


@solver
def writes_and_runs() -> Solver:
    """Runs the program that the sample brings, and answers with what it prints."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        assert (await sandbox().exec(["sh", "prepared.sh"])).stdout == "prepared\n"
        await sandbox().write_file("answer.py", "import data.words\nprint(data.words.WORD * 2)")
        ran = await sandbox().exec([PYTHON, "answer.py"], timeout=60)
        state.output = ModelOutput.from_content("mockllm/model", ran.stdout + ran.stderr)
        return state

    return solve


def test_an_evaluation_runs_its_code_in_it(tmp_path: Path) -> None:
    samples = [
        Sample(
            id=str(number),
            input="?",
            target=f"word{number}word{number}",
            files={"data/words.py": f"WORD = 'word{number}'"},
            setup="#!/bin/sh\necho 'echo prepared' > prepared.sh\n",
        )
        for number in range(3)
    ]
    log = run(
        Task(dataset=samples, solver=writes_and_runs(), scorer=includes(), sandbox="caretbench", name="own"),
        get_model("mockllm/model"),
        tmp_path,
    )
    assert log.results is not None
    assert log.results.scores[0].metrics["accuracy"].value == 1.0


def test_a_models_tool_calls_run_in_it(tmp_path: Path) -> None:
    calls = [
        ModelOutput.for_tool_call("mockllm/model", "bash", {"command": "echo 41 > n; ls /root /home"}),
        ModelOutput.for_tool_call("mockllm/model", "bash", {"command": "echo $(($(cat n) + 1)); whoami"}),
        ModelOutput.from_content("mockllm/model", "done"),
    ]
    for call in calls:  # else the tokens are counted, with a table from the network
        call.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    log = run(
        Task(
            dataset=[Sample(input="?", target="done")],
            solver=[use_tools(bash(timeout=60)), generate()],
            scorer=includes(),
            sandbox="caretbench",
            name="tools",
        ),
        get_model("mockllm/model", custom_outputs=calls, memoize=False),
        tmp_path,
    )
    assert log.samples is not None
    said = [message.text for message in log.samples[0].messages if message.role == "tool"]
    assert "No such file" in said[0]
    assert said[1].strip() == "42\nrunner"
