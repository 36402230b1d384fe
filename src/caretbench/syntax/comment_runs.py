"""Long runs of Python comments: tree-sitter's grammar takes quadratic time for them."""

from __future__ import annotations

from typing import Final

LONG_RUN: Final = 1000
"""Number of consecutive lines from which a run of comments and blank lines is shortened."""
_KEPT_AT_END: Final = 20


def without_long_comment_runs(source: bytes) -> bytes:
    """Return Python source in which long runs of comments are blank but for their first and last lines.

    All positions stay. Without this, 50,000 bytes of short comments take 3 s to parse. Lines with triple quotes may
    begin or end a string; they end a run.
    """
    if source.count(b"#") < LONG_RUN:
        return source
    lines = source.split(b"\n")
    start = 0
    for number in range(len(lines) + 1):
        if number < len(lines) and _is_comment_or_blank(lines[number]):
            continue
        if number - start >= LONG_RUN:
            for inner in range(start + 1, number - _KEPT_AT_END):
                lines[inner] = b" " * len(lines[inner])
        start = number + 1
    return b"\n".join(lines)


def _is_comment_or_blank(line: bytes) -> bool:
    bare = line.strip()
    return not bare or (bare.startswith(b"#") and b'"""' not in bare and b"'''" not in bare)
