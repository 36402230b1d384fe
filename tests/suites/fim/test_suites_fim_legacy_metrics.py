"""Measures of released evaluators: values by hand for each rule, and the numbers of the released functions."""

from pathlib import Path
from typing import Any

import pytest

from caretbench.suites.fim.measures import (
    crosscodeeval,
    execrepobench,
    fuzz_ratios,
    identifiers,
    qwen_humaneval_fim,
    repobench,
    repocoder,
    repoformer_function,
    repoformer_lines,
    safim_syntax_match,
    without_comments,
)
from tests.support.parity import parity_rows, safim_problems


def same(found: Any, expected: Any) -> bool:
    return found == expected if isinstance(expected, (str, list)) else abs(found - expected) <= 1e-9


def test_ratios_are_whole_numbers_of_either_backend() -> None:
    assert fuzz_ratios("", "") == fuzz_ratios("ab", "ab") == (100, 100)
    assert fuzz_ratios("", "a") == (0, 0)
    # Two of three and two characters: 2 * 2 / 5.
    assert fuzz_ratios("abc", "ab") == (80, 80)
    # Three characters, "abc", are common; difflib takes the first of the longest blocks, and what is on its sides: "ab"
    # and "c" in one order, "xd" alone in the other.
    assert fuzz_ratios("abcxd", "xdabyc") == (55, 55)
    assert fuzz_ratios("xdabyc", "abcxd") == (36, 55)
    # 2 * 1 / 16 = 12.5 is rounded to the even number.
    assert fuzz_ratios("a" + "b" * 7, "a" + "c" * 7) == (12, 12)
    # A character that is more than one in a hundred of at least 200 does not count for difflib.
    assert fuzz_ratios("b" + 200 * "a", "c" + 200 * "a") == (0, 100)


def test_crosscodeeval_compares_lines_and_identifiers_without_comments() -> None:
    assert without_comments("a = 1 # b\nc // d\ne = '#f'") == "a = 1 \nc \ne = '"
    assert identifiers("if total: x1.y = \"a 'b\" + 'c\\'d' + 2z + é", "python") == ["total", "x1", "y"]
    assert identifiers("return True", "python") == ["True"]
    assert identifiers("using var x", "csharp") == ["var", "x"]
    # Names: {a, b, c} and {a, b, d, e}, two in common.
    score = crosscodeeval("a(b, c) # x", "a(b, d, e)", "python")
    assert score[:1] + score[3:] == (0, 0, 2 / 3, 2 / 4, 4 / 7)
    # `a(b, ` and `)` in common: 6 of 7 and 10 characters.
    assert score[1:3] == (71, 71)
    assert crosscodeeval("  a = b\n\n// c", "a = b", "java") == (1, 100, 100, 1, 1.0, 1.0, 1.0)
    assert crosscodeeval("b(a)", "a(b)", "java")[3:] == (0, 1.0, 1.0, 1.0)
    assert crosscodeeval("", "1", "java") == (0, 0, 0, 1, 0.0, 0.0, 0.0)
    assert crosscodeeval("", "a", "java")[3:] == (0, 0.0, 0.0, 0.0)


def test_repocoder_compares_as_many_lines_as_the_reference_has() -> None:
    assert repocoder("  a\n\n b\nc", "a\nb\n") == (1, 1.0)
    assert repocoder("a", "a\nb") == (0, 1 - 2 / 3)
    assert repocoder("", "") == (1, 1.0)
    assert repocoder("a\rb", "a\nb") == (1, 1.0)


def test_repoformer_compares_tokens_of_as_many_lines() -> None:
    assert repoformer_lines("\nx = 'a'\ny", 'x="a"') == ("x = 'a'", 'x="a"', 1, 50, 50, 1 - 4 / 7)
    assert repoformer_lines("getName( )", "get Name()").em == 1
    assert repoformer_lines("get_name()", "getName()").em == 0
    assert repoformer_lines("", "") == ("", "", 1, 100, 100, 0.0)


PROMPT = "def f(a):\n    return a\n\ndef g(a):\n    "


