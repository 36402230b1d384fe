from __future__ import annotations

from collections import defaultdict
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

import pytest

from caretbench.metrics.complexity import ProblemStatistics, paper_cyclomatic, paper_statistics

# The released script's means before rounding, recomputed with it on Python 3.11.
REFERENCE = {
    "python": (19.503, 4.243, 40.450, 92.570, 21.793, 213.09, 2.187),
    "csharp": (49.890, 5.923, 73.427, 190.330, 35.657, 374.31, 5.037),
    "cpp": (43.757, 5.447, 62.990, 198.953, 41.797, 382.18, 6.173),
    "java": (34.883, 5.050, 55.470, 154.540, 37.190, 355.76, 4.643),
    "javascript": (41.683, 6.710, 70.770, 227.520, 48.307, 474.61, 6.680),
    "typescript": (58.663, 10.660, 88.400, 319.120, 80.663, 593.67, 8.203),
    "all": (41.40, 6.34, 65.25, 197.17, 44.23, 398.94, 5.49),
}
COLUMNS = {
    "prefix_lines": "prefix_loc",
    "completion_lines": "completion_loc",
    "total_lines": "total_loc",
    "prefix_tokens": "prefix_tokens",
    "completion_tokens": "completion_tokens",
    "cyclomatic": "cyclomatic_complexity",
}


def test_empty_parts() -> None:
    assert paper_statistics("", "", "", "", "java") == ProblemStatistics(1, 0, 1, 1, 0, 1, 1)
    assert paper_statistics("a\n", "b\n", "c", "d", "java")[:3] == (2, 2, 3)


@pytest.mark.parametrize(
    ("text", "language", "complexity"),
    [
        ("x = 1", "python", 1),
        ("if a and b and c:\n    return_value = 1\nelif d:\n    pass\n", "python", 5),
        ("for x in y:\n    break\n# if while\n", "python", 3),
        ("s = '\\d'\nif s: pass", "python", 2),  # an invalid escape warns, and is no concern of ours
        ("if a:\n", "python", 2),  # does not parse: words
        ("if (a) { return b; } else if (c && d) { }", "java", 6),
        ("// for while case catch ? || break continue", "cpp", 9),
        ("a ?? b", "c_sharp", 3),
    ],
)
def test_cyclomatic(text: str, language: str, complexity: int) -> None:
    assert paper_cyclomatic(text, language) == complexity


def test_text_that_no_parser_takes_is_searched_for_words() -> None:
    assert paper_cyclomatic("if\x00", "python") == 2
    assert paper_cyclomatic("(" * 5000 + "if", "python") == 2


@pytest.mark.data
def test_table_4_reproduces(instances: list[dict[str, str]], published: list[dict[str, str]]) -> None:
    rows: dict[str, list[ProblemStatistics]] = defaultdict(list)
    for row in instances:
        statistics = paper_statistics(
            row["prefix"], row["golden_completion"], row["suffix"], row["assertions"], row["language"]
        )
        rows[row["table_language"]].append(statistics)
        rows["all"].append(statistics)
    printed = [row for row in published if row["table"] == "table_4"]
    assert len(printed) == 42
    for language, reference in REFERENCE.items():
        means = [Fraction(sum(column), len(rows[language])) for column in zip(*rows[language], strict=True)]
        for mean, expected in zip(means, reference, strict=True):
            digits = 5e-3 if language == "all" else 5e-4
            assert float(mean) == pytest.approx(expected, abs=digits * 1.01 if expected < 100 else 5.1e-3)
        values = dict(zip(ProblemStatistics._fields, means, strict=True))
        for field, metric in COLUMNS.items():
            cells = [
                row["value"] for row in printed if row["subset"] == f"language={language}" and row["metric"] == metric
            ]
            mean = values[field]
            exact = Decimal(mean.numerator) / Decimal(mean.denominator)
            assert [str(exact.quantize(Decimal("0.1"), ROUND_HALF_UP))] == cells, (language, metric)
