"""The caret's file as lines before and behind the caret, in their order or with what is around it moved to the end."""

from __future__ import annotations

from typing import Final, NamedTuple

from caretbench.problem import FileSplice
from caretbench.suites.simcopilot.mining.candidates import shown
from caretbench.syntax import FileAnalysis

_MOVED: Final = frozenset({"function", "method", "class"})
_ABOVE: Final = ("#", "//", "@", "[", "/*", "*")


class LinePiece(NamedTuple):
    """A line, or at the caret a part of one, with its number in the file."""

    line: int
    text: str


def moved(file: FileAnalysis, splice: FileSplice, *, move: bool) -> tuple[list[LinePiece], list[LinePiece]]:
    """Return the lines before and behind the caret, without the span itself.

    With ``move`` every function and class around the caret stands, with the comments and decorators above it, at the
    end of what it is in; only whole lines are moved. Nothing that stood behind the caret within the innermost of them
    comes before it.
    """
    source = file.source
    starts = [*source.line_starts, len(source.data)]
    first = source.line_at(splice.start)
    last = source.line_at(max(splice.start, splice.end - 1))
    order = list(range(1, len(source.line_starts) + 1))
    if move:
        for scope in file.enclosing_scopes((splice.start, splice.end)):
            if scope.kind in _MOVED:
                order = _to_the_end(file, order, scope.span)
    before, after = [], []
    behind = False
    for line in order:
        start, end = starts[line - 1], starts[line]
        if line == first:
            before.append(LinePiece(line, shown(source.data[start : splice.start])))
        if line == last:
            after.append(LinePiece(line, shown(source.data[splice.end : end])))
            behind = True
        if first <= line <= last:
            continue
        text = shown(source.data[start:end])
        if text:  # the file's last line may lack its end, and stand before others now
            ends = text.endswith("\n") or line == order[-1]
            (after if behind else before).append(LinePiece(line, text if ends else f"{text}\n"))
    return before, after


def _to_the_end(file: FileAnalysis, order: list[int], span: tuple[int, int]) -> list[int]:
    """The lines of a declaration behind the lines of its neighbours; unchanged where it shares a line with others."""
    source = file.source
    first, last = source.line_at(span[0]), source.line_at(max(span[0], span[1] - 1))
    head = source.data[source.line_starts[first - 1] : span[0]]
    tail = source.data[span[1] : source.lines_of(last, last).end]
    if head.strip() or tail.strip():
        return order
    above = source.text(source.lines_of(first - 1, first - 1)).strip() if first > 1 else ""
    while first > 1 and above.startswith(_ABOVE):
        first -= 1
        above = source.text(source.lines_of(first - 1, first - 1)).strip() if first > 1 else ""
    inner = [line for line in order if first <= line <= last]
    around = [
        scope.span for scope in file.enclosing_scopes(span) if scope.span != span and scope.kind in _MOVED
    ]
    if around:
        begin, end = source.line_at(around[-1][0]), source.line_at(max(0, around[-1][1] - 1))
        closes = source.data[: around[-1][1]].endswith(b"}")
        stop = end - 1 if closes else end
    else:
        begin, stop = 1, len(source.line_starts)
    outside = set(range(first, last + 1))
    place = max((n for n, line in enumerate(order) if begin <= line <= stop), default=len(order) - 1)
    rest_before = [line for line in order[: place + 1] if line not in outside]
    rest_after = [line for line in order[place + 1 :] if line not in outside]
    return [*rest_before, *inner, *rest_after]
