"""Texts of numbers in sentences."""

from caretbench.people.strengths.strength_sentences import (
    capitalised,
    number_range,
    p_words,
    points_interval,
    points_range,
    size_interval,
)


def test_intervals() -> None:
    assert points_range(-0.012, 0.07) == "-1.2 to 7.0"
    assert points_interval(-0.012, 0.07) == " [-1.2 to 7.0]"
    assert points_range(None, None) == points_interval(0.1, None) == size_interval(None, 0.1) == ""
    assert number_range(0.5, 1.25, 2) == "0.50 to 1.25"


def test_the_interval_of_a_size_has_no_sign() -> None:
    assert size_interval(0.012, 0.07) == size_interval(-0.07, -0.012) == " [1.2 to 7.0]"
    assert size_interval(-1.5, -0.25, digits=2) == " [0.25 to 1.50]"
    assert size_interval(-0.07, 0.01) == " [-1.0 to 7.0]"
    assert size_interval(-0.02, 0.02) == " [-2.0 to 2.0]"


def test_words() -> None:
    assert (p_words(0.0004), p_words(0.0123)) == ("p < 0.001", "p = 0.012")
    assert p_words(0.001) == "p = 0.001"
    assert capitalised("kind even: API") == "Kind even: API"
    assert capitalised("") == ""
