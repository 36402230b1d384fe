"""Codes that people gave to events: shares and agreement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from caretbench.metrics.agreement import Rating, alpha_statistic, item_estimate
from caretbench.metrics.intervals import mean_interval
from caretbench.metrics.kappa import equal_share
from caretbench.people.telemetry.event_table import EventTable
from caretbench.people.telemetry.events import FAILED_OUTCOMES
from caretbench.problem import Row

NONE: Final = "none"
"""Code of a text with which nothing is wrong."""


class EventCodes(NamedTuple):
    """Codes of one event: answers by person and question, and the adjudicator's answers, if there are any.

    ``alone`` are the answers from before any question of the adjudicator, which agreement is about; None: the same.
    """

    event: str
    answers: Mapping[str, Mapping[str, str]]
    settled: Mapping[str, str] | None = None
    alone: Mapping[str, Mapping[str, str]] | None = None

    @property
    def first_answers(self) -> Mapping[str, Mapping[str, str]]:
        """Answers by person that nobody had a reason to change."""
        return self.answers if self.alone is None else self.alone

    def weights(self, question: str) -> dict[str, float]:
        """Return the weight of each code: 1 for the settled one, else the shares of the people."""
        if self.settled is not None and question in self.settled:
            return {self.settled[question]: 1.0}
        counts = Counter(given[question] for given in self.answers.values() if question in given)
        return {code: count / counts.total() for code, count in counts.items()}


class CodeShare(Row):
    """Share of one code among the coded events, with its interval over users."""

    question: str
    code: str
    share: float
    low: float | None
    high: float | None
    first_at: int
    """Number of events that were coded when the code first occurred."""


class CodeAgreement(Row):
    """Agreement about one question: Krippendorff's alpha (nominal) with its interval; None where it is undefined."""

    question: str
    items: int
    equal: float | None
    alpha: float | None
    low: float | None
    high: float | None


class CodeAnalysis(Row):
    """Result of the codes of people."""

    events: int
    population: int
    people: int
    shares: tuple[CodeShare, ...]
    agreement: tuple[CodeAgreement, ...]


def analyse_codes(
    coded: Sequence[EventCodes], places: Mapping[str, int], users: Mapping[str, str], table: EventTable, seed: int = 0
) -> CodeAnalysis:
    """Return the analysis of the codes of events of a table.

    Args:
        coded: The coded events, in the order in which they were coded.
        places: Place of each of them in the table.
        users: User of each of them.
        table: All events.
        seed: Random seed of intervals.
    """
    analysed = [codes for codes in coded if codes.event in places]
    could = table.has_outcome(*FAILED_OUTCOMES) & ~table.has_secrets
    # People may have coded an event that counts otherwise today (other thresholds): it belongs to what could be drawn.
    could[[places[codes.event] for codes in analysed]] = True
    return CodeAnalysis(
        events=len(analysed),
        population=int(could.sum()),
        people=len({person for codes in analysed for person in codes.answers}),
        shares=tuple(code_shares(analysed, [users[codes.event] for codes in analysed], seed=seed)),
        agreement=tuple(code_agreement(analysed, seed=seed)),
    )


def code_shares(coded: Sequence[EventCodes], users: Sequence[str], *, seed: int = 0) -> Iterator[CodeShare]:
    """Yield the share of each code of each question, the most frequent first.

    Args:
        coded: The events, in the order in which they were coded.
        users: User of each event.
        seed: Random seed of the intervals.
    """
    for question in _questions(coded):
        # A question that depends on another one is not asked of every event; those have no share of its codes.
        asked = [(codes.weights(question), user) for codes, user in zip(coded, users, strict=True)]
        asked = [(weights, user) for weights, user in asked if weights]
        shares = []
        for code in sorted({code for weights, _ in asked for code in weights}):
            values = [weights.get(code, 0.0) for weights, _ in asked]
            # Users are drawn, not events: the failures of one user are alike.
            interval = mean_interval(values, seed=seed, clusters=[user for _, user in asked])
            low, high = (None if np.isnan(bound) else bound for bound in (interval.low, interval.high))
            first = next(number for number, (weights, _) in enumerate(asked, start=1) if code in weights)
            share = float(np.mean(values))
            shares.append(CodeShare(question=question, code=code, share=share, low=low, high=high, first_at=first))
        yield from sorted(shares, key=lambda row: (-row.share, row.code))


def code_agreement(coded: Sequence[EventCodes], *, seed: int = 0) -> Iterator[CodeAgreement]:
    """Yield the agreement about each question, over the events that at least two people coded."""
    people = sorted({person for codes in coded for person in codes.first_answers})
    for question in _questions(coded):
        # One answer agrees with itself; alpha would count such events as perfect.
        shared = [codes for codes in coded if sum(question in given for given in codes.first_answers.values()) > 1]
        if not shared:
            continue
        ratings: list[list[Rating | None]] = [
            [codes.first_answers.get(person, {}).get(question) for codes in shared] for person in people
        ]
        alpha = item_estimate(alpha_statistic(ratings, "nominal"), seed=seed)
        yield CodeAgreement(
            question=question,
            items=len(shared),
            equal=equal_share(ratings),
            alpha=alpha.value,
            low=alpha.low,
            high=alpha.high,
        )


def _questions(coded: Iterable[EventCodes]) -> list[str]:
    return list(dict.fromkeys(name for codes in coded for given in codes.answers.values() for name in given))
