"""Settlement of an item: the rule of the protocol applied to the decisions of several people."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from caretbench.people.review.event import ReviewEvent
from caretbench.people.review.protocol import Answer, ReviewProtocol

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


def settle(protocol: ReviewProtocol, decisions: Sequence[ReviewEvent], final: ReviewEvent | None = None) -> Settled:
    """Return the settled result of an item.

    Args:
        protocol: The protocol of the review.
        decisions: Decisions of the reviewers that hold, one for each person.
        final: Decision of the adjudicator, which counts where the others differ.
    """
    means = _means(protocol, decisions)
    if len(decisions) < protocol.people:
        return Settled("open", None, means, (), ())
    rule, question = protocol.settlement.rule, protocol.settlement.question
    if rule == "mean" or question is None:
        return Settled("agreed", None, means, (), _notes(decisions))
    if rule == "adjudicate" and answers_differ(protocol, decisions):
        if final is None:
            return Settled("disputed", None, means, (), _notes(decisions))
        return _with_reasons(protocol, "adjudicated", final.answers[question], means, [final])
    value = _value(protocol, [event.answers[question] for event in decisions])
    if value is None:
        return Settled("no_majority", None, means, (), _notes(decisions))
    return _with_reasons(protocol, "agreed", value, means, decisions)


def answers_differ(protocol: ReviewProtocol, decisions: Sequence[ReviewEvent]) -> bool:
    """Return whether people gave different answers to the question of the settlement."""
    question = protocol.settlement.question
    return question is not None and len({event.answers[question] for event in decisions}) > 1


def _value(protocol: ReviewProtocol, answers: Sequence[Answer]) -> Answer | None:
    settlement = protocol.settlement
    if settlement.rule == "all":
        others = [answer for answer in answers if answer != settlement.value]
        return others[0] if others else settlement.value
    (value, count), *_ = Counter(answers).most_common(1)
    return value if 2 * count > len(answers) else None


def _means(protocol: ReviewProtocol, decisions: Sequence[ReviewEvent]) -> dict[str, float]:
    found = {}
    for question in protocol.questions:
        if question.kind == "scale":
            given = [float(event.answers[question.name]) for event in decisions if question.name in event.answers]
            if given:
                found[question.name] = math.fsum(given) / len(given)
    return found


def _with_reasons(
    protocol: ReviewProtocol,
    state: SettledState,
    value: Answer,
    means: Mapping[str, float],
    decisions: Sequence[ReviewEvent],
) -> Settled:
    name = protocol.settlement.question
    same = [event for event in decisions if name is not None and event.answers.get(name) == value]
    following = [question.name for question in protocol.questions if name in question.when]
    reasons = sorted({str(event.answers[one]) for event in same for one in following if one in event.answers})
    return Settled(state, value, means, tuple(reasons), _notes(decisions))


def _notes(decisions: Sequence[ReviewEvent]) -> tuple[str, ...]:
    return tuple(event.note for event in sorted(decisions, key=lambda event: event.person) if event.note.strip())
