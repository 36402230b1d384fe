"""Programs as HTML: nothing of a stranger's text is markup, and the span is marked wherever it stands."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caretbench.people.review.server.entries import LONGEST_LINE, choices_html, code_html, visible_html

pytest.importorskip("pygments")


def text_of(shown: str) -> str:
    """The program that the HTML shows, without numbers."""
    lines = re.findall(r"<code>(.*?)\n</code>", shown, re.DOTALL)
    return "\n".join(html.unescape(re.sub(r"<[^>]*>", "", line)) for line in lines)


def marked(shown: str) -> str:
    return html.unescape(re.sub(r"<[^>]*>", "", "\n".join(re.findall(r"<mark>(.*?)</mark>", shown, re.DOTALL))))


_CODE = st.text(alphabet="abc \n(){}'\"#<>&=", max_size=60)


@given(_CODE, _CODE, _CODE)
def test_the_program_is_shown_whole_with_its_span_marked(before: str, span: str, after: str) -> None:
    shown = code_html("python", before, span, after)
    assert text_of(shown).replace("nothing", "").rstrip("\n") == (before + span + after).rstrip("\n")
    if span.strip("\n"):
        assert [line for line in marked(shown).split("\n") if line] == [line for line in span.split("\n") if line]
    else:
        assert "<mark" in shown


def test_an_empty_span_has_its_mark_between_two_texts() -> None:
    assert re.search(r'a.*<mark class="empty">nothing</mark>.*b', code_html("none-such", "a", "", "b"))


def test_markup_is_text() -> None:
    shown = code_html("python", "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "</code></div>")
    assert "<script" not in shown
    assert "<img" not in shown
    assert "&lt;script" in re.sub(r"</?span[^>]*>", "", shown)


def test_characters_that_nobody_sees_have_names() -> None:
    assert visible_html("a\u202eb\x1b[31m\x00") == (
        'a<i class="sign" title="RIGHT-TO-LEFT OVERRIDE">RLO</i>b<i class="sign" title="CONTROL CHARACTER">ESC</i>[31m'
        '<i class="sign" title="CONTROL CHARACTER">NUL</i>'
    )
    assert visible_html("tab\tand\nline") == "tab\tand\nline"


def test_long_lines_are_cut_away_from_the_span() -> None:
    shown = code_html("python", "x" * 2_000_000 + " = ", "1", "\n")
    assert len(shown) < 3 * LONGEST_LINE
    assert "[… 1998003 more characters]" in shown
    assert marked(shown) == "1"


def test_lines_far_from_the_span_are_folded() -> None:
    shown = code_html("python", "a = 1\n" * 100, "b = 2\n", "c = 3\n" * 100)
    assert re.findall(r"<summary>(\d+) lines</summary>", shown) == ["75", "75"]


def test_patches_are_coloured_and_their_differences_marked() -> None:
    patch = "a.py\n@@ -1,2 +1,2 @@\n x = 1\n-y = 2\n+y = {}<\n---\n"
    first, second = choices_html([patch.format(3), patch.format(4)])
    assert text_of(first) + "\n" == patch.format(3)
    kinds = re.findall(r'<div class="([^"]+)">', first)
    assert kinds == ["line", "line place", "line", "line removed", "line added differs", "line"]
    assert "4&lt;" in second
    assert choices_html(["- a list", "+ another"])[0] == _plain("- a list"), "sentences are no patches"


def _plain(text: str) -> str:
    return code_html("", "", text, "", marked=False)
