"""Style variants keep what an answer does: by tokens for every text, by tests for the starter problems."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caretbench.files import write_rows
from caretbench.people.review.study.style_variants import (
    HARMLESS_LINES,
    HARMLESS_TEXTS,
    style_variants,
    with_harmless_lines,
)
from caretbench.problem import Caret, Completion, Problem
from caretbench.runs.run_folder import RunFolder
from caretbench.suites import load_problems, load_suite
from caretbench.syntax.parser import fault_count, parse
from tests.support.command_run import in_this_process as caretbench
from tests.support.questions import question_problems

BEFORE, AFTER = "def total(rows, limit):\n", "    return found\n\nprint(total([1], limit=2))\n"
TEXT = (
    "    # add up\n    found = 0\n    for row, weight in enumerate(rows, start=1):  # all of them\n"
    "        found += min(row, limit, weight)\n"
)


def longer(text: str = TEXT, *, before: str = BEFORE, after: str = AFTER, language: str = "python") -> str | None:
    return with_harmless_lines(Caret(language=language, prefix=before, suffix=after), text)


def test_harmless_lines_are_comments_of_the_language() -> None:
    found = longer()
    assert found is not None
    assert [line.strip()[2:] for line in found.splitlines() if line.strip()[2:] in HARMLESS_TEXTS] == [*HARMLESS_TEXTS]
    assert longer('    found = """a\nb"""\n') is None  # no line begins outside the text
    java = longer("  int a = 1;\n  int b = a;\n", before="class A {\n", after="}\n", language="java")
    assert f"// {HARMLESS_TEXTS[0]}" in str(java)


def test_prose_gets_a_sentence() -> None:
    problem = question_problems()[0]
    text = "The change adds a clock, which counts seconds, to the server's log, and it removes the old one. " * 2
    assert style_variants(problem, text)[HARMLESS_LINES].startswith(text.rstrip())
    assert style_variants(problem, "B") == {}


def test_an_answer_that_stops_in_the_middle_has_variants() -> None:
    """A parser makes up names that are missing; a study of 150 incomplete answers ended with a traceback."""
    for problem in load_problems(load_suite("devbench"), "starter").problems:
        for length in (3, len(problem.reference) // 2, len(problem.reference) - 2):
            assert set(style_variants(problem, problem.reference[:length])) <= {HARMLESS_LINES}


PARTS = st.sampled_from([
    "    x = 1\n", "    y = [x, 2,  3]\n", "    # note\n", '    """doc"""\n', "    if x:\n        z = (1, 2)\n", "\n",
    "    s = '''a\nb, c'''\n", "    for i, j in zip(y, y): print(i, j)\n", "    return x\n", "    try:\n",
    "    f(a, b\n", "    w = 'x, y'\n", "    x += 1 \\\n", "garbage (]\n", "\t\tq = 1\n",
])  # fmt: skip


@given(st.lists(PARTS, max_size=6), st.booleans())
@settings(max_examples=150, deadline=None)
def test_no_style_adds_errors(parts: list[str], cut: bool) -> None:
    text = "".join(parts)
    text = text[:-3] if cut else text
    before = fault_count(parse(BEFORE + text + AFTER, "python"), "python")
    changed = longer(text)
    assert changed is None or fault_count(parse(BEFORE + changed + AFTER, "python"), "python") <= before


def variants(problems: list[Problem]) -> list[Completion]:
    return [
        Completion(problem_id=problem.id, model=style, text=text)
        for problem in problems
        for style, text in style_variants(problem, problem.reference).items()
    ]


@pytest.mark.long
def test_variants_of_references_pass_the_tests(tmp_path: Path) -> None:
    problems = list(load_problems(load_suite("devbench"), "starter").problems)
    rows = variants(problems)
    assert len(rows) > 50
    write_rows(tmp_path / "answers.jsonl", rows)
    caretbench(
        "score", "devbench", "--completions", str(tmp_path / "answers.jsonl"), "--policy", "raw", "--baseline", "none",
        "-o", str(tmp_path / "run"), "--no-html",
    )  # fmt: skip
    scores = [row for row in RunFolder(tmp_path / "run").scores() if row.scorer.startswith("execution")]
    assert sum(row.counted for row in scores) > 50
    assert [row for row in scores if row.counted and row.values.get("passed") != 1.0] == []
