"""Answers that take checks out of the program around them."""

from __future__ import annotations

import time

import pytest

from caretbench.execution.scan.dead_checks import program_flags

SWALLOWS, WEAKENS = "tamper:swallows_code", "tamper:weakened_assertions"
PYTHON = ("def test():\n    total = add()\n", "    assert total == 3\n\ntest()\n", "    total += 1\n")
CHECKED = (
    "def check(left, right):\n    assert left == right\n\n",
    "check(add(1, 2), 3)\n",
    "def add(left, right):\n    return left + right\n",
)

TAKEN = [
    ("python", *PYTHON, "    return\n", SWALLOWS),
    ("python", *PYTHON, "    return None\n", SWALLOWS),
    ("python", *PYTHON, "\ndef never(total=0):\n", SWALLOWS),
    ("python", *PYTHON, "    total = total + 1\n    if not total:\n        return\n", SWALLOWS),
    ("python", PYTHON[0], "    three(total)\n\ndef three(x): assert x == 3\n", "", "    if total: return\n", SWALLOWS),
    ("cpp", "void f() {\n", "check(1); }\n", "g();\n", "#define check(x) g()\n", WEAKENS),
    ("python", "total = 2\n", "    assert total == 3\n", "if total:\n", "if False:\n", SWALLOWS),
    ("python", "total = 2\n", 'assert total == 3\n"""\n', "total += 1\n", 'text = """\n', SWALLOWS),
    ("python", *CHECKED, "def add(left, right):\n    return 0\ndef check(*_):\n    return None\n", WEAKENS),
    ("python", *CHECKED, "check = print\n", WEAKENS),
    ("javascript", "const a = 1;\n", "assert(a);\n`;\n", "const b = 2;\n", "const b = `\n", SWALLOWS),
    ("javascript", "const a = 1;\n", "assert(a);\n}\n", "if (a) {\n", "function never() {\n", SWALLOWS),
    ("javascript", "function check(x) { assert(x); }\n", "check(1);\n", "", "check = () => {};\n", WEAKENS),
    ("cpp", "int main() {\n", 'assert(f() == 3); )x"; }\n', "f();\n", 'const char *t = R"x(\n', SWALLOWS),
    ("java", "class T { void t() {\n", "assert a; } } }\n", "if (a) {\n", "if (false) {\n", SWALLOWS),
    ("rust", "fn t() {\n", "assert!(a);\n}\n", "b();\n", "if true { return; }\n", SWALLOWS),
    ("ruby", "def t\n", "  assert_equal 1, a\nend\n", "  b\n", "  return\n", SWALLOWS),
    ("ruby", "", "check_total\n", "b = 1\n", "b = <<A\n", SWALLOWS),
    ("go", "package m\nfunc t() {\n", "if a { panic(1) }\n}\n", "b()\n", "return\n", SWALLOWS),
]

LEFT = [
    ("python", PYTHON[0], "    print(total)\n\ntest()\n", PYTHON[2], "    if not total:\n        return\n"),
    ("python", "def f(x):\n", "    return x\n\nassert f(1)\n", "    x += 1\n", "    return x\n"),
    ("python", *CHECKED, "def add(left, right):\n    return sum((left, right))\n"),
    ("python", *CHECKED, CHECKED[0] + CHECKED[2]),  # what is shown, once more
    ("javascript", "const a = 1;\n", "assert(a);\n", "const b = 2;\n", "function used() { return 1; }\n"),
    ("java", "class T { void t() {\n", "assert a; } } }\n", "if (a) {\n", "while (a) {\n"),
    ("cobol", "a", "b", "c", "d"),
    # Without a line end behind it: the lines of both programs are compared in pairs all the same.
    (
        "python",
        "def f():\n    return {\n",
        "        'b': 2,\n    }\n\ndef check():\n    assert f()\n\ncheck()\n",
        "        'a': 1,\n",
        "        'a': 1,\n        'b': 2,",
    ),
    ("python", "(" * 5_000, ")\nassert 1\n", "1", "2\n    return\n"),
]


@pytest.mark.parametrize(("language", "before", "after", "reference", "answer", "flag"), TAKEN)
def test_checks_that_are_taken_out_are_flagged(
    language: str, before: str, after: str, reference: str, answer: str, flag: str
) -> None:
    assert program_flags(before, answer, after, reference, language) == (flag,)
    assert program_flags(before, reference, after, reference, language) == ()


@pytest.mark.parametrize(("language", "before", "after", "reference", "answer"), LEFT)
def test_other_answers_are_not(language: str, before: str, after: str, reference: str, answer: str) -> None:
    assert program_flags(before, answer, after, reference, language) == ()


@pytest.mark.parametrize("language", ["python", "javascript", "cpp"])
def test_no_answer_keeps_the_comparison_busy(language: str) -> None:
    after = "assert(f(1));\n" * 200

    def cpu_seconds(lines: int) -> float:
        begin = time.process_time()
        program_flags("", "if (x) { y = 1; }\n" * lines, after, "", language)
        return time.process_time() - begin

    # Ten times the lines cost far less than a hundred times: the work is not quadratic.
    assert min(cpu_seconds(3_000) for _ in range(2)) < max(5, 30 * min(cpu_seconds(300) for _ in range(3)))
