"""Ten right and ten wrong answers to predicates by queries: at least 98 % of both are told apart.

In ``cases/tree_answers.txt`` a section names its language and a predicate (``-`` is forbidden); ``¶`` ends a line.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from caretbench.suites.c3bench.implementations.features import FeatureRule, found_features

CASES = Path(__file__).with_name("cases").joinpath("tree_answers.txt").read_text("utf-8")
SECTIONS = f"\n{CASES}".split("\n=== ")[1:]
AROUND = {
    "javascript": ("function f(xs) {\nconst t = [];\n", "\n}\n"),
    "typescript": ("async function f(xs: number[]) {\nconst t: number[] = [];\n", "\n}\n"),
    "java": ("class A {\n    Object f(String s) {\n", "\n    }\n}\n"),
    "go": ("package main\n\nfunc f(xs []int) int {\n", "\n}\n"),
}


def test_right_answers_are_told_from_wrong_ones() -> None:
    counts, faults = Counter[str](), []
    for section in SECTIONS:
        head, *lines = section.rstrip("\n").split("\n")
        language, *names = head.split()
        rule = FeatureRule(
            tuple(one for one in names if one[0] != "-"), tuple(one[1:] for one in names if one[0] == "-")
        )
        assert Counter(line[0] for line in lines) == {"+": 10, "-": 10}, head
        for line in lines:
            prefix, suffix = AROUND[language]
            found = found_features(prefix, line[2:].replace("¶", "\n"), suffix, language)
            assert found is not None
            counts[line[0]] += 1
            if rule.holds(found) is not (line[0] == "+"):
                faults.append(f"{head}\n{line}\n{rule.faults(found)}")
    assert min(counts.values()) >= 180
    assert len(faults) <= 0.02 * min(counts.values()), "\n".join(faults)
