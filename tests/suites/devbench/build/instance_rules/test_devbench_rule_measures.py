from __future__ import annotations

import pytest

from caretbench.suites.devbench.build.instance_rules.program_view import ProgramView, nesting_depth
from caretbench.suites.devbench.build.instance_rules.rule_measures import RULE_MEASURES


def measured(rule: str, language: str, marked: str, hidden: str = "") -> int:
    prefix, rest = marked.split("⟦")
    reference, suffix = rest.split("⟧")
    return RULE_MEASURES[rule](ProgramView(language, prefix, reference, suffix, hidden))


PYTHON = """import bisect

LIMIT = 3


def insert(values, value):
    \"\"\"Insert.\"\"\"
    # in order
    ⟦bisect.insort(values, value)
    return check(values)⟧


def check(values):
    return len(values) <= LIMIT
"""


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("shown_lines", 9),
        ("prefix_lines", 5),
        ("reference_lines", 2),
        ("library_calls", 1),  # `check` is the program's own
        ("prefix_comment_lines", 2),
        ("prefix_functions", 0),
        ("reference_comment_lines", 0),
        ("control_depth", 0),
        ("handlers", 0),
        ("reference_tokens", 13),
        ("reused_members", 0),  # `check` is defined behind the caret
    ],
)
def test_numbers_of_a_python_program(rule: str, expected: int) -> None:
    assert measured(rule, "python", PYTHON) == expected


def test_the_arguments_of_a_call_are_a_use_of_its_function() -> None:
    assert measured("library_calls", "python", "import bisect\n\nplace = bisect.insort(⟦values, 3⟧)\n") == 1
    assert measured("library_calls", "python", "def own(a):\n    return a\n\n\nplace = own(⟦values, 3⟧)\n") == 0
    assert measured("library_calls", "java", "class A { int b = Math.max(⟦1, 2⟧); }\n") == 1


def test_members_of_the_prefix_are_counted_once_each() -> None:
    program = "LIMIT = 2\n\n\ndef half(x):\n    return x / 2\n\n\ndef run(x):\n    return ⟦half(half(x)) < LIMIT⟧\n"
    assert measured("reused_members", "python", program) == 2
    go = "package main\n\ntype box struct{ width int }\n\nfunc (b box) area() int { return ⟦b.width * b.width⟧ }\n"
    assert measured("reused_members", "go", go) == 1


def test_a_global_variable_of_the_prefix_is_reused_and_a_local_one_of_another_function_is_not() -> None:
    program = "def f():\n    limit = 3\n    return limit\n\n\ndef g():\n    ⟦return limit⟧\n"
    assert measured("reused_members", "python", program) == 0
    assert measured("reused_members", "python", f"limit = 3\n\n\n{program}") == 1


@pytest.mark.parametrize(
    ("language", "program", "depth"),
    [
        ("python", "def f(a):\n    ⟦for x in a:\n        if x:\n            yield x⟧\n", 2),
        ("python", "def f(a):\n    for x in a:\n        ⟦if x:\n            yield x⟧\n", 2),
        ("python", "def f(a):\n    ⟦if a > 1:\n        a = 2\n    elif a:\n        a = 3\n    return a⟧\n", 1),
        ("python", "def f(a):\n    for x in a:\n        ⟦yield x⟧\n    return\n", 0),
        ("java", "class A { void f(int a) { ⟦if (a > 1) { a = 2; } else if (a > 0) { a = 3; }⟧ } }\n", 1),
        ("javascript", "const f = (a) => ⟦a.map((x) => { while (x) { x -= 1; } return x; })⟧;\n", 3),
        ("go", "package a\n\nfunc f(c chan int) {\n⟦\tfor {\n\t\tselect {\n\t\tcase <-c:\n\t\t}\n\t}⟧\n}\n", 2),
    ],
)
def test_depth_of_control_structures(language: str, program: str, depth: int) -> None:
    assert measured("control_depth", language, program) == depth


