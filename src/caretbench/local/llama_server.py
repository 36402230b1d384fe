"""Server of llama.cpp in a process of its own, for one GGUF file.

It listens on 127.0.0.1 only, wants a random key with every request, and dies with this process, however that ends.
The native library is kept out of this process: where it crashes, a run goes on with a new server.
"""

from __future__ import annotations

import atexit
import collections
import importlib.metadata
import importlib.util
import json
import os
import secrets
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import IO

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from caretbench.errors import DataError, MachineError
from caretbench.local.gguf import GgufHeader, read_gguf, weights_sha256
from caretbench.local.weights import LocalModel, find_model
from caretbench.models import Mode

_SLOTS: Mapping[Mode, int] = {"reproducible": 1, "fast": 8}
DEFAULT_CONTEXT = 4096
"""Tokens for prompt and answer together, by default, if the model has room for them."""
UNCUT_CONTEXT = 16_384
"""The same, where prompts cannot be shortened: four patches of 7,500 characters and an answer."""

# Large weights on a slow disk take minutes.
_START_TIMEOUT_S = 300.0
_STOP_TIMEOUT_S = 5.0
# A crash may be an accident; a second one is taken for a fault that a third start would not mend.
_MAX_RESTARTS = 1
_TAIL_LINES = 40
_INSTALL = "models on this machine need an engine: pip install 'caretbench[local]'"

_running: weakref.WeakSet[LlamaServer] = weakref.WeakSet()


