"""Process that parses texts within limits of memory and time.

tree-sitter's memory grows with the square of the length for some texts that fit no rule: 951 MB for 5,000 characters of
``x=>`` in Java. A parse cannot be stopped in between.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import threading
from typing import Final

PARSED: Final = b"parsed\n"
REFUSED: Final = b"refused\n"
TOO_SLOW: Final = b"too slow\n"
_PROGRAM: Final = "from caretbench.syntax.parser import answer_probes; answer_probes()"


class _ProbeProcess:
    """Process that answers for one text after the other; it is started when needed, and again if it is gone."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def answer(self, question: bytes) -> bytes:
        """Return :data:`PARSED`, :data:`REFUSED` or :data:`TOO_SLOW` for ``[language, text]`` in JSON."""
        line = question + b"\n"
        with self._lock:
            # The process may have been killed while it was idle; a second one answers.
            return self._answer(line) or self._answer(line) or TOO_SLOW

    def _answer(self, line: bytes) -> bytes:
        """Return the answer; empty if the process is gone."""
        if self._process is None:
            command = [sys.executable, "-c", _PROGRAM]
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


def probe() -> _ProbeProcess:
    """Return the probe of this process; a fork has another one than its parent."""
    # A fork has its parent's pipes: both would read each other's answers.
    if not _only or _only[0].owner != os.getpid():
        _only[:] = [_ProbeProcess()]
        atexit.register(_only[0].close)
    return _only[0]
