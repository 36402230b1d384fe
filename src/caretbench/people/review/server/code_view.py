"""Code view: a program as HTML lines with numbers and colours, one span marked, lines far from the span folded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from caretbench.people.review.server.visible_text import visible_html

if TYPE_CHECKING:
    from pygments.lexer import Lexer

NEAR_LINES: Final = 25
"""Number of lines before and after the span that are not folded."""

LONGEST_LINE: Final = 2_000
"""Maximum number of characters that are shown of one part of a line."""

MOST_COLOURED: Final = 200_000
"""Maximum length in characters of a program that is coloured; colouring a longer one takes seconds."""

Part = Literal["before", "span", "after"]


class _Piece(NamedTuple):
    """Piece of one line: the class of its colour, and its part of the program."""

    part: Part
    colour: str
    text: str


def code_html(language: str, before: str, span: str, after: str, *, marked: bool = True) -> str:
    """Return a program as HTML. Everything in it is text: nothing of it runs or is fetched.

    Args:
        language: Name of the language; an unknown one is not coloured.
        before: Text before the span.
        span: The span.
        after: Text after the span.
        marked: Mark the span; without it the text is shown whole, ``before`` and ``after`` are empty.
    """
    lines = _lines(_pieces(language, before, span, after))
    first = before.count("\n")
    last = first + span.rstrip("\n").count("\n")
    shown = [_line_html(number, pieces, marked=marked) for number, pieces in enumerate(lines, start=1)]
    if not marked:
        return "".join(shown)
    near = range(first - NEAR_LINES, last + NEAR_LINES + 1)
    return "".join(
        _block(list(block), is_near=is_near)
        for is_near, block in (
            (is_near, (text for _, text in group))
            for is_near, group in groupby(enumerate(shown), key=lambda entry: entry[0] in near)
        )
    )


def _block(lines: Sequence[str], *, is_near: bool) -> str:
    if is_near or len(lines) < 3:
        return "".join(lines)
    return f'<details class="fold"><summary>{len(lines)} lines</summary>{"".join(lines)}</details>'


def _line_html(number: int, pieces: Sequence[_Piece], *, marked: bool) -> str:
    holds_span = any(piece.part == "span" for piece in pieces)
    shown = []
    for part, group in groupby(pieces, key=lambda piece: piece.part):
        text = "".join(_coloured(piece) for piece in _cut(list(group), from_end=part == "before" and holds_span))
        if part == "span" and marked:
            text = f"<mark>{text}</mark>" if text else '<mark class="empty">nothing</mark>'
        shown.append(text)
    kind = ' class="line in-span"' if holds_span and marked else ' class="line"'
    return f'<div{kind}><span class="number" aria-hidden="true">{number}</span><code>{"".join(shown)}\n</code></div>'


def _cut(pieces: list[_Piece], *, from_end: bool) -> list[_Piece]:
    """Return pieces with at most :data:`LONGEST_LINE` characters, and a note of how many more there are."""
    total = sum(len(piece.text) for piece in pieces)
    if total <= LONGEST_LINE:
        return pieces
    room, kept = LONGEST_LINE, list[_Piece]()
    for piece in reversed(pieces) if from_end else pieces:
        if room > 0:
            kept.append(piece._replace(text=piece.text[-room:] if from_end else piece.text[:room]))
            room -= len(piece.text)
    note = _Piece(pieces[0].part, "cut", f"[… {total - LONGEST_LINE} more characters]")
    return [note, *reversed(kept)] if from_end else [*kept, note]


def _coloured(piece: _Piece) -> str:
    text = visible_html(piece.text)
    return f'<span class="{piece.colour}">{text}</span>' if piece.colour else text


def _lines(pieces: Iterator[_Piece]) -> list[list[_Piece]]:
    """Return the pieces by line, without the line feeds."""
    lines: list[list[_Piece]] = [[]]
    for piece in pieces:
        first, *rest = piece.text.split("\n")
        lines[-1].append(piece._replace(text=first))
        lines += [[piece._replace(text=text)] for text in rest]
    if len(lines) > 1 and not any(piece.text for piece in lines[-1]) and all(p.part != "span" for p in lines[-1]):
        lines.pop()  # behind the last line feed
    return lines


def _pieces(language: str, before: str, span: str, after: str) -> Iterator[_Piece]:
    """Yield the program's tokens, divided at the borders of the span; an empty span is an empty piece."""
    bounds: list[tuple[Part, int]] = [
        ("before", len(before)), ("span", len(before) + len(span)), ("after", len(before) + len(span) + len(after)),
    ]  # fmt: skip
    place, position = 0, 0
    for colour, value in _tokens(language, before + span + after):
        while value:
            part, end = bounds[place]
            text, value = value[: end - position], value[end - position :]
            if text or part == "span":
                yield _Piece(part, colour, text)
            position += len(text)
            if position == end and place < len(bounds) - 1:
                place += 1
                if bounds[place][0] == "span" and not span:
                    yield _Piece("span", "", "")
                    place += 1
    if place == 0 and not span:
        yield _Piece("span", "", "")


def _tokens(language: str, text: str) -> Iterator[tuple[str, str]]:
    from pygments.token import STANDARD_TYPES

    if len(text) > MOST_COLOURED:
        yield "", text
        return
    lexer = _lexer(language)
    if lexer is None:
        yield "", text
        return
    for _, kind, value in lexer.get_tokens_unprocessed(text):
        found = kind
        while found not in STANDARD_TYPES and found.parent is not None:
            found = found.parent
        yield STANDARD_TYPES.get(found, ""), value


@cache
def _lexer(language: str) -> Lexer | None:
    """Return the lexer of a language; None without one. Making one again for every item takes milliseconds."""
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(language or "text")
    except ClassNotFound:
        return None
