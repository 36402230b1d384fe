"""Printed tables of telemetry: known rows, and what stands where a number is not defined."""

from __future__ import annotations

from caretbench.people.telemetry.judge_acceptance import AcceptanceStudy, CriterionAcceptance, CriterionDifference
from caretbench.people.telemetry.people_codes import CodeAgreement, CodeAnalysis, CodeShare, SampleLikeness, Saturation
from caretbench.people.telemetry.usage_analysis import StoredRate
from caretbench.people.telemetry.usage_tables import acceptance_tables, code_tables, rate_text

ROW = CriterionAcceptance(
    criterion="fit", users="all", dimension="all", value="all", events=90, user_count=12, spearman=0.4125,
    partial=0.35, low=0.2, high=0.5,
)  # fmt: skip
DIFFERENCE = CriterionDifference(
    chosen="fit", other="style", events=45, difference=0.125, low=0.05, high=0.2, p_value=0.0104, distinguishable=True
)


def acceptance(chosen: str | None, *differences: CriterionDifference) -> AcceptanceStudy:
    part = ROW.model_copy(update={"dimension": "language", "value": "go", "spearman": None, "partial": None})
    return AcceptanceStudy(
        events=90, users=12, unmatched_scores=0, chosen=chosen, rows=(ROW, part), differences=differences
    )


def test_rates() -> None:
    rate = StoredRate(value=0.25, low=0.2, high=0.3049, events=400, users=20)
    assert rate_text(rate) == "25.0% [20.0 to 30.5]"
    for name in ("value", "low", "high"):
        assert rate_text(rate.model_copy(update={name: None})) == "–"


def test_acceptance() -> None:
    unclear = DIFFERENCE.model_copy(
        update={"other": "use", "difference": None, "p_value": None, "low": None, "distinguishable": False}
    )
    rows, differences = acceptance_tables(acceptance("fit", DIFFERENCE, unclear))
    assert rows.rows == [
        ("fit", "all", "all", "90", "12", "0.412", "0.350 [0.20 to 0.50]"),
        ("fit", "all", "language go", "90", "12", "–", "–"),
    ]
    assert differences.title.startswith("fit: best on the first half")
    assert differences.rows == [
        ("style", "45", "+0.125 [0.05 to 0.20]", "0.010", "differs"),
        ("use", "45", "–", "–", "not distinguishable"),
    ]
    assert len(list(acceptance_tables(acceptance("fit")))) == 1
    assert len(list(acceptance_tables(acceptance(None, DIFFERENCE)))) == 1


def test_codes() -> None:
    agreement = CodeAgreement(question="why", items=8, equal=0.75, alpha=0.5, low=0.1, high=0.9)
    codes = CodeAnalysis(
        events=10, population=40, people=2,
        shares=(CodeShare(question="why", code="wrong_name", share=0.3, low=0.1, high=0.6, first_at=4),),
        agreement=(agreement, CodeAgreement(question="where", items=0, equal=None, alpha=None, low=None, high=None)),
        saturation=(Saturation(question="why", events=10, codes=3, last_new_at=7, chance_of_new=0.1, at_most=0.26),),
        likeness=(SampleLikeness(dimension="language", distance=0.125, p_value=0.4, differs=False),),
    )  # fmt: skip
    shares, agreed, saturation, likeness = code_tables(codes)
    assert shares.title == "Codes of 2 people for 10 of 40 events that were not kept"
    assert shares.rows == [("why", "wrong_name", "30.0% [10.0 to 60.0]", "4")]
    assert agreed.rows == [
        ("why", "8", "75%", "0.50 [0.10 to 0.90]"),
        ("where", "0", "–", "undefined: all gave one code"),
    ]
    assert saturation.rows == [("why", "3", "7 of 10", "10.0%", "26.0%")]
    assert likeness.rows[0][0] == "language"