@pytest.mark.parametrize(
    ("prompt", "answer", "reference", "texts"),
    [
        # The body ends with the function; what follows does not count.
        (PROMPT, "a += 1\n    return a\n\nprint(1)\n", "a += 1\n    return a", ("a += 1\n    return a",) * 2),
        # Cut where it parses, in steps of a character.
        (PROMPT, "b = a\n    return (b]", "b = a", ("b = a\n    return", "b = a")),
        # No beginning parses: all as it is.
        ("f(]\n" + PROMPT, "b = a\nc", "b", ("b = a\nc", "b")),
        # No function at all: the cut answer.
        ("x = ", "1 \n]", "2", ("1", "2")),
        # No function in the prompt: the last one of the program; the reference has none.
        ("", "def f(a):\n    return a", "2", ("return a", "2")),
    ],
)
def test_repoformer_compares_bodies_of_the_last_function(
    prompt: str, answer: str, reference: str, texts: tuple[str, str]
) -> None:
    assert repoformer_function(answer, reference, prompt)[:2] == texts


def test_other_similarities() -> None:
    # The docstring and blank lines go, `#` stays: "a\n#b" of 4 and "a" of 1.
    assert execrepobench('"""x\ny"""a\n\n#b', "'''z'''\na") == (40, 40)
    assert execrepobench("", "'''z'''") == (100, 100)
    assert qwen_humaneval_fim("\n  a\nb", "a") == qwen_humaneval_fim(" \na", "a ") == (1, 100, 100)
    assert qwen_humaneval_fim("  \na", "a") == (0, 0, 0)
    assert qwen_humaneval_fim("ab\nc", "a") == (0, 67, 67)
    assert repobench("a  b\n", "a b") == (1, 75, 75)
    assert repobench("ab", "a b").em == 0


@pytest.mark.parametrize(
    ("answer", "reference", "language", "released", "default"),
    [
        ("np.ones( (2,n) )", "np.ones((2, n))", "python", True, True),
        ("np.zeros((2, n))", "np.ones((2, n))", "python", True, False),
        ("f(b=2, a=1)", "f(a=1, b=2)", "python", True, True),
        ("f(a, b)", "f(b, a)", "python", False, False),
        ("f('a b')", "f('ab')", "python", True, False),
        ("f(lambda x: x)", "f(lambda  x: x)", "python", True, True),
        ("f(1", "f (1", "python", True, True),
        ("x + 1", "x+1", "python", True, True),
        ("x + f(1)", "f(1)", "python", False, False),
        ("g(1)", "f(1)", "java", False, False),
        ("f( 1 )", "f(1)", "java", True, True),
        ("f(\0)", "f(\0)", "python", True, True),
    ],
)
def test_calls_match_by_their_arguments(
    answer: str, reference: str, language: str, released: bool, default: bool
) -> None:
    assert safim_syntax_match(answer, reference, language) == released
    assert safim_syntax_match(answer, reference, language, callee=True) == default


def test_numbers_equal_those_of_crosscodeeval(test_data: Path) -> None:
    for row in parity_rows(test_data, "cceval"):
        texts = [without_comments(row[field]) for field in ("truncated", "groundtruth")]
        assert texts == [row["scored_pred"], row["scored_target"]], row
        assert [identifiers(text, row["language"]) for text in texts] == [row["pred_ids"], row["target_ids"]], row
        score = crosscodeeval(row["truncated"], row["groundtruth"], row["language"])._asdict()
        assert all(same(value, row[name]) for name, value in score.items()), (row, score)


def test_numbers_equal_those_of_repoformer_repocoder_and_qwen(test_data: Path) -> None:
    for row in parity_rows(test_data, "repoeval_family"):
        answer, reference = row["pred"], row["groundtruth"]
        by_function = row["task"] == "function_completion"
        ratios = execrepobench(answer, reference)
        scores = {
            "repoformer_qwen": (
                repoformer_function(answer, reference, row["prompt"])
                if by_function
                else repoformer_lines(answer, reference)
            )._asdict(),
            "repocoder": repocoder(answer, reference)._asdict(),
            "execrepobench": {"es_difflib": ratios.difflib, "es_levenshtein": ratios.levenshtein},
            "qwen_hm_fim": qwen_humaneval_fim(answer, reference)._asdict(),
        }
        names = {"answer": "pred", "reference": "target"}
        for evaluator, score in scores.items():
            expected = row[evaluator]
            assert all(same(value, expected[names.get(name, name)]) for name, value in score.items()), (row, score)
            assert len(expected) == len(score)


def test_matches_equal_those_of_safim(test_data: Path) -> None:
    rows = parity_rows(test_data, "safim_truncation")
    problems = safim_problems(test_data)
    for row in rows:
        reference = problems[row["split"], row["task_id"]]["ground_truth"]
        assert safim_syntax_match(row["scored"], reference, row["lang"]) == row["syntax_match"], row
        assert safim_syntax_match(row["answer"], reference, row["lang"]) == row["syntax_match_raw"], row
