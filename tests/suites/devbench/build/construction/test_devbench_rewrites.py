"""Assertions about the text of the code, in the sandbox."""

from __future__ import annotations

from pathlib import Path

import pytest

from caretbench.build import load_builder
from caretbench.execution.dispatcher import open_executor
from caretbench.suites.devbench.build.construction.gate_runs import rewrite_faults, rewrites
from caretbench.suites.devbench.starter import problem_of_text

HONEST = {
    "python/low_context/honest": "def total(values):\n    ⟦return sum(values)⟧\n⟦tests⟧\nassert total([1, 2]) == 3\n",
    "javascript/low_context/honest": "function total(values) {\n  ⟦return values.length;⟧\n}\n⟦tests⟧\n"
    "if (total([1, 2]) !== 2) throw new Error('no');\n",
}
ABOUT_TEXT = {
    "python/low_context/line": "import sys\n\n\ndef line():\n    ⟦return sys._getframe().f_lineno⟧\n⟦tests⟧\n"
    "assert line() == 5\n",
    "javascript/low_context/text": "function total(values) {\n  ⟦return values.length;⟧\n}\n⟦tests⟧\n"
    "if (total.toString().length !== 50) throw new Error('no');\n",
}


def test_only_assertions_about_the_text_fail() -> None:
    builder = load_builder("devbench")
    problems = [problem_of_text(text, name, "made") for name, text in (HONEST | ABOUT_TEXT).items()]
    executor = open_executor(2)
    found = rewrite_faults(problems, builder._program, executor.programs)
    assert found.keys() == ABOUT_TEXT.keys()
    assert "empty line" in found["python/low_context/line"]
    assert "a comment" in found["javascript/low_context/text"]


@pytest.mark.parametrize(
    ("reference", "suffix", "number"),
    [("return 1", "\n", 2), ("return (1", "\n    )\n", 2), ("return 1 \\", "\n    + 1\n", 1), ("return ", "1\n", 1),
     ('return """a', '\nb"""\n', 1), ("return 1\n", "", 2), ("a = (\n    1)\n    return a\n", "x", 2)],
)  # fmt: skip
def test_a_comment_stands_only_where_a_line_ends(reference: str, suffix: str, number: int, tmp_path: Path) -> None:
    text = f"def f():\n    ⟦{reference}⟧{suffix}"
    assert len([*rewrites(problem_of_text(text, "python/low_context/x", "made"))]) == number
