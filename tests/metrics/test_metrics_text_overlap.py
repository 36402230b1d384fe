from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caretbench.metrics.text_overlap import (
    Overlap,
    bag_overlap,
    chrf,
    content_words,
    dense_index,
    dense_text,
    rouge_l,
    words,
)

TEXTS = st.text(st.sampled_from("abAB_1 é\n\t;()"), max_size=30)
GO = "if err != nil {\n\treturn err\n}"
WRAPPED = 'if err := f(); err != nil {\n\t\treturn fmt.Errorf("bad: %w", err)\n\t}'
FIX = "fix: stop Serve port ranges at 65535"
LONG_FIX = "cmd/tailscale/cli: stop Serve port ranges at 65535 so that it ends"


@pytest.mark.parametrize(
    ("answer", "reference", "value"),
    [  # printed by sacreBLEU 2.6.0, CHRF().sentence_score
        ("the cat sat on the mat", "the cat is on the mat", 0.645779420625287),
        ("return x + 1", "return  x+2\n", 0.8340608465608468),
        (FIX, LONG_FIX, 0.5099571923189675),
        (GO, WRAPPED, 0.35406674249540104),
        ("x", "xyz", 0.3846153846153846),
        ("é ü", "é u", 0.25),
        ("a", "b", 0.0),
        ("abc", "", 0.0),
        ("", "abc", 0.0),
        ("ab", "ab", 1.0),
    ],
)
def test_chrf_is_that_of_the_reference_implementation(answer: str, reference: str, value: float) -> None:
    assert chrf(answer, reference) == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize(
    ("answer", "reference", "overlap"),
    [  # printed by rouge-score 0.1.2, rougeL without a stemmer
        ("the cat sat on the mat", "the cat is on the mat", Overlap(5 / 6, 5 / 6, 5 / 6)),
        ("return x + 1", "return  x+2\n", Overlap(2 / 3, 2 / 3, 2 / 3)),
        (FIX, LONG_FIX, Overlap(0.8571428571428571, 0.46153846153846156, 0.6)),
        (GO, WRAPPED, Overlap(1.0, 0.45454545454545453, 0.625)),
        ("", "abc", Overlap(0.0, 0.0, 0.0)),
        ("x", "xyz", Overlap(0.0, 0.0, 0.0)),
    ],
)
def test_rouge_l_is_that_of_the_reference_implementation(answer: str, reference: str, overlap: Overlap) -> None:
    assert rouge_l(answer, reference) == pytest.approx(overlap, abs=1e-12)


def test_words_of_one_letter_are_words_and_other_scripts_count() -> None:
    assert rouge_l("a b c", "a x c").f1 == pytest.approx(2 / 3)
    assert rouge_l("größe prüfen", "Größe prüfen").f1 == 1.0
    assert words("maxPort_Range é-2") == ["maxport", "range", "é", "2"]


def test_a_bag_counts_what_stands_there_twice_twice() -> None:
    assert bag_overlap(["a", "a", "b"], ["a", "c"]) == Overlap(1 / 3, 1 / 2, 2 / 5)
    assert bag_overlap([], []) == Overlap(1.0, 1.0, 1.0)
    assert bag_overlap([], ["a"]) == Overlap(0.0, 0.0, 0.0)


def test_content_words_part_identifiers_and_leave_function_words_out() -> None:
    assert content_words("This breaks maxPortRange in parse_HTTPHeader2 with IPs") == [
        "breaks", "port", "range", "parse", "http", "header",
    ]  # fmt: skip


@given(TEXTS, TEXTS)
def test_all_lie_between_0_and_1_and_a_text_is_all_of_itself(first: str, second: str) -> None:
    assert 0.0 <= chrf(first, second) <= 1.0 + 1e-12
    assert all(0.0 <= value <= 1.0 for value in rouge_l(first, second))
    assert chrf(first, first) == 1.0
    assert rouge_l(first, first) == Overlap(1.0, 1.0, 1.0)


@given(TEXTS, TEXTS)
def test_precision_is_recall_the_other_way_round(first: str, second: str) -> None:
    here, there = rouge_l(first, second), rouge_l(second, first)
    assert (here.precision, here.recall) == (there.recall, there.precision)


@given(st.text("ab \n\t", max_size=20), st.integers(0, 20))
def test_an_index_in_a_dense_text_is_one_in_the_text(text: str, characters: int) -> None:
    index = dense_index(text, characters)
    assert len(dense_text(text[:index])) == min(characters, len(dense_text(text)))
