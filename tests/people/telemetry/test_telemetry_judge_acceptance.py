"""Criteria compared with what users did: length held fixed, chosen on one half of the users, confirmed on the other."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from caretbench.people.telemetry.events import counted_outcome
from caretbench.people.telemetry.judge_acceptance import (
    AcceptanceStudy,
    CriterionAcceptance,
    EventScore,
    ScoredEvent,
    acceptance_study,
    scored_event,
)
from tests.support.made_events import with_features


def made(events: int, users: int, seed: int = 0) -> tuple[list[ScoredEvent], dict[str, list[float]]]:
    """Return events whose acceptance follows quality and length, and scores of criteria."""
    rng = np.random.default_rng(seed)
    quality, length = rng.normal(size=(2, events))
    rank = np.digitize(quality + length + rng.normal(size=events), (0.0, 1.0))
    found = [
        ScoredEvent(
            event=f"e{number}", user=f"u{rng.integers(users)}", rank=int(rank[number]),
            characters=int(100 * np.exp(length[number])), latency_ms=float(rng.gamma(4, 50)),
            parts={"scenario": ("full_block", "inner_block")[number % 2], "block": "statement", "language": "go"},
        )
        for number in range(events)
    ]  # fmt: skip
    scores = {
        "good": (quality + 0.7 * rng.normal(size=events)).tolist(),
        "worse": (quality + 2.5 * rng.normal(size=events)).tolist(),
        "length": (length + 0.1 * rng.normal(size=events)).tolist(),
        "noise": rng.normal(size=events).tolist(),
    }
    return found, scores


def study(events: list[ScoredEvent], scores: dict[str, list[float]], seed: int = 0) -> AcceptanceStudy:
    rows = [
        EventScore(event=event.event, criterion=name, score=value)
        for name, values in scores.items()
        for event, value in zip(events, values, strict=True)
    ]
    return acceptance_study(events, rows, seed=seed)


@cache
def planted_study() -> AcceptanceStudy:
    return study(*made(2_000, 120))


def test_equal_criteria_do_not_differ() -> None:
    events, scores = made(400, 40)
    [difference] = study(events, {"one": scores["good"], "two": scores["good"]}).differences
    assert (difference.difference, difference.low, difference.high) == (0.0, 0.0, 0.0)
    assert (difference.p_value, difference.distinguishable) == (1.0, False)


def row(found: AcceptanceStudy, criterion: str, users: str = "all", value: str = "all") -> CriterionAcceptance:
    [only] = [one for one in found.rows if (one.criterion, one.users, one.value) == (criterion, users, value)]
    return only


def test_a_judge_that_prefers_length_is_seen_through() -> None:
    found = planted_study()
    good, length = row(found, "good"), row(found, "length")
    assert good.partial is not None
    assert good.low is not None
    assert length.spearman is not None
    assert length.low is not None
    assert length.high is not None
    assert length.spearman > 0.4
    assert length.low < 0.0 < length.high
    assert 0.35 < good.low < good.partial
    noise = row(found, "noise")
    assert noise.low is not None
    assert noise.high is not None
    assert noise.low < 0.0 < noise.high


def test_the_best_criterion_is_confirmed_on_other_users() -> None:
    found = planted_study()
    assert found.chosen == "good"
    second = row(found, "good", "second half")
    assert second.low is not None
    assert second.low > 0.3
    assert {one.other for one in found.differences if one.distinguishable} == {"worse", "length", "noise"}
    halves = [row(found, "good", users).user_count for users in ("first half", "second half")]
    assert abs(halves[0] - halves[1]) <= 1
    assert sum(halves) == found.users == 120


def test_criteria_that_know_nothing_are_not_confirmed() -> None:
    events, _ = made(400, 60)
    rng = np.random.default_rng(9)
    scores = {f"c{number}": rng.normal(size=400).tolist() for number in range(9)}
    found = study(events, scores)
    assert found.chosen is not None
    best, again = row(found, found.chosen, "first half"), row(found, found.chosen, "second half")
    assert best.partial is not None
    assert again.partial is not None
    assert best.partial > 0.08
    assert again.partial < best.partial
    assert sum(one.distinguishable for one in found.differences) <= 1


def test_two_equal_criteria_are_not_distinguishable() -> None:
    events, scores = made(600, 60)
    found = study(events, {"one": scores["good"], "other": scores["good"]})
    [difference] = found.differences
    assert difference.difference == pytest.approx(0)
    assert not difference.distinguishable


def test_parts_with_few_events_have_no_row() -> None:
    found = planted_study()
    assert {one.value for one in found.rows if one.dimension == "scenario"} == {"full_block", "inner_block"}
    assert not [one for one in found.rows if one.dimension == "language"]  # one value is all
    few = study(*made(80, 20))
    assert {one.dimension for one in few.rows} == {"all"}


@pytest.mark.parametrize(
    ("outcome", "features", "rank"),
    [
        ("accepted", {"kept_5min": 1.0}, 2), ("accepted", {"kept_5min": 0.4}, 1),
        ("accepted_in_part", {"kept_5min": 1.0}, 1),
        ("rejected", {}, 0), ("accepted", {"kept_5min": 0.0}, 0), ("accepted", {}, None), ("ignored", {}, None),
        ("rejected", {"typed_anyway": True}, None),
    ],
)  # fmt: skip
def test_ranks_of_outcomes(outcome: str, features: dict[str, object], rank: int | None) -> None:
    event = with_features(outcome, **features)
    parts = {"scenario": "full_block", "block": "statement", "language": "python"}
    found = scored_event(event, counted_outcome(event), parts)
    assert (None if found is None else found.rank) == rank


def test_scores_of_other_events_are_counted() -> None:
    events, _ = made(60, 20)
    rows = [EventScore(event=one.event, criterion="c", score=number) for number, one in enumerate(events)]
    found = acceptance_study(events, [*rows, EventScore(event="none", criterion="c", score=1)])
    assert found.unmatched_scores == 1
    assert acceptance_study(events, []).chosen is None


def test_one_scored_event_shows_nothing() -> None:
    events, _ = made(1, 1)
    found = acceptance_study(events, [EventScore(event="e0", criterion=name, score=1) for name in ("c", "d")])
    assert all(one.low is None and one.partial is None for one in found.rows)
    assert not any(one.distinguishable for one in found.differences)
