"""Reader of result files after a program's end. Never imported: the launcher runs its text inside the sandbox.

The program may have left links, pipes, endless files or a million folders. So remaining processes are killed first,
every name is opened from its folder's descriptor, no link is followed, and number, size and depth are bounded.
"""

# ruff: noqa: UP031
# As in the launcher: bytes and numbers, with what an interpreter starts with.

from __future__ import annotations

import binascii
import os
import signal
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

MAX_FILES = 256
MAX_NAMES = 100_000
MAX_DEPTH = 32
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Opening a pipe that nobody writes to would wait for ever.
FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_NOFOLLOW | os.O_CLOEXEC


def name_matches(name: str, pattern: str) -> bool:
    """Return whether a file's name matches a pattern of ``*`` and ``?``."""
    position = mark = 0
    star, resume = -1, 0
    while position < len(name):
        if mark < len(pattern) and pattern[mark] == "*":
            star, resume = mark, position
            mark += 1
        elif mark < len(pattern) and pattern[mark] in ("?", name[position]):
            position, mark = position + 1, mark + 1
        elif star >= 0:
            mark, resume = star + 1, resume + 1
            position = resume
        else:
            return False
    return not pattern[mark:].strip("*")


class FilePatternSearch:
    """Search for files below a folder, with a bounded number of names."""

    def __init__(self) -> None:
        self.left = MAX_NAMES

    def matching_names(self, folder: int, pattern: str) -> list[str]:
        """Return the names in a folder that match one part of a pattern."""
        if "*" not in pattern and "?" not in pattern:
            return [pattern]
        names = []
        with os.scandir(folder) as entries:
            for entry in entries:
                self.left -= 1
                if self.left < 0:
                    break
                if name_matches(entry.name, pattern):
                    names.append(entry.name)
        # A folder lists its names in any order, on which no result may depend.
        return sorted(names)

    def find_files(
        self, folder: int, pattern_parts: list[str], parent_path: str = "", depth: int = 0
    ) -> Iterator[tuple[int, str, str]]:
        """Yield folder descriptor, name and path of each match; the folder is open until the next one."""
        head, rest = pattern_parts[0], pattern_parts[1:]
        anywhere = head == "**" and bool(rest)
        if anywhere:
            yield from self.find_files(folder, rest, parent_path, depth)
        elif not rest:
            for name in self.matching_names(folder, head):
                yield folder, name, parent_path + name
            return
        if depth >= MAX_DEPTH:
            return
        for name in self.matching_names(folder, "*" if anywhere else head):
            try:
                inner = os.open(name, FOLDER, dir_fd=folder)
            except OSError:
                continue
            try:
                yield from self.find_files(
                    inner, pattern_parts if anywhere else rest, parent_path + name + "/", depth + 1
                )
            finally:
                os.close(inner)


def read_file(folder: int, name: str, max_bytes: int) -> tuple[bytes, str] | None:
    """Return a file's content, or the reason why it is not read; None if it is absent or a folder."""
    try:
        if stat.S_ISLNK(os.lstat(name, dir_fd=folder).st_mode):
            return b"", "it is a link"
        descriptor = os.open(name, FILE, dir_fd=folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        return b"", "it cannot be opened: " + os.strerror(error.errno or 0)
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            return None
        if not stat.S_ISREG(mode):
            return b"", "it is not a file"
        data = b""
        while len(data) <= max_bytes:
            chunk = os.read(descriptor, min(1 << 20, max_bytes + 1 - len(data)))
            if not chunk:
                return data, ""
            data += chunk
        return b"", "it is larger than %d bytes" % max_bytes
    except OSError as error:
        return b"", "it cannot be read: " + os.strerror(error.errno or 0)
    finally:
        os.close(descriptor)


def write_line(channel: int, line: bytes) -> None:
    """Write a whole line."""
    rest = memoryview(line)
    while rest:
        rest = rest[os.write(channel, rest) :]


def base64_text(data: bytes) -> bytes:
    """Return data in base64."""
    return binascii.b2a_base64(data, newline=False)


def kill_other_processes() -> None:
    """Kill and reap all other processes; this is the first process of the namespace."""
    try:
        os.kill(-1, signal.SIGKILL)
    except ProcessLookupError:
        return
    while True:
        try:
            os.wait()
        except ChildProcessError:
            return


def read_out(channel: int, tree: dict[str, Any]) -> None:
    """Write every requested file to the channel, one line each."""
    kill_other_processes()
    left = tree["total_bytes"]
    seen: set[str] = set()
    try:
        root = os.open(tree["root"], FOLDER)
    except OSError:
        return
    for pattern in tree["results"]:
        walk = FilePatternSearch()
        for folder, name, path in walk.find_files(root, pattern.split("/")):
            if path in seen or len(seen) >= MAX_FILES:
                continue
            content = read_file(folder, name, min(tree["file_bytes"], left))
            if content is None:
                continue
            seen.add(path)
            data, problem = content
            left -= len(data)
            words = (base64_text(os.fsencode(path)), base64_text(pattern.encode()), base64_text(data), problem.encode())
            write_line(channel, b'{"file": "%s", "pattern": "%s", "data": "%s", "problem": "%s"}\n' % words)
