from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from caretbench.execution.execution_types import CompileResult, ExecutionRequest, Limits, Status
from caretbench.execution.sandbox.bubblewrap import launcher_interpreter
from caretbench.execution.sandbox.kernel.watchdog import descendants
from caretbench.execution.sandbox.program_sandbox import Sandbox, SandboxUnavailable
from caretbench.execution.toolchains import compile_server, typescript
from caretbench.execution.toolchains.base_runtime import read_artefact
from caretbench.execution.toolchains.compile_server import CompileJob, CompilerSettings, ServerAnswer, compile_programs

# A compiler that copies its programs, says which process it is, and does to itself what they say.
COMPILER = """
import base64, json, os, sys, time
def say(**values): print(json.dumps(values), flush=True)
if sys.argv[1] == "broken": sys.exit(1)
say(ready=True)
served = 0
while True:
    words = sys.stdin.buffer.readline().split()
    if not words: break
    id, option = words[0].decode(), words[1].decode()
    text = sys.stdin.buffer.read(int(words[2])).decode()
    served += 1
    if text == "die": os.abort()
    if text == "die later" and served > 1: os.abort()
    if text == "sleep": time.sleep(600)
    if text == "hoard": hoard = [b"x" * index for index in range(1 << 26, 1 << 30)]
    if text == "babble": print("not an answer", flush=True)
    if text == "forge": say(id="0" * 16, kind="ok", files={"program": base64.b64encode(b"forged").decode()})
    if text == "twice": say(id=id, kind="ok", files={})
    if text == "watched":
        say(id=id, kind="timeout")
        os.abort()
    made = {"program": (text + option).encode(), "server": b"%d" % served}
    if text == "up": made["../../stolen"] = b"!"
    if text == "root": made["/tmp/stolen"] = b"!"
    if text == "long": made["x" * 300] = b"!"
    if text == "deep": made["a/b/c"] = b"deep"
    if text == "both": made |= {"a": b"file", "a/b": b"folder"}
    files = {name: base64.b64encode(content).decode() for name, content in made.items()}
    say(id=id, kind="ok", seconds=0.5, memory_mb=500 if text == "leak" else 10, files=files)
"""


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    made = Sandbox()
    try:
        made.probe()
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    yield made
    made.close()


def compile_texts(
    sandbox: Sandbox, folder: Path, *texts: str, wall_s: float = 60, start: str = "", bundle: str | None = None
) -> list[CompileResult]:
    interpreter, binds = launcher_interpreter()

    def classify_answer(answer: ServerAnswer, request: ExecutionRequest) -> Status | None:
        del request
        return None if answer.kind == "ok" else Status(answer.kind)

    arguments = (interpreter, "-c", COMPILER, start or str(bundle))
    compiler = CompilerSettings(arguments, binds, {}, max_memory_mb=100, classify_answer=classify_answer)
    programs = []
    first = len(list(folder.iterdir()))
    for place, text in enumerate(texts):
        artefact = folder / str(first + place)
        artefact.mkdir()
        limits = Limits(compile_wall_s=wall_s)
        request = ExecutionRequest(id=str(place), language="java", source=text, limits=limits, bundle=bundle)
        programs.append(CompileJob(request, artefact, f"-{place}"))
    return compile_programs(sandbox, lambda _: compiler, programs)


def made(results: list[CompileResult], name: str) -> list[str | None]:
    return [read_artefact(result.artefact / name) if result.artefact else None for result in results]


@pytest.mark.parametrize(("memory_gb", "processors", "servers"), [(24, 2, 2), (24, 16, 4), (4, 8, 1), (1, 1, 1)])
def test_typescript_has_as_many_servers_as_processors_and_memory_allow(
    monkeypatch: pytest.MonkeyPatch, memory_gb: int, processors: int, servers: int
) -> None:
    monkeypatch.setattr(typescript, "servers_mb", lambda: memory_gb * 1024 / 4)
    monkeypatch.setattr("os.cpu_count", lambda: processors)
    assert typescript.server_count() == servers


def test_one_server_compiles_all_programs_each_with_its_folder_and_option(sandbox: Sandbox, tmp_path: Path) -> None:
    results = compile_texts(sandbox, tmp_path, "a", "b") + compile_texts(sandbox, tmp_path, "c")
    assert [result.status for result in results] == [None, None, None]
    assert made(results, "program") == ["a-0", "b-1", "c-0"]
    assert made(results, "server") == ["1", "2", "3"]
    assert results[0].compile_s == 0.5


def test_bundles_have_servers_of_their_own(sandbox: Sandbox, tmp_path: Path) -> None:
    results = compile_texts(sandbox, tmp_path, "a") + compile_texts(sandbox, tmp_path, "b", bundle="other")
    assert made(results, "server") == ["1", "1"]


@pytest.mark.parametrize(
    ("fatal", "status"),
    [
        ("die", Status.COMPILE_ERROR),
        ("babble", Status.COMPILE_ERROR),
        ("forge", Status.COMPILE_ERROR),
        ("sleep", Status.TIMEOUT),
        ("hoard", Status.OUT_OF_MEMORY),
        ("watched", Status.TIMEOUT),
        ("up", Status.COMPILE_ERROR),
        ("root", Status.COMPILE_ERROR),
        ("long", Status.COMPILE_ERROR),
    ],
)
def test_a_program_that_ends_its_server_harms_no_other(
    sandbox: Sandbox, tmp_path: Path, fatal: str, status: Status
) -> None:
    results = compile_texts(sandbox, tmp_path, "a", fatal, "b", wall_s=6 if fatal == "sleep" else 60)
    assert [result.status for result in results] == [None, status, None], results[1].diagnostics
    assert results[1].artefact is None
    assert made(results, "program") == ["a-0", None, "b-2"]
    assert not (tmp_path.parent / "stolen").exists()


