"""Precompiled headers: the first includes of C++ programs are parsed once; programs keep their meaning.

Most of a small program's compile time goes into its standard headers. A program may be given any set of them that it
includes itself before anything else: it sees nothing that it did not ask for, and the standard lets these headers come
in any order. So the set that is used may be smaller than the program's, never larger.

Other libraries' headers may depend on what comes before them. A program that begins with such gets all that it begins
with, in its own order, or nothing of them; answers to one problem begin alike.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import threading
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from caretbench.execution.cache.staging_folders import remove_abandoned, staging_folder
from caretbench.execution.toolchains.base_runtime import harness_file
from caretbench.files import sha256_json

HEADER = "headers.hpp"
PRECOMPILED = f"{HEADER}.gch"
MAX_ENTRIES = 64
MAX_BYTES = 1 << 30
"""Maximum size of all entries; a usual one takes some thirty megabytes."""

_EVERYTHING = "bits/stdc++.h"
_FIRST = frozenset({"iostream", _EVERYTHING})
_COST_MS = {
    _EVERYTHING: 1250, "iostream": 210, "regex": 215, "future": 180, "random": 160, "functional": 140, "cmath": 140,
    "thread": 90, "mutex": 80, "shared_mutex": 80, "unordered_map": 65, "unordered_set": 65, "memory": 55, "atomic": 45,
    "condition_variable": 40, "iomanip": 40, "map": 40, "queue": 40,
}  # fmt: skip
"""CPU time in milliseconds of a header in a program that includes ``iostream``, measured with g++ 12; it only decides
which headers are worth precompiling."""
_OTHERS_MS = 20
OTHERS_WORTH = 0.5
"""Share of the cost of building other libraries' headers that they are taken to save a program."""
_SUM = "checksum"

# `cassert` may come again with another NDEBUG, is small, and is not worth a set of its own.
_ASSERTIONS = frozenset({"cassert", "assert.h"})
_STANDARD = frozenset(re.findall(r"^#include <(.+)>$", harness_file("cpp", "common_headers.hpp"), re.MULTILINE)) | {
    _EVERYTHING, "charconv", "cinttypes", "cstdarg", "cstddef", "forward_list", "iosfwd", "numeric", "valarray",
}  # fmt: skip
_BLANK = re.compile(r"(?:[ \t\n]|\r\n|//[^\n]*\n|/\*.*?\*/)*", re.DOTALL)
_INCLUDE = re.compile(r"#[ \t]*include[ \t]*<([\w./+]+)>[ \t]*(?://[^\n]*)?\r?\n")


def saved_cpu_ms(headers: frozenset[str]) -> float:
    """Return the estimated CPU time in milliseconds that a set of headers saves a program."""
    return sum(_COST_MS.get(header, _OTHERS_MS) for header in headers)


def build_cpu_ms(headers: frozenset[str]) -> float:
    """Return the estimated CPU time in milliseconds to precompile a set of headers."""
    return 200 + 2.5 * saved_cpu_ms(headers)


def leading_headers(source: str) -> frozenset[str]:
    """Return the standard headers that a program includes before any other token or directive.

    Assertions' headers are passed over. Whatever is doubtful ends the list: a line that goes on in the next, a header
    that is not the standard library's (it may set macros), a macro.
    """
    headers = set(takewhile((_STANDARD | _ASSERTIONS).__contains__, _included(source)))
    return frozenset({_EVERYTHING}) if _EVERYTHING in headers else frozenset(headers) - _ASSERTIONS


def leading_includes(source: str) -> str:
    """Return the first include lines of a program if they include other libraries; else an empty text."""
    headers = [header for header in _included(source) if header not in _ASSERTIONS]
    foreign = any(header not in _STANDARD for header in headers)
    return "".join(f"#include <{header}>\n" for header in headers) if foreign else ""


def _find_candidates(source: str) -> Iterator[tuple[str, frozenset[str] | None]]:
    """Yield the texts that may be precompiled for a program, each with its headers if all are standard ones."""
    if text := leading_includes(source):
        yield text, None
    # Never more than the program's own: one header with all of the library hid missing includes, and changed 3 of 30
    # verdicts.
    included = leading_headers(source)
    for headers in dict.fromkeys((included & _FIRST, included)):
        if headers:
            yield "".join(f"#include <{header}>\n" for header in sorted(headers)), headers


