"""Status of a review as tables: progress of people, states of items, agreement, disputes, reasons of rejections."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from caretbench.build.validation.reviewed import REJECTED
from caretbench.metrics.intervals import wilson
from caretbench.people.review.agreement_tables import PeopleAgreement, StatusTable
from caretbench.people.review.database import ItemFacts, ReviewDatabase
from caretbench.people.review.event import ReviewEvent
from caretbench.people.review.queues import QueueEntry
from caretbench.people.review.settlement import Settled
from caretbench.people.review.state import ReviewState
from caretbench.text_tables import counted

DISPUTED_ITEMS = 10
"""Default number of items in the table of disputes."""


def status_tables(
    state: ReviewState, database: ReviewDatabase, disputed_items: int = DISPUTED_ITEMS
) -> list[StatusTable]:
    """Return the tables of a review's status that have rows; the most disputed items first in theirs."""
    facts = {fact.item: fact for fact in database.item_facts()}
    settled = {item: state.settled(item) for item in _result_items(state)}
    agreement = PeopleAgreement(state, facts)
    found = [
        _people(state, facts),
        _items(settled),
        *agreement.tables(),
        _known_answers(state, facts),
        _disputed(state, facts, agreement, disputed_items),
        _reasons(state, settled),
    ]
    return [table for table in found if table.rows or table.title in {"People", "Items"}]


def _people(state: ReviewState, facts: Mapping[str, ItemFacts]) -> StatusTable:
    controls = [item for item, kind in state.kinds.items() if kind in {"control", "warm_up"}]
    seconds = _seconds(state)
    rows = []
    for person in state.people.values():
        if person.role != "owner":
            done, total = state.progress(person.name)
            right = [
                _is_right(event, facts[item])
                for item in controls
                if (event := state.decision(person.name, QueueEntry(item, 0))) is not None
            ]
            shown = f"{sum(right)} of {len(right)}" if right else ""
            spent = f"{statistics.median(seconds[person.name]):.0f}" if seconds[person.name] else ""
            joined = "yes" if person.joined else "no"
            rows.append((person.name, person.role, joined, str(done), str(total), shown, spent))
    columns = ("Name", "Role", "Joined", "Decided", "Due", "Controls right", "Median seconds an item")
    return StatusTable("People", columns, rows)


def _seconds(state: ReviewState) -> Mapping[str, list[float]]:
    """Return the active seconds of each person's decisions about items."""
    found: dict[str, list[float]] = defaultdict(list)
    for item in _result_items(state):
        events: list[ReviewEvent | None] = [*state.decisions(item).values(), state.final_decision(item)]
        for event in events:
            if event is not None and event.active_s is not None:
                found[event.person].append(event.active_s)
    return found


def _is_right(event: ReviewEvent, fact: ItemFacts) -> bool:
    return all(event.answers.get(name) in right for name, right in fact.expect.items())


def _result_items(state: ReviewState) -> Iterator[str]:
    return (item for item, kind in state.kinds.items() if kind == "item" and item not in state.replaced)


def _items(settled: Mapping[str, Settled]) -> StatusTable:
    counts = Counter(found.state.replace("_", " ") for found in settled.values())
    return StatusTable("Items", ("State", "Items"), [(name, str(count)) for name, count in counts.most_common()])


def _known_answers(state: ReviewState, facts: Mapping[str, ItemFacts]) -> StatusTable:
    """Return how often people are right, where the right answers to the items are known (multiple choice)."""
    right: dict[str, list[bool]] = defaultdict(list)
    for item in _result_items(state):
        if facts[item].expect:
            for person, event in state.decisions(item).items():
                right[person].append(_is_right(event, facts[item]))
    everybody = [one for given in right.values() for one in given]
    seconds = _seconds(state)
    rows = []
    for name, given in [*sorted(right.items()), *([("all", everybody)] if everybody else [])]:
        bounds = wilson(sum(given), len(given))
        spent = [one for person, times in seconds.items() if name in {person, "all"} for one in times]
        rows.append(
            (
                name, str(len(given)), f"{sum(given) / len(given):.1%}", f"{bounds.low:.1%} to {bounds.high:.1%}",
                f"{statistics.median(spent):.0f}" if spent else "",
            )
        )  # fmt: skip
    return StatusTable("Right answers", ("Person", "Answers", "Right", "95% interval", "Median seconds"), rows)


def _disputed(state: ReviewState, facts: Mapping[str, ItemFacts], agreement: PeopleAgreement, most: int) -> StatusTable:
    spreads = {item: agreement.spread(item) for item in _result_items(state)}
    ordered = sorted((item for item in spreads if spreads[item] > 0), key=lambda item: (-spreads[item], item))
    rows = []
    for item in ordered[:most]:
        answers: dict[str, list[str]] = defaultdict(list)
        for event in state.decisions(item).values():
            for name, answer in event.answers.items():
                answers[name].append(str(answer))
        differ = "; ".join(
            f"{name}: {' / '.join(sorted(given))}" for name, given in answers.items() if len(set(given)) > 1
        )
        state_name = state.settled(item).state.replace("_", " ")
        rows.append((item, facts[item].problem_id, state_name, differ))
    return StatusTable("Most disputed items", ("Item", "Problem", "State", "Answers that differ"), rows)


def _reasons(state: ReviewState, settled: Mapping[str, Settled]) -> StatusTable:
    """Return the reasons of rejected items, beside the paper's shares."""
    name = state.protocol.settlement.question
    following = [question for question in state.protocol.questions if question.when.get(name or "") == REJECTED]
    counts: Counter[str] = Counter()
    rejected = 0
    for found in settled.values():
        if found.value == REJECTED:
            rejected += 1
            counts.update(found.reasons)
    rows = []
    for option in [option for question in following for option in question.options] if rejected else []:
        share = f"{counts[option.value] / rejected:.0%}"
        paper = "" if option.paper_share is None else f"{option.paper_share:.0%}"
        rows.append((option.text, str(counts[option.value]), share, paper))
    return StatusTable(f"Reasons of {counted(rejected, 'rejection')}", ("Reason", "Items", "Share", "Paper"), rows)
