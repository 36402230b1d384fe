"""The model's server: how it is set, its walls, and that it never outlives its parent. With the real small model."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from caretbench.errors import DataError, MachineError
from caretbench.local import llama_server as module
from caretbench.local.gguf import read_gguf
from caretbench.local.llama_server import LlamaServer, physical_cores, server_settings
from tests.support.gguf_file import QWEN_LIKE, gguf

PROMPT = "def add(a, b):\n"


@pytest.fixture(scope="module")
def running(smollm2: Path) -> Iterator[LlamaServer]:
    server = LlamaServer(smollm2, server_settings(read_gguf(smollm2), threads=1, context_tokens=512))
    server.ensure()
    yield server
    server.close()


def complete(server: LlamaServer, prompt: str = PROMPT) -> str:
    body = {"prompt": prompt, "max_tokens": 12, "temperature": 0, "cache_prompt": server.setting.prompt_cache}
    answer = httpx.post(
        f"{server.ensure()}/v1/completions", json=body, headers=server.headers, timeout=120, trust_env=False
    )
    return str(answer.raise_for_status().json()["choices"][0]["text"])


def is_alive(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


def wait_until_gone(pid: int, seconds: float = 20) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if not is_alive(pid):
            return True
        time.sleep(0.05)
    return False


# --- settings -------------------------------------------------------------------------------------------------------


def test_settings(tmp_path: Path) -> None:
    path = tmp_path / "coder.gguf"
    path.write_bytes(gguf(QWEN_LIKE))
    header = read_gguf(path)
    chosen = server_settings(header)
    assert (chosen.mode, chosen.slots, chosen.context_tokens) == ("reproducible", 1, 4096)
    assert chosen.threads == max(1, physical_cores() - 1)
    assert not chosen.prompt_cache
    fast = server_settings(header, mode="fast", threads=3, context_tokens=9000)
    assert (fast.slots, fast.threads, fast.context_tokens, fast.prompt_cache) == (8, 3, 9000, True)
    assert server_settings(header, mode="fast", connections=2).slots == 2
    assert server_settings(header, uncut=True).context_tokens == min(16384, header.context_length or 0)
    path.write_bytes(gguf([("general.architecture", 8, "x"), ("x.context_length", 4, 256)]))
    assert server_settings(read_gguf(path)).context_tokens == 256
    for wrong in ({"threads": 0}, {"context_tokens": 0}, {"mode": "slow"}):
        with pytest.raises(ValueError, match="expected"):
            server_settings(header, **wrong)  # type: ignore[arg-type]


def test_a_missing_engine_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda _name: None)
    path = tmp_path / "coder.gguf"
    path.write_bytes(gguf(QWEN_LIKE))
    with pytest.raises(MachineError, match=r"pip install 'caretbench\[local\]'"):
        LlamaServer(path, server_settings(read_gguf(path))).ensure()


@pytest.mark.usefixtures("smollm2")
def test_a_file_without_weights_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "coder.gguf"
    path.write_bytes(gguf(QWEN_LIKE))
    server = LlamaServer(path, server_settings(read_gguf(path)))
    with pytest.raises(MachineError, match=r"^coder\.gguf: .*not start") as caught:
        server.ensure()
    assert "\n" not in str(caught.value)
    path.write_bytes(b"nonsense")
    with pytest.raises(DataError, match=r"not a.*GGUF"):
        server.ensure()


# --- what it does ---------------------------------------------------------------------------------------------------


def test_the_same_prompt_gives_the_same_text(running: LlamaServer) -> None:
    first = complete(running)
    complete(running, "something else, read in between\n")
    assert complete(running) == first


def test_a_wrong_key_is_refused(running: LlamaServer) -> None:
    url = running.ensure()
    for path in ("/v1/completions", "/v1/chat/completions", "/tokenize", "/completion"):
        for headers in ({}, {"Authorization": "Bearer wrong"}):
            answer = httpx.post(f"{url}{path}", json={"prompt": "a", "content": "a"}, headers=headers, trust_env=False)
            assert answer.status_code == 401, path


def test_it_listens_on_this_machine_only(running: LlamaServer) -> None:
    port = int(running.ensure().rpartition(":")[2])
    listening = [
        line.split()[1]
        for table in ("tcp", "tcp6")
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]
        if line.split()[3] == "0A" and int(line.split()[1].rpartition(":")[2], 16) == port
    ]
    assert [place.partition(":")[0] for place in listening] == ["0100007F"]
    others = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), port, socket.AF_INET)}
    for address in others - {"127.0.0.1"}:
        if str(address).startswith("127."):
            continue
        with pytest.raises(ConnectionError):
            socket.create_connection((str(address), port), timeout=2).close()


def test_the_key_stands_in_no_place_that_others_see(running: LlamaServer) -> None:
    key = running.headers["Authorization"].split()[1]
    for name in ("cmdline", "environ"):
        assert key.encode() not in Path(f"/proc/{running.pid}/{name}").read_bytes()
    assert key not in repr(running)


def test_identity_holds_no_path(running: LlamaServer, smollm2: Path) -> None:
    identity = running.identity()
    assert set(identity) == {"weights_sha256", "engine", "mode", "slots", "threads", "context_tokens"}
    assert identity["weights_sha256"] == "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
    assert str(identity["engine"]).startswith("xllamacpp 20")
    assert str(smollm2.parent) not in str(identity)
    answer = httpx.get(f"{running.ensure()}/v1/models", headers=running.headers, trust_env=False)
    assert str(smollm2.parent) not in answer.text


# --- how it ends ----------------------------------------------------------------------------------------------------


def test_after_a_crash_it_is_started_once_more(smollm2: Path) -> None:
    server = LlamaServer(smollm2, server_settings(read_gguf(smollm2), threads=1, context_tokens=256))
    first = complete(server)
    for attempt in range(2):
        pid = server.pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        assert server._process is not None
        server._process.wait(20)  # its main thread is gone before the others are
        if attempt == 0:
            assert complete(server) == first
            assert server.pid != pid
    with pytest.raises(MachineError, match="crashed twice"):
        server.ensure()
    server.close()


def test_closing_ends_it(smollm2: Path) -> None:
    server = LlamaServer(smollm2, server_settings(read_gguf(smollm2), threads=1, context_tokens=256))
    server.ensure()
    pid = server.pid
    assert pid is not None
    server.close()
    assert not is_alive(pid)
    server.close()
    with pytest.raises(MachineError, match="was stopped"):
        server.ensure()


_PARENT = """
import sys, time
from pathlib import Path
from caretbench.local.gguf import read_gguf
from caretbench.local.llama_server import LlamaServer, server_settings
path = Path(sys.argv[1])
server = LlamaServer(path, server_settings(read_gguf(path), threads=1, context_tokens=256))
server.ensure()
print(server.pid, flush=True)
{end}
"""


@pytest.mark.parametrize(
    ("end", "number"),
    [("time.sleep(600)", signal.SIGKILL), ("time.sleep(600)", signal.SIGTERM), ("", None), ("raise OSError", None)],
    ids=["killed", "terminated", "ends", "fails"],
)
def test_it_dies_with_its_parent(smollm2: Path, end: str, number: signal.Signals | None) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", _PARENT.format(end=end), str(smollm2)],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    try:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        if number is not None:
            assert is_alive(pid)
            parent.send_signal(number)
        parent.wait(60)
        assert wait_until_gone(pid)
    finally:
        parent.kill()
        parent.communicate()


def test_a_parent_that_is_killed_while_the_model_loads_leaves_nothing(smollm2: Path) -> None:
    loading = """
import threading
threading.Thread(target=server.ensure, daemon=True).start()
while server.pid is None:
    time.sleep(0.001)
"""
    code = _PARENT.format(end="time.sleep(600)").replace("server.ensure()", loading)
    parent = subprocess.Popen([sys.executable, "-c", code, str(smollm2)], stdout=subprocess.PIPE, text=True)
    try:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
    finally:
        parent.kill()
        parent.communicate()
    assert wait_until_gone(pid)
