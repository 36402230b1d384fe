"""Entries of a queue as HTML: the item, the questions with a person's answers so far, and what the adjudicator sees."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from caretbench.people.review.database import Person, ReviewDatabase
from caretbench.people.review.protocol import (
    MAX_CHOICES,
    TEN_KEY,
    Answer,
    ReviewProtocol,
    ReviewQuestion,
    chosen_values,
)
from caretbench.people.review.queues import QueueEntry, rank
from caretbench.people.review.records import ReviewEvent, ReviewItem, new_event_id
from caretbench.people.review.state import ReviewState
from caretbench.text_tables import counted

if TYPE_CHECKING:
    from pygments.lexer import Lexer


_NAMES: Final = {
    "\x00": "NUL", "\x07": "BEL", "\x08": "BS", "\x1b": "ESC", "\x7f": "DEL", "\x9b": "CSI", "\r": "CR", "\x0c": "FF",
    "\u200b": "ZWSP", "\u200c": "ZWNJ", "\u200d": "ZWJ", "\u200e": "LRM", "\u200f": "RLM", "\u061c": "ALM",
    "\u202a": "LRE", "\u202b": "RLE", "\u202c": "PDF", "\u202d": "LRO", "\u202e": "RLO", "\u2066": "LRI",
    "\u2067": "RLI", "\u2068": "FSI", "\u2069": "PDI", "\ufeff": "BOM", "\u2028": "LS", "\u2029": "PS",
}  # fmt: skip
"""Short names of control and format characters; the others are named by their number."""

_UNSEEN: Final = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]"
)


def visible_html(text: str) -> str:
    """Return the text as HTML, with a mark in the place of every character that is not seen or steers a screen.

    Tabs and line feeds stay.
    """
    return _UNSEEN.sub(lambda character: _mark(character.group()), html.escape(text))


@lru_cache(maxsize=256)
def _mark(character: str) -> str:
    name = _NAMES.get(character, f"U+{ord(character):04X}")
    title = html.escape(unicodedata.name(character, "CONTROL CHARACTER"))
    return f'<i class="sign" title="{title}">{name}</i>'


NEAR_LINES: Final = 25
"""Number of lines before and after the span that are not folded."""

LONGEST_LINE: Final = 2_000
"""Maximum number of characters that are shown of one part of a line."""

MAX_COLOURED: Final = 200_000
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
    blocks = groupby(enumerate(shown), key=lambda entry: entry[0] in near)
    return "".join(_block([line for _, line in block], is_near=is_near) for is_near, block in blocks)


def _block(lines: Sequence[str], *, is_near: bool) -> str:
    if is_near or len(lines) < 3:
        return "".join(lines)
    summary = counted(len(lines), "line")
    return f'<details class="fold"><summary>{summary}</summary>{"".join(lines)}</details>'


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
    start, end = len(before), len(before) + len(span)
    parts: list[tuple[Part, int, int]] = [("before", 0, start), ("span", start, end), ("after", end, end + len(after))]
    position, empty_span_is_due = 0, not span
    for colour, value in _tokens(language, before + span + after):
        for part, first, last in parts:
            text = value[max(first - position, 0) : max(last - position, 0)]
            if text and part == "after" and empty_span_is_due:
                yield _Piece("span", "", "")
                empty_span_is_due = False
            if text:
                yield _Piece(part, colour, text)
        position += len(value)
    if empty_span_is_due:
        yield _Piece("span", "", "")


def _tokens(language: str, text: str) -> Iterator[tuple[str, str]]:
    from pygments.token import STANDARD_TYPES

    lexer = _lexer(language) if len(text) <= MAX_COLOURED else None
    if lexer is None:
        yield "", text
        return
    for _, kind, value in lexer.get_tokens_unprocessed(text):
        token_type = kind
        while token_type not in STANDARD_TYPES and token_type.parent is not None:
            token_type = token_type.parent
        yield STANDARD_TYPES.get(token_type, ""), value


@cache
def _lexer(language: str) -> Lexer | None:
    """Return the lexer of a language; None without one. Making one again for every item takes milliseconds."""
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(language or "text")
    except ClassNotFound:
        return None


LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_CACHED_ITEMS = 200
"""Number of items whose HTML is kept; several people see the same ones."""


class Choice(NamedTuple):
    """One possible answer on the page: its value as text, its label, and the key that chooses it."""

    value: str
    label: str
    key: str
    needs_note: bool = False


class ShownQuestion(NamedTuple):
    """Question on the page, with its choices and the answer so far."""

    name: str
    text: str
    kind: str
    when: str
    choices: Sequence[Choice]
    answer: str

    @property
    def chosen(self) -> set[str]:
        """Values of the answer."""
        return chosen_values(self.answer)


class SidesRow(NamedTuple):
    """Row of the adjudicator's table: a question with the answers of A and B."""

    number: int
    name: str
    text: str
    answers: Sequence[str]
    differs: bool


