"""Syntax tree of a program with a text in it, parsed from the tree of another text there where this is exact."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import tree_sitter

from caretbench.errors import UsageError
from caretbench.languages import language_of_grammar
from caretbench.syntax.parser import LONG_RUN, encode, grammar, grammar_name, has_error, parse

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
    except UsageError:
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
            # The process may have been killed while it was idle; a second one answers.
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
    # A fork has its parent's pipes: both would read each other's answers.
    if not _only or _only[0].owner != os.getpid():
        _only[:] = [_ProbeProcess()]
        atexit.register(_only[0].close)
    return _only[0]


def main() -> None:
    """Answer for each line of standard input, ``[language, texts]``, whether the texts are parsed within the limits."""
    for line in sys.stdin.buffer:
        language, texts = json.loads(line)
        # Loaded once here, and there for all forks.
        grammar(language)
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
            # A parse that is ended for its memory could leave a core file of up to 1 GB.
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for text in texts:
            parse(text, language)
        os._exit(0)
    finally:
        # Never back into the loop of the parent, whatever a parse raised.
        os._exit(1)


if __name__ == "__main__":
    main()


MAX_PROGRAM_CHARACTERS: Final = 500_000
"""Length from which a program with the text in it is not parsed."""


class SplicedTree(NamedTuple):
    """Tree of a program, the program's bytes, and the range of the text in it."""

    tree: tree_sitter.Tree
    program: bytes
    start: int
    end: int
    grammar: str

    @property
    def language(self) -> str:
        """Name of the language."""
        return language_of_grammar(self.grammar).name

    def with_text(self, program: bytes, end: int) -> tree_sitter.Tree | None:
        """Return the tree of a program with another text up to ``end``, parsed incrementally; None if it may differ.

        Recovery from errors depends on the tree before, and long runs of comments are parsed as if they were blank.
        """
        if has_error(self.tree) or max(program.count(b"#"), self.program.count(b"#")) >= LONG_RUN:
            return None
        # Trees are shared by callers; an edit would move the positions of theirs.
        edited = self.tree.copy()
        edited.edit(
            self.start,
            self.end,
            end,
            _point(self.program, self.start),
            _point(self.program, self.end),
            _point(program, end),
        )
        tree = parse(program, self.grammar, old=edited)
        return None if has_error(tree) else tree


def _point(program: bytes, position: int) -> tuple[int, int]:
    """Return row and column of a position."""
    return program.count(b"\n", 0, position), position - (program.rfind(b"\n", 0, position) + 1)


def spliced_tree(
    prefix: str, text: str, suffix: str, language: str, near: SplicedTree | None = None
) -> SplicedTree | None:
    """Return the tree of a program with ``text`` between prefix and suffix; None if it is not parsed within the limits.

    ``near`` is the tree of another text between the same prefix and suffix.
    """
    try:
        name = grammar_name(language)
    except UsageError:
        return None
    joined = prefix + text + suffix
    if len(joined) > MAX_PROGRAM_CHARACTERS or takes_too_much(text, (joined,), name):
        return None
    program = encode(joined)
    start = len(encode(prefix))
    end = start + len(encode(text))
    tree = None if near is None else near.with_text(program, end)
    return SplicedTree(parse(program, name) if tree is None else tree, program, start, end, name)
