"""How far a place is from the nearest earlier comment, in the two ways of the reference study."""

from __future__ import annotations

import bisect
from typing import Literal, NamedTuple

from caretbench.syntax.docs.places import Comment, CommentKind
from caretbench.syntax.source import SourceFile


class CommentDistance(NamedTuple):
    """``lines`` from the comment's last line to the place's line, and what kind of comment it is."""

    lines: int
    kind: CommentKind


def _stands_alone(source: SourceFile, comment: Comment) -> bool:
    first = source.line_starts[source.line_at(comment.start) - 1]
    return not source.data[first : comment.start].strip()


def comment_distance(
    source: SourceFile,
    comments: tuple[Comment, ...],
    position: int,
    *,
    counting: Literal["full_line", "any"] = "full_line",
) -> CommentDistance | None:
    """Lines from the end of the nearest comment before ``position`` to its line; None without one.

    Args:
        source: The file.
        comments: Its comments, in the order of the text.
        position: A byte of the file: where a block begins.
        counting: ``full_line``: comments that begin their line, block comments and docstrings, as the paper
            counts; ``any``: those behind code, too.
    """
    line = source.line_at(position)
    before = bisect.bisect_right(comments, position, key=lambda comment: comment.start)
    for comment in (comments[n] for n in range(before - 1, -1, -1)):
        end = source.line_at(max(comment.end - 1, comment.start))
        if comment.end > position or (end == line and comment.start >= source.line_starts[line - 1]):
            continue
        if counting == "any" or comment.kind != "line" or _stands_alone(source, comment):
            return CommentDistance(line - end, comment.kind)
    return None


def split_by_distance(
    distances: list[int | None], *, bound: float | None = None
) -> list[Literal["short", "long"] | None]:
    """``short`` up to the bound, ``long`` above it, None where there is no comment.

    Args:
        distances: Lines, or None.
        bound: The largest short distance: the median of the distances where it is not given; the published
            table has 10 for all its sets (the paper says median).
    """
    known = sorted(distance for distance in distances if distance is not None)
    if bound is None and known:
        middle = len(known) // 2
        bound = known[middle] if len(known) % 2 else (known[middle - 1] + known[middle]) / 2
    return [
        None if distance is None or bound is None else ("short" if distance <= bound else "long")
        for distance in distances
    ]