class Sides(NamedTuple):
    """Table of the adjudicator: letters of the people with their notes, and a row for each question."""

    notes: Sequence[tuple[str, str]]
    rows: Sequence[SidesRow]


class EntryPages:
    """Renderer of the entries of a review. The HTML of items is cached; it is the same for all people."""

    def __init__(self, database: ReviewDatabase, state: ReviewState, root: str = "") -> None:
        self._root = root
        self._database = database
        self._state = state
        self._items: dict[str, str] = {}

    def entry(self, person: Person, entry: QueueEntry, answers: Mapping[str, Answer] | None = None) -> dict[str, Any]:
        """Return an entry for the page's script; ``html`` is the whole of what is shown.

        ``answers`` are those so far; by default the person's own earlier ones, if the item came back.

        Raises:
            KeyError: there is no such item.
        """
        item = self._database.item(entry.item)
        if item is None:
            raise KeyError(entry.item)
        former = self._state.former_decision(person.name, entry)
        given = answers if answers is not None else (former.answers if former else {})
        html = rendered(
            "entry.html.j2",
            protocol=self._state.protocol,
            root=self._root,
            entry=entry,
            person=person.name,
            item=item,
            shown=Markup(self._item_html(item)),  # noqa: S704  # escaped by code_html and the template of items
            questions=shown_questions(self._state.protocol, given, len(item.shown.choices)),
            note=former.note if former else "",
            returned=self._returned(person, entry.item),
            sides=self._sides(person, entry.item),
            event_id=new_event_id(),
            adjudicates=person.role == "adjudicator",
        )
        compared = {"span": item.shown.span, "reference": item.shown.reference}
        return {"item": entry.item, "repeat": entry.repeat, "html": html, **compared}

    def _item_html(self, item: ReviewItem) -> str:
        page = self._items.get(item.id)
        if page is None:
            shown = item.shown
            code = code_html(item.language, shown.before, shown.span, shown.after)
            page = rendered(
                "item.html.j2",
                item=item,
                shown=shown,
                code=Markup(code),  # noqa: S704  # escaped by code_html
                tests=_plain_code(item.language, shown.tests),
                files=[(file.path, _plain_code("", file.text)) for file in shown.files],
                choices=list(zip(LETTERS, choices_html(shown.choices), strict=False)),
                patches=any(map(_is_patch, shown.choices)),
                visible=lambda text: Markup(visible_html(text)),  # noqa: S704  # escaped
            )
            while len(self._items) >= _CACHED_ITEMS:
                del self._items[next(iter(self._items))]
            self._items[item.id] = page
        return page

    def _returned(self, person: Person, item: str) -> str | None:
        """Return the adjudicator's question to a person who decides an item again, or None."""
        event = self._state.sent_back(item)
        return event.note if event is not None and person.role == "reviewer" else None

    def _sides(self, person: Person, item: str) -> Sides | None:
        """Return the decisions of the reviewers for the adjudicator: A and B, in an order that tells no name."""
        decisions = self._state.decisions(item) if person.role == "adjudicator" else {}
        order = sorted(decisions, key=lambda name: rank(self._state.seed, "sides", item, name))
        if not order:
            return None
        given = [answer_texts(self._state.protocol, decisions[name]) for name in order]
        rows = []
        for number, question in enumerate(self._state.protocol.questions, 1):
            answers = [answer.get(question.name, "") for answer in given]
            if any(answers):
                rows.append(SidesRow(number, question.name, question.text, answers, len(set(answers)) > 1))
        notes = [(letter, decisions[name].note) for letter, name in zip(LETTERS, order, strict=False)]
        return Sides(notes, rows)


