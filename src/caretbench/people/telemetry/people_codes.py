"""Codes that people gave to events: shares, agreement, saturation, and whether the sample is like the whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from caretbench.metrics.agreement.coefficients import Rating, alpha_statistic, equal_share
from caretbench.metrics.agreement.item_statistic import item_estimate
from caretbench.metrics.intervals import mean_interval
from caretbench.metrics.paired import holm
from caretbench.people.telemetry.event_table import DIMENSIONS, EventTable
from caretbench.people.telemetry.events import FAILED_OUTCOMES
from caretbench.problem import Row

NONE: Final = "none"
"""Code of a text with which nothing is wrong."""
# The smallest p value is 1/4,001, which stays below 0.05 after Holm's correction over twelve properties.
_DRAWS: Final = 4_000


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


class Saturation(Row):
    """Saturation of the codes of one question.

    ``chance_of_new``: estimate of the chance that the next event has a new code (Good and Turing: codes that occurred
    once ÷ events). ``at_most``: upper bound of it with 95 % confidence, by the events since the last new code.
    """

    question: str
    events: int
    codes: int
    last_new_at: int
    chance_of_new: float
    at_most: float


class SampleLikeness(Row):
    """Likeness of the coded events and all events that could have been coded, by one property.

    ``distance`` is the total variation distance, 0 to 1; ``p_value`` the share of random samples of this size that are
    at least as far, adjusted by Holm over the properties.
    """

    dimension: str
    distance: float
    p_value: float
    differs: bool


class CodeAnalysis(Row):
    """Result of the codes of people."""

    events: int
    population: int
    people: int
    shares: tuple[CodeShare, ...]
    agreement: tuple[CodeAgreement, ...]
    saturation: tuple[Saturation, ...]
    likeness: tuple[SampleLikeness, ...]


def analyse_codes(
    coded: Sequence[EventCodes], places: Mapping[str, int], users: Mapping[str, str], table: EventTable, seed: int = 0
) -> CodeAnalysis:
    """Return the analysis of the codes of events of a table.

    Args:
        coded: The coded events, in the order in which they were coded.
        places: Place of each of them in the table.
        users: User of each of them.
        table: All events.
        seed: Random seed of intervals and random samples.
    """
    known = [one for one in coded if one.event in places]
    could = table.has_outcome(*FAILED_OUTCOMES) & ~table.has_secrets
    sampled = np.zeros(len(table), dtype=bool)
    sampled[[places[one.event] for one in known]] = True
    # People may have coded an event that counts otherwise today (other thresholds): it belongs to what could be drawn.
    could |= sampled
    population = {name: table.codes(name)[could] for name in DIMENSIONS} | {"outcome": table.outcomes[could]}
    return CodeAnalysis(
        events=len(known),
        population=int(could.sum()),
        people=len({person for one in known for person in one.answers}),
        shares=tuple(code_shares(known, [users[one.event] for one in known], seed=seed)),
        agreement=tuple(code_agreement(known, seed=seed)),
        saturation=tuple(code_saturation(known)),
        likeness=tuple(sample_likeness(population, sampled[could], seed=seed)),
    )


def code_shares(coded: Sequence[EventCodes], users: Sequence[str], *, seed: int = 0) -> Iterator[CodeShare]:
    """Yield the share of each code of each question, the most frequent first.

    Args:
        coded: The events, in the order in which they were coded.
        users: User of each event.
        seed: Random seed of the intervals.
    """
    for question in _questions(coded):
        weights = [one.weights(question) for one in coded]
        # A question that depends on another one is not asked of every event; those have no share of its codes.
        known = [place for place, one in enumerate(weights) if one]
        found = []
        for code in sorted({code for one in weights for code in one}):
            values = [weights[place].get(code, 0.0) for place in known]
            # Users are drawn, not events: the failures of one user are alike.
            interval = mean_interval(values, seed=seed, clusters=[users[place] for place in known])
            low, high = (None if np.isnan(bound) else bound for bound in (interval.low, interval.high))
            first = next(number for number, place in enumerate(known, start=1) if code in weights[place])
            share = float(np.mean(values))
            found.append(CodeShare(question=question, code=code, share=share, low=low, high=high, first_at=first))
        yield from sorted(found, key=lambda one: (-one.share, one.code))


def code_agreement(coded: Sequence[EventCodes], *, seed: int = 0) -> Iterator[CodeAgreement]:
    """Yield the agreement about each question, over the events that at least two people coded."""
    people = sorted({person for one in coded for person in one.first_answers})
    for question in _questions(coded):
        # One answer agrees with itself; alpha would count such events as perfect.
        shared = [one for one in coded if sum(question in given for given in one.first_answers.values()) > 1]
        if not shared:
            continue
        ratings: list[list[Rating | None]] = [
            [one.first_answers.get(person, {}).get(question) for one in shared] for person in people
        ]
        found = item_estimate(alpha_statistic(ratings, "nominal"), seed=seed)
        yield CodeAgreement(
            question=question,
            items=len(shared),
            equal=equal_share(ratings),
            alpha=found.value,
            low=found.low,
            high=found.high,
        )


def code_saturation(coded: Sequence[EventCodes]) -> Iterator[Saturation]:
    """Yield the saturation of each question.

    Source of the estimate: Good, "The population frequencies of species and the estimation of population parameters"
    (1953). The bound is the one for no new code in the events since the last: 1 - 0.05 ^ (1 / events).
    """
    for question in _questions(coded):
        codes = [set(one.weights(question)) for one in coded]
        codes = [one for one in codes if one]
        counts = Counter(code for one in codes for code in one)
        seen: set[str] = set()
        last = 0
        for number, one in enumerate(codes, start=1):
            if one - seen:
                seen |= one
                last = number
        since = len(codes) - last
        once = sum(count == 1 for count in counts.values())
        yield Saturation(
            question=question,
            events=len(codes),
            codes=len(counts),
            last_new_at=last,
            chance_of_new=once / len(codes),
            # The last event had a new code: nothing bounds the chance of another one.
            at_most=1 - 0.05 ** (1 / since) if since else 1.0,
        )


def sample_likeness(
    population: Mapping[str, NDArray[np.int64]], sampled: NDArray[np.bool_], *, seed: int = 0
) -> list[SampleLikeness]:
    """Return the likeness of a sample and its population by each property.

    Args:
        population: Number of the value of each event, by property.
        sampled: True for the events of the sample.
        seed: Random seed of the random samples.
    """
    rng = np.random.default_rng(seed)
    size = int(sampled.sum())
    found: list[tuple[str, float, float]] = []
    for dimension, codes in population.items():
        counts = np.bincount(codes)
        # A property with one value is alike in every sample.
        if (counts > 0).sum() < 2 or not size:
            continue
        shares = counts / counts.sum()
        distance = _distance(np.bincount(codes[sampled], minlength=len(counts)) / size, shares)
        # The sample is drawn without putting back, so its distance shrinks as it nears the whole; a multinomial would
        # not know that.
        drawn = rng.multivariate_hypergeometric(counts, size, size=_DRAWS, method="marginals") / size
        # Equal distances differ by rounding in the last digit.
        far = np.abs(drawn - shares).sum(axis=1) / 2 >= distance - 1e-12
        found.append((dimension, distance, float((far.sum() + 1) / (_DRAWS + 1))))
    adjusted = holm([p_value for _, _, p_value in found])
    return [
        SampleLikeness(dimension=dimension, distance=distance, p_value=p_value, differs=p_value < 0.05)
        for (dimension, distance, _), p_value in zip(found, adjusted, strict=True)
    ]


def _distance(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    return float(np.abs(first - second).sum() / 2)


def _questions(coded: Iterable[EventCodes]) -> list[str]:
    return list(dict.fromkeys(name for one in coded for given in one.answers.values() for name in given))
