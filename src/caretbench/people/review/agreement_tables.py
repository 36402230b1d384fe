"""Tables of how far people agree: for each question, each label, and each person."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from caretbench.metrics.agreement.coefficients import (
    AlphaLevel,
    Rating,
    alpha_statistic,
    equal_share,
    fleiss_kappa,
    krippendorff_alpha,
)
from caretbench.metrics.agreement.item_statistic import item_estimate
from caretbench.people.review.database import ItemFacts
from caretbench.people.review.event import ReviewEvent
from caretbench.people.review.protocol import ReviewQuestion
from caretbench.people.review.state import ReviewState

UNDEFINED = "undefined: all gave one answer"
"""Shown in place of a coefficient where nothing can disagree."""

MINIMUM_LABEL_ITEMS = 20
"""Number of items below which a label has no row of its own."""

_RESAMPLES = 1_000


class StatusTable(NamedTuple):
    """Table of the status: texts alone, for the terminal and the owner's page."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


Answers = Mapping[str, Mapping[str, Rating]]
"""Answers to one question: by item, then by person."""


class PeopleAgreement:
    """Answers of people to the questions of a review, and the tables of their agreement.

    Only items that at least two people have decided count; controls, warm-up and second decisions do not.
    """

    def __init__(self, state: ReviewState, facts: Mapping[str, ItemFacts]) -> None:
        self._protocol = state.protocol
        self._facts = facts
        self._again = list(state.first_and_second())
        self._people = state.names("reviewer")
        decided: dict[str, Mapping[str, ReviewEvent]] = {}
        for item, kind in state.kinds.items():
            if kind == "item" and item not in state.replaced:
                decisions = state.decisions(item)
                if len(decisions) > 1:
                    decided[item] = decisions
        self._answers: dict[str, Answers] = {
            question.name: {
                item: {person: event.answers[question.name] for person, event in decisions.items()}
                for item, decisions in decided.items()
                if all(question.name in event.answers for event in decisions.values())
            }
            for question in self._protocol.questions
        }

    def tables(self) -> Iterator[StatusTable]:
        """Yield the tables that have rows."""
        for table in (self._by_question(), self._by_label(), self._by_person()):
            if table.rows:
                yield table

    def spread(self, item: str) -> float:
        """Return how far people differ about an item: the sum over questions, each from 0 to 1."""
        total = 0.0
        for question in self._protocol.questions:
            given = list(self._answers[question.name].get(item, {}).values())
            if given and question.kind == "scale":
                numbers = [float(value) for value in given]
                total += (max(numbers) - min(numbers)) / (question.maximum - question.minimum)
            elif given:
                total += float(len(set(given)) > 1)
        return total

    def _by_question(self) -> StatusTable:
        rows = []
        for question in self._protocol.questions:
            answers = self._answers[question.name]
            if not answers:
                continue
            ratings = _columns(answers)
            level = _level(question)
            found = item_estimate(alpha_statistic(ratings, level), resamples=_RESAMPLES)
            interval = "" if found.low is None or found.high is None else f"{found.low:.2f} to {found.high:.2f}"
            pairs = [
                (first.answers[question.name], second.answers[question.name])
                for first, second in self._again
                if question.name in first.answers and question.name in second.answers
            ]
            again = f"{sum(one == two for one, two in pairs) / len(pairs):.0%} of {len(pairs)}" if pairs else ""
            fleiss = _number(fleiss_kappa(ratings)) if question.kind != "scale" else ""
            rows.append(
                (
                    question.name, str(len(answers)), f"{equal_share(ratings) or 0:.0%}", level, _number(found.value),
                    interval, fleiss, again,
                )
            )  # fmt: skip
        columns = (
            "Question", "Items", "Equal answers", "Data", "Krippendorff's alpha", "95% interval", "Fleiss' kappa",
            "Same answer twice",
        )  # fmt: skip
        return StatusTable("Agreement", columns, rows)

    def _by_label(self) -> StatusTable:
        questions = [question for question in self._protocol.questions if not question.when]
        items_of: dict[tuple[str, str], list[str]] = defaultdict(list)
        for item in self._answers[questions[0].name]:
            for name, value in self._facts[item].labels.items():
                items_of[name, value].append(item)
        values = {name: sum(one == name for one, _ in items_of) for name, _ in items_of}
        rows = []
        for (name, value), items in sorted(items_of.items()):
            if len(items) >= MINIMUM_LABEL_ITEMS and values[name] > 1:
                alphas = []
                for question in questions:
                    answers = self._answers[question.name]
                    chosen = {item: answers[item] for item in items if item in answers}
                    alphas.append(_number(krippendorff_alpha(_columns(chosen), _level(question))))
                rows.append((f"{name}={value}", str(len(items)), *alphas))
        return StatusTable("Alpha by label", ("Label", "Items", *(question.name for question in questions)), rows)

    def _by_person(self) -> StatusTable:
        questions = [question for question in self._protocol.questions if not question.when]
        rows = []
        for person in self._people:
            alphas = []
            shared = 0
            for question in questions:
                pairs = [
                    (given[person], other)
                    for given in self._answers[question.name].values()
                    if person in given
                    for name, other in given.items()
                    if name != person
                ]
                shared = max(shared, len(pairs))
                columns = [[own for own, _ in pairs], [other for _, other in pairs]]
                alphas.append(_number(krippendorff_alpha(columns, _level(question))) if pairs else "")
            if shared:
                rows.append((person, str(shared), *alphas))
        columns_ = ("Person", "Pairs", *(question.name for question in questions))
        return StatusTable("Alpha of each person with the others", columns_, rows if len(rows) > 2 else [])


def _columns(answers: Answers) -> list[list[Rating | None]]:
    """Return ratings in rows of equal length; which person gave one does not matter for the coefficients."""
    most = max((len(given) for given in answers.values()), default=0)
    given = [list(by_person.values()) for by_person in answers.values()]
    return [[values[place] if place < len(values) else None for values in given] for place in range(most)]


def _level(question: ReviewQuestion) -> AlphaLevel:
    return "ordinal" if question.kind == "scale" else "nominal"


def _number(value: float | None) -> str:
    return UNDEFINED if value is None else f"{value:.2f}"
