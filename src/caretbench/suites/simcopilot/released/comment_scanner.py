"""Distances to comments as the released line scanner measures them.

The scanner reads lines, not syntax: a docstring of one line opens a comment that the next line with a mark closes. Our
own labels come from the parser (:mod:`caretbench.syntax.documentation`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from caretbench.suites.simcopilot.released.paper_rules import paper_rules


def comment_distance(source: str, start: int) -> int | None:
    """Return the lines from the nearest comment that ends before line ``start`` to that line; None without one."""
    lines = [line.strip() for line in source.split("\n")]
    ends = (*_line_comment_ends(lines), *_block_comment_ends(lines))
    return min((start - end for end in ends if end < start), default=None)


def _line_comment_ends(lines: Sequence[str]) -> Iterator[int]:
    """Yield the last line, from 1, of each run of line comments."""
    marks = paper_rules().comments.line
    for number, (line, following) in enumerate(zip(lines, (*lines[1:], ""), strict=True), start=1):
        if line.startswith(marks) and not following.startswith(marks):
            yield number


def _block_comment_ends(lines: Sequence[str]) -> Iterator[int]:
    """Yield the last line, from 1, of each block comment; one that is open at the end of the file ends there."""
    rules = paper_rules().comments
    is_open = False
    for number, line in enumerate(lines, start=1):
        if line.startswith(rules.opening):
            if is_open:
                yield number
            is_open = not is_open
        elif is_open and line.endswith(rules.closing):
            yield number
            is_open = False
    if is_open:
        yield len(lines)