def shown_questions(protocol: ReviewProtocol, answers: Mapping[str, Answer], choices: int) -> list[ShownQuestion]:
    """Return the questions of a protocol for the page; ``choices`` is the number of the item's own choices."""
    return [
        ShownQuestion(
            name=question.name,
            text=question.text,
            kind=question.kind,
            when=" ".join(f"{name}={value}" for name, value in question.when.items()),
            choices=_choices(question, choices),
            answer=str(answers.get(question.name, "")),
        )
        for question in protocol.questions
    ]


def _choices(question: ReviewQuestion, choices: int) -> list[Choice]:
    if question.kind == "scale":
        return [
            Choice(str(number), question.anchors.get(str(number), ""), TEN_KEY if number == 10 else str(number))
            for number in question.numbers
        ]
    if question.kind == "problem_choice":
        return [Choice(str(index), LETTERS[index], str(index + 1)) for index in range(min(choices, MAX_CHOICES))]
    return [Choice(option.value, option.text, option.key, option.needs_note) for option in question.options]


def answer_texts(protocol: ReviewProtocol, event: ReviewEvent) -> dict[str, str]:
    """Return the answers of a decision in words, by question."""
    words = {}
    for question in protocol.questions:
        if question.name in event.answers:
            value = event.answers[question.name]
            letter = LETTERS[int(value)] if question.kind == "problem_choice" else str(value)
            words[question.name] = "; ".join(option.text for option in question.chosen(value)) or letter
    return words


_SIGNS: Final = {"+": "added", "-": "removed", "@": "place"}
"""Classes of a patch's lines, by their first character."""


def _is_patch(text: str) -> bool:
    return "@@ -" in text


def choices_html(texts: Sequence[str]) -> list[Markup]:
    """Return an item's choices as HTML: lines of patches coloured, and those marked that not all choices have.

    Four versions of one change differ in a word or two of a hundred lines.
    """
    if not any(map(_is_patch, texts)):
        return [_plain_code("", text) for text in texts]
    lines = [text.splitlines() for text in texts]
    common = frozenset(lines[0]).intersection(*lines[1:])
    return [Markup("".join(_patch_line(line, differs=line not in common) for line in each)) for each in lines]  # noqa: S704  # escaped


def _patch_line(line: str, *, differs: bool) -> str:
    # "---" alone parts two files.
    sign = _SIGNS.get(line[:1]) if line != "---" else None
    kind = " ".join(filter(None, ("line", sign, "differs" if differs else "")))
    text = visible_html(line[:LONGEST_LINE])
    more = f'<i class="cut">[… {len(line) - LONGEST_LINE} more characters]</i>' if len(line) > LONGEST_LINE else ""
    return f'<div class="{kind}"><code>{text}{more}\n</code></div>'


def _plain_code(language: str, text: str) -> Markup:
    return Markup(code_html(language, "", text, "", marked=False)) if text else Markup("")  # noqa: S704  # escaped


def rendered(template: str, **values: Any) -> str:
    """Return a page, or a part of one, by its template; all values are escaped."""
    return _environment().get_template(template).render(**values)


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("caretbench.people.review.server"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
