"""Codes of people: shares, agreement."""

from __future__ import annotations

import pytest

from caretbench.people.telemetry.people_codes import EventCodes, code_agreement, code_shares


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
