from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caretbench.judging.criteria import get_criterion
from caretbench.judging.parsing import parse

QUALITY = get_criterion("devbench-quality@1")
PAPER = get_criterion("devbench-paper")

GOOD = '{"reasoning": "fits", "relevance": 4, "helpfulness": 2.5}'


@pytest.mark.parametrize(
    "answer",
    [
        GOOD,
        f"\n  {GOOD}\n",
        f"```json\n{GOOD}\n```",
        f"Here is my rating:\n```\n{GOOD}\n```\nThank you.",
        f"<think>It says {{relevance: 0}}</think>\n{GOOD}",
        '{"relevance": 4.0, "helpfulness": 2.5}',
        '{"reasoning": "it ends in ```", "relevance": 4.0, "helpfulness": 2.5}',
    ],
)
def test_what_is_read(answer: str) -> None:
    assert parse(QUALITY, answer) == ({"relevance": 4.0, "helpfulness": 2.5}, None)


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (None, "the answer is empty"),
        ("  \n", "the answer is empty"),
        ("<think>so</think>", "the answer is empty"),
        ("relevance: 4, helpfulness: 3", "not a JSON object"),
        (f"My rating: {GOOD}", "not a JSON object"),
        (f"{GOOD} {GOOD}", "not a JSON object"),
        (f"{GOOD}\nI hope this helps", "not a JSON object"),
        (f"```\n{GOOD}\n```\n```\n{GOOD}\n```", "several fenced blocks"),
        (f"[{GOOD}]", "not an object"),
        ("null", "not an object"),
        ("[" * 100_000, "not a JSON object"),
        ('{"relevance": 4}', "no score for helpfulness"),
        ("{}", "no score for relevance, helpfulness"),
        ('{"relevance": "4", "helpfulness": 3}', "relevance is not a number"),
        ('{"relevance": "4/5", "helpfulness": 3}', "relevance is not a number"),
        ('{"relevance": true, "helpfulness": 3}', "relevance is not a number"),
        ('{"relevance": null, "helpfulness": 3}', "relevance is not a number"),
        ('{"relevance": [4], "helpfulness": 3}', "relevance is not a number"),
        ('{"relevance": 4, "helpfulness": 5.01}', "helpfulness is not between 0 and 5"),
        ('{"relevance": -0.5, "helpfulness": 3}', "relevance is not between 0 and 5"),
        ('{"relevance": 1e999, "helpfulness": 3}', "relevance is not between 0 and 5"),
        ('{"relevance": NaN, "helpfulness": 3}', "NaN is not a score"),
        ('{"relevance": Infinity, "helpfulness": 3}', "Infinity is not a score"),
        ('{"relevance": ' + "1" * 5000 + ', "helpfulness": 3}', "not a JSON object"),
        ('{"relevance": 4, "relevance": 5, "helpfulness": 3}', "occurs twice"),
        ('{"relevance": 4, "helpfulness": 3, "total": 7}', "not requested"),
    ],
)
def test_what_is_not_read(answer: str | None, fault: str) -> None:
    parsed = parse(QUALITY, answer)
    assert parsed.values == {}
    assert parsed.fault is not None
    assert fault in parsed.fault


@given(st.text())
def test_any_text_is_read_or_has_a_fault(text: str) -> None:
    for asked in (QUALITY, PAPER):
        parsed = parse(asked, text)
        assert bool(parsed.values) != (parsed.fault is not None)


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists, max_leaves=3))
def test_only_numbers_in_range_are_scores(value: object) -> None:
    parsed = parse(QUALITY, json.dumps({"relevance": value, "helpfulness": 1}))
    if parsed.values:
        assert isinstance(value, float)
        assert 0 <= parsed.values["relevance"] <= 5
        assert parsed.values["relevance"] == value


@pytest.mark.parametrize(
    ("answer", "total"),
    [
        ("Final Sum Score for Completion: 8.5\nDetailed Reasoning:\nScore: 2", 8.5),
        ("final  sum score for completion 7", 7.0),
        ("Final Sum Score for Completion: **9**", 9.0),
        ("Relevance Score: 4\nFinal Score: 8", 8.0),  # the second heading wins over an earlier sub-score
        ("Relevance Score: 4\nHelpfulness Score: 3", 4.0),  # a sub-score is taken for the total
        ("Score: 4/5", 4.0),
        ("Score for Completion: 6", 6.0),
        ("Final Sum Score for Completion: 8.", 8.0),
        ("Final Sum Score for Completion: 45", 45.0),  # no check of the range
    ],
)
def test_the_released_reading(answer: str, total: float) -> None:
    assert parse(PAPER, answer) == ({"total": total}, None)


@pytest.mark.parametrize(
    "answer",
    [
        None,
        "eight of ten",
        "Final Sum Score for Completion: 7.5.\nScore: 3",  # a number that is none ends the search
        "**Final Sum Score for Completion:** 8",
        "Score: -",
        "Score: " + "9" * 400,
    ],
)
def test_what_the_released_reading_does_not_find(answer: str | None) -> None:
    assert parse(PAPER, answer).values == {}
