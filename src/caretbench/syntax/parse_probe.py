"""Probe of repetitive texts in a process of its own: some make a parser take all memory of the machine."""

from __future__ import annotations

import json
import subprocess
import sys
import zlib
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from caretbench.syntax.parser import encode, parse

PROBED_CHARACTERS: Final = 2_000
"""Length from which a text is probed; no shorter one of those that were tried took more than 300 MB."""

PROBE_MB: Final = 1_000
"""Memory that the probe may take, in MB, the interpreter included."""

PROBE_SECONDS: Final = 10
"""CPU seconds that the probe may take."""

_REPETITIVE: Final = 10
"""Length of a text in multiples of its compressed length from which it is probed."""

_PARSED: Final = b"parsed\n"


def is_repetitive(text: str) -> bool:
    """Return whether a text is long and compresses to a tenth, as ``a<a<a<…`` does."""
    data = encode(text)
    return len(text) >= PROBED_CHARACTERS and len(data) > _REPETITIVE * len(zlib.compress(data, 1))


def takes_too_much(text: str, programs: Sequence[str], language: str) -> bool:
    """Return whether programs with a repetitive ``text`` in them cannot be parsed within the limits."""
    return is_repetitive(text) and not can_be_parsed(programs, language)


def can_be_parsed(texts: Sequence[str], language: str) -> bool:
    """Return whether a parser takes at most :data:`PROBE_MB` and :data:`PROBE_SECONDS` for the texts.

    tree-sitter's memory grows with the square of the length, and more, for some repeated texts that fit no rule:
    951 MB for 5,000 characters of ``x=>`` in Java, more than 20 GB for 40,000. A parse cannot be stopped in between.
    """
    return _probe(tuple(texts), language)


@lru_cache(maxsize=1_024)
def _probe(texts: tuple[str, ...], language: str) -> bool:
    command = [sys.executable, "-m", __name__, language]
    return subprocess.run(command, input=json.dumps(texts).encode(), capture_output=True, check=False).stdout == _PARSED


def main() -> None:
    """Parse the texts of standard input within the limits, and say so."""
    if sys.platform == "linux":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (PROBE_MB << 20, PROBE_MB << 20))
        resource.setrlimit(resource.RLIMIT_CPU, (PROBE_SECONDS, PROBE_SECONDS))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for text in json.load(sys.stdin):
        parse(text, sys.argv[1])
    sys.stdout.buffer.write(_PARSED)


if __name__ == "__main__":
    main()
