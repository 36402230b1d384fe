"""Status of a review as tables: progress of people, states of items, agreement, disputes, reasons of rejections."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest
from typing import NamedTuple

from caretbench.build.validation.reviewed import REJECTED
from caretbench.grouping import grouped
from caretbench.metrics.agreement import AlphaLevel, Rating, alpha_statistic, item_estimate, krippendorff_alpha
from caretbench.metrics.intervals import wilson
from caretbench.metrics.kappa import equal_share, fleiss_kappa
from caretbench.people.review.database import ItemFacts, ReviewDatabase
from caretbench.people.review.protocol import ReviewProtocol, ReviewQuestion, chosen_values
from caretbench.people.review.queues import QueueEntry
from caretbench.people.review.records import ReviewEvent
from caretbench.people.review.state import ReviewState, Settled
from caretbench.text_tables import TextTable, counted

UNDEFINED = "undefined: all gave one answer"
"""Shown in place of a coefficient where nothing can disagree."""

# Alpha over fewer items has an interval over most of its range.
MINIMUM_LABEL_ITEMS = 20
"""Number of items below which a label has no row of its own."""

_RESAMPLES = 1_000


Answers = Mapping[str, Mapping[str, Rating]]
"""Answers to one question: by item, then by person."""


class MeasuredQuestion(NamedTuple):
    """Question whose agreement is measured; of several values, one ``value``: 1 where it was chosen, else 0."""

    question: ReviewQuestion
    value: str | None = None

    @property
    def name(self) -> str:
        """Name in tables."""
        return self.question.name if self.value is None else f"{self.question.name}={self.value}"

    @property
    def level(self) -> AlphaLevel:
        """Level of measurement."""
        return "ordinal" if self.question.kind == "scale" else "nominal"

    def answer(self, event: ReviewEvent) -> Rating | None:
        """Return a decision's answer, or None."""
        given = event.answers.get(self.question.name)
        return given if given is None or self.value is None else int(self.value in chosen_values(given))


def measured_questions(protocol: ReviewProtocol) -> list[MeasuredQuestion]:
    """Return the questions whose agreement is measured: words have none, and several values have one each."""
    return [
        MeasuredQuestion(question, value)
        for question in protocol.questions
        if question.kind != "text"
        for value in ([option.value for option in question.options] if question.kind == "several" else [None])
    ]


class PeopleAgreement:
    """Answers of people to the questions of a review, and the tables of their agreement.

    Each person's first decision counts, made before any question of the adjudicator: what people say afterwards is no
    agreement of theirs. Only items that at least two people decided so count; controls, warm-up and second decisions do
    not.
    """

    def __init__(self, state: ReviewState, facts: Mapping[str, ItemFacts]) -> None:
        self._protocol = state.protocol
        self._facts = facts
        self._again = list(state.first_and_second())
        self._people = state.names("reviewer")
        decided: dict[str, Mapping[str, ReviewEvent]] = {}
        for item in state.result_items():
            decisions = state.first_decisions(item)
            # One person agrees with nobody.
            if len(decisions) > 1:
                decided[item] = decisions
        self._questions = measured_questions(self._protocol)
        self._asked_always = [measured for measured in self._questions if not measured.question.when]
        self._answers: dict[str, Answers] = {}
        for question in self._questions:
            given = {
                item: {person: question.answer(event) for person, event in decisions.items()}
                for item, decisions in decided.items()
            }
            # A question that follows from an answer was not asked of everybody: those who were not cannot differ.
            self._answers[question.name] = {
                item: {person: answer for person, answer in by_person.items() if answer is not None}
                for item, by_person in given.items()
                if None not in by_person.values()
            }

    def tables(self) -> Iterator[TextTable]:
        """Yield the tables that have rows."""
        yield from (table for table in (self._by_question(), self._by_label(), self._by_person()) if table.rows)

    def spread(self, decisions: Iterable[ReviewEvent]) -> float:
        """Return how far decisions about an item differ: the sum over questions, each from 0 to 1."""
        total = 0.0
        answers = [event.answers for event in decisions]
        for question in self._protocol.questions:
            # A question that was not asked of everybody is no difference: the one that it follows from is.
            given = [by_question[question.name] for by_question in answers if question.name in by_question]
            if question.kind == "text" or len(given) < max(2, len(answers)):
                continue
            if question.kind == "scale":
                numbers = [float(value) for value in given]
                # By the length of the scale, so that one of ten points does not outweigh one of five.
                total += (max(numbers) - min(numbers)) / (question.maximum - question.minimum)
            else:
                total += float(len(set(given)) > 1)
        return total

    def _by_question(self) -> TextTable:
        rows = []
        for question in self._questions:
            answers = self._answers[question.name]
            if not answers:
                continue
            ratings = _columns(answers)
            level = question.level
            alpha = item_estimate(alpha_statistic(ratings, level), resamples=_RESAMPLES)
            interval = "" if alpha.low is None or alpha.high is None else f"{alpha.low:.2f} to {alpha.high:.2f}"
            twice = [(question.answer(first), question.answer(second)) for first, second in self._again]
            pairs = [pair for pair in twice if None not in pair]
            equal = sum(first == second for first, second in pairs)
            again = f"{equal / len(pairs):.0%} of {len(pairs)}" if pairs else ""
            # Fleiss' kappa takes 4 and 5 for as different as 1 and 5.
            fleiss = _number(fleiss_kappa(ratings)) if level == "nominal" else ""
            rows.append(
                (
                    question.name, str(len(answers)), f"{equal_share(ratings) or 0:.0%}", level, _number(alpha.value),
                    interval, fleiss, again,
                )
            )  # fmt: skip
        columns = (
            "Question", "Items", "Equal answers", "Data", "Krippendorff's alpha", "95% interval", "Fleiss' kappa",
            "Same answer twice",
        )  # fmt: skip
        return TextTable("Agreement", columns, rows)

    def _by_label(self) -> TextTable:
        questions = self._asked_always
        items_of: dict[tuple[str, str], list[str]] = defaultdict(list)
        for item in self._answers[questions[0].name]:
            for name, value in self._facts[item].labels.items():
                items_of[name, value].append(item)
        values = Counter(name for name, _ in items_of)
        rows = []
        for (name, value), items in sorted(items_of.items()):
            if len(items) >= MINIMUM_LABEL_ITEMS and values[name] > 1:
                alphas = []
                for question in questions:
                    answers = self._answers[question.name]
                    chosen = {item: answers[item] for item in items if item in answers}
                    alphas.append(_number(krippendorff_alpha(_columns(chosen), question.level)))
                rows.append((f"{name}={value}", str(len(items)), *alphas))
        return TextTable("Alpha by label", ("Label", "Items", *(question.name for question in questions)), rows)

    def _by_person(self) -> TextTable:
        questions = self._asked_always
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
                columns = list(zip(*pairs, strict=True))
                alphas.append(_number(krippendorff_alpha(columns, question.level)) if pairs else "")
            if shared:
                rows.append((person, str(shared), *alphas))
        columns_ = ("Person", "Pairs", *(question.name for question in questions))
        # With two people, each agrees with the other as the other does: one row says it.
        return TextTable("Alpha of each person with the others", columns_, rows if len(rows) > 2 else [])


