"""Review state: all events of a review folded into what holds now, and the queue of every person."""

from __future__ import annotations

import math
from bisect import bisect, insort
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from caretbench.files import DataError
from caretbench.people.review.database import Person, ReviewDatabase
from caretbench.people.review.protocol import Answer, ReviewProtocol
from caretbench.people.review.queues import PersonQueue, QueueEntry, QueueProgress, ranked_people
from caretbench.people.review.records import OWNER, PersonRole, ReviewEvent, ReviewItem

SettledState = Literal["open", "agreed", "disputed", "adjudicated", "no_majority"]
"""``open``: decisions are missing. ``disputed``: the adjudicator must settle. ``no_majority``: the item is dropped."""


class Settled(NamedTuple):
    """Result of an item. ``value`` answers the question of the settlement; ``means`` are over people, by scale."""

    state: SettledState
    value: Answer | None
    means: Mapping[str, float]
    reasons: tuple[str, ...]
    """Answers to the questions that follow from ``value`` (the reasons of a rejection), of all people who gave it."""
    notes: tuple[str, ...]


def settle(
    protocol: ReviewProtocol,
    decisions: Sequence[ReviewEvent],
    final: ReviewEvent | None = None,
    *,
    stands: bool = False,
) -> Settled:
    """Return the settled result of an item.

    Args:
        protocol: The protocol of the review.
        decisions: Decisions of the reviewers that hold, one for each person.
        final: Decision of the adjudicator, which counts where the others differ.
        stands: The others differed when ``final`` was made: it counts whatever they did since.
    """
    state, value = _outcome(protocol, decisions, final, stands=stands)
    counted = [final] if final is not None and state == "adjudicated" else decisions
    settling = protocol.settlement.question or ""
    # Reasons of those who were outvoted are no reasons of the result.
    same = [event for event in counted if value is not None and event.answers.get(settling) == value]
    following = [question.name for question in protocol.questions if settling in question.when]
    reasons = sorted({str(event.answers[name]) for event in same for name in following if name in event.answers})
    noted = decisions if counted is decisions else [*decisions, *counted]
    return Settled(state, value, _means(protocol, decisions), tuple(reasons), _notes(noted))


def _outcome(
    protocol: ReviewProtocol, decisions: Sequence[ReviewEvent], final: ReviewEvent | None, *, stands: bool
) -> tuple[SettledState, Answer | None]:
    rule, question = protocol.settlement.rule, protocol.settlement.question
    if final is not None and stands and question is not None:
        return "adjudicated", final.answers[question]
    # Not settled by those who were quick: their agreement says nothing of the ones to come.
    if len(decisions) < protocol.people:
        return "open", None
    if rule == "mean" or question is None:
        return "agreed", None
    # The adjudicator counts only where people differ, so that an early decision cannot overrule them.
    if rule == "adjudicate" and answers_differ(protocol, decisions):
        return ("disputed", None) if final is None else ("adjudicated", final.answers[question])
    value = _value(protocol, [event.answers[question] for event in decisions])
    return ("no_majority" if value is None else "agreed"), value


def answers_differ(protocol: ReviewProtocol, decisions: Sequence[ReviewEvent]) -> bool:
    """Return whether people gave different answers to the question of the settlement."""
    question = protocol.settlement.question
    return question is not None and len({event.answers[question] for event in decisions}) > 1


def _value(protocol: ReviewProtocol, answers: Sequence[Answer]) -> Answer | None:
    settlement = protocol.settlement
    if settlement.rule == "all":
        # One veto is enough: an item that one person finds faulty is not released.
        others = [answer for answer in answers if answer != settlement.value]
        return others[0] if others else settlement.value
    (value, count), *_ = Counter(answers).most_common(1)
    # A tie has no majority, whatever Counter lists first.
    return value if 2 * count > len(answers) else None