def test_too_much_cpu_time_is_a_verdict_at_once(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = []

    class Counted(compile_server.CompileServer):
        def __init__(self, sandbox: Sandbox, compiler: CompilerSettings, limits: Limits) -> None:
            started.append(compiler)
            super().__init__(sandbox, compiler, limits)

    monkeypatch.setattr(compile_server, "CompileServer", Counted)
    results = compile_texts(sandbox, tmp_path, "a", "watched")
    assert [result.status for result in results] == [None, Status.TIMEOUT]
    assert len(started) == 1


def test_an_answer_too_many_is_not_the_next_program_s(sandbox: Sandbox, tmp_path: Path) -> None:
    results = compile_texts(sandbox, tmp_path, "twice", "b", "c")
    assert [result.status for result in results] == [None, None, None]
    assert made(results[1:], "program") == ["b-1", "c-2"]


def test_a_program_that_dies_of_its_predecessors_is_not_to_blame(sandbox: Sandbox, tmp_path: Path) -> None:
    results = compile_texts(sandbox, tmp_path, "a", "die later", "b")
    assert made(results, "server") == ["1", "1", "2"]


def test_a_server_that_uses_much_memory_or_has_served_long_is_replaced(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compile_server, "PROGRAMS_PER_SERVER", 3)
    results = compile_texts(sandbox, tmp_path, "a", "leak", "b", "c", "d", "e")
    assert made(results, "server") == ["1", "2", "1", "2", "3", "1"]


def test_idle_servers_end(sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compile_server, "_IDLE_S", 0.1)
    before = set(descendants(os.getpid()))
    results = compile_texts(sandbox, tmp_path, "a")
    _wait_until(lambda: not set(descendants(os.getpid())) - before)
    results += compile_texts(sandbox, tmp_path, "b")
    assert made(results, "program") == ["a-0", "b-0"]


def test_servers_that_ended_by_themselves_leave_no_descriptor(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compile_server, "_IDLE_S", 0.1)
    held = []
    for text in "abc":
        compile_texts(sandbox, tmp_path, text)
        [server] = compile_server._servers_of(sandbox)._idle
        _wait_until(lambda one=server: one.has_ended)
        held.append(len(os.listdir("/proc/self/fd")))  # noqa: PTH208
    assert held[0] == held[2]


def test_closing_ends_servers_and_they_come_again(sandbox: Sandbox, tmp_path: Path) -> None:
    before = set(descendants(os.getpid()))
    results = compile_texts(sandbox, tmp_path, "a")
    sandbox.close()
    assert not set(descendants(os.getpid())) - before
    results += compile_texts(sandbox, tmp_path, "b")
    assert made(results, "server") == ["1", "1"]


def test_servers_that_are_killed_change_no_result(sandbox: Sandbox, tmp_path: Path) -> None:
    killing = threading.Event()

    def kill() -> None:
        ours = os.getpid()
        while not killing.wait(0.7):
            compilers = [pid for pid in descendants(ours) if b"is_a_server" in _command(pid)]
            if compilers:
                os.kill(compilers[-1], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        results = []
        for _ in range(30):
            results += compile_texts(sandbox, tmp_path, "a", "b", start="is_a_server")
            time.sleep(0.1)
    finally:
        killing.set()
        killer.join()
    ours = [result for result in results if result.status is Status.SANDBOX_ERROR]
    assert not [result for result in results if result.status is not None and result not in ours]
    assert len(ours) < len(results) / 2


def test_a_compiler_that_does_not_start_is_our_fault(sandbox: Sandbox, tmp_path: Path) -> None:
    results = compile_texts(sandbox, tmp_path, "a", "b", start="broken")
    assert {result.status for result in results} == {Status.SANDBOX_ERROR}


def test_files_come_in_folders(sandbox: Sandbox, tmp_path: Path) -> None:
    assert made(compile_texts(sandbox, tmp_path, "deep"), "a/b/c") == ["deep"]


def test_files_that_cannot_be_side_by_side_are_the_program_s_failure(sandbox: Sandbox, tmp_path: Path) -> None:
    results = compile_texts(sandbox, tmp_path, "both", "a")
    assert [result.status for result in results] == [Status.COMPILE_ERROR, None]


def test_artefacts_are_not_read_through_links(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    (tmp_path / "link").symlink_to(secret)
    with pytest.raises(OSError, match="symbolic links"):
        read_artefact(tmp_path / "link")
    os.mkfifo(tmp_path / "pipe")
    assert read_artefact(tmp_path / "pipe") == ""


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _wait_until(happened: object) -> None:
    assert callable(happened)
    for _ in range(600):
        if happened():
            return
        time.sleep(0.1)
    raise AssertionError("it did not happen")


def test_programs_of_one_bundle_under_two_profiles_get_the_compiler_of_each(
    monkeypatch: pytest.MonkeyPatch, sandbox: Sandbox, tmp_path: Path
) -> None:
    used = []

    class Servers:
        def compile(self, _: Sandbox, compiler: CompilerSettings, program: CompileJob) -> CompileResult:
            used.append((program.request.profile, *compiler.arguments))
            return CompileResult(artefact=None)

    def compiler_for(request: ExecutionRequest) -> CompilerSettings:
        return CompilerSettings([request.profile], {}, {}, 1.0)

    monkeypatch.setattr(compile_server, "_servers_of", lambda _: Servers())
    requests = [
        ExecutionRequest(id=str(number), language="typescript", source="", profile=profile)
        for number, profile in enumerate(("paper", "default", "paper"))
    ]
    compile_programs(sandbox, compiler_for, [CompileJob(request, tmp_path) for request in requests])
    assert used == [("paper", "paper"), ("default", "default"), ("paper", "paper")]
