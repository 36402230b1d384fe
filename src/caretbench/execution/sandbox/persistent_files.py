"""Reader and writer of a file in a persistent sandbox. Never imported: an interpreter inside the sandbox runs its text.

It is isolated as a program is, and runs as the same user, so that links lead nowhere outside; the host opens nothing.
Arguments: ``read PATH MAX_BYTES`` (base64 content on standard output) or ``write PATH`` (content from standard input).
An error's number is written to standard error.
"""

# ruff: noqa: PTH103, PTH120, PTH123
# As the launcher: it imports as little as it can.

from __future__ import annotations

import binascii
import errno
import os
import stat
import sys

BLOCK = 3 << 18  # a multiple of three: blocks in base64 join to one text
FAILED = 3


def open_file(path: str, flags: int) -> int:
    """Return the descriptor of an ordinary file."""
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC, 0o644)
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "")
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "")
    return descriptor


def read_file(path: str, max_bytes: int) -> None:
    """Write a file's content to standard output, unless it is larger than ``max_bytes`` bytes."""
    descriptor = open_file(path, os.O_RDONLY)
    if os.fstat(descriptor).st_size > max_bytes:
        raise OSError(errno.EFBIG, "")
    with open(descriptor, "rb") as source, open(1, "wb") as sink:
        while max_bytes >= 0:
            block = source.read(BLOCK)
            if not block:
                return
            max_bytes -= len(block)
            sink.write(binascii.b2a_base64(block, newline=False))
    raise OSError(errno.EFBIG, "")


def write_file(path: str) -> None:
    """Write standard input to a file."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(open_file(path, os.O_WRONLY | os.O_CREAT), "wb") as sink, open(0, "rb") as source:
        sink.truncate()
        while block := source.read(BLOCK):
            sink.write(block)


def main() -> None:
    """Run the command in the arguments."""
    try:
        if sys.argv[1] == "read":
            read_file(sys.argv[2], int(sys.argv[3]))
        else:
            write_file(sys.argv[2])
    except OSError as error:
        os.write(2, b"%d" % (error.errno or errno.EIO))
        os._exit(FAILED)
    os._exit(0)


main()