def _means(protocol: ReviewProtocol, decisions: Sequence[ReviewEvent]) -> dict[str, float]:
    means = {}
    for question in protocol.questions:
        if question.kind == "scale":
            given = [float(event.answers[question.name]) for event in decisions if question.name in event.answers]
            if given:
                means[question.name] = math.fsum(given) / len(given)
    return means


def _notes(decisions: Sequence[ReviewEvent]) -> tuple[str, ...]:
    return tuple(event.note for event in sorted(decisions, key=lambda event: event.person) if event.note.strip())


Order = tuple[str, str, str]
"""Order of an event."""


class ReviewState:
    """State of a review in memory; :meth:`refresh` reads what is new in the database.

    It holds ids, kinds and decisions, not the texts of items: 10,000 items take a few megabytes. Not for several
    threads at once.
    """

    def __init__(self, database: ReviewDatabase) -> None:
        self._database = database
        self.protocol: ReviewProtocol = database.protocol()
        self.seed = int(database.fact("seed") or 0)
        self.kinds: dict[str, str] = {}
        """Kind of every item by id."""
        self.replaced: set[str] = set()
        """Items that have a successor: nobody decides them any more."""
        self._last_item = 0
        self._begin()
        self.refresh()

    def _begin(self) -> None:
        """Forget all people and events."""
        self.people: dict[str, Person] = {}
        """People who take part, by name."""
        self._first_roles: dict[str, PersonRole] = {}
        self._erased = 0
        # Reviewers and adjudicators apart: a person may have been the one and become the other.
        self._logs: dict[QueueEntry, dict[str, list[ReviewEvent]]] = defaultdict(lambda: defaultdict(list))
        self._finals: dict[str, dict[str, list[ReviewEvent]]] = defaultdict(lambda: defaultdict(list))
        self._later: dict[str, dict[QueueEntry, None]] = defaultdict(dict)
        self._assigned: dict[str, dict[str, ReviewEvent]] = defaultdict(dict)
        self._sent_back: dict[str, list[ReviewEvent]] = defaultdict(list)
        self._reopened: dict[str, list[Order]] = defaultdict(list)
        self._queues: dict[str, PersonQueue] = {}
        self._last_event = 0
        self._version = (-1, -1)

    def refresh(self) -> None:
        """Read what was written to the database, by this process or another one."""
        version = self._database.version
        # Each request asks, and most find nothing new.
        if version == self._version:
            return
        about = self._database.people_events()
        erased = sum(event.kind == "erase" for event in about)
        if erased != self._erased:
            # Events that were read before have the erased names.
            self._begin()
        self._version, self._erased = version, erased
        self._first_roles = {event.person: event.role or "reviewer" for event in reversed(about) if event.role}
        people = {person.name: person for person in self._database.people()}
        # A new person or role changes who decides which item; decisions change one item's place.
        rebuild = {name: person.role for name, person in people.items()} != {
            name: person.role for name, person in self.people.items()
        }
        self.people = people
        for place, item_id, kind, predecessor in self._database.item_kinds(self._last_item):
            self._last_item, rebuild = place, True
            self.kinds[item_id] = kind
            if predecessor is not None:
                self.replaced.add(predecessor)
        events = list(self._database.events(self._last_event))
        for _, event in events:
            self._fold(event)
        self._last_event = events[-1][0] if events else self._last_event
        if rebuild:
            self._rebuild()
        else:
            for changed in {event.item for _, event in events}:
                self._update_queues(changed)

    def add(self, event: ReviewEvent) -> bool:
        """Store one event and apply it; return whether it is new.

        Raises:
            OSError: it cannot be stored, the disk is full for instance; nothing has changed then.
        """
        self.refresh()
        # The browser sends what it is not sure of again: a known id changes nothing.
        if not self._database.add_events([event])[0]:
            return False
        # Another process may have written since: everything is read in its order.
        self.refresh()
        return True

    def add_items(self, items: Iterable[ReviewItem]) -> int:
        """Store items and put them into the queues; return the number of those that are new."""
        count = self._database.add_items(items)
        self.refresh()
        return count

    # --- what holds now ---

    def result_items(self) -> Iterator[str]:
        """Yield the items of the result by id: no control, no warm-up item, and none that was replaced."""
        yield from (item for item, kind in self.kinds.items() if kind == "item" and item not in self.replaced)

    def current_items(self) -> dict[str, ReviewItem]:
        """Return the items of the result with their texts, by id."""
        result = set(self.result_items())
        return {item_id: item for _, item_id, item in self._database.items() if item_id in result}

    def item_named(self, start: str) -> str:
        """Return the id of the one item that begins with ``start``.

        Raises:
            DataError: there is none, or there are several.
        """
        matches = [item for item in self.kinds if item.startswith(start)] if start else []
        if len(matches) != 1:
            raise DataError(f"{start}: {len(matches)} items begin so; `caretbench review export` names the items")
        return matches[0]

    def names(self, role: str) -> list[str]:
        """Return the names of the people with a role."""
        return [person.name for person in self.people.values() if person.role == role]

    def role(self, event: ReviewEvent) -> PersonRole:
        """Return the role in which a person made an event."""
        return "owner" if event.person == OWNER else event.role or self._first_roles.get(event.person, "reviewer")

    def decision(self, person: str, entry: QueueEntry) -> ReviewEvent | None:
        """Return the decision of a person, in the present role, about an entry that holds now, or None."""
        return self._held(self._log(person, entry))

    def former_decision(self, person: str, entry: QueueEntry) -> ReviewEvent | None:
        """Return the last decision of a person about an entry, though it may hold no more, or None."""
        return next((event for event in reversed(self._log(person, entry)) if event.kind == "decision"), None)

    def holds(self, event: ReviewEvent) -> bool:
        """Return whether an event is a decision that nothing has taken the place of."""
        logs = self._finals.get(event.item) if self.role(event) == "adjudicator" else self._logs.get(_entry(event))
        held = self._held((logs or {}).get(event.person, ()))
        return held is not None and held.id == event.id

    def decisions(self, item: str, repeat: int = 0) -> dict[str, ReviewEvent]:
        """Return the decisions of reviewers about an item that hold now, by person; not the adjudicator's."""
        logs = self._logs.get(QueueEntry(item, repeat), {})
        held = ((person, self._held(log)) for person, log in logs.items())
        return {person: event for person, event in held if event is not None}

    def first_decisions(self, item: str, repeat: int = 0) -> dict[str, ReviewEvent]:
        """Return what each reviewer decided alone, before any question of the adjudicator and before a reopening.

        What was corrected before that counts as corrected.
        """
        asked = min((event.order for event in self._sent_back.get(item, ())), default=None)
        reopened = self._reopened.get(item, [])
        decisions = {}
        for person, log in self._logs.get(QueueEntry(item, repeat), {}).items():
            rounds = {bisect(reopened, event.order): event for event in log if asked is None or event.order < asked}
            first = next((event for _, event in sorted(rounds.items()) if event.kind == "decision"), None)
            if first is not None:
                decisions[person] = first
        return decisions

    def first_answer(self, person: str, item: str) -> ReviewEvent | None:
        """Return the very first decision of a person about an item, whatever the person did afterwards, or None."""
        return next((event for event in self._log(person, QueueEntry(item, 0)) if event.kind == "decision"), None)

    def first_and_second(self) -> Iterator[tuple[ReviewEvent, ReviewEvent]]:
        """Yield the two decisions of each person about each item that came twice."""
        for entry in [entry for entry in self._logs if entry.repeat]:
            first = self.first_decisions(entry.item)
            for person, second in self.first_decisions(entry.item, 1).items():
                if person in first:
                    yield first[person], second

    def final_decision(self, item: str) -> ReviewEvent | None:
        """Return the adjudicator's decision about an item that holds now, or None."""
        held = (self._held(log) for log in self._finals.get(item, {}).values())
        return max((event for event in held if event is not None), key=lambda event: event.order, default=None)

    def is_adjudicated(self, item: str) -> bool:
        """Return whether an adjudicator settled an item about which people differed.

        What they do afterwards changes nothing: it would throw the adjudicator's work away, unseen.
        """
        final = self.final_decision(item)
        if final is None or self.protocol.settlement.rule != "adjudicate":
            return False
        # What had arrived: the adjudicator saw no other decisions.
        seen = [
            self._held([event for event in log if event.received_at <= final.received_at])
            for log in self._logs.get(QueueEntry(item, 0), {}).values()
        ]
        return self._differ([event for event in seen if event is not None])

    def settled(self, item: str) -> Settled:
        """Return how an item is settled, or that it is open or disputed."""
        decisions = list(self.decisions(item).values())
        return settle(self.protocol, decisions, self.final_decision(item), stands=self.is_adjudicated(item))

    def is_disputed(self, item: str) -> bool:
        """Return whether all people of an item have decided, differently, so that an adjudicator must settle it."""
        if self.protocol.settlement.rule != "adjudicate" or self.kinds[item] != "item" or item in self.replaced:
            return False
        return self._differ(list(self.decisions(item).values()))

    def _differ(self, decisions: Sequence[ReviewEvent]) -> bool:
        return len(decisions) >= self.protocol.people and answers_differ(self.protocol, decisions)

    def sent_back(self, item: str) -> ReviewEvent | None:
        """Return the adjudicator's question to the people of an item that they have not all answered, or None."""
        returned = max(self._sent_back.get(item, ()), key=lambda event: event.order, default=None)
        if returned is None:
            return None
        # Whoever was removed does not answer any more.
        waiting = (event for person, event in self.decisions(item).items() if self._is(person, "reviewer"))
        return returned if any(event.order < returned.order for event in waiting) else None

    def people_of(self, item: str) -> list[str]:
        """Return the people who decide an item: those who have decided, and the next of the others up to the number."""
        # Controls and warm-up items are for everybody.
        if self.kinds[item] != "item":
            return self.names("reviewer")
        decided = list(self.decisions(item))
        assigned = self._assigned.get(item, {})
        chosen = [
            name
            for name, event in sorted(assigned.items())
            if event.kind == "assign" and name not in decided and name in self.people
        ]
        missing = self.protocol.people - len(decided) - len(chosen)
        if missing > 0:
            # Whoever an item was taken from (`release`) is not chosen again.
            pool = [name for name in self.names("reviewer") if name not in decided and name not in assigned]
            chosen += ranked_people(item, pool, self.seed)[:missing]
        return decided + chosen

    # --- queues ---

    def queue(self, person: str) -> Iterator[QueueEntry]:
        """Yield the open entries of a person, in order."""
        yield from self._queues.get(person, ())

    def progress(self, person: str) -> QueueProgress:
        """Return how far a person is."""
        queue = self._queues.get(person)
        return queue.progress if queue is not None else QueueProgress(0, 0)

    def own_decisions(self, person: str) -> list[ReviewEvent]:
        """Return the decisions of a person that hold now, the last one first."""
        queue = self._queues.get(person)
        held = (self.decision(person, entry) for entry in (queue.decided if queue else ()))
        return sorted((event for event in held if event is not None), key=lambda event: event.order, reverse=True)

    def last_decision(self, person: str) -> ReviewEvent | None:
        """Return the last decision of a person that holds now, which undo takes back, or None."""
        return next(iter(self.own_decisions(person)), None)

    def _rebuild(self) -> None:
        share = self.protocol.mix.repeats
        self._queues = {
            name: PersonQueue(name, self.kinds, share if person.role == "reviewer" else 0.0, self.seed)
            for name, person in self.people.items()
            if person.role != "owner"
        }
        # Decisions are counted in the order in which they were made: the distance of second decisions follows.
        logs = [log for group in (self._logs, self._finals) for people in group.values() for log in people.values()]
        held = [event for log in logs if (event := self._held(log)) is not None]
        for event in sorted(held, key=lambda event: event.order):
            if self._is(event.person, self.role(event)):
                self._queues[event.person].set_decided(_entry(event), is_decided=True)
        for person, later in self._later.items():
            for entry in later if person in self._queues else ():
                self._queues[person].set_later(entry, is_later=True)
        for item in self.kinds:
            self._update_queues(item, are_new=True)

    def _update_queues(self, item: str, *, are_new: bool = False) -> None:
        """Bring an item's place in all queues up to date; in new ones, it is open for nobody yet."""
        if item not in self.kinds:
            return
        returned = None if self.is_adjudicated(item) else self.sent_back(item)
        due = self._due(item, is_returned=returned is not None)
        for name, queue in self._queues.items():
            if item in self.replaced:
                queue.drop(item)
                continue
            # New queues have no entry to close: 10,000 items times ten people would be visited for nothing.
            if are_new and name not in due and returned is None:
                continue
            if not are_new:
                self._update_entries(name, queue, item)
            decision = self.decision(name, QueueEntry(item, 0))
            queue.set_open(item, is_open=name in due and decision is None)
            queue.set_returned(
                item, is_returned=returned is not None and decision is not None and decision.order < returned.order
            )

    def _due(self, item: str, *, is_returned: bool) -> set[str]:
        """Return the people who have to decide an item, or have done so."""
        if self.is_adjudicated(item):
            return set()
        decides = set(self.people_of(item))
        due = decides & set(self.names("reviewer"))
        # Whoever decided an item as a reviewer does not settle it as the adjudicator.
        return due | set(self.names("adjudicator")) - decides if self.is_disputed(item) and not is_returned else due

    def _update_entries(self, name: str, queue: PersonQueue, item: str) -> None:
        """Bring what a person has decided or put off up to date."""
        for entry in (QueueEntry(item, 0), QueueEntry(item, 1)):
            # Else nothing has happened to it.
            if entry in self._logs or item in self._finals or entry in self._later[name]:
                queue.set_decided(entry, is_decided=self.decision(name, entry) is not None)
                queue.set_later(entry, is_later=entry in self._later[name])

    # --- folding ---

    def _fold(self, event: ReviewEvent) -> None:
        if event.kind in {"decision", "withdrawal"}:
            adjudicates = self.role(event) == "adjudicator"
            log = (self._finals[event.item] if adjudicates else self._logs[_entry(event)])[event.person]
            # Events of a browser that was offline arrive after later ones of another.
            insort(log, event, key=lambda other: other.order)
            self._later[event.person].pop(_entry(event), None)
        elif event.kind == "later":
            self._later[event.person].pop(_entry(event), None)
            self._later[event.person][_entry(event)] = None
        elif event.kind == "send_back":
            self._sent_back[event.item].append(event)
        elif event.kind == "reopen":
            insort(self._reopened[event.item], event.order)
        else:
            earlier = self._assigned[event.item].get(event.person, event)
            self._assigned[event.item][event.person] = max(earlier, event, key=lambda change: change.order)

    def _log(self, person: str, entry: QueueEntry) -> Sequence[ReviewEvent]:
        """Return a person's decisions and withdrawals about an entry, made in the person's present role, in order."""
        if self._is(person, "adjudicator"):
            return self._finals.get(entry.item, {}).get(person, ()) if entry.repeat == 0 else ()
        return self._logs.get(entry, {}).get(person, ())

    def _held(self, log: Sequence[ReviewEvent]) -> ReviewEvent | None:
        """Return the last event, if it is a decision from after the item was last opened again, or None."""
        last = log[-1] if log else None
        if last is None or last.kind != "decision":
            return None
        reopened = self._reopened.get(last.item)
        return None if reopened and last.order < reopened[-1] else last

    def _is(self, name: str, role: str) -> bool:
        return name in self.people and self.people[name].role == role


def _entry(event: ReviewEvent) -> QueueEntry:
    return QueueEntry(event.item, event.repeat)