class ServerSettings(BaseModel):
    """Settings with which a model is served."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    mode: Mode = "reproducible"
    threads: int = Field(ge=1)
    slots: int = Field(ge=1)
    context_tokens: int = Field(ge=1)
    """Tokens of context of one slot."""

    @property
    def prompt_cache(self) -> bool:
        """Return whether a slot reuses its earlier prompt. It is faster, and changes greedy texts."""
        return self.mode == "fast"


def server_settings(
    header: GgufHeader,
    *,
    mode: Mode = "reproducible",
    threads: int | None = None,
    context_tokens: int | None = None,
    connections: int | None = None,
    uncut: bool = False,
) -> ServerSettings:
    """Return the serving settings of ``header``'s model.

    Args:
        header: The model's GGUF header.
        mode: ``reproducible``: one request at a time, nothing kept between them. ``fast``: eight, with a cache.
        threads: By default all physical cores but one. llama.cpp's threads wait for each other by spinning: where
            something else needs a core, as many threads as cores are slower than one by a factor of ten to a hundred
            (measured: 53 tokens a second and core when idle, under 1 when busy; one thread kept 35).
        context_tokens: By default 4,096, or what the model has if that is less.
        uncut: No prompt can be shortened: by default 16,384 tokens, or what the model has.
        connections: Number of parallel requests: the maximum number of slots.

    Raises:
        ValueError: an unknown mode, or a number below one.
    """
    if mode not in _SLOTS:
        raise ValueError(f"mode {mode!r}: expected one of {', '.join(_SLOTS)}")
    room = header.context_length or DEFAULT_CONTEXT
    wanted = UNCUT_CONTEXT if uncut else DEFAULT_CONTEXT
    context = context_tokens if context_tokens is not None else min(room, wanted)
    # One core stays free: llama.cpp's threads spin while they wait, 53 tokens a second and core on an idle machine and
    # under 1 on a busy one.
    count = threads if threads is not None else max(1, physical_cores() - 1)
    # Each slot takes memory for a context of its own, also if no request ever uses it.
    slots = min(_SLOTS[mode], connections if connections is not None else _SLOTS[mode])
    for what, value in (("threads", count), ("context_tokens", context), ("connections", slots)):
        if value < 1:
            raise ValueError(f"{what} {value}: expected 1 or more")
    return ServerSettings(mode=mode, threads=count, slots=slots, context_tokens=context)


def physical_cores() -> int:
    """Return the number of physical cores that this process may use; hardware threads of one core count once."""
    if sys.platform != "linux":
        return os.cpu_count() or 1
    allowed = os.sched_getaffinity(0)
    cores = set()
    for number in allowed:
        topology = Path(f"/sys/devices/system/cpu/cpu{number}/topology")
        try:
            cores.add(tuple((topology / name).read_text() for name in ("physical_package_id", "core_id")))
        except OSError:
            cores.add((str(number),))
    # A container sees all processors of its machine, and may use the share of its quota.
    return max(1, min(len(cores), _processor_quota() or len(cores)))


def _processor_quota() -> int | None:
    """Return the number of processors that a container may use, rounded up; None without a limit."""
    try:
        limit, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        return None if limit == "max" else -(-int(limit) // int(period))
    except (OSError, ValueError):
        return None


def engine_version() -> str:
    """Return name and version of the engine, or raise MachineError where it is not installed."""
    if importlib.util.find_spec("xllamacpp") is None:
        raise MachineError(_INSTALL)
    return f"xllamacpp {importlib.metadata.version('xllamacpp')}"


class LlamaServer:
    """Server of one model. Starts at the first :meth:`ensure`; safe to use from several threads."""

    def __init__(self, path: Path, chosen: ServerSettings, adapters: Sequence[Path] = ()) -> None:
        self.path = path
        self.setting = chosen
        self.adapters = tuple(adapters)
        self.is_shared = False
        self.key = secrets.token_urlsafe(32)
        self._process: subprocess.Popen[str] | None = None
        self._url = ""
        self._starts = 0
        self._closed = False
        self._listener: threading.Thread | None = None
        self._tail: collections.deque[str] = collections.deque(maxlen=_TAIL_LINES)
        self._lock = threading.Lock()
        self._owner = os.getpid()

    @property
    def headers(self) -> dict[str, str]:
        """HTTP headers that every request needs."""
        return {"Authorization": f"Bearer {self.key}"}

    @property
    def pid(self) -> int | None:
        """Process id of the server, if it was started."""
        return self._process.pid if self._process else None

    def adapter_fields(self, adapter: Path | None) -> dict[str, JsonValue]:
        """Return the field of a request that chooses one adapter, or none of those that are loaded."""
        # Each with its scale: an empty list is taken for none given, and then all adapters are put on.
        scales: list[JsonValue] = [
            {"id": number, "scale": float(path == adapter)} for number, path in enumerate(self.adapters)
        ]
        return {"lora": scales} if scales else {}

    def identity(self, adapter: Path | None = None) -> dict[str, JsonValue]:
        """Return the settings besides prompt and sampling that decide the answers; contains no path.

        Raises:
            DataError: the weights cannot be read.
            MachineError: the engine is not installed.
        """
        return {
            "weights_sha256": weights_sha256(self.path),
            **({} if adapter is None else {"adapter_sha256": weights_sha256(adapter)}),
            "engine": engine_version(),
            "mode": self.setting.mode,
            "slots": self.setting.slots,
            "threads": self.setting.threads,
            "context_tokens": self.setting.context_tokens,
        }

    def ensure(self) -> str:
        """Return the address of the running server; start it first, and once more after a crash.

        Raises:
            MachineError: the engine is missing, the model does not load, or the server crashed again.
        """
        with self._lock:
            if self._process is not None and self._process.poll() is None:
                return self._url
            if self._closed:
                raise MachineError(f"{self.path.name}: the model's server was stopped")
            if self._starts > _MAX_RESTARTS:
                raise MachineError(f"{self.path.name}: the model's server crashed twice{self._last_words()}")
            self._starts += 1
            self._start()
            return self._url

    def _start(self) -> None:
        engine_version()
        # A broken file is named in one line here; the library might crash on it.
        read_gguf(self.path)
        # What is left of one that crashed.
        self._release()
        self._tail.clear()
        order = {
            "model": str(self.path),
            "name": self.path.stem,
            "key": self.key,
            "adapters": [str(path) for path in self.adapters],
            "prompt_cache": self.setting.prompt_cache,
            **self.setting.model_dump(exclude={"mode"}),
        }
        # A process of its own: a crash of native code would end the run with it.
        process = subprocess.Popen(
            [sys.executable, "-m", "caretbench.local.llama_process"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
            # Ctrl-C is for the parent, which ends the server when it has stored what came.
            start_new_session=True,
        )  # fmt: skip
        self._process = process
        _running.add(self)
        assert process.stdin is not None  # noqa: S101 - all three are pipes
        assert process.stdout is not None  # noqa: S101
        assert process.stderr is not None  # noqa: S101
        self._listener = threading.Thread(target=self._listen, args=(process.stderr,), daemon=True)
        self._listener.start()
        # It has ended already; its last output tells why.
        with suppress(OSError):
            process.stdin.write(json.dumps(order) + "\n")
            process.stdin.flush()
        self._url = self._first_line(process, process.stdout)

    def _listen(self, stream: IO[str]) -> None:
        with stream:
            for line in stream:
                if line.strip():
                    self._tail.append(line.strip()[:300])

    def _first_line(self, process: subprocess.Popen[str], stream: IO[str]) -> str:
        """Wait for the address: the model is loaded then."""
        lines: list[str] = []

        def read() -> None:
            with stream:
                lines.append(stream.readline())

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        reader.join(_START_TIMEOUT_S)
        try:
            return str(json.loads(lines[0])["url"])
        except (IndexError, ValueError, KeyError, TypeError):
            reason = "did not start" if lines else f"did not start within {_START_TIMEOUT_S:.0f} s"
            process.kill()
            reader.join()
            self._release()
            raise MachineError(f"{self.path.name}: the model's server {reason}{self._last_words()}") from None

    def _last_words(self) -> str:
        """Return the server's last output, errors first, in one line."""
        lines = list(self._tail)
        # `Error`, `error` and `failed`: the library writes what it does next to what went wrong.
        telling = [line for line in lines if "rror" in line or "failed" in line] or lines
        return ": " + " | ".join(telling[-3:]) if telling else ""

    def close(self) -> None:
        """Stop the server, unless it is shared; it is not started again."""
        if self.is_shared:
            return
        with self._lock:
            self._closed = True
            self._release()
            _running.discard(self)

    def _release(self) -> None:
        process, self._process = self._process, None
        # A forked child has a copy of this object, and must not end the parent's server.
        if process is None or os.getpid() != self._owner:
            return
        with suppress(OSError):
            if process.stdin is not None:
                # The end of its standard input ends it.
                process.stdin.close()
        try:
            process.wait(_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if self._listener is not None:
            # Its last words are on their way, and tell why it crashed.
            self._listener.join(_STOP_TIMEOUT_S)


class _Sharing:
    """Servers of one run: models that differ by their adapter alone have one process together."""

    def __init__(self, models: Iterable[LocalModel]) -> None:
        self.adapters: dict[Path, list[Path]] = {}
        for model in models:
            if model.adapter is not None:
                adapters = self.adapters.setdefault(model.weights, [])
                adapters += [model.adapter] if model.adapter not in adapters else []
        self._servers: dict[tuple[Path, ServerSettings], LlamaServer] = {}

    def open(self, model: LocalModel, chosen: ServerSettings) -> LlamaServer | None:
        adapters = self.adapters.get(model.weights, ())
        if not adapters or model.adapter not in (None, *adapters):
            return None
        key = (model.weights, chosen)
        if key not in self._servers:
            # Weights are large: those of another base give their memory back first.
            self.close()
            self._servers[key] = LlamaServer(model.weights, chosen, adapters)
            self._servers[key].is_shared = True
        return self._servers[key]

    def close(self) -> None:
        for server in self._servers.values():
            server.is_shared = False
            server.close()
        self._servers.clear()


# Of the thread that opens clients: two runs in one process share nothing.
_sharing: ContextVar[_Sharing | None] = ContextVar("sharing", default=None)


@contextmanager
def shared_servers(specs: Iterable[str]) -> Iterator[None]:
    """Keep one process for all models of ``specs`` that are ``gguf/BASE`` or ``gguf/BASE+ADAPTER`` of the same base.

    Without it each client starts a server of its own and stops it at its end.
    """
    models = []
    for spec in specs:
        # A model that is not here is named when its client is opened.
        with suppress(DataError):
            models += [find_model(spec.removeprefix("gguf/"))] if spec.startswith("gguf/") else []
    sharing = _Sharing(models)
    token = _sharing.set(sharing)
    try:
        yield
    finally:
        _sharing.reset(token)
        sharing.close()


def open_server(model: LocalModel, chosen: ServerSettings) -> LlamaServer:
    """Return a server for a model: within :func:`shared_servers` that of its base, otherwise a new one."""
    sharing = _sharing.get()
    shared = None if sharing is None else sharing.open(model, chosen)
    return shared or LlamaServer(model.weights, chosen, [model.adapter] if model.adapter else [])


@atexit.register
def _close_all() -> None:
    for server in list(_running):
        server.is_shared = False
        server.close()