def test_lines_of_the_longest_statement_without_a_block() -> None:
    chain = "const names = ⟦people\n  .filter((one) => one.here)\n  .map((one) => one.name)\n  .sort()⟧;\n"
    assert measured("statement_lines", "javascript", chain) == 4
    assert measured("statement_lines", "python", "def f():\n    ⟦a = 1\n    b = 2\n    c = 3⟧\n") == 1


@pytest.mark.parametrize(
    ("language", "program", "words"),
    [
        ("python", 'def area(w, h):\n    ⟦"""Return the area of a rectangle."""⟧\n    return w * h\n', 6),
        ("go", "package a\n\n⟦// Area returns the area.⟧\nfunc Area(w int) int { return w }\n", 4),
        ("python", "def area(w, h):\n    ⟦# multiply⟧\n    return w * h\n", 0),
        ("python", "⟦def area(w, h):\n    return w * h⟧\n", 0),
    ],
)
def test_words_of_documentation(language: str, program: str, words: int) -> None:
    assert measured("documentation_words", language, program) == words


PATTERN = """def read_a(row):
    if "a" not in row:
        raise KeyError("a")
    return int(row["a"])


def read_b(row):
    if "b" not in row:
        raise KeyError("b")
    return float(row["b"])


def total(rows):
    return sum(rows)


def read_c(row):
⟦    if "c" not in row:
        raise KeyError("c")
    return str(row["c"])⟧
"""


def test_examples_of_a_pattern_are_counted_by_their_shape() -> None:
    assert measured("pattern_examples", "python", PATTERN) == 2
    other = PATTERN.replace('    if "c" not in row:\n        raise KeyError("c")\n    return str(row["c"])', "    pass")
    assert measured("pattern_examples", "python", other) < 2


def test_the_outermost_part_with_two_examples_is_the_pattern() -> None:
    def function(name: str) -> str:
        return f"def {name}(box):\n" + "".join(f"    box.add({name}, {number})\n" for number in range(4))

    program = f"{function('one')}\n\n{function('two')}\n\n{function('six')}"
    last = program.rindex("    box.add(six, 3)")
    # Two functions before it, and three statements of its own.
    assert measured("pattern_examples", "python", f"{program[:last]}⟦{program[last:]}⟧") == 2


@pytest.mark.parametrize(
    ("language", "reference", "number"),
    [
        ("python", "x = 1  # we raise the price, except on Sundays, finally", 0),
        ("python", 'x = "except"', 0),
        ("python", "raise ValueError(f'{x}')", 1),
        ("python", "x = f'{f(lambda: None)} raise'", 0),
        ("java", 'String s = "catch (E e) throw";', 0),
        ("java", "throw new Error();", 1),
        ("javascript", "const s = `throw ${x}`;", 0),
        ("go", 'x := "if err != nil { panic(1) }"', 0),
    ],
)
def test_words_in_comments_and_strings_handle_nothing(language: str, reference: str, number: int) -> None:
    start = {"python": "", "java": "class A { void f() {\n", "javascript": "", "go": "package a\nfunc f() {\n"}[
        language
    ]
    end = {"python": "\n", "java": "\n} }\n", "javascript": "\n", "go": "\n}\n"}[language]
    assert measured("handlers", language, f"{start}⟦{reference}⟧{end}") == number


def test_a_local_variable_with_the_name_of_a_member_is_no_reuse() -> None:
    prefix = "class A:\n    def __init__(self):\n        self.rate = 2\n\n    def f(self, value):\n"
    assert measured("reused_members", "python", f"{prefix}        ⟦rate = 3\n        return rate * value⟧\n") == 0
    assert measured("reused_members", "python", f"{prefix}        ⟦return self.rate * value⟧\n") == 1


def test_the_depth_of_a_tree_counts_each_level() -> None:
    assert nesting_depth("", "python") == 1
    assert nesting_depth("a", "python") == 3  # module, statement, name
    assert nesting_depth("((a))", "python") == 5
    assert nesting_depth("[" * 50 + "]" * 50, "python") > 50
