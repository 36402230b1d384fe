"""What is left out of a prompt that is too long, and that the rest fits."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caretbench.problem import ContextFile
from caretbench.prompts.strategy import (
    PromptBudget,
    PromptParts,
    UnpromptableError,
    fit_to_budget,
    render_within_budget,
)


def words(text: str) -> int:
    return len(re.findall(r"\w+|[^\w\n]|\n", text))


def quarters(text: str) -> int:
    return math.ceil(len(text) / 4)


def with_bos(text: str) -> int:
    return 1 + len(text)


def lines(text: str) -> int:
    return text.count("\n") + 1


def moody(text: str) -> int:
    """Not monotone: ``ab`` has one token, ``a`` two. Never negative: no tokenizer is (``ab`` had -1 here)."""
    return 2 * len(text) - 3 * text.count("ab")


COUNTS: list[Callable[[str], int]] = [len, words, quarters, with_bos, lines, moody]
text = st.text(alphabet="ab \n\r\u2028é", max_size=60)
files = st.lists(st.builds(ContextFile, path=st.sampled_from(["a.py", "b/c.py"]), text=text), max_size=4).map(tuple)


def size(parts: PromptParts, count: Callable[[str], int]) -> int:
    listing = "\n".join(f"{file.path}\n{file.text}" for file in parts.files)
    return sum(count(piece) for piece in (parts.prefix, parts.suffix, listing) if piece)


@given(
    st.builds(PromptParts, text, text, files),
    st.sampled_from(COUNTS),
    st.integers(-3, 150),
    st.sampled_from(["", "<mark>"]),
)
def test_the_result_fits_and_is_cut_at_lines_only(
    parts: PromptParts, count: Callable[[str], int], tokens: int, overhead: str
) -> None:
    taken = count(overhead) if overhead else 0
    try:
        fitted = fit_to_budget(parts, PromptBudget(tokens, count), overhead)
    except UnpromptableError:
        assert size(parts._replace(files=()), count) + taken > tokens
        return
    assert taken + size(fitted, count) <= tokens
    assert parts.prefix.endswith(fitted.prefix)
    assert parts.suffix.startswith(fitted.suffix)
    assert parts.files[len(parts.files) - len(fitted.files) :] == fitted.files
    if (fitted.prefix, fitted.suffix) != (parts.prefix, parts.suffix):
        assert fitted.files == ()
    if size(parts, count) + taken <= tokens:
        assert fitted == parts
    left_out = parts.prefix[: len(parts.prefix) - len(fitted.prefix)]
    assert not left_out or left_out.endswith("\n") or "\n" not in fitted.prefix[:-1]
    left_out = parts.suffix[len(fitted.suffix) :]
    assert not left_out or not fitted.suffix or fitted.suffix.endswith("\n") or "\n" not in fitted.suffix


@given(st.builds(PromptParts, text, text, files), st.sampled_from(COUNTS), st.integers(0, 150))
def test_the_rendered_text_fits(parts: PromptParts, count: Callable[[str], int], tokens: int) -> None:
    def render(parts: PromptParts) -> str:
        listing = "".join(f"<file>{file.path}\n{file.text}" for file in parts.files)
        return f"{listing}<p>{parts.prefix}<s>{parts.suffix}<m>"

    try:
        rendered = render_within_budget(parts, PromptBudget(tokens, count), render)
    except UnpromptableError:
        assert count(render(parts)) > tokens
        return
    assert count(rendered) <= tokens
    if count(render(parts)) <= tokens:
        assert rendered == render(parts)


def test_text_that_counts_only_beside_other_text_ends_in_a_refusal() -> None:
    def count(text: str) -> int:
        return len(text) // 4  # "ab" is nothing by itself

    with pytest.raises(UnpromptableError, match="2 tokens"):
        render_within_budget(
            PromptParts("ab", "", ()), PromptBudget(2, count), lambda parts: f"<p>{parts.prefix}<s>{parts.suffix}<m>|"
        )


def test_without_a_limit_nothing_is_counted() -> None:
    def never(text: str) -> int:
        raise AssertionError(text)

    parts = PromptParts("a\n" * 1000, "b\n" * 1000, (ContextFile(path="a", text="a"),))
    assert fit_to_budget(parts, PromptBudget(None, never)) is parts
    assert render_within_budget(parts, PromptBudget(None, never), lambda parts: parts.prefix) == parts.prefix


def test_files_go_first_and_the_last_stays_longest() -> None:
    far, near = ContextFile(path="far", text="x" * 10), ContextFile(path="near", text="y" * 10)
    parts = PromptParts("p" * 10, "s" * 10, (far, near))
    assert fit_to_budget(parts, PromptBudget(len("near\n") + 30, len)).files == (near,)
    assert fit_to_budget(parts, PromptBudget(len("near\n") + 29, len)) == PromptParts("p" * 10, "s" * 10, ())


def test_the_prefix_gets_three_quarters_of_the_room() -> None:
    fitted = fit_to_budget(PromptParts("p234\n" * 100, "s234\n" * 100, ()), PromptBudget(200, len))
    assert (len(fitted.prefix), len(fitted.suffix)) == (150, 50)


@pytest.mark.parametrize(("before", "after", "expected"), [(2, 100, (10, 190)), (100, 2, (190, 10))])
def test_what_a_side_does_not_need_goes_to_the_other(before: int, after: int, expected: tuple[int, int]) -> None:
    fitted = fit_to_budget(PromptParts("p234\n" * before, "s234\n" * after, ()), PromptBudget(200, len))
    assert (len(fitted.prefix), len(fitted.suffix)) == expected


def test_a_line_that_does_not_fit_is_cut_at_the_far_end() -> None:
    assert fit_to_budget(PromptParts("first\n" + "0123456789" * 3, "", ()), PromptBudget(4, len)).prefix == "6789"
    assert fit_to_budget(PromptParts("", "0123456789" * 3 + "\nlast", ()), PromptBudget(4, len)).suffix == "0123"


def test_nothing_fits() -> None:
    with pytest.raises(UnpromptableError, match="5 tokens, and 6 "):
        fit_to_budget(PromptParts("prefix", "suffix", ()), PromptBudget(5, len), "<mark>")


def test_few_calls() -> None:
    calls = []

    def count(text: str) -> int:
        calls.append(text)
        return len(text)

    parts = PromptParts("p\n" * 20_000, "s\n" * 20_000, tuple(ContextFile(path="f", text="f") for _ in range(500)))
    fit_to_budget(parts, PromptBudget(10_000, count))
    assert len(calls) <= 40
    calls.clear()
    render_within_budget(parts, PromptBudget(100_000, count), lambda parts: parts.prefix + parts.suffix)
    assert len(calls) == 1
