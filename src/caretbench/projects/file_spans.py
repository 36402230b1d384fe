"""Text of a file's spans as models see it, and splices of answers into them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from caretbench.problem import Caret, FileSplice
from caretbench.syntax import Span

BOM: Final = b"\xef\xbb\xbf"


def dominant_newline(data: bytes) -> str:
    """Return the most frequent line ending."""
    pairs = data.count(b"\r\n")
    return "\r\n" if pairs and 2 * pairs >= data.count(b"\n") else "\n"


def visible_text(data: bytes) -> str:
    """Return a part of a file as shown to a model: with line feeds, without byte-order mark."""
    return data.removeprefix(BOM).decode("utf-8").replace("\r\n", "\n")


def file_caret(language: str, path: str, data: bytes, start: int, suffix_start: int | None) -> Caret:
    """Return the caret at a byte of a file; the file is shown again from ``suffix_start``, not at all if it is None."""
    suffix = "" if suffix_start is None else visible_text(data[suffix_start:])
    return Caret(language=language, path=path, prefix=visible_text(data[:start]), suffix=suffix)


def span_splice(path: str, span: Span, snapshot: str, data: bytes, default_newline: str | None = None) -> FileSplice:
    """Return the splice of an answer into a span of the file with content ``data``.

    Its line ending is the span's; for a span of one line ``default_newline``, or the most frequent one of the file.
    """
    raw = data[span.start : span.end]
    newline = dominant_newline(raw) if b"\n" in raw else default_newline or dominant_newline(data)
    return FileSplice(
        snapshot=snapshot, path=path, start=span.start, end=span.end, newline="\r\n" if newline == "\r\n" else "\n"
    )


def round_trips(path: str, span: Span, data: bytes, newline: str) -> bool:
    """Return whether the visible text of a span, as an answer, gives the bytes of the file, and is not blank."""
    raw = data[span.start : span.end]
    text = visible_text(raw)
    if not text.strip() or BOM in raw[:3]:
        return False
    splice = span_splice(path, span, "", data, newline)
    alone = splice.model_copy(update={"start": 0, "end": len(raw)})  # the file around it is not looked at
    return alone.content(raw, text) == raw


def overlap_groups(spans: Sequence[tuple[str, int, int]]) -> list[int]:
    """Return the number of the overlap group of each span ``(file, start, end)``.

    Spans that overlap, directly or through others, are in one group; spans that only touch are not. Groups are
    numbered in the order of files and positions.
    """
    order = sorted(range(len(spans)), key=lambda index: spans[index])
    groups = [0] * len(spans)
    number, last, reach = -1, "", 0
    for index in order:
        path, start, end = spans[index]
        if number < 0 or path != last or start >= reach:
            number, reach = number + 1, end
        last, reach = path, max(reach, end)
        groups[index] = number
    return groups


def overlap_group_names(project: str, spans: Sequence[tuple[str, int, int]]) -> list[str]:
    """Return the name of each span's overlap group: project, file and start of the group's first entry in ``spans``."""
    firsts: dict[int, str] = {}
    groups = zip(overlap_groups(spans), spans, strict=True)
    return [firsts.setdefault(group, f"{project}/{path}:{start}") for group, (path, start, _) in groups]
