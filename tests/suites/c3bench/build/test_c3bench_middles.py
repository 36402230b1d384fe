"""Choice of middles: units, shares, quotas of types, and reasons for what is not used."""

from __future__ import annotations

import itertools
from collections import Counter
from functools import cache

import pytest

from caretbench.problem import Provenance
from caretbench.suites.c3bench.build.checked_functions import CheckedFunction, SourceText
from caretbench.suites.c3bench.build.implementation_contexts import LINE_SHARE, LINES, implementation_middles
from caretbench.suites.c3bench.build.scale_middles import chosen_middles, rejects_wrong_answers, scale_candidates
from caretbench.suites.c3bench.build.variants.code_context import CodeContext
from caretbench.suites.c3bench.implementations.rewrite import equivalent_contexts

OURS = Provenance(source="written for this test")
TEXT = '''def table(values):
    """Return the even values, the odd ones and the sum of all, with its size: large or small."""
    even = []
    for one in values:
        if one % 2 == 0:
            even.append(one)
    odd = []
    for other in values:
        if other % 2 == 1:
            odd.append(other)
    amount = sum(each for each in values)
    if amount > 1:
        size = "large"
    else:
        size = "small"
    return even, odd, amount, size
'''
FUNCTION = CheckedFunction("ours/table", "table", TEXT, "def check(candidate):\n    assert candidate([])\n", OURS)
SCRIPT = "".join(
    f"def step_{n}(values, limit):\n    found = []\n    for value in values:\n        if value > limit + {n}:\n"
    f"            found.append(value * {n})\n    count = len(found)\n    report(found, count)\n    return count\n\n\n"
    for n in range(8)
)


CACHED_CONTEXTS = cache(equivalent_contexts)
"""Contexts of a text, found once."""


@pytest.fixture(autouse=True)
def contexts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    path = "caretbench.suites.c3bench.build.implementation_contexts.equivalent_contexts"
    monkeypatch.setattr(path, CACHED_CONTEXTS)


def test_middles_do_not_overlap_and_are_units() -> None:
    found, rejects = implementation_middles(FUNCTION, 1.0, 3, 0)
    assert 2 <= len(found) <= 3
    spans = sorted(one.span for one in found)
    assert all(first[1] <= second[0] for first, second in itertools.pairwise(spans))
    for one in found:
        assert one.reference == TEXT[slice(*one.span)]
        assert one.source(one.reference) == TEXT
        assert one.extraction == "node" or 3 <= one.reference.count("\n") <= 5
    assert {one.reason for one in rejects} <= {"long", "no_unit", "not_needed"}


def test_the_share_of_the_text_is_a_limit() -> None:
    found, rejects = implementation_middles(FUNCTION, 0.3, 3, 0)
    assert all(len(one.reference) <= 0.3 * (len(TEXT) - len(one.reference)) for one in found)
    [long] = [one for one in rejects if one.reason == "long"]
    assert long.count >= 1
    assert implementation_middles(FUNCTION, 0.01, 3, 0)[0] == []


def padded(text: str, middle: int, share: int) -> str:
    """Return a program with a comment at its end, so that the text around a middle has ``share`` times its length."""
    return text + "#" * (share * middle - (len(text) - middle) - 1) + "\n"


def test_a_middle_of_exactly_the_share_is_used_and_a_longer_one_is_not() -> None:
    one = min(CACHED_CONTEXTS(TEXT, "table"), key=lambda each: each.end - each.start)
    length = one.end - one.start
    text = padded(TEXT, length, 16)
    assert length * 16 == len(text) - length
    function = FUNCTION._replace(text=text)

    def spans(share: float, shorter: CheckedFunction = function) -> set[tuple[int, int]]:
        return {each.span for each in implementation_middles(shorter, share, 99, 0)[0]}

    assert (one.start, one.end) in spans(0.0625)
    cut = function._replace(text=text[:-2] + "\n")
    assert (one.start, one.end) not in spans(0.0625, cut)


def test_a_middle_of_scale_of_exactly_the_share_is_used_and_a_longer_one_is_not() -> None:
    source = "values = read(source)\nwrite(values, target)\n"

    def longest(text: str, share: float) -> tuple[int, int]:
        found, rejects = scale_candidates([SourceText("ours/a.py", "python", text, OURS)], share, 99, 0)
        long = sum(each.count for each in rejects if each.reason == "long")
        return max((each.middle.end - each.middle.start for each in found), default=0), long

    length, _ = longest(source, 99.0)
    text = padded(source, length, 4)
    assert longest(text, 0.25)[0] == length
    shorter, long = longest(text[:-2] + "\n", 0.25)
    assert shorter < length
    assert long > longest(text, 0.25)[1]


def test_the_first_middle_has_the_preferred_unit_and_the_most_implementations() -> None:
    by_unit: dict[str, CodeContext] = {}
    for seed in range(30):
        [chosen] = implementation_middles(FUNCTION, 99.0, 1, seed)[0]
        assert by_unit.setdefault(chosen.extraction, chosen) == chosen
        assert implementation_middles(FUNCTION, 99.0, 99, seed)[0][0] == chosen
    assert set(by_unit) == {"node", "lines"}
    runs = [one for one in CACHED_CONTEXTS(TEXT, "table") if TEXT.count("\n", one.start, one.end) in LINES]
    assert len(by_unit["lines"].others) == max(len(one.equivalents) for one in runs) == 2


def test_three_of_ten_functions_prefer_a_run_of_lines() -> None:
    found = Counter(
        implementation_middles(FUNCTION._replace(id=f"ours/{number}"), 99.0, 1, 0)[0][0].extraction
        for number in range(200)
    )
    assert abs(found["lines"] / 200 - LINE_SHARE) < 0.1
    assert found.total() == 200


def test_a_function_has_at_most_the_asked_number_of_middles() -> None:
    assert [len(implementation_middles(FUNCTION, 0.5, number, 0)[0]) for number in (0, 1, 2)] == [0, 1, 2]
    found, rejects = implementation_middles(FUNCTION, 99.0, 1, 0)
    [rest] = [one for one in rejects if one.reason == "not_needed"]
    odd = sum(one.count for one in rejects if one.reason == "no_unit")
    assert len(found) + rest.count + odd == len(CACHED_CONTEXTS(TEXT, "table"))


def test_a_choice_of_scale_is_sharp_balanced_and_repeatable() -> None:
    files = [SourceText("ours/one.py", "python", SCRIPT, OURS), SourceText("ours/two.py", "python", TEXT, OURS)]
    candidates, rejects = scale_candidates(files, 0.3, 15, 0)
    assert max(Counter(one.file.id for one in candidates).values()) <= 15
    assert len({one.key for one in candidates}) == len(candidates)
    assert all(rejects_wrong_answers(one.file.text, one.middle) for one in candidates)
    assert any(one.reason == "not_tried" for one in rejects)
    chosen = chosen_middles(candidates, 10, 0)
    counts = Counter(one.middle.type for one in chosen)
    assert len(chosen) == 10
    assert counts["multi_line"] == 3
    assert abs(counts["span"] - counts["block"]) <= 1
    again = scale_candidates(list(reversed(files)), 0.3, 15, 0)[0]
    assert {one.key for one in chosen_middles(again, 10, 0)} == {one.key for one in chosen}
    assert chosen_middles([], 10, 0) == []
