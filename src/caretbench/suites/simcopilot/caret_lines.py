"""Lines of the caret's file before and after the caret, optionally with the enclosing declarations moved to the end."""

from __future__ import annotations

from typing import Final, NamedTuple

from caretbench.problem import FileSplice
from caretbench.projects.file_spans import visible_text
from caretbench.syntax import FileAnalysis

_MOVED: Final = frozenset({"function", "method", "class"})
_ABOVE: Final = ("#", "//", "@", "[", "/*", "*")


class LinePart(NamedTuple):
    """A line, or a part of the caret's line, with its number in the file."""

    line: int
    text: str


def split_at_caret(
    file: FileAnalysis, splice: FileSplice, *, move_declarations: bool
) -> tuple[list[LinePart], list[LinePart]]:
    """Return the lines before and after the caret, without the span itself.

    With ``move_declarations``, every function and class around the caret is moved to the end of its scope, with its
    decorators and the comments above it. Only whole lines are moved. Text after the caret within the innermost
    declaration stays after it.
    """
    source = file.source
    starts = [*source.line_starts, len(source.data)]
    first = source.line_at(splice.start)
    last = source.line_at(max(splice.start, splice.end - 1))
    order = list(range(1, len(source.line_starts) + 1))
    if move_declarations:
        for scope in file.enclosing_scopes((splice.start, splice.end)):
            if scope.kind in _MOVED:
                order = _to_the_end(file, order, scope.span)
    before, after = [], []
    behind = False
    for line in order:
        start, end = starts[line - 1], starts[line]
        if line == first:
            before.append(LinePart(line, visible_text(source.data[start : splice.start])))
        if line == last:
            after.append(LinePart(line, visible_text(source.data[splice.end : end])))
            behind = True
        if first <= line <= last:
            continue
        text = visible_text(source.data[start:end])
        if text:  # the file's last line may lack a line feed, and may now precede others
            ends = text.endswith("\n") or line == order[-1]
            (after if behind else before).append(LinePart(line, text if ends else f"{text}\n"))
    return before, after


def _to_the_end(file: FileAnalysis, order: list[int], span: tuple[int, int]) -> list[int]:
    """Return the line order with a declaration after its neighbours; unchanged if it shares a line with other code."""
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
    around = [scope.span for scope in file.enclosing_scopes(span) if scope.span != span and scope.kind in _MOVED]
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
