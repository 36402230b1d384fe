"""Entries of a queue as HTML: the item, the questions with a person's answers so far, and what the adjudicator sees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from caretbench.people.review.database import Person, ReviewDatabase
from caretbench.people.review.event import ReviewEvent, new_event_id
from caretbench.people.review.item import ReviewItem
from caretbench.people.review.protocol import MOST_CHOICES, TEN_KEY, Answer, ReviewProtocol, ReviewQuestion
from caretbench.people.review.queues import QueueEntry, rank
from caretbench.people.review.server.code_view import code_html
from caretbench.people.review.server.visible_text import visible_html
from caretbench.people.review.state import ReviewState

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


class EntryPages:
    """Renderer of the entries of a review. The HTML of items is cached; it is the same for all people."""

    def __init__(self, database: ReviewDatabase, state: ReviewState) -> None:
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
        html = (
            environment()
            .get_template("entry.html.j2")
            .render(
                protocol=self._state.protocol,
                entry=entry,
                item=item,
                shown=Markup(self._item_html(item)),  # noqa: S704  # escaped by code_html and the template of items
                questions=shown_questions(self._state.protocol, given, len(item.shown.choices)),
                note=former.note if former else "",
                returned=self._returned(person, entry.item),
                sides=self._sides(person, entry.item),
                event_id=new_event_id(),
                adjudicates=person.role == "adjudicator",
            )
        )
        compared = {"span": item.shown.span, "reference": item.shown.reference}
        return {"item": entry.item, "repeat": entry.repeat, "html": html, **compared}

    def _item_html(self, item: ReviewItem) -> str:
        found = self._items.get(item.id)
        if found is None:
            shown = item.shown
            code = code_html(item.language, shown.before, shown.span, shown.after)
            found = (
                environment()
                .get_template("item.html.j2")
                .render(
                    item=item,
                    shown=shown,
                    code=Markup(code),  # noqa: S704  # escaped by code_html
                    tests=_plain_code(item.language, shown.tests),
                    files=[(file.path, _plain_code("", file.text)) for file in shown.files],
                    choices=list(zip(LETTERS, (_plain_code("", text) for text in shown.choices), strict=False)),
                    visible=lambda text: Markup(visible_html(text)),  # noqa: S704  # escaped
                )
            )
            while len(self._items) >= _CACHED_ITEMS:
                del self._items[next(iter(self._items))]
            self._items[item.id] = found
        return found

    def _returned(self, person: Person, item: str) -> str | None:
        """Return the adjudicator's question to a person who decides an item again, or None."""
        event = self._state.sent_back(item)
        return event.note if event is not None and person.role == "reviewer" else None

    def _sides(self, person: Person, item: str) -> list[tuple[str, list[tuple[str, str]], str]]:
        """Return the decisions of the reviewers for the adjudicator: A and B, in an order that tells no name."""
        if person.role != "adjudicator":
            return []
        decisions = self._state.decisions(item)
        order = sorted(decisions, key=lambda name: rank(self._state.seed, "sides", item, name))
        return [
            (letter, answer_texts(self._state.protocol, decisions[name]), decisions[name].note)
            for letter, name in zip(LETTERS, order, strict=False)
        ]


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
        return [Choice(str(place), LETTERS[place], str(place + 1)) for place in range(min(choices, MOST_CHOICES))]
    return [Choice(option.value, option.text, option.key, option.needs_note) for option in question.options]


def answer_texts(protocol: ReviewProtocol, event: ReviewEvent) -> list[tuple[str, str]]:
    """Return the answers of a decision as pairs of question and answer in words."""
    found = []
    for question in protocol.questions:
        if question.name in event.answers:
            value = event.answers[question.name]
            option = question.option(value)
            letter = LETTERS[int(value)] if question.kind == "problem_choice" else str(value)
            found.append((question.text, option.text if option else letter))
    return found


def _plain_code(language: str, text: str) -> Markup:
    return Markup(code_html(language, "", text, "", marked=False)) if text else Markup("")  # noqa: S704  # escaped


@cache
def environment() -> Environment:
    """Return the environment of the templates; everything is escaped."""
    return Environment(
        loader=PackageLoader("caretbench.people.review.server"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