def _columns(answers: Answers) -> list[tuple[Rating | None, ...]]:
    """Return ratings in rows of equal length; which person gave one does not matter for the coefficients."""
    return list(zip_longest(*(by_person.values() for by_person in answers.values())))


def _number(value: float | None) -> str:
    return UNDEFINED if value is None else f"{value:.2f}"


DISPUTED_ITEMS = 10
"""Default number of items in the table of disputes."""


def status_tables(
    state: ReviewState, database: ReviewDatabase, disputed_items: int = DISPUTED_ITEMS
) -> list[TextTable]:
    """Return the tables of a review's status that have rows; the most disputed items first in theirs."""
    facts = {fact.item: fact for fact in database.item_facts()}
    settled = {item: state.settled(item) for item in state.result_items()}
    agreement = PeopleAgreement(state, facts)
    tables = [
        _people(state, facts),
        _items(settled),
        *agreement.tables(),
        _known_answers(state, facts),
        _disputed(state, facts, agreement, disputed_items),
        _reasons(state, settled),
    ]
    # People and items are shown empty too: an owner looks there first.
    return [table for table in tables if table.rows or table.title in {"People", "Items"}]


def _people(state: ReviewState, facts: Mapping[str, ItemFacts]) -> TextTable:
    controls = [item for item, kind in state.kinds.items() if kind in {"control", "warm_up"}]
    seconds = _seconds(state)
    rows = []
    for person in state.people.values():
        if person.role != "owner":
            done, total = state.progress(person.name)
            right = [
                _is_right(event, facts[item])
                for item in controls
                if (event := _control_answer(state, person.name, item)) is not None
            ]
            shown = f"{sum(right)} of {len(right)}" if right else ""
            spent = f"{statistics.median(seconds[person.name]):.0f}" if seconds[person.name] else ""
            joined = "yes" if person.joined else "no"
            rows.append((person.name, person.role, joined, str(done), str(total), shown, spent))
    columns = ("Name", "Role", "Joined", "Decided", "Due", "Controls right", "Median seconds an item")
    return TextTable("People", columns, rows)


def _control_answer(state: ReviewState, person: str, item: str) -> ReviewEvent | None:
    # The right answer of a warm-up item is told after the first decision; one that was undone then says nothing.
    told = state.kinds[item] == "warm_up"
    return state.first_answer(person, item) if told else state.decision(person, QueueEntry(item, 0))


def _seconds(state: ReviewState) -> Mapping[str, list[float]]:
    """Return the active seconds of each person's first decisions about items, and of the adjudicator's."""
    events = (
        event
        for item in state.result_items()
        for event in (*state.first_decisions(item).values(), state.final_decision(item))
    )
    return grouped((event.person, event.active_s) for event in events if event and event.active_s is not None)


