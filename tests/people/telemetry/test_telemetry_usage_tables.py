"""Printed tables of telemetry: known rows, and what stands where a number is not defined."""

from __future__ import annotations

from caretbench.people.telemetry.people_codes import CodeAgreement, CodeAnalysis, CodeShare
from caretbench.people.telemetry.usage_analysis import UserRate
from caretbench.people.telemetry.usage_tables import code_tables, rate_text


def test_rates() -> None:
    rate = UserRate(value=0.25, low=0.2, high=0.3049, events=400, users=20)
    assert rate_text(rate) == "25.0% [20.0 to 30.5]"
    for name in ("value", "low", "high"):
        assert rate_text(rate.model_copy(update={name: None})) == "–"


def test_codes() -> None:
    agreement = CodeAgreement(question="why", items=8, equal=0.75, alpha=0.5, low=0.1, high=0.9)
    codes = CodeAnalysis(
        events=10, population=40, people=2,
        shares=(CodeShare(question="why", code="wrong_name", share=0.3, low=0.1, high=0.6, first_at=4),),
        agreement=(agreement, CodeAgreement(question="where", items=0, equal=None, alpha=None, low=None, high=None)),
    )  # fmt: skip
    shares, agreed = code_tables(codes)
    assert shares.title == "Codes of 2 people for 10 of 40 events that were not kept"
    assert shares.rows == [("why", "wrong_name", "30.0% [10.0 to 60.0]", "4")]
    assert agreed.rows == [
        ("why", "8", "75%", "0.50 [0.10 to 0.90]"),
        ("where", "0", "–", "undefined: all gave one code"),
    ]
