from __future__ import annotations

import pytest

from caretbench.metrics.code_statistics import lines_of_code, problem_statistics
from caretbench.metrics.complexity import ProblemStatistics


@pytest.mark.parametrize(("text", "lines"), [("", 0), ("a", 1), ("a\n", 1), ("a\n\n", 2), ("a\nb", 2)])
def test_lines(text: str, lines: int) -> None:
    assert lines_of_code(text) == lines


@pytest.mark.parametrize(
    ("text", "language", "tokens"),
    [
        ("a = b + 1  # sum\n", "python", 5),
        ("if a:\n    b()\n", "python", 6),
        ("const a = 1; // one\n/* two */", "javascript", 5),
        ("let a: number = 'x';", "typescript", 9),  # the quotes and the content of the string
        ("class A { int a; }", "java", 7),
        ("int a = 0; // zero", "cpp", 5),
        ("class A { int a; } // end", "csharp", 7),
        ("", "java", 0),
    ],
)
def test_tokens(text: str, language: str, tokens: int) -> None:
    assert problem_statistics(text, "", "", "", language).total_tokens == tokens


BODIES = {
    "python": (
        "def f(a):\n    if a and b or c:\n        pass\n    elif d:\n        pass\n    else:\n        pass\n"
        "    for x in y:\n        break\n    while z:\n        pass\n"
        "    try:\n        pass\n    except E:\n        pass\n    finally:\n        pass\n"
        "    return 1 if q else [v for v in w if v]\n",
        11,
    ),
    "javascript": (
        "function f(a) { if (a && b) {} else if (c) {} else {} for (const x of y) {} for (;;) { break; }\n"
        "while (z) {} try {} catch (e) {} switch (s) { case 1: break; default: } return q ? 1 : 2; }",
        10,
    ),
    "typescript": ("const f = (a?: number): number => a ? 1 : b || c;", 3),
    "java": (
        "class A { int f() { if (a && b) {} else if (c) {} for (int x : y) {} do {} while (z);\n"
        "try {} catch (E e) {} switch (s) { case 1: break; default: } return q ? 1 : 2; } }",
        9,
    ),
    "cpp": (
        "int f() { if (a || b) {} for (auto x : y) {} for (;;) {} while (z) {} try {} catch (...) {}\n"
        "switch (s) { case 1: break; default: ; } return q ? 1 : 2; }",
        9,
    ),
    "csharp": (
        "class A { int F() { if (a && b) {} foreach (var x in y) {} while (z) {} try {} catch {}\n"
        "switch (s) { case 1: break; default: break; } return t switch { 1 => 2, _ => q ? 1 : 2 }; } }",
        10,
    ),
}


def cyclomatic_complexity(text: str, language: str) -> int:
    return problem_statistics(text, "", "", "", language).cyclomatic


@pytest.mark.parametrize("language", BODIES)
def test_cyclomatic(language: str) -> None:
    text, complexity = BODIES[language]
    assert cyclomatic_complexity(text, language) == complexity


def test_cyclomatic_counts_code_outside_functions_and_no_words_in_text() -> None:
    assert cyclomatic_complexity("x = 1\n", "python") == 1
    assert cyclomatic_complexity("if a:\n    b()\nfor c in d:\n    e()\n", "python") == 3
    assert cyclomatic_complexity("# if while\ns = 'for if case'\n", "python") == 1


def test_agrees_with_lizard_within_functions() -> None:
    lizard = pytest.importorskip("lizard")
    for language, suffix in (("java", ".java"), ("cpp", ".cpp")):
        text, complexity = BODIES[language]
        (function,) = lizard.analyze_file.analyze_source_code(f"x{suffix}", text).function_list
        # lizard counts a do loop by its while, as we do by its statement
        assert function.cyclomatic_complexity == complexity


def test_tokens_belong_to_the_part_in_which_they_begin() -> None:
    statistics = problem_statistics("é = f", "oo(1,\n", "  2)", "assert é", "python")
    assert statistics == ProblemStatistics(
        prefix_lines=1,
        completion_lines=1,
        total_lines=3,
        prefix_tokens=3,  # é = foo
        completion_tokens=3,  # ( 1 ,
        total_tokens=10,
        cyclomatic=1,
    )


@pytest.mark.data
def test_all_problems_have_statistics(instances: list[dict[str, str]]) -> None:
    for row in instances[::5]:
        parts = (row["prefix"], row["golden_completion"], row["suffix"], row["assertions"])
        statistics = problem_statistics(*parts, row["language"])
        assert statistics.total_tokens >= statistics.prefix_tokens + statistics.completion_tokens > 0
        assert statistics.total_lines >= statistics.prefix_lines
        assert statistics.cyclomatic >= 1
