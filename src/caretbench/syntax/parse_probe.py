"""Probe of long texts in a process of its own: some make a parser take all memory of the machine.

A process that has loaded the grammars forks for every text, and the fork parses within the limits. Windows has no forks
and no such limits: the process itself parses there.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from caretbench.syntax.parser import grammar, parse

PROBED_CHARACTERS: Final = 2_000
"""Length from which a text is probed; no shorter one of those that were tried took more than 300 MB."""

PROBE_MB: Final = 1_000
"""Memory that the probe may take, in MB, the interpreter included."""

PROBE_SECONDS: Final = 10
"""CPU seconds that the probe may take."""

_PARSED: Final = b"parsed\n"
_REFUSED: Final = b"refused\n"


def takes_too_much(text: str, programs: Sequence[str], language: str) -> bool:
    """Return whether programs with a long ``text`` in them cannot be parsed within the limits."""
    return len(text) >= PROBED_CHARACTERS and not can_be_parsed(programs, language)


def can_be_parsed(texts: Sequence[str], language: str) -> bool:
    """Return whether a parser takes at most :data:`PROBE_MB` and :data:`PROBE_SECONDS` for the texts.

    tree-sitter's memory grows with the square of the length, and more, for some texts that fit no rule: 951 MB for
    5,000 characters of ``x=>`` in Java, more than 20 GB for 40,000. A parse cannot be stopped in between.
    """
    try:
        grammar(language)
    except KeyError:
        return True  # nothing parses it
    return _probe(tuple(texts), language)


@lru_cache(maxsize=1_024)
def _probe(texts: tuple[str, ...], language: str) -> bool:
    return _probes().parses(texts, language)


class _ProbeProcess:
    """Process that answers for one text after the other; it is started when needed, and again if it is gone."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def parses(self, texts: Sequence[str], language: str) -> bool:
        """Return whether the texts are parsed within the limits."""
        line = json.dumps([language, texts]).encode() + b"\n"
        with self._lock:
            return (self._answer(line) or self._answer(line)) == _PARSED

    def _answer(self, line: bytes) -> bytes:
        """Return the answer; empty if the process is gone."""
        if self._process is None:
            command = [sys.executable, "-m", __name__]
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise RuntimeError("the probe has no pipes")
        try:
            stdin.write(line)
            stdin.flush()
            answer = stdout.readline()
        except BrokenPipeError:
            answer = b""
        if not answer:
            self.close()
        return answer

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None and self.owner == os.getpid():
            process.kill()
            process.communicate()


_only: list[_ProbeProcess] = []


def _probes() -> _ProbeProcess:
    """Return the probe of this process; a fork has another one than its parent."""
    if not _only or _only[0].owner != os.getpid():
        _only[:] = [_ProbeProcess()]
        atexit.register(_only[0].close)
    return _only[0]


def main() -> None:
    """Answer for each line of standard input, ``[language, texts]``, whether the texts are parsed within the limits."""
    for line in sys.stdin.buffer:
        language, texts = json.loads(line)
        grammar(language)  # loaded for all forks
        if sys.platform == "win32":
            for text in texts:
                parse(text, language)
            sys.stdout.buffer.write(_PARSED)
            sys.stdout.buffer.flush()
            continue
        child = os.fork()
        if child == 0:
            _parse_and_end(texts, language)
        _, status = os.waitpid(child, 0)
        sys.stdout.buffer.write(_PARSED if status == 0 else _REFUSED)
        sys.stdout.buffer.flush()


def _parse_and_end(texts: Sequence[str], language: str) -> None:
    """Parse within the limits; the process ends with status 0 if nothing stops it before."""
    try:
        if sys.platform == "linux":
            import resource

            resource.setrlimit(resource.RLIMIT_AS, (PROBE_MB << 20, PROBE_MB << 20))
            resource.setrlimit(resource.RLIMIT_CPU, (PROBE_SECONDS, PROBE_SECONDS))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for text in texts:
            parse(text, language)
        os._exit(0)
    finally:
        os._exit(1)


if __name__ == "__main__":
    main()
