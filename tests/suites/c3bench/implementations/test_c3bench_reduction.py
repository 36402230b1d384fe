"""Reduction of answers: which shorter answers are tried, and what a decoy loses."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from caretbench.suites.c3bench.implementations.reduction import PredicateWords, reduced_text

PREFIX, SUFFIX = "def f(a):\n", "    return t\n"


def reduced(
    text: str,
    passes: Callable[[str], bool],
    prefix: str = PREFIX,
    requires: tuple[str, ...] = ("of no word",),
    holds: Callable[[str], bool] = lambda _: True,
) -> tuple[str | None, list[str]]:
    """Return what is left of a text, and the texts that were tried."""
    words = PredicateWords(requires, prefix, text)
    steps, tried, answer = reduced_text(prefix, text, SUFFIX, "python", words, holds), [], None
    while True:
        try:
            shorter = steps.send(answer)
        except StopIteration as end:
            return end.value, tried
        tried.append(shorter)
        answer = passes(shorter)


def needs(*parts: str) -> Callable[[str], bool]:
    return lambda text: all(part in text for part in parts)


@pytest.mark.parametrize(
    ("text", "needed", "left"),
    [
        ("    t = 0\n    state = {}\n    state['n'] = 1\n    for x in a:\n        t += x\n", ("t = 0", "t += x", "for"),
         "    t = 0\n    for x in a:\n        t += x\n"),
        ("    while True:\n        t = sum(a)\n        break\n", ("t = sum(a)",), "    t = sum(a)\n"),
        ("    if a:\n        t = sum(a)\n    else:\n        t = 0\n", ("t = sum(a)",), "    t = sum(a)\n"),
        ("    t = sum(sorted(list(a)))\n", ("sum(",), "    t = sum(a)\n"),
        ("    t = sum(a) if a else sum([])\n", ("sum(a)",), "    t = sum(a)\n"),
        ("    t = sum(a)\n", ("t = sum(a)",), "    t = sum(a)\n"),
        ("    for t in a:\n        if t:\n            break\n", ("for", "if"),
         "    for t in a:\n        if t:\n            break\n"),
    ],
)  # fmt: skip
def test_what_no_test_needs_is_gone(text: str, needed: tuple[str, ...], left: str) -> None:
    found, tried = reduced(text, needs(*needed))
    assert found == left
    for one in tried:
        ast.parse(PREFIX + one + SUFFIX)
    assert len(tried) == len(set(tried))


def test_a_caret_behind_the_indentation_keeps_its_column() -> None:
    found, tried = reduced("t = 1\n    b = t\n    t = sum(a)\n", needs("sum(a)"), PREFIX + "    ")
    assert found == "t = sum(a)\n"
    for one in tried:
        ast.parse(PREFIX + "    " + one + SUFFIX)


def test_a_loop_that_could_not_end_is_not_run() -> None:
    _, tried = reduced("    i = 0\n    while i < 9:\n        t = i\n        i += 1\n", needs("while"))
    assert all("i += 1" in one for one in tried if "while" in one)


def test_a_long_answer_is_not_reduced() -> None:
    """Each of 5,000 equal lines cost a copy of all: minutes without a run that any limit would end."""
    assert reduced("    0\n" * 5_000 + "    t = sum(a)\n", needs()) == (None, [])


@pytest.mark.parametrize(
    "loop",
    [
        "while i < len(a):\n        t.append(a[i])\n        {step}\n",
        "while len(a) > box[0]:\n        t.append(len(a))\n        {step}\n",
        "while box.n < 9:\n        t.append(box.n / 2)\n        {step}\n",
        "while a:\n        t.append(a.index(min(a)))\n        {step}\n",
    ],
)
@pytest.mark.parametrize("step", ["i += 1", "box[0] += 1", "box.n += 1", "a.pop()", "drop(a)", "a = rest(a)"])
def test_only_a_loop_whose_condition_changes_is_run_without_a_statement(loop: str, step: str) -> None:
    """Seen: 15 endless runs of the starter set's references took 23 of 38 s; `for` loops rewritten as `while`."""
    _, tried = reduced("    t = []\n    " + loop.format(step=step), needs("while"))
    changes = {"i < len": ("i +=", "a.pop", "drop", "a ="), "box[0]": ("box[0]", "a.pop", "drop", "a ="),
               "box.n": ("box.n",), "while a:": ("a.pop", "drop", "a =")}  # fmt: skip
    wanted = next(parts for name, parts in changes.items() if name in loop)
    if any(part in step for part in wanted):
        assert tried
        assert all(any(part in one for part in wanted) for one in tried if "while" in one)
    else:
        # It never ended before: that is no fault of an edit.
        assert any("while" in one for one in tried)


def test_a_name_without_a_value_is_not_tried_until_its_last_use_is_gone() -> None:
    text = "    seen = {}\n    t = 0\n    for x in a:\n        seen[x] = 1\n        t += x\n"
    found, tried = reduced(text, lambda one: "t = 0" in one and "t += x" in one)
    assert found == "    t = 0\n    for x in a:\n        t += x\n"
    assert all("seen = {}" in one for one in tried if "seen[x]" in one)
    assert all("for x in a" in one for one in tried if "+= x" in one)


def test_names_of_the_function_and_of_the_module_are_known() -> None:
    prefix = "import math\nscale = 2\n\ndef f(a):\n    b = 1\n"
    _, tried = reduced(
        "    a = [1]\n    b = 3\n    y = 4\n    t = sum(a) * scale * b + math.pi + y\n", needs("t ="), prefix
    )
    kept = [one for one in tried if "t = sum" in one]
    assert any("a = [1]" not in one for one in kept)
    assert any("b = 3" not in one for one in kept)
    assert all("y = 4" in one for one in kept)


def test_a_part_without_a_word_of_the_predicate_is_not_edited() -> None:
    text = "    for x in a:\n        t = max(t, len(x))\n        heappush(h, x)\n"
    _, tried = reduced(text, lambda _: False, requires=("in_loop:call:heappush",))
    assert tried
    assert all("max(t, len(x))" in one for one in tried)


@pytest.mark.parametrize(
    ("feature", "text", "changed"),
    [
        ("recursion", "    def go(n):\n        return n and go(n - len(a))\n    t = go(abs(3))\n", "go"),
        ("loop_depth:2", "    for x in a:\n        for y in a:\n            t += abs(x)\n", "for y"),
        ("operator://", "    t = [abs(x) for x in a]\n    u = divide(9 // 2)\n", "//"),
        ("bound:*:call:sum", "    for x in a:\n        t = f(x)\n        u = sum(x)\n", "sum"),
    ],
)
def test_the_words_of_a_feature_are_found(feature: str, text: str, changed: str) -> None:
    words = PredicateWords((feature,), "def f(a):\n", text)
    lines = [line for line in text.split("\n") if words.touches(line)]
    assert [line for line in lines if changed in line]
    assert not words.touches("u = abs(x)")


def test_an_answer_that_passes_without_what_is_asked_for_is_not_reduced_further() -> None:
    text = "    s = {}\n    b = 1\n    s['n'] = 2\n    t = sum(a)\n"
    found, tried = reduced(text, needs("t = sum(a)"), requires=("name:s",), holds=needs("s["))
    # `b = 1` only because it is an outer statement: the decoy may need it; `s = {}` goes with its last use.
    assert tried == ["    s = {}\n    s['n'] = 2\n    t = sum(a)\n", "    t = sum(a)\n"]
    assert found == tried[-1]
