"""Cuts of SAFIM and CrossCodeEval: examples by hand for each rule, and the texts of the released functions."""

from pathlib import Path

import pytest

from caretbench.extraction.caret_surroundings import Surroundings
from caretbench.extraction.legacy_cuts import (
    crosscodeeval_statement,
    parses_as_released,
    safim_api_call,
    safim_block,
    safim_control,
    safim_parses,
)
from caretbench.extraction.policies import get_policy
from caretbench.problem import Caret
from tests.support.parity import parity_rows, safim_problems

CUTS = {"until_block": safim_block, "control": safim_control, "api_call": safim_api_call}
LOOP = Surroundings("for i in range(3):\n    ", "\nprint(1)\n", "python")
METHOD = Surroundings("class A {\n  void f() {\n    ", "\n    g(1);\n  }\n}\n", "java")
OTHER_GRAMMAR = {
    # The pinned grammar (6282715) puts a comment behind a block's last statement outside of the block.
    ("until_block", "block_completion_001450"),
    # `a * *b` is an error for it; ours takes `*b` for an unpacked value.
    ("python_parses", "block_completion_000131"),
}


@pytest.mark.parametrize(
    ("surroundings", "text", "cut"),
    [
        (LOOP, "x = i\n    print(x)\n", "x = i\n    print(x)\n"),
        # What leaves the block is a second place with added nodes.
        (LOOP, "x = i\nif x:\n    x = 2\n", "x = i\n"),
        (LOOP, "x = i\n    y = f(\n    z)]\n", "x = i\n"),
        # Faults of the rule: `pass` adds nothing, and an answer like what follows overlaps it.
        (LOOP, "pass", ""),
        (LOOP, "x = i\nprint(1)", "x = i\n"),
        (LOOP, "", ""),
        (METHOD, "if (a) {\n      b++;\n    }\n", "if (a) {\n      b++;\n    }\n"),
        (METHOD, "int a = 1;\n  }\n  void h() {\n", "int a = 1;\n"),
        (METHOD, "g(2);", ""),
        (METHOD, "int a = 1;\n    g(2);\n  }\n}\n", "int a = 1;\n    g(2);\n"),
        (METHOD, "// nothing", "// nothing"),
        # Without an answer, the program has an error, and there is nothing to compare with.
        (Surroundings("class A { int f() { return (", "; } }", "java"), "1)\n", "1)\n"),
    ],
)
def test_blocks_keep_lines_that_only_add_nodes(surroundings: Surroundings, text: str, cut: str) -> None:
    assert safim_block(text, surroundings) == cut


def test_control_expressions_end_with_the_line_or_before_an_unopened_bracket() -> None:
    assert safim_control("\n  i < n:\r\n  x\n", LOOP) == "  i < n:"
    assert safim_control(" \n", LOOP) == ""
    assert safim_control("f(i) < n; i++) {\n", METHOD) == "f(i) < n; i++"
    assert safim_control("c != ')' && f(i)", METHOD) == "c != '"  # the character counts: a fault
    assert safim_control("f(g(i)\n", METHOD) == "f(g(i)\n"


def test_calls_end_with_the_first_that_is_closed() -> None:
    assert safim_api_call("np.ones((2, n))\nprint(a)", LOOP) == "np.ones((2, n))"
    assert safim_api_call("a(1).b(2)", LOOP) == "a(1)"  # chained calls lose their end: a fault
    assert safim_api_call("n) + f(1)", LOOP) == "n)"
    assert safim_api_call("f(1", LOOP) == "f(1"


@pytest.mark.parametrize(
    ("language", "text", "cut"),
    [
        ("python", "f(1,\n    2) \nprint(3)\n", "f(1,\n    2)"),
        ("python", "f(1)", "f(1)"),
        ("python", "f(1]\ng(]\n", "f(1]\ng(]\n"),
        # The first line feed is looked at from the second character on.
        ("python", "\n    f(1)\n    g()\n", "\n    f(1)"),
        ("java", "f(1); g();", "f(1);"),
        ("csharp", "if (a) { b(); }", "if (a) {"),
        ("typescript", "}\nf(1);", "}\nf(1);"),
        ("typescript", "f(1)", "f(1)"),
    ],
)
def test_statements_end_where_crosscodeeval_ends_them(language: str, text: str, cut: str) -> None:
    caret = Caret(language=language, prefix="if a:\n    x = " if language == "python" else "x = ", suffix=";")
    found = get_policy("legacy/cceval").apply(text, caret)
    assert (found.text, found.steps) == (cut, ("first statement",) if cut != text else ())


def test_long_answers_are_cut_within_their_first_lines() -> None:
    text = "x = 1\n    " * 1_000
    assert safim_block(text, LOOP) == "".join(text.splitlines(keepends=True)[:200])
    assert crosscodeeval_statement("f(\n" * 1_000 + ")" * 1_000 + "\n", LOOP).count("\n") == 1_001


def test_only_error_nodes_count() -> None:
    assert parses_as_released("class A { int f() { return 1 } }", "java")  # the parser adds the semicolon
    assert not parses_as_released("f(]", "python")
    assert safim_parses("x = 1\n;", "python")
    assert not parses_as_released("x = 1\n;", "python")


def test_cuts_equal_those_of_safim(test_data: Path) -> None:
    rows = parity_rows(test_data, "safim_truncation")
    problems = safim_problems(test_data)
    own = {"block": "until_block", "control": "control", "api": "api_call"}
    different = set()
    for row in rows:
        before, after = problems[row["split"], row["task_id"]]["eval_prompt"].split("{{completion}}")
        surroundings = Surroundings(before, after, row["lang"])
        found = {name: cut(row["answer"], surroundings) for name, cut in CUTS.items()}
        found |= {"scored": found[own[row["split"]]], "python_parses": None}
        if row["lang"] == "python":
            found["python_parses"] = safim_parses(surroundings.program(row["answer"]), "python")
        # Where the released function raises, the answer stays.
        expected = {**row, "until_block": row["answer"]} if "until_block_error" in row else row
        different |= {(name, row["task_id"]) for name, value in found.items() if value != expected.get(name, value)}
    assert {entry for entry in different if entry[0] != "scored"} <= OTHER_GRAMMAR
    assert {task for name, task in different if name == "scored"} <= {task for _, task in OTHER_GRAMMAR}


def test_statements_equal_those_of_crosscodeeval(test_data: Path) -> None:
    for row in parity_rows(test_data, "cceval"):
        surroundings = Surroundings(row["prompt"], "", row["language"])
        assert crosscodeeval_statement(row["pred"], surroundings) == row["truncated"], row