def _included(source: str) -> Iterator[str]:
    """Yield the headers in angle brackets that a program includes before any other token or directive."""
    # A backslash may join two lines, and what follows is not what it seems.
    text = source.partition("\\")[0]
    position = 0
    while True:
        blank = _BLANK.match(text, position)
        line = _INCLUDE.match(text, blank.end() if blank is not None else position)
        if line is None:
            return
        yield line[1]
        position = line.end()


class HeaderEntry(NamedTuple):
    """Precompiled header on disk: its folder's name, its standard headers, and its size in bytes.

    The headers are None for a text that holds others too.
    """

    name: str
    headers: frozenset[str] | None
    size: int


CompilerFlags = tuple[str, ...]
HeaderCompiler = Callable[[str, CompilerFlags, Path], bool]
"""Function that precompiles a text, with flags, into ``PRECOMPILED`` in a folder; returns whether it succeeded."""


class PrecompiledHeaderStore:
    """Store of precompiled headers below one folder. Threads and processes may share it.

    Args:
        root: Folder of the entries, each a folder that appears whole.
        mark: Identity of the compiler.
    """

    def __init__(self, root: Path, mark: str) -> None:
        self.root = root
        self._mark = mark
        self._lock = threading.Lock()
        self._counted: set[int] = set()  # hashes of programs
        self._worth: defaultdict[tuple[CompilerFlags, str], float] = defaultdict(float)
        self._looked_for: set[tuple[CompilerFlags, str]] = set()
        # None: it is being built, or cannot be.
        self._known: dict[tuple[CompilerFlags, str], HeaderEntry | None] = {}
        with contextlib.suppress(OSError):  # what cannot be kept is gone without
            root.mkdir(parents=True, exist_ok=True)
            remove_abandoned(root)

    def expect(self, source: str, flags: CompilerFlags) -> None:
        """Count a program that will be compiled, once: what enough of them begin with is built before the first one."""
        program = hash((source, flags))
        with self._lock:
            counted = program in self._counted
            self._counted.add(program)
        if counted:
            return
        for text, headers in _find_candidates(source):
            worth = OTHERS_WORTH if headers is None else self._worth_of(headers, leading_headers(source), flags)
            with self._lock:
                self._worth[flags, text] += worth

    def for_program(self, source: str, flags: CompilerFlags, compile_header: HeaderCompiler) -> HeaderEntry | None:
        """Return the best entry that contains only headers that the program begins with; None: use none.

        A set is built once it saves the expected programs what building it costs; meanwhile other threads go without.
        """
        self.expect(source, flags)
        for text, headers in _find_candidates(source):
            entry = self._provide(text, headers, flags, compile_header)
            if headers is None and entry is not None and (used := self._used(entry)) is not None:
                return used
        best = self._best(leading_headers(source), flags)
        return self._used(best) if best is not None else None

    def _worth_of(self, headers: frozenset[str], included: frozenset[str], flags: CompilerFlags) -> float:
        """Return the share of the cost of building a set that it saves a program that begins with ``included``."""
        best = self._best(included, flags)
        held = [best.headers] if best is not None and best.headers else []
        # What the first set will save is not the whole set's merit.
        others = max((saved_cpu_ms(other) for other in (*held, included & _FIRST) if other != headers), default=0.0)
        return max(0.0, saved_cpu_ms(headers) - others) / build_cpu_ms(headers)

    def _best(self, included: frozenset[str], flags: CompilerFlags) -> HeaderEntry | None:
        with self._lock:
            fitting = [
                (saved_cpu_ms(entry.headers), entry.size, entry)
                for (others, _), entry in self._known.items()
                if entry is not None and entry.headers and others == flags and entry.headers <= included
            ]
        return max(fitting, key=lambda fit: fit[:2])[2] if fitting else None

    def for_text(self, text: str, flags: CompilerFlags, compile_header: HeaderCompiler) -> HeaderEntry | None:
        """Return the entry of a text, built on first use; None if it cannot be built."""
        with self._lock:
            self._worth[flags, text] = 1.0
        entry = self._provide(text, None, flags, compile_header)
        return self._used(entry) if entry is not None else None

    def is_intact(self, entry: HeaderEntry) -> bool:
        """Return whether an entry is undamaged. A damaged one is removed, to be built again."""
        if self._intact(entry):
            return True
        self._forget(entry)
        shutil.rmtree(self.root / entry.name, ignore_errors=True)
        return False

    # --- building ---------------------------------------------------------------------------------------------

    def _provide(
        self, text: str, headers: frozenset[str] | None, flags: CompilerFlags, compile_header: HeaderCompiler
    ) -> HeaderEntry | None:
        """Return an entry: looked for on first use, built once the time that it saves exceeds its cost."""
        key = (flags, text)
        with self._lock:
            if key in self._known:
                return self._known[key]
            first = key not in self._looked_for
            self._looked_for.add(key)
            due = self._worth[key] >= 1
            if due:
                self._known[key] = None
        name = sha256_json([self._mark, list(flags), text])[:32]
        entry = self._find_entry(name, headers) if first or due else None
        if entry is None and due:
            with contextlib.suppress(OSError):
                self._make(name, text, flags, compile_header)
            entry = self._find_entry(name, headers)
        if entry is not None:
            with self._lock:
                self._known[key] = entry
        return entry

    def _find_entry(self, name: str, headers: frozenset[str] | None) -> HeaderEntry | None:
        """Return an entry of an earlier process, or of another one."""
        with contextlib.suppress(OSError):
            entry = HeaderEntry(name, headers, (self.root / name / PRECOMPILED).stat().st_size)
            return entry if self.is_intact(entry) else None
        shutil.rmtree(self.root / name, ignore_errors=True)
        return None

    def _make(self, name: str, text: str, flags: CompilerFlags, compile_header: HeaderCompiler) -> None:
        with staging_folder(self.root) as staging:
            folder = staging / "entry"
            folder.mkdir()
            if not compile_header(text, flags, folder):
                return
            (folder / HEADER).write_text(text)
            (folder / _SUM).write_text(f"{_checksum(folder)}\n")
            with contextlib.suppress(OSError):  # another process was faster
                folder.rename(self.root / name)
        self._prune(name)

    def _prune(self, newest: str) -> None:
        """Remove the least recently used entries until number and size are within their bounds."""
        entries: list[tuple[float, int, Path]] = []
        for folder in self.root.glob("[!.]*"):
            with contextlib.suppress(OSError):
                entries.append((folder.stat().st_mtime, (folder / PRECOMPILED).stat().st_size, folder))
        entries.sort()
        size = sum(entry[1] for entry in entries)
        left = len(entries)
        for _, freed, folder in entries:
            if left <= MAX_ENTRIES and size <= MAX_BYTES:
                break
            if folder.name != newest:
                shutil.rmtree(folder, ignore_errors=True)
                size -= freed
                left -= 1

    # --- looking ----------------------------------------------------------------------------------------------

    def _used(self, entry: HeaderEntry) -> HeaderEntry | None:
        """Return the entry, noted as used now; None where another process has removed it."""
        try:
            os.utime(self.root / entry.name)
        except OSError:
            self._forget(entry)
            return None
        return entry

    def _forget(self, entry: HeaderEntry) -> None:
        with self._lock:
            for key in [key for key, other in self._known.items() if other == entry]:
                del self._known[key]
                self._looked_for.discard(key)
                self._worth[key] = 0.0
                self._counted.clear()

    def _intact(self, entry: HeaderEntry) -> bool:
        folder = self.root / entry.name
        try:
            return (folder / HEADER).is_file() and int((folder / _SUM).read_text()) == _checksum(folder)
        except (OSError, ValueError):
            return False


def _checksum(folder: Path) -> int:
    """Return a checksum against damage, not malice: only this package writes there."""
    total = 0
    with (folder / PRECOMPILED).open("rb") as stream:
        while chunk := stream.read(1 << 20):
            total = zlib.crc32(chunk, total)
    return total
