"""Codes of people: shares, agreement, saturation, likeness of the sample and the whole."""

from __future__ import annotations

import numpy as np
import pytest

from caretbench.people.telemetry.people_codes import (
    EventCodes,
    code_agreement,
    code_saturation,
    code_shares,
    sample_likeness,
)


def coded(*codes: tuple[str, str]) -> list[EventCodes]:
    """Return events that two people coded."""
    return [
        EventCodes(f"e{place}", {"ann": {"failure": one}, "bob": {"failure": other}})
        for place, (one, other) in enumerate(codes)
    ]


def test_shares_of_codes() -> None:
    events = coded(("a", "a"), ("a", "b"), ("b", "b"), ("a", "a"))
    shares = list(code_shares(events, ["u1", "u2", "u3", "u4"]))
    assert [(one.code, one.share, one.first_at) for one in shares] == [("a", 0.625, 1), ("b", 0.375, 2)]
    for one in shares:
        assert one.low is not None
        assert one.high is not None
        assert one.low < one.share < one.high


def test_the_adjudicator_settles() -> None:
    [event] = coded(("a", "b"))
    assert event.weights("failure") == {"a": 0.5, "b": 0.5}
    assert event._replace(settled={"failure": "b"}).weights("failure") == {"b": 1.0}


def test_agreement_has_known_values() -> None:
    # Nominal alpha of two people on four items by hand: observed 1/4, expected 30/56.
    [found] = code_agreement(coded(("a", "a"), ("a", "b"), ("b", "b"), ("a", "a")))
    assert found.items == 4
    assert found.equal == 0.75
    assert found.alpha == pytest.approx(1 - (1 / 4) / (30 / 56))
    assert list(code_agreement([EventCodes("e", {"ann": {"failure": "a"}})])) == []


def test_saturation_has_known_values() -> None:
    codes = [("a", "a")] * 3 + [("b", "b")] + [("a", "a")] * 6
    [found] = code_saturation(coded(*codes))
    assert (found.codes, found.last_new_at, found.events) == (2, 4, 10)
    assert found.chance_of_new == pytest.approx(0.1)
    assert found.at_most == pytest.approx(1 - 0.05 ** (1 / 6))
    [still_new] = code_saturation(coded(("a", "a"), ("b", "b")))
    assert (still_new.at_most, still_new.chance_of_new) == (1.0, 1.0)


def test_a_sample_at_random_is_like_the_whole_and_another_is_not() -> None:
    rng = np.random.default_rng(5)
    population = {"language": rng.choice(3, 5_000, p=[0.6, 0.3, 0.1]), "block": rng.choice(5, 5_000)}
    claimed = 0
    for seed in range(40):
        sampled = np.zeros(5_000, dtype=bool)
        sampled[np.random.default_rng(seed).choice(5_000, 150, replace=False)] = True
        claimed += any(one.differs for one in sample_likeness(population, sampled, seed=seed))
    assert claimed <= 5
    biased = np.zeros(5_000, dtype=bool)
    biased[np.flatnonzero(population["language"] == 2)[:150]] = True
    found = {one.dimension: one for one in sample_likeness(population, biased)}
    assert found["language"].differs
    assert found["language"].distance == pytest.approx(0.9, abs=0.02)
    assert not found["block"].differs


def test_a_property_with_one_value_is_not_compared() -> None:
    assert sample_likeness({"language": np.zeros(9, dtype=np.int64)}, np.arange(9) < 3) == []
