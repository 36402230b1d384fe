"""Functions with tests from pairs of files: what a program contains, its form, and its name."""

from __future__ import annotations

from caretbench.problem import Provenance
from caretbench.suites.c3bench.build.checked_functions import paired_functions, unpaired_functions

OURS = Provenance(source="written for this test")
TEXT = '''"""Numbers."""
from __future__ import annotations
import os.path as paths
import functools
import math
LIMIT = 3  # our limit
STEP = LIMIT + 1
UNUSED = 4


@functools.cache
def step(value):
    return value + STEP  # one step


async def later():
    return 1
class Counter:
    count = 0
def main(values):
    return paths.join("a", str([step(one) for one in values])), Counter.count


def alone(values):
    return list(values)
'''
CHECKS = """from math import inf
NUMBERS = [1, inf]


def check_main(candidate):
    assert candidate(NUMBERS)


def check_alone(candidate):
    assert candidate([]) == []


def check_unknown(candidate):
    pass


def main(values):
    pass
"""
MAIN = """from __future__ import annotations
import os.path as paths
import functools

LIMIT = 3  # our limit
STEP = LIMIT + 1


@functools.cache
def step(value):
    return value + STEP  # one step


class Counter:
    count = 0


def main(values):
    return paths.join("a", str([step(one) for one in values])), Counter.count
"""
ALONE = "from __future__ import annotations\n\n\ndef alone(values):\n    return list(values)\n"


def test_a_program_has_what_its_function_needs_in_the_order_and_form_of_the_file() -> None:
    first, second = paired_functions("lib/numbers.py", TEXT, CHECKS, OURS)
    assert (first.id, first.entry_point, first.provenance) == ("lib/numbers/main", "main", OURS)
    assert first.text == MAIN
    assert (second.id, second.entry_point) == ("lib/numbers/alone", "alone")
    assert second.text == ALONE


def test_a_check_has_what_it_needs_under_the_name_that_programs_call() -> None:
    first, second = paired_functions("numbers.py", TEXT, CHECKS, OURS)
    assert first.test == (
        "from math import inf\n\nNUMBERS = [1, inf]\n\n\n"
        "def check_main(candidate):\n    assert candidate(NUMBERS)\n\n\ncheck = check_main\n"
    )
    assert second.test == ("def check_alone(candidate):\n    assert candidate([]) == []\n\n\ncheck = check_alone\n")


def test_what_has_no_partner_is_named_in_order() -> None:
    assert unpaired_functions(TEXT, CHECKS) == (("step",), ("check_unknown",))
    assert unpaired_functions(TEXT, "import os\n") == (("step", "main", "alone"), ())
    assert unpaired_functions("x = 1\n", CHECKS)[1] == ("check_main", "check_alone", "check_unknown")


def test_texts_that_do_not_parse_give_nothing() -> None:
    assert list(paired_functions("a.py", "def f(:\n", CHECKS, OURS)) == []
    assert list(paired_functions("a.py", TEXT, "def f(:\n", OURS)) == []
    assert unpaired_functions("def f(:\n", CHECKS)[0] == ()


def test_functions_that_call_each_other_come_together() -> None:
    text = (
        "def even(n):\n    return n == 0 or odd(n - 1)\ndef odd(n):\n    return n != 0 and even(n - 1)\n"
        "def third(n):\n    return even(n)\n"
    )
    [found] = paired_functions("a.py", text, "def check_even(candidate):\n    assert candidate(2)\n", OURS)
    assert found.text == (
        "def even(n):\n    return n == 0 or odd(n - 1)\n\n\ndef odd(n):\n    return n != 0 and even(n - 1)\n"
    )


def test_a_constant_that_needs_a_class_is_two_lines_below_it() -> None:
    text = "class Table(dict):\n    pass\nEMPTY = Table()\ndef look():\n    return EMPTY\n"
    [found] = paired_functions("a.py", text, "def check_look(candidate):\n    assert candidate() == {}\n", OURS)
    assert found.text == ("class Table(dict):\n    pass\n\n\nEMPTY = Table()\n\n\ndef look():\n    return EMPTY\n")
