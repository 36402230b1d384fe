"""Rules about events: the outcome as it counts, and contradictions. Each rule is a mistake that vendors made."""

from __future__ import annotations

from typing import Any

import pytest

from caretbench.people.telemetry.events import contradiction, counted_outcome, has_plain_identity, telemetry_rules
from tests.support.made_events import event_row, made_event, with_features


@pytest.mark.parametrize("outcome", ["rejected", "ignored"])
@pytest.mark.parametrize(("shown", "visible_ms"), [(False, 0), (True, 0), (True, 249)])
def test_a_completion_that_was_never_visible_was_not_rejected(outcome: str, shown: bool, visible_ms: float) -> None:
    assert counted_outcome(with_features(outcome, shown=shown, visible_ms=visible_ms)) == "unseen"


def test_a_completion_that_could_be_read_was_rejected_or_ignored() -> None:
    assert counted_outcome(with_features("rejected", visible_ms=250)) == "rejected"
    assert counted_outcome(with_features("ignored", visible_ms=250)) == "ignored"


def test_a_quickly_accepted_completion_was_seen() -> None:
    assert counted_outcome(with_features("accepted", visible_ms=90)) == "accepted"


@pytest.mark.parametrize(
    "shares", [{"kept_30s": 0.0}, {"kept_30s": 0.99, "kept_5min": 0.05}, {"kept_30s": 0.05, "kept_5min": 0.9}]
)
def test_accepted_text_that_is_soon_deleted_was_not_accepted(shares: dict[str, float]) -> None:
    assert counted_outcome(with_features("accepted", **shares)) == "reverted"


def test_a_right_text_may_be_rejected() -> None:
    for outcome in ("rejected", "ignored"):
        assert counted_outcome(with_features(outcome, typed_anyway=True)) == "typed_anyway"


@pytest.mark.parametrize(
    ("outcome", "shares", "counted"),
    [
        ("accepted", {}, "accepted"),
        ("accepted", {"kept_5min": 0.67}, "kept"),
        ("accepted", {"kept_5min": 0.66}, "edited"),
        ("accepted", {"kept_30s": 1.0, "kept_5min": 0.5}, "edited"),
        ("accepted", {"kept_30s": 0.8}, "kept"),
        ("accepted_in_part", {"kept_5min": 1.0}, "edited"),
    ],
)
def test_accepted_text_by_its_survival(outcome: str, shares: dict[str, float], counted: str) -> None:
    assert counted_outcome(with_features(outcome, **shares)) == counted


def test_thresholds_are_data() -> None:
    rules = telemetry_rules().model_copy(update={"seen_from_ms": 1_000, "kept_from": 0.3, "reverted_below": 0.2})
    assert counted_outcome(with_features("rejected"), rules) == "unseen"
    assert counted_outcome(with_features("accepted", kept_5min=0.4), rules) == "kept"
    assert counted_outcome(with_features("accepted", kept_5min=0.19), rules) == "reverted"


def test_an_event_with_texts_is_extracted_first() -> None:
    with pytest.raises(ValueError, match="extract it"):
        counted_outcome(made_event(texts={"prefix": "", "completion": "x"}))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"shown": False, "outcome": "rejected"}, "never shown"),
        ({"shown": False, "visible_ms": 0}, "never shown"),
        ({"texts": {"prefix": "a", "completion": ""}}, "empty"),
        ({"outcome": "accepted_in_part"}, "between 0 and all"),
        ({"outcome": "accepted_in_part", "accepted_characters": 0}, "between 0 and all"),
        ({"outcome": "accepted_in_part", "accepted_characters": 10}, "between 0 and all"),
        ({"outcome": "rejected", "accepted_characters": 3}, "another number"),
        ({"accepted_characters": 3}, "another number"),
    ],
)
def test_contradictions(changes: dict[str, Any], reason: str) -> None:
    found = contradiction(made_event(**changes))
    assert found is not None
    assert reason in found


def test_typed_anyway_contradicts_accepted() -> None:
    assert contradiction(with_features("accepted", typed_anyway=True)) == "accepted, and typed anyway"


@pytest.mark.parametrize(
    "changes",
    [
        {}, {"accepted_characters": 10}, {"outcome": "accepted_in_part", "accepted_characters": 9},
        {"outcome": "rejected", "shown": False, "visible_ms": 0}, {"outcome": "ignored", "accepted_characters": 0},
    ],
)  # fmt: skip
def test_events_without_a_contradiction(changes: dict[str, Any]) -> None:
    assert contradiction(made_event(**changes)) is None


def test_plain_identities_beside_features() -> None:
    assert not has_plain_identity(made_event())
    assert has_plain_identity(made_event(user="ann"))
    assert has_plain_identity(made_event(id="17"))
    assert not has_plain_identity(made_event(**event_row(texts={"prefix": "", "completion": "x"})))


@pytest.mark.parametrize("name", ["def secret(): return 'x'", "a b", "x\x1b[31m", "", "m" * 81])
def test_no_text_of_code_passes_as_the_name_of_a_model(name: str) -> None:
    assert made_event(model="org/model-7b:latest@2").model == "org/model-7b:latest@2"
    with pytest.raises(ValueError, match="model"):
        made_event(model=name)
