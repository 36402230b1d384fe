"""A shown text next to the text that was there later: survival, and texts that were right."""

from __future__ import annotations

import time

import pytest

from caretbench.people.telemetry.event_features import kept_share, typed_by_user, was_right


@pytest.mark.parametrize(
    ("accepted", "later", "share"),
    [
        ("return a + b", "return a + b", 1.0),
        ("return a + b", "    return a + b  # sum\n    more()", 1.0),
        ("return a + b", "return a - c", 0.667),
        ("return a + b", "", 0.0),
        ("a b c d", "d c b a", 0.0),  # single words say nothing
        ("return total", "total = 0\nfor one in many:\n    use(one)\nreturn 1", 0.0),
        ("if total > limit:", "def use(limit):\n    total = 1\n    for x in y:\n        if x:\n            pass", 0.0),
        ("x = 1", "y = 10\nx = 15", 0.0),
        ("x = 1", "y = 10\nx=1", 1.0),
        ("if total > limit:", "def use():\n    if total >= most:\n        more()", 0.667),
        ("first = start(a, b)", "# start\nsecond = start(a, b)", 0.75),
        ("first = start(a, b)", "first = begin(a, c, d)", 0.5),
        ("a b c d", "x a b q c d y", 1.0),  # one word more among them
        ("x q b", "y z b", 0.333),
        (")", "x)", 1.0),
        (")", "", 0.0),
        (None, "a", None),
        ("a", None, None),
        ("a " * 6_000, "a", None),
    ],
)
def test_kept_share(accepted: str | None, later: str | None, share: float | None) -> None:
    assert kept_share(accepted, later) == share


@pytest.mark.parametrize(
    ("completion", "later", "typed"),
    [
        ("a = b", "a=b", True),
        ("a = b", "a = b\n", True),
        ("a = b", "a = b\nmore()", True),
        ("a = b", "a = b \t\r\nmore()", True),
        ("a = b\n", "a = b\nmore()", True),
        ("a = b", "a = b + 1", False),  # a part of it
        ("a = b.ma", "a = b.map(c)", False),
        ("a = 10", "a = 100", False),
        ("a = b", "a = c", False),
        (")", ")", False),
        ("", "", False),
    ],
)
def test_typed_by_user(completion: str, later: str, typed: bool) -> None:
    assert typed_by_user(completion, later) is typed


def test_a_right_text_may_be_short() -> None:
    assert was_right(")", ")\nmore()")
    assert not was_right("", "a")
    assert not was_right(" \n", "a")


def test_blanks_behind_a_word_count() -> None:
    assert not was_right("1;", " 1;", "return")
    assert not was_right(" t = 1", "t = 1", "coun")
    assert was_right("= 1", " = 1", "count")
    assert was_right("a = 1", "  a = 1", "\n")


def test_long_texts_take_milliseconds() -> None:
    words = " ".join(f"w{number % 50}" for number in range(4_900))
    begin = time.process_time()
    for length in (3, 60, 4_900):
        assert kept_share(" ".join((["w1", "other"] * length)[:length]), words) is not None
    assert time.process_time() - begin < 2
