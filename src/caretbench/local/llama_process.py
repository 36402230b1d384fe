"""Child process that serves a local model: ``python -m caretbench.local.llama_process``.

It reads one line of JSON on standard input (what to serve, and the key), writes one line of JSON on standard output
once it listens on 127.0.0.1, and serves until its standard input ends, which it does however the parent dies. Started
by :mod:`caretbench.local.llama_server`; nothing of it is for use by hand.
"""

from __future__ import annotations

import json
import os
import select
import sys
import threading
from typing import Any, NoReturn, TextIO

_LOOK_EVERY_S = 1.0
# Of llama.cpp's levels: errors only. Higher ones would write prompts.
_VERBOSITY = 1


def _die_with(parent: int, stream: TextIO) -> NoReturn:
    """End this process when the parent's end of the pipe is closed, or the parent is another one."""
    # Both signs are needed: a fork of the parent may hold the pipe open, and a parent that is gone leaves another
    # parent.
    while os.getppid() == parent:
        ready, _, _ = select.select([stream], [], [], _LOOK_EVERY_S)
        if ready and not os.read(stream.fileno(), 4096):
            break
    # Not sys.exit: the library's own threads would keep the process alive.
    os._exit(0)


def llama_parameters(request: dict[str, Any]) -> Any:
    """Return llama.cpp's parameters for the fields of :class:`caretbench.local.llama_server.ServerSettings`."""
    import xllamacpp

    chosen = xllamacpp.CommonParams()
    chosen.model.path = request["model"]
    # Answers name the model so, not by its path, which may hold a user's name.
    chosen.model_alias = {request["name"]}
    chosen.hostnames = ["127.0.0.1"]
    chosen.port = 0  # any free one
    # Any program of this machine can reach the port.
    chosen.api_keys = [request["key"]]
    chosen.ui = False
    # Both would show prompts and settings to who has the key; nothing here asks them.
    chosen.endpoint_slots = False
    chosen.endpoint_props = False
    # Each request says which of them it wants; none is put on by default.
    chosen.lora_adapters = [xllamacpp.CommonAdapterLoraInfo(path, 1.0) for path in request["adapters"]]
    chosen.lora_init_without_apply = True
    chosen.offline = True
    chosen.verbosity = _VERBOSITY
    chosen.n_parallel = request["slots"]
    chosen.n_ctx = request["context_tokens"] * request["slots"]
    # It would choose a shorter context where memory is short, so that the same run would cut its prompts elsewhere.
    chosen.fit_params = False
    chosen.cache_prompt = request["prompt_cache"]
    # A cache of earlier prompts in memory changes greedy texts, as the slots' own does.
    chosen.cache_ram_mib = 0
    for processors in (chosen.cpuparams, chosen.cpuparams_batch):
        processors.n_threads = request["threads"]
        # A busy-waiting pool brings a shared machine to a halt.
        processors.poll = 0
    # Missing request fields are neutral; llama.cpp would keep the 40 likeliest tokens above a probability.
    chosen.sampling.temp = 1.0
    chosen.sampling.top_k = 0
    chosen.sampling.top_p = 1.0
    chosen.sampling.min_p = 0.0
    return chosen


def main() -> None:
    """Serve until standard input ends."""
    parent = os.getppid()
    request = json.loads(sys.stdin.readline())
    threading.Thread(target=_die_with, args=(parent, sys.stdin), daemon=True).start()
    # The library writes to the descriptors themselves: standard output is kept for the one line.
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    import xllamacpp

    server = xllamacpp.Server(llama_parameters(request))
    answer.write(json.dumps({"url": server.listening_address}) + "\n")
    answer.close()
    threading.Event().wait()


if __name__ == "__main__":
    main()
