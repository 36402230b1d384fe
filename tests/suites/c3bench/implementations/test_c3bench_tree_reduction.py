"""Features and reductions of answers in JavaScript, TypeScript, Java and Go."""

from __future__ import annotations

import pytest

from caretbench.suites.c3bench.implementations.features import FeatureRule, found_features, has_features
from caretbench.suites.c3bench.implementations.reduction import PredicateWords, reduced_text

AROUND = {
    "javascript": ("function f(xs) {\n", "}\n"),
    "typescript": ("function f(xs: number[]): number {\n", "}\n"),
    "java": ("class A {\n    static int f(int[] xs) {\n", "    }\n}\n"),
    "go": ("package main\n\nfunc f(xs []int) int {\n", "}\n"),
}
LOOPS = {
    "javascript": "let t = 0; for (const x of xs) { t += g(x, 1); while (t % 2) { t--; } } return t;",
    "typescript": "let t = 0; for (const x of xs) { t += g(x, 1); while (t % 2) { t--; } } return t;",
    "java": "int t = 0; for (int x : xs) { t += g(x, 1); while (t % 2 > 0) { t--; } } return t;",
    "go": "t := 0\nfor _, x := range xs {\n t += g(x, 1)\n for t % 2 > 0 {\n  t--\n }\n}\nreturn t\n",
}
RECURSION = {
    "javascript": "const go = (n) => n ? go(n - 1) : 0; return go(3);",
    "typescript": "return xs.length ? f(xs.slice(1)) : 0;",
    "java": "return xs.length > 0 ? f(new int[0]) : 0;",
    "go": "var down func(n int) int\ndown = func(n int) int {\n return down(n - 1)\n}\nreturn down(3)\n",
}


@pytest.mark.parametrize("language", AROUND)
def test_features_are_named_alike_in_all_languages(language: str) -> None:
    prefix, suffix = AROUND[language]
    loops, recursion = (
        found_features(prefix, text, suffix, language) for text in (LOOPS[language], RECURSION[language])
    )
    assert loops is not None
    assert recursion is not None
    expected = (
        "for", "while", "loop_depth:2", "in_loop:call:g", "call:g/2", "operator:%", "operator:+", "name:t",
        "updated_in_loop:t", "returns:1",
    )  # fmt: skip
    assert not FeatureRule(expected, ("recursion", "loop_depth:3", "in_loop:return", "lambda")).faults(loops)
    assert not FeatureRule(("recursion",), ("for", "while", "loop_depth:1")).faults(recursion)
    # What stands around the answer is no feature of it.
    whole = found_features(prefix + LOOPS[language], "", suffix, language)
    assert whole is not None
    assert whole <= {"returns:0"}


def test_languages_without_a_query_have_no_features() -> None:
    assert [has_features(name) for name in ("python", "go", "cpp", "cobol")] == [True, True, False, False]
    assert found_features("int f() {\n", "return 1;\n", "}\n", "cpp") is None


def left(language: str, text: str, *needed: str) -> tuple[str | None, list[str]]:
    """Return what is left of a text that passes while it contains the needed parts, and what was tried."""
    prefix, suffix = AROUND[language]
    words = PredicateWords(("of no word",), prefix, text)
    steps, tried, answer = reduced_text(prefix, text, suffix, language, words, lambda _: True), [], None
    while True:
        try:
            shorter = steps.send(answer)
        except StopIteration as end:
            return end.value, tried
        tried.append(shorter)
        answer = all(part in shorter for part in needed)


@pytest.mark.parametrize(
    ("language", "text", "needed", "expected"),
    [
        ("javascript", "const m = new Map(); m.set(1, 2); return sum(xs);", ("return sum(xs)",), "return sum(xs);"),
        ("typescript", "for (const x of [0]) { return sum(xs); }", ("return sum(xs)",), "return sum(xs);"),
        ("java", "int n = 0; while (n < 1) { n++; } return sum(sorted(xs));", ("return sum(",),
         "return sum(xs);"),
        ("java", "return xs.length > 0 ? sum(xs) : 0;", ("sum(xs)",), "return sum(xs);"),
        ("go", "n := 0\nfor _, x := range xs {\nn += x\n}\nreturn sum(xs)\n", ("return sum(xs)",), "return sum(xs)"),
        ("go", "if len(xs) > 0 {\nreturn sum(xs)\n} else {\nreturn 0\n}\n", ("return sum(xs)",), "return sum(xs)"),
    ],
)  # fmt: skip
def test_what_no_test_needs_is_gone(language: str, text: str, needed: tuple[str, ...], expected: str) -> None:
    found, tried = left(language, text, *needed)
    assert found is not None
    assert found.strip() == expected
    assert len(tried) == len(set(tried))


def test_a_loop_that_could_not_end_and_a_name_without_its_declaration_are_not_tried() -> None:
    _, tried = left(
        "javascript", "let n = xs.length; let t = 0; while (n > 0) { n--; t += xs[n]; } return t;", "nothing"
    )
    assert tried
    assert not [one for one in tried if "while" in one and "n--" not in one]
    assert not [one for one in tried if "t += " in one and "let t" not in one]


def test_a_long_answer_is_not_reduced() -> None:
    assert left("go", "x := 1\n" * 1000) == (None, [])
