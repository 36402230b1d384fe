from __future__ import annotations

import pytest

from caretbench.suites.c3bench.build.variants.examination import misplaced

PREFIX = "def f(values):\n    found = []\n"
REFERENCE = "    for value in values:\n        found.append(value)\n"
SUFFIX = "    return found\n\n\ndef g():\n    return f([1])\n"


@pytest.mark.parametrize(
    ("middle", "fault"),
    [
        (REFERENCE, ""),
        ("    found = list(values)\n", ""),
        ("    def add(value):\n        found.append(value)\n    for value in values:\n        add(value)\n", ""),
        ("    found = list(values\n", "does not parse"),
        ("        found = list(values)\n", "does not parse"),
        ("# nothing\n", "has no statement"),
        ("    return list(values)\n\n\ndef h(found):\n", "leaves its place: a statement belongs to another block"),
        ("    if values:\n", "does not parse"),
        ("    found = list(values)\nif True:\n", "leaves its place: a statement belongs to another block"),
    ],
)
def test_a_middle_stays_in_its_place(middle: str, fault: str) -> None:
    assert misplaced(PREFIX, middle, SUFFIX, REFERENCE, "python") == fault


def test_what_follows_stays_in_its_place() -> None:
    prefix, suffix = "def f(a):\n    if a:\n        b = 1\n", "        c = 2\n    return a\n"
    assert misplaced(prefix, "        d = 3\n", suffix, "        e = 4\n", "python") == ""
    moved = misplaced(prefix, "        d = 3\n    while a:\n", suffix, "        e = 4\n", "python")
    assert moved == "leaves its place: a statement belongs to another block"


def test_rest_of_a_line_is_no_statement() -> None:
    assert misplaced("x = ", "1 + 2", "\n", "3", "python") == ""
    assert misplaced("x = ", "1\ny = 2", "\n", "3", "python").startswith("leaves its place")


def test_other_languages_parse() -> None:
    assert misplaced("int f() {\n", "    return 1;\n", "}\n", "    return 2;\n", "cpp") == ""
    assert misplaced("int f() {\n", "    return (1;\n", "}\n", "    return 2;\n", "cpp") == "does not parse"
