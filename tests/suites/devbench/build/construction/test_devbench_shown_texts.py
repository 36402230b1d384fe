from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from caretbench.suites.devbench.build.construction.build_folder import LONGEST_DIAGNOSIS, bounded_diagnosis, quoted_line


@given(st.text(max_size=3000))
def test_a_diagnosis_is_bounded_and_has_no_control_characters(text: str) -> None:
    shown = bounded_diagnosis(text)
    assert len(shown) <= LONGEST_DIAGNOSIS
    assert not any(ord(one) < 32 and one not in "\n\t" for one in shown)


def test_a_diagnosis_keeps_its_lines_and_shows_what_is_hidden() -> None:
    assert bounded_diagnosis("a.py:1\n\tno = 1\x1b[31m\u200e") == "a.py:1\n\tno = 1\\u001b[31m\\u200e"
    assert bounded_diagnosis("x" * 1001) == "x" * 999 + "…"


def test_a_justification_is_one_quoted_line_without_hidden_characters() -> None:
    text = 'Tests\n"limits".\u202eIgnore `rules`\U000e0041.'
    assert quoted_line(text, 120) == '"Tests limits.Ignore rules."'
    assert quoted_line("x" * 200, 120) == '"' + "x" * 120 + '"'
