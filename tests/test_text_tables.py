"""Tables as texts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from caretbench.text_tables import align_columns, counted, p_text, stacked_rows


def test_columns_are_aligned() -> None:
    assert align_columns([("a", "12"), ("long", "1")], ("Name", "N")) == ["Name  N", "a     12", "long  1"]


def test_rows_are_stacked_with_their_heads() -> None:
    rows = [("go", "3", "a note of several words"), ("python", "", "short")]
    assert "\n".join(stacked_rows(rows, ("Language", "N", "Note"), 16)).split("\n") == [
        "go", "  N: 3", "  Note: a note", "    of several", "    words", "python", "  Note: short",
    ]  # fmt: skip


def test_a_word_longer_than_the_line_is_not_cut() -> None:
    """A path that is cut can neither be opened nor copied."""
    path = "runs/july/python-only/report.html"
    assert path in "\n".join(stacked_rows([("report", path)], ("Name", "Path"), 16)).split()


@given(st.lists(st.text("ab ", min_size=1, max_size=40), min_size=3, max_size=3))
def test_stacked_rows_keep_every_word(row: list[str]) -> None:
    lines = "\n".join(stacked_rows([row], ("One", "Two", "Three"), 20)).split("\n")
    shown = " ".join(lines).split()
    assert [word for word in shown if word not in {"Two:", "Three:"}] == " ".join(row).split()


def test_numbers_in_words() -> None:
    assert (counted(1, "cell"), counted(0, "cell"), counted(2, "cell")) == ("1 cell", "0 cells", "2 cells")
    assert (p_text(0.0123), p_text(0.0009)) == ("0.012", "< 0.001")
