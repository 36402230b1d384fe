"""Choice of middles: units, shares, quotas of types, and reasons for what is not used."""

from __future__ import annotations

import itertools
from collections import Counter

from caretbench.problem import Provenance
from caretbench.suites.c3bench.building.build_types import SourceText
from caretbench.suites.c3bench.building.implementation_middles import implementation_middles
from caretbench.suites.c3bench.building.scale_choice import chosen_middles, scale_candidates
from caretbench.suites.c3bench.checked_functions import CheckedFunction
from caretbench.suites.c3bench.scale.scale_middles import rejects_wrong_answers

OURS = Provenance(source="written for this test")
TEXT = '''def table(values):
    """Return the even values, the odd ones and the sum of all, in this order; nothing is changed."""
    even = []
    for value in values:
        if value % 2 == 0:
            even.append(value)
    odd = []
    for value in values:
        if value % 2 == 1:
            odd.append(value)
    total = 0
    for value in values:
        total += value
    return even, odd, total
'''
FUNCTION = CheckedFunction("ours/table", "table", TEXT, "def check(candidate):\n    assert candidate([])\n", OURS)
SCRIPT = "".join(
    f"def step_{n}(values, limit):\n    found = []\n    for value in values:\n        if value > limit + {n}:\n"
    f"            found.append(value * {n})\n    count = len(found)\n    report(found, count)\n    return count\n\n\n"
    for n in range(8)
)


def test_middles_do_not_overlap_and_are_units() -> None:
    found, rejects = implementation_middles(FUNCTION, 1.0, 3, 0)
    assert 2 <= len(found) <= 3
    spans = sorted((one.start, one.end) for one in found)
    assert all(first[1] <= second[0] for first, second in itertools.pairwise(spans))
    for one in found:
        assert one.original == TEXT[one.start : one.end]
        assert one.prefix + one.original + one.suffix == TEXT
        assert one.extraction == "node" or 3 <= one.original.count("\n") <= 5
    assert {one.reason for one in rejects} <= {"long", "no_unit", "not_needed"}


def test_the_share_of_the_text_is_a_limit() -> None:
    found, rejects = implementation_middles(FUNCTION, 0.3, 3, 0)
    assert all((one.end - one.start) <= 0.3 * (len(TEXT) - one.end + one.start) for one in found)
    [long] = [one for one in rejects if one.reason == "long"]
    assert long.count >= 1
    assert implementation_middles(FUNCTION, 0.01, 3, 0)[0] == []


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
