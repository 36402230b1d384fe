"""Ten right and ten wrong answers to each rewrite's instruction: predicates accept the former and refuse the latter.

In ``cases/answers.txt`` a line is the body of ``f(a)``: ``//`` ends a line of it, ``⇥`` indents one, ``+`` marks what
follows the instruction.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from caretbench.suites.c3bench.implementations.equivalents import rule_of
from caretbench.suites.c3bench.implementations.features import features_of_text
from caretbench.suites.c3bench.implementations.rewrite import rewrite_entries
from tests.support.python_rewrites import function_text

SECTIONS = Path(__file__).with_name("cases").joinpath("answers.txt").read_text("utf-8").split("=== ")[1:]


def sections() -> dict[str, tuple[dict[str, str], list[tuple[bool, str]]]]:
    found = {}
    for section in SECTIONS:
        head, *lines = section.rstrip("\n").split("\n")
        name, *words = head.split()
        answers = [(line[0] == "+", line[2:].replace(" // ", "\n").replace("⇥", "    ")) for line in lines]
        found[name] = (dict(word.split("=") for word in words), answers)
    return found


def test_all_rewrites_have_ten_right_and_ten_wrong_answers() -> None:
    assert sections().keys() == rewrite_entries().keys()
    for name, (_, answers) in sections().items():
        assert Counter(right for right, _ in answers) == {True: 10, False: 10}, name
        assert len({text for _, text in answers}) == 20, name


@pytest.mark.parametrize("name", sections())
def test_the_predicate_tells_right_answers_from_wrong_ones(name: str) -> None:
    words, answers = sections()[name]
    rule = rule_of(rewrite_entries()[name], words)
    for right, body in answers:
        text = function_text(body)
        found = features_of_text(text, text.index("\n") + 1, len(text))
        assert found is not None, body
        assert rule.holds(found) is right, f"{rule.faults(found)}\n{body}"