def _is_right(event: ReviewEvent, fact: ItemFacts) -> bool:
    return all(event.answers.get(name) in right for name, right in fact.expect.items())


def _items(settled: Mapping[str, Settled]) -> TextTable:
    counts = Counter(result.state.replace("_", " ") for result in settled.values())
    return TextTable("Items", ("State", "Items"), [(name, str(count)) for name, count in counts.most_common()])


def _known_answers(state: ReviewState, facts: Mapping[str, ItemFacts]) -> TextTable:
    """Return how often people are right, where the right answers to the items are known (multiple choice)."""
    right: dict[str, list[bool]] = defaultdict(list)
    for item in state.result_items():
        if facts[item].expect:
            for person, event in state.first_decisions(item).items():
                right[person].append(_is_right(event, facts[item]))
    everybody = [is_right for given in right.values() for is_right in given]
    seconds = _seconds(state)
    rows = []
    for name, given in [*sorted(right.items()), *([("all", everybody)] if everybody else [])]:
        bounds = wilson(sum(given), len(given))
        spent = [time for person, times in seconds.items() if name in {person, "all"} for time in times]
        rows.append(
            (
                name, str(len(given)), f"{sum(given) / len(given):.1%}", f"{bounds.low:.1%} to {bounds.high:.1%}",
                f"{statistics.median(spent):.0f}" if spent else "",
            )
        )  # fmt: skip
    return TextTable("Right answers", ("Person", "Answers", "Right", "95% interval", "Median seconds"), rows)


OWNER_ITEMS = 500
"""Number of items on the owner's page; one of 10,000 rows takes seconds to open."""


def item_table(state: ReviewState, database: ReviewDatabase) -> TextTable:
    """Return the items that somebody has decided, with all answers and notes: disputed ones first, then noted ones."""
    facts = {fact.item: fact for fact in database.item_facts()}
    rows = []
    for item in state.result_items():
        final, asked = state.final_decision(item), state.sent_back(item)
        said = [*state.decisions(item).values(), *([final] if final is not None else [])]
        if said:
            answers = "; ".join(f"{event.person}: {', '.join(map(str, event.answers.values()))}" for event in said)
            noted = [*said, *([asked] if asked is not None else [])]
            notes = "; ".join(f"{event.person}: {event.note.strip()}" for event in noted if event.note.strip())
            decision = state.settled(item)
            value = "" if decision.value is None else str(decision.value)
            rows.append((item, facts[item].problem_id, decision.state.replace("_", " "), value, answers, notes))
    rows.sort(key=lambda row: (row[2] != "disputed", not row[5], row[0]))
    shown = rows[:OWNER_ITEMS]
    more = f", {len(shown)} of {len(rows)}" if len(rows) > len(shown) else ""
    return TextTable(f"Decided items{more}", ("Item", "Problem", "State", "Result", "Answers", "Notes"), shown)


def _disputed(state: ReviewState, facts: Mapping[str, ItemFacts], agreement: PeopleAgreement, most: int) -> TextTable:
    spreads = {item: agreement.spread(state.decisions(item).values()) for item in state.result_items()}
    ordered = sorted((item for item in spreads if spreads[item] > 0), key=lambda item: (-spreads[item], item))
    rows = []
    for item in ordered[:most]:
        decisions = state.decisions(item).values()
        answers = grouped((name, str(answer)) for event in decisions for name, answer in event.answers.items())
        differ = "; ".join(
            f"{name}: {' / '.join(sorted(given))}" for name, given in answers.items() if len(set(given)) > 1
        )
        state_name = state.settled(item).state.replace("_", " ")
        rows.append((item, facts[item].problem_id, state_name, differ))
    return TextTable("Most disputed items", ("Item", "Problem", "State", "Answers that differ"), rows)


def _reasons(state: ReviewState, settled: Mapping[str, Settled]) -> TextTable:
    """Return the reasons of rejected items, beside the paper's shares.

    The paper's shares are of one reason for each rejection: an item with two reasons counts half for each.
    """
    name = state.protocol.settlement.question
    following = [question for question in state.protocol.questions if question.when.get(name or "") == REJECTED]
    rejected = [result.reasons for result in settled.values() if result.value == REJECTED]
    counts = Counter(reason for reasons in rejected for reason in reasons)
    weights = grouped((reason, 1 / len(reasons)) for reasons in rejected for reason in reasons)
    rows = []
    for option in [option for question in following for option in question.options] if rejected else []:
        share = f"{sum(weights[option.value]) / len(rejected):.0%}"
        paper = "" if option.paper_share is None else f"{option.paper_share:.0%}"
        rows.append((option.text, str(counts[option.value]), share, paper))
    return TextTable(f"Reasons of {counted(len(rejected), 'rejection')}", ("Reason", "Items", "Share", "Paper"), rows)
